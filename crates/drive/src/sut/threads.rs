//! Where the threads of a trial really are, sample by sample: sightings while it runs, kernel counts around it.

use super::processes::{self, WorkerWatch};
use crate::capture::interference::thread_cpu_s;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tare_cpuset::observe;
use tare_cpuset::observe::ThreadSample;
use tare_cpuset::{CpuSet, ThreadRef, ThreadRefused, affinity_of};
use tare_results::schema::{ScheduleRecord, ThreadClass, ThreadRecord};

/// Time between two looks at a thread. 20 a second see a thread that strays for long.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time between two looks where threads are many: a look costs 5 to 15 us a thread.
const LOOK_AT_EACH: Duration = Duration::from_micros(200);
/// Looks between two at which the server's own helpers are looked at too, which are many (MySQL has 40) and are judged
/// by their affinity alone, and the counts of threads that may end are kept: four files each.
const ALL_EVERY: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    pub class: ThreadClass,
    pub pair: Option<usize>,
    pub thread: ThreadRef,
    /// Where it was told to be; none when it was left to the OS.
    pub asked: Option<CpuSet>,
}

/// A watch over some threads during one sample.
pub struct ThreadWatch {
    began: Instant,
    tracked: Arc<Mutex<Vec<Tracked>>>,
    /// Those that no one named: they stand behind the others.
    workers: Arc<Mutex<Vec<Tracked>>>,
    stop: Arc<AtomicBool>,
    /// Ends with the seconds of CPU time that it took.
    looker: JoinHandle<f64>,
}

#[derive(Debug, Clone)]
struct Tracked {
    thread: Watched,
    before: Option<ThreadSample>,
    seen: Sightings,
    /// The CPU on which it was before it was bound elsewhere: that of one that sleeps stays until it wakes.
    stale: Option<u32>,
    /// What was last known of one that may end: its counts, and the CPUs that it was allowed.
    last: Option<(ThreadSample, CpuSet)>,
    /// What a helper process is for, where the kernel calls them all the same.
    kind: Option<&'static str>,
}

impl Tracked {
    fn now(thread: Watched) -> Self {
        let before = observe::thread(thread.thread).ok();
        let kind = (thread.class == ThreadClass::Background).then(|| processes::kind(thread.thread.pid)).flatten();
        let cpu = before.as_ref().map(|before| before.cpu);
        let asked = thread.asked.as_ref();
        let stale = cpu.filter(|cpu| asked.is_some_and(|asked| !asked.contains(*cpu)));
        Self { thread, before, seen: Sightings::default(), stale, last: None, kind }
    }

    /// One that began during the sample: all that it did belongs to it.
    fn born(thread: Watched) -> Self {
        let mut born = Self::now(thread);
        if let Some(before) = &mut born.before {
            (before.user_s, before.system_s) = (0.0, 0.0);
            (before.migrations, before.run_ns, before.wait_ns) = (Some(0), Some(0), Some(0));
            (before.voluntary_switches, before.involuntary_switches) = (Some(0), Some(0));
        }
        born
    }

