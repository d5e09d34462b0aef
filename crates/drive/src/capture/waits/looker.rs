//! The thread that samples the state of the server's threads during the capture sample.

use super::addresses::Addresses;
use super::parts;
use super::stacks::Stacks;
use super::tally::{Counted, Descriptors, Followed, Sleep, Tally, sleep};
use crate::capture::interference::thread_cpu_s;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{self, InCall, ObserveError};
use tare_engine::Unavailable;
use tare_results::schema::SCHEMA;
use tare_results::waits::{ThreadsTime, TimeUse, WaitsFile};

const LOOKS_PER_S: f64 = 150.0;
/// Reads per second over all threads: each takes one or two microseconds.
const READS_PER_S: f64 = 6_000.0;
/// Stacks read per second, over all threads that serve connections: each takes ten microseconds.
const STACKS_PER_S: f64 = 1_500.0;
/// Looks between two searches for new threads.
const SEARCH_EVERY: u64 = 100;

pub(in super::super) struct Waits {
    stop: Arc<AtomicBool>,
    looker: JoinHandle<LooksDone>,
}

pub(in super::super) struct LooksDone {
    elapsed_s: f64,
    looks: u64,
    cpu_s: f64,
    connections: (BTreeSet<ThreadRef>, Tally, Counted),
    background: (BTreeSet<ThreadRef>, Tally, Counted),
    stacks: Option<Stacks>,
}

impl Waits {
    /// Starts sampling the threads of process `pid` and of all its descendants; with `stacks`, also reads the stacks
    /// of threads that serve connections.
    pub(crate) fn begin(pid: u32, connections: &[ThreadRef], stacks: bool) -> Result<Self, Unavailable> {
        let connections: BTreeSet<ThreadRef> = connections.iter().copied().collect();
        let Some(first) = connections.first() else {
            return Err(Unavailable("no thread of the server is known to serve a connection".to_owned()));
        };
        observe::in_call(*first).map_err(refused)?;
        // Programs are read before the sample begins.
        let stacks = stacks.then(|| Stacks::of(connections.iter().map(|thread| thread.pid)));
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let looker = Builder::new().spawn(move || look(pid.cast_signed(), &connections, stacks, &until));
        let looker = looker.map_err(|e| Unavailable(format!("cannot start the sampling thread: {e}")))?;
        Ok(Self { stop, looker })
    }

    pub(crate) fn end(self) -> Result<LooksDone, Unavailable> {
        self.stop.store(true, Ordering::Relaxed);
        self.looker.thread().unpark();
        let seen = self.looker.join().map_err(|_| Unavailable("the sampling thread ended unexpectedly".to_owned()))?;
        match seen.connections.1.samples {
            0 => Err(Unavailable("no thread that serves a connection was seen".to_owned())),
            _ => Ok(seen),
        }
    }
}

impl LooksDone {
    /// Resolves addresses to names, which may take a second for each large program. Called while the server still
    /// runs, and after every other recording has ended.
    pub(crate) fn named(&self) -> WaitsFile {
        let mut addresses = Addresses::default();
        let shared = parts::shared(&[&self.connections.1, &self.background.1]);
        let names = self.stacks.as_ref().map(Stacks::names).unwrap_or_default();
        let callers = self.stacks.as_ref().map(|stacks| stacks.callers(&names)).unwrap_or_default();
        let mut time = |(threads, tally, counted): &(BTreeSet<ThreadRef>, Tally, Counted)| ThreadsTime {
            threads: threads.len(),
            samples: tally.samples,
            running_samples: tally.running,
            exact: counted.elapsed_ns > 0.0,
            parts: parts::of(tally, *counted, &shared, &mut addresses, &callers),
        };
        let connections = time(&self.connections);
        let slept = parts::asleep(&connections.parts);
        let stacks = self.stacks.as_ref().and_then(|stacks| stacks.samples(&names, &self.connections.1, slept));
        WaitsFile {
            schema: SCHEMA,
            elapsed_s: self.elapsed_s,
            looks: self.looks,
            looking_cpu_s: self.cpu_s,
            connections,
            background: time(&self.background),
            stacks,
        }
    }
}

/// Explains why a thread may not be observed.
fn refused(error: ObserveError) -> Unavailable {
    let advice = match &error {
        ObserveError::Unreadable { .. } => {
            "; run tare as the server's own user or as root, with kernel.yama.ptrace_scope of 1 or 0"
        }
        _ => "",
    };
    Unavailable(format!("{error}{advice}"))
}

fn look(root: i32, connections: &BTreeSet<ThreadRef>, mut stacks: Option<Stacks>, stop: &AtomicBool) -> LooksDone {
    let began = Instant::now();
    let mut followed: Vec<Followed> = Vec::new();
    let mut descriptors = Descriptors::default();
    let mut tallies = [Tally::default(), Tally::default()];
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) {
        if looks % SEARCH_EVERY == 0 {
            search(root, connections, &mut followed);
        }
        let reads_stacks = looks % stacks_every(connections.len(), followed.len()) == 0;
        followed.retain(|one| {
            // The sample has ended: the caller does not wait for the remaining threads.
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            let tally = &mut tallies[usize::from(one.is_connection)];
            note(one, tally, &mut descriptors, stacks.as_mut().filter(|_| reads_stacks && one.is_connection))
        });
        looks += 1;
        std::thread::park_timeout(pause(looks, followed.len()));
    }
    let [background, serving] = tallies;
    let of = |class: bool, tally: Tally| {
        let of_class = || followed.iter().filter(|one| one.is_connection == class);
        let did = of_class().filter_map(Followed::did).fold(Counted::default(), |sum, one| Counted {
            elapsed_ns: sum.elapsed_ns + one.elapsed_ns,
            ran_ns: sum.ran_ns + one.ran_ns,
            waited_ns: sum.waited_ns + one.waited_ns,
        });
        (of_class().map(|one| one.thread).collect(), tally, did)
    };
    let elapsed_s = began.elapsed().as_secs_f64();
    let (connections, background) = (of(true, serving), of(false, background));
    LooksDone { elapsed_s, looks, cpu_s: thread_cpu_s(), connections, background, stacks }
}

