//! Where the threads of a trial really are, sample by sample: sightings while it runs, kernel counts around it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tare_results::schema::{ScheduleRecord, ThreadClass, ThreadRecord};
use tare_topology::observe::{self, ThreadSample};
use tare_topology::{CpuSet, ThreadRef, bind};

/// Time between two looks at a thread. 20 a second see a thread that strays for long, and cost under 0.1% of a PU.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A thread of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Which side it works for.
    pub class: ThreadClass,
    /// Connection it belongs to.
    pub pair: Option<usize>,
    /// Its process and its own number.
    pub thread: ThreadRef,
    /// Where it was told to be; none when it was left to the OS.
    pub asked: Option<CpuSet>,
}

/// A watch over some threads during one sample.
pub struct ThreadWatch {
    threads: Vec<Watched>,
    before: Vec<Option<ThreadSample>>,
    began: Instant,
    seen: Arc<Mutex<Vec<Sightings>>>,
    stop: Arc<AtomicBool>,
    looker: JoinHandle<()>,
}

/// What the looks at one thread found.
#[derive(Debug, Clone, Default)]
struct Sightings {
    cpus: BTreeMap<u32, u64>,
    last: Option<u32>,
    moves: u64,
}

impl ThreadWatch {
    /// Starts to look, twenty times a second.
    pub fn start(threads: Vec<Watched>) -> Self {
        let seen = Arc::new(Mutex::new(vec![Sightings::default(); threads.len()]));
        let stop = Arc::new(AtomicBool::new(false));
        let before = threads.iter().map(|t| observe::thread(t.thread).ok()).collect();
        let began = Instant::now();
        let looker = {
            let (threads, seen, stop) = (threads.clone(), Arc::clone(&seen), Arc::clone(&stop));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    look(&threads, &seen);
                    std::thread::park_timeout(LOOK_EVERY);
                }
            })
        };
        Self { threads, before, began, seen, stop, looker }
    }

    /// Ends it. A thread that has ended meanwhile keeps what was known of it.
    pub fn finish(self) -> Vec<ThreadRecord> {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        self.stop.store(true, Ordering::Relaxed);
        // It need not sleep to the end: a query may have taken a millisecond.
        self.looker.thread().unpark();
        // The looker only reads; were it to panic, there would merely be fewer sightings.
        let _ = self.looker.join();
        look(&self.threads, &self.seen);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.threads
            .iter()
            .zip(&self.before)
            .zip(seen.iter())
            .map(|((thread, before), seen)| record(thread, before.as_ref(), seen, elapsed_s))
            .collect()
    }
}

fn look(threads: &[Watched], seen: &Mutex<Vec<Sightings>>) {
    let cpus: Vec<Option<u32>> = threads.iter().map(|t| observe::last_cpu(t.thread).ok()).collect();
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    for (sightings, cpu) in seen.iter_mut().zip(cpus) {
        let Some(cpu) = cpu else { continue };
        *sightings.cpus.entry(cpu).or_default() += 1;
        sightings.moves += u64::from(sightings.last.is_some_and(|last| last != cpu));
        sightings.last = Some(cpu);
    }
}

fn record(thread: &Watched, before: Option<&ThreadSample>, seen: &Sightings, elapsed_s: f64) -> ThreadRecord {
    let after = observe::thread(thread.thread).ok();
    // A thread that has gone, or came later, has no difference to show: its counts stay 0.
    let during = |count: fn(&ThreadSample) -> Option<u64>| -> Option<u64> {
        Some(count(after.as_ref()?)?.saturating_sub(count(before?)?))
    };
    let spent_s = |time: fn(&ThreadSample) -> f64| match (before, &after) {
        (Some(before), Some(after)) => (time(after) - time(before)).max(0.0),
        _ => 0.0,
    };
    ThreadRecord {
        class: thread.class,
        pair: thread.pair,
        pid: thread.thread.pid.unsigned_abs(),
        tid: thread.thread.tid.unsigned_abs(),
        name: after.as_ref().map(|s| s.name.clone()).unwrap_or_default(),
        allowed_cpus: bind::affinity_of(thread.thread).map(|set| set.to_string()).unwrap_or_default(),
        seen_cpus: seen.cpus.iter().map(|(cpu, count)| (*cpu as usize, *count)).collect(),
        migrations: during(|s| s.migrations).unwrap_or(seen.moves),
        voluntary_switches: during(|s| s.voluntary_switches).unwrap_or(0),
        involuntary_switches: during(|s| s.involuntary_switches).unwrap_or(0),
        user_s: spent_s(|s| s.user_s),
        system_s: spent_s(|s| s.system_s),
        schedule: schedule(during(|s| s.run_ns), during(|s| s.wait_ns), elapsed_s),
    }
}

/// The rest of the time is sleep.
fn schedule(run_ns: Option<u64>, wait_ns: Option<u64>, elapsed_s: f64) -> Option<ScheduleRecord> {
    let (ran_s, waited_s) = (run_ns? as f64 / 1e9, wait_ns? as f64 / 1e9);
    Some(ScheduleRecord { ran_s, waited_s, slept_s: (elapsed_s - ran_s - waited_s).max(0.0) })
}

/// Share of the server threads' time in which they were runnable and had no CPU.
pub fn waited_for_cpu(threads: &[ThreadRecord]) -> Option<f64> {
    let server =
        threads.iter().filter(|thread| thread.class == ThreadClass::Connection).filter_map(|thread| thread.schedule);
    let (waited_s, all_s) =
        server.fold((0.0, 0.0), |(waited, all), s| (waited + s.waited_s, all + s.ran_s + s.waited_s + s.slept_s));
    (all_s > 0.0).then_some(waited_s / all_s)
}

/// The first thread that is not, or was seen not to be, where it was told to be.
pub fn stray(threads: &[Watched], records: &[ThreadRecord]) -> Option<String> {
    threads.iter().zip(records).find_map(|(thread, record)| {
        let asked = thread.asked.as_ref()?;
        if thread.class == ThreadClass::Background && record.allowed_cpus.is_empty() {
            return None; // helpers of a server come and go
        }
        let who = || format!("{} thread {} ({})", side(thread.class), thread.thread.tid, record.name);
        if record.allowed_cpus != asked.to_string() {
            let now = if record.allowed_cpus.is_empty() { "gone" } else { record.allowed_cpus.as_str() };
            return Some(format!("{} was bound to CPUs {asked} and its affinity is now {now}", who()));
        }
        let outside = record.seen_cpus.keys().find(|cpu| !asked.iter().any(|a| a as usize == **cpu))?;
        Some(format!("{} was bound to CPUs {asked} and was seen on CPU {outside}", who()))
    })
}

fn side(class: ThreadClass) -> &'static str {
    match class {
        ThreadClass::Client => "client",
        ThreadClass::Connection => "server",
        ThreadClass::Background => "background",
    }
}