    fn remember(&mut self) {
        if let (Ok(sample), Ok(allowed)) = (observe::thread(self.thread.thread), affinity_of(self.thread.thread)) {
            self.last = Some((sample, allowed));
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Sightings {
    cpus: BTreeMap<u32, u64>,
    last: Option<u32>,
    moves: u64,
}

impl ThreadWatch {
    /// Starts to look, twenty times a second. Of threads that may end, what was last known is kept.
    /// Workers that come and go are watched from when they are first seen.
    pub fn start(threads: Vec<Watched>, may_end: bool, mut finder: Option<WorkerWatch>) -> Result<Self, ThreadRefused> {
        let tracked = Arc::new(Mutex::new(threads.into_iter().map(Tracked::now).collect::<Vec<_>>()));
        let (workers, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let began = Instant::now();
        let looker = {
            let (tracked, workers, stop) = (Arc::clone(&tracked), Arc::clone(&workers), Arc::clone(&stop));
            let looks = move || {
                for number in 0_usize.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    for worker in finder.iter_mut().flat_map(WorkerWatch::new_ones) {
                        let (class, pair, asked) = (ThreadClass::Background, None, None);
                        follow(&workers, Watched { class, pair, thread: worker, asked });
                    }
                    look(&workers, true, true);
                    let all = number.is_multiple_of(ALL_EVERY);
                    look(&tracked, all, all && may_end);
                    std::thread::park_timeout(pause(&tracked));
                }
                thread_cpu_s()
            };
            Builder::new().spawn(looks)?
        };
        Ok(Self { began, tracked, workers, stop, looker })
    }

    /// Looks at one more from now on: one that began during the sample.
    pub fn add(&self, thread: Watched) {
        follow(&self.tracked, thread);
    }

    /// Ends it: a record for each, workers last, and the seconds of CPU time that looking took. A thread that has ended
    /// meanwhile keeps what was known of it.
    pub fn finish(self) -> (Vec<ThreadRecord>, f64) {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        self.stop.store(true, Ordering::Relaxed);
        // It need not sleep to the end: a query may have taken a millisecond.
        self.looker.thread().unpark();
        // The looker only reads; were it to panic, there would merely be fewer sightings.
        let looked_s = self.looker.join().unwrap_or(0.0);
        look(&self.tracked, true, false);
        let lists = [&self.tracked, &self.workers].map(|list| list.lock().unwrap_or_else(PoisonError::into_inner));
        (lists.iter().flat_map(|list| list.iter()).map(|tracked| record(tracked, elapsed_s)).collect(), looked_s)
    }
}

fn follow(tracked: &Mutex<Vec<Tracked>>, thread: Watched) {
    let mut born = Tracked::born(thread);
    born.remember();
    tracked.lock().unwrap_or_else(PoisonError::into_inner).push(born);
}

/// Until the next look: longer where there are more than 250 threads, so that looking takes no CPU from them.
fn pause(tracked: &Mutex<Vec<Tracked>>) -> Duration {
    let threads = tracked.lock().unwrap_or_else(PoisonError::into_inner).len();
    LOOK_EVERY.max(LOOK_AT_EACH.saturating_mul(u32::try_from(threads).unwrap_or(u32::MAX)))
}

fn look(tracked: &Mutex<Vec<Tracked>>, helpers: bool, remember: bool) {
    let mut all = tracked.lock().unwrap_or_else(PoisonError::into_inner);
    for tracked in all.iter_mut().filter(|one| helpers || one.thread.class != ThreadClass::Background) {
        let Ok(cpu) = observe::last_cpu(tracked.thread.thread) else { continue };
        if tracked.stale == Some(cpu) {
            continue;
        }
        tracked.stale = None;
        let seen = &mut tracked.seen;
        *seen.cpus.entry(cpu).or_default() += 1;
        seen.moves += u64::from(seen.last.is_some_and(|last| last != cpu));
        seen.last = Some(cpu);
        if remember {
            tracked.remember();
        }
    }
}

fn record(tracked: &Tracked, elapsed_s: f64) -> ThreadRecord {
    let Tracked { thread, before, seen, last, kind, .. } = tracked;
    let before = before.as_ref();
    let after = observe::thread(thread.thread).ok().or_else(|| last.as_ref().map(|(sample, _)| sample.clone()));
    let allowed = affinity_of(thread.thread).ok().or_else(|| last.as_ref().map(|(_, allowed)| allowed.clone()));
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
        name: kind.map(str::to_owned).or_else(|| Some(after.as_ref()?.name.clone())).unwrap_or_default(),
        allowed_cpus: allowed.unwrap_or_default(),
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
        if record.allowed_cpus != *asked {
            let now = &record.allowed_cpus;
            let now = if now.is_empty() { "gone".to_owned() } else { now.to_string() };
            return Some(format!("{} was bound to CPUs {asked} and its affinity is now {now}", who()));
        }
        // One that sleeps is still on the CPU where it ran last, wherever it may run next.
        if thread.class == ThreadClass::Background {
            return None;
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