fn search(root: i32, connections: &BTreeSet<ThreadRef>, followed: &mut Vec<Followed>) {
    let known: BTreeSet<ThreadRef> = followed.iter().map(|one| one.thread).collect();
    let threads =
        observe::with_descendants(root).into_iter().flat_map(|pid| observe::threads_of(pid).unwrap_or_default());
    let new = threads.chain(connections.iter().copied()).filter(|thread| !known.contains(thread));
    let new: BTreeSet<ThreadRef> = new.collect();
    followed.extend(new.into_iter().filter_map(|thread| Followed::new(thread, connections.contains(&thread)).ok()));
}

/// Samples one thread; returns whether it can be sampled again.
fn note(one: &Followed, tally: &mut Tally, descriptors: &mut Descriptors, stacks: Option<&mut Stacks>) -> bool {
    let ThreadRef { pid, tid } = one.thread;
    match one.file.read() {
        Ok(InCall::Running) => tally.runs(),
        Ok(InCall::Outside) => tally.sleeps(pid, tid, Sleep::In(TimeUse::PageFault, None), None),
        Ok(InCall::Call(call)) => {
            let caller = stacks.and_then(|stacks| stacks.read(one, &call));
            tally.sleeps(pid, tid, sleep(pid, &call, descriptors), caller);
        }
        Err(_) => return false,
    }
    true
}

/// Pause until the next look. Its mean is the interval between looks, and its length varies, so that no periodic event
/// is always or never seen. Multiples of the golden section are evenly distributed between 0 and 1 (Knuth, The Art of
/// Computer Programming 3, 6.4).
fn pause(looks: u64, threads: usize) -> Duration {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    Duration::from_secs_f64((0.5 + (looks as f64 * GOLDEN).fract()) / looks_per_s(threads))
}

fn looks_per_s(threads: usize) -> f64 {
    LOOKS_PER_S.min(READS_PER_S / threads.max(1) as f64).max(1.0)
}

/// One look in this many reads stacks.
fn stacks_every(connections: usize, threads: usize) -> u64 {
    (looks_per_s(threads) * connections as f64 / STACKS_PER_S).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tare_results::waits::FutexOperation;

    #[test]
    fn pauses_differ_and_are_longer_with_many_threads() {
        let mean = |threads| (0..1000).map(|n| pause(n, threads).as_secs_f64()).sum::<f64>() / 1000.0;
        assert!((mean(8) * LOOKS_PER_S - 1.0).abs() < 0.01, "{}", mean(8));
        assert!((mean(1000) * 6.0 - 1.0).abs() < 0.01, "{}", mean(1000));
        assert_ne!(pause(1, 8), pause(2, 8));
    }

    /// Three threads of this process: two sleep on one lock, one runs.
    #[test]
    fn two_threads_that_sleep_on_one_lock_share_it_and_a_busy_one_runs() {
        let (lock, stop) = (Mutex::new(()), AtomicBool::new(false));
        let held = lock.lock().unwrap();
        let file = std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            for runs in [false, false, true] {
                let (sender, lock, stop) = (sender.clone(), &lock, &stop);
                scope.spawn(move || {
                    sender.send(ThreadRef::of_this_thread()).unwrap();
                    if !runs {
                        drop(lock.lock());
                    }
                    while runs && !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let threads: Vec<ThreadRef> = (0..3).map(|_| receiver.recv().unwrap()).collect();
            std::thread::sleep(Duration::from_millis(50));
            let waits = Waits::begin(std::process::id(), &threads, true).unwrap();
            std::thread::sleep(Duration::from_millis(800));
            let seen = waits.end();
            stop.store(true, Ordering::Relaxed);
            drop(held);
            seen.unwrap().named()
        });
        let parts = &file.connections.parts;
        let sum: f64 = parts.iter().map(|part| part.fraction).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{file:?}");
        let first = &parts[0];
        assert_eq!((first.time, first.threads, first.addresses), (TimeUse::SharedFutex, 2, 1), "{file:?}");
        assert!((first.fraction - 2.0 / 3.0).abs() < 0.05, "{file:?}");
        assert!(matches!(first.operation, Some(FutexOperation::Wait | FutexOperation::WaitBitset)));
        assert_eq!(file.connections.threads, 3);
        assert!(file.background.parts.iter().all(|part| part.time != TimeUse::SharedFutex), "{file:?}");
        assert!(file.looking_cpu_s > 0.0 && file.looking_cpu_s < 0.3 * file.elapsed_s, "{file:?}");
    }

    #[test]
    fn unknown_or_ended_threads_are_reported_as_the_reason() {
        let Err(Unavailable(reason)) = Waits::begin(std::process::id(), &[], true) else { panic!() };
        assert!(reason.contains("serve a connection"), "{reason}");
        let gone = ThreadRef { pid: std::process::id().cast_signed(), tid: 1 };
        let Err(Unavailable(reason)) = Waits::begin(std::process::id(), &[gone], true) else { panic!() };
        assert!(reason.contains("has ended"), "{reason}");
    }
}
