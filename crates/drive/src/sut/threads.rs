//! The actual CPUs of a trial's threads, per sample: sightings during the sample, kernel counters before and after.

use super::processes::{self, WorkerWatch};
use super::window::{StopWatch, Stops, Window, take_share};
use crate::capture::interference::thread_cpu_s;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tare_cpuset::observe::{ObserveError, Sighting, SightingFile, ThreadSample};
use tare_cpuset::{CpuSet, ThreadRef, ThreadRefused, affinity_of, observe};
use tare_results::schema::{ScheduleRecord, ThreadClass, ThreadRecord};

/// Interval between two looks at a thread. 20 per second detect a thread that stays outside its placement.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Minimum interval per thread with many threads: a look costs 1 to 5 us per thread.
const LOOK_AT_EACH: Duration = Duration::from_micros(200);
/// One look in twenty includes the server's helper threads, which are many (MySQL has 40) and are judged by their
/// affinity alone.
const HELPERS_EVERY: usize = 20;
/// The files of this many threads are kept open, so that a look at them takes a third of the time. Not of more: the
/// limits of this process leave 100 descriptors for other files.
const OPEN: usize = 64;
/// If threads may end, one look in five includes all of them and stores their counters: four files each.
const REMEMBER_EVERY: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watched {
    pub class: ThreadClass,
    pub pair: Option<usize>,
    pub thread: ThreadRef,
    /// The requested placement; None if it was left to the OS.
    pub requested: Option<CpuSet>,
}

pub(crate) struct ThreadWatch {
    tracked: Arc<Mutex<Vec<Tracked>>>,
    /// Workers found by the watch itself; their records follow the others.
    workers: Arc<Mutex<Vec<Tracked>>>,
    stop: Arc<AtomicBool>,
    looker: JoinHandle<Looked>,
}

/// What the looking thread returns.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// CPU time that it used, seconds.
    pub cpu_s: f64,
    pub stops: Stops,
}

/// Counters of a thread, and when they were read.
#[derive(Debug, Clone)]
struct Read {
    at: Instant,
    counters: ThreadSample,
}

impl Read {
    fn now(thread: ThreadRef) -> Option<Self> {
        let counters = observe::thread(thread).ok()?;
        Some(Self { at: Instant::now(), counters })
    }
}

#[derive(Debug)]
struct Tracked {
    thread: Watched,
    /// None for the threads that are looked at rarely, and for those beyond [`OPEN`].
    stat: Option<SightingFile>,
    before: Option<Read>,
    seen: Sightings,
    /// The CPU of the thread before it was bound elsewhere: the kernel reports it until a sleeping thread wakes.
    stale: Option<u32>,
    /// The last known counters and allowed CPUs of a thread that may end.
    last: Option<(Read, CpuSet)>,
    /// The purpose of a helper process, if the kernel's name is the same for all of them.
    kind: Option<&'static str>,
}

impl Tracked {
    fn now(thread: Watched) -> Self {
        let before = Read::now(thread.thread);
        let kind = (thread.class == ThreadClass::Background).then(|| processes::kind(thread.thread.pid)).flatten();
        let cpu = before.as_ref().map(|before| before.counters.cpu);
        let requested = thread.requested.as_ref();
        let stale = cpu.filter(|cpu| requested.is_some_and(|requested| !requested.contains(*cpu)));
        Self { thread, stat: None, before, seen: Sightings::default(), stale, last: None, kind }
    }

    /// A thread that began during the sample: all its activity belongs to the sample.
    fn born(thread: Watched) -> Self {
        let mut born = Self::now(thread);
        if let Some(Read { counters: before, .. }) = &mut born.before {
            (before.user_s, before.system_s) = (0.0, 0.0);
            (before.migrations, before.run_ns, before.wait_ns) = (Some(0), Some(0), Some(0));
            (before.voluntary_switches, before.involuntary_switches) = (Some(0), Some(0));
        }
        born
    }

    fn sighting(&self) -> Result<Sighting, ObserveError> {
        self.stat.as_ref().map_or_else(|| observe::sighting(self.thread.thread), SightingFile::read)
    }

    fn remember(&mut self) {
        if let (Some(read), Ok(allowed)) = (Read::now(self.thread.thread), affinity_of(self.thread.thread)) {
            self.last = Some((read, allowed));
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
    /// Starts looking, twenty times per second. For threads that may end, the last known counters are kept.
    /// Short-lived workers are watched from their first sighting. `server` is its first process, if it runs here.
    pub(super) fn start(
        threads: Vec<Watched>,
        may_end: bool,
        mut finder: Option<WorkerWatch>,
        server: Option<i32>,
    ) -> Result<Self, ThreadRefused> {
        let mut tracked: Vec<Tracked> = threads.into_iter().map(Tracked::now).collect();
        let often = tracked.iter_mut().filter(|tracked| tracked.thread.class != ThreadClass::Background);
        for tracked in often.take(OPEN) {
            tracked.stat = SightingFile::open(tracked.thread.thread).ok();
        }
        let tracked = Arc::new(Mutex::new(tracked));
        let (workers, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let looker = {
            let (tracked, workers, stop) = (Arc::clone(&tracked), Arc::clone(&workers), Arc::clone(&stop));
            let mut stops = StopWatch::over(server);
            let looks = move || {
                for number in 0_usize.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    for worker in finder.iter_mut().flat_map(WorkerWatch::new_ones) {
                        let (class, pair, requested) = (ThreadClass::Background, None, None);
                        follow(&workers, Watched { class, pair, thread: worker, requested });
                    }
                    look(&workers, true, true);
                    let remember = may_end && number.is_multiple_of(REMEMBER_EVERY);
                    stops.look(look(&tracked, remember || number.is_multiple_of(HELPERS_EVERY), remember));
                    stops.pause(pause(&tracked));
                }
                Looked { cpu_s: thread_cpu_s(), stops: stops.end() }
            };
            Builder::new().name("tare-watch".to_owned()).spawn(looks)?
        };
        Ok(Self { tracked, workers, stop, looker })
    }

    /// Also watches a thread that began during the sample.
    pub(crate) fn add(&self, thread: Watched) {
        follow(&self.tracked, thread);
    }

    /// Ends the watch: returns a record of what each thread did during the measurement, workers last. A thread that has
    /// ended keeps its last known counters.
    pub(super) fn finish(self, window: &Window) -> (Vec<ThreadRecord>, Looked) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread: its pause may be much longer than the sample, as for a query of a millisecond.
        self.looker.thread().unpark();
        // The thread only reads: if it panicked, there would merely be fewer sightings.
        let looked = self.looker.join().unwrap_or_default();
        look(&self.tracked, true, false);
        let lists = [&self.tracked, &self.workers].map(|list| list.lock().unwrap_or_else(PoisonError::into_inner));
        (lists.iter().flat_map(|list| list.iter()).map(|tracked| record(tracked, window)).collect(), looked)
    }
}

fn follow(tracked: &Mutex<Vec<Tracked>>, thread: Watched) {
    let mut born = Tracked::born(thread);
    born.remember();
    tracked.lock().unwrap_or_else(PoisonError::into_inner).push(born);
}

/// Pause until the next look: longer with more than 250 threads, so that looking does not take CPU time from them.
fn pause(tracked: &Mutex<Vec<Tracked>>) -> Duration {
    let threads = tracked.lock().unwrap_or_else(PoisonError::into_inner).len();
    LOOK_EVERY.max(LOOK_AT_EACH.saturating_mul(u32::try_from(threads).unwrap_or(u32::MAX)))
}

/// Returns whether a thread of the server was seen stopped.
fn look(tracked: &Mutex<Vec<Tracked>>, helpers: bool, remember: bool) -> bool {
    let mut is_stopped = false;
    let mut all = tracked.lock().unwrap_or_else(PoisonError::into_inner);
    for tracked in all.iter_mut().filter(|one| helpers || one.thread.class != ThreadClass::Background) {
        let Ok(Sighting { cpu, is_stopped: stopped }) = tracked.sighting() else { continue };
        is_stopped |= stopped && tracked.thread.class != ThreadClass::Client;
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
    is_stopped
}

fn record(tracked: &Tracked, window: &Window) -> ThreadRecord {
    let Tracked { thread, before, seen, last, kind, .. } = tracked;
    let before = before.as_ref();
    let after = Read::now(thread.thread).or_else(|| last.as_ref().map(|(read, _)| read.clone()));
    let allowed = affinity_of(thread.thread).ok().or_else(|| last.as_ref().map(|(_, allowed)| allowed.clone()));
    // A thread that has ended, or began later, has no difference: its counters stay 0.
    let during = |count: fn(&ThreadSample) -> Option<u64>| -> Option<u64> {
        Some(count(&after.as_ref()?.counters)?.saturating_sub(count(&before?.counters)?))
    };
    let spent_s = |time: fn(&ThreadSample) -> f64| match (before, &after) {
        (Some(before), Some(after)) => (time(&after.counters) - time(&before.counters)).max(0.0),
        _ => 0.0,
    };
    let mut record = ThreadRecord {
        class: thread.class,
        pair: thread.pair,
        pid: thread.thread.pid.unsigned_abs(),
        tid: thread.thread.tid.unsigned_abs(),
        name: kind.map(str::to_owned).or_else(|| Some(after.as_ref()?.counters.name.clone())).unwrap_or_default(),
        allowed_cpus: allowed.unwrap_or_default(),
        seen_cpus: seen.cpus.iter().map(|(cpu, count)| (*cpu as usize, *count)).collect(),
        migrations: during(|s| s.migrations).unwrap_or(seen.moves),
        voluntary_switches: during(|s| s.voluntary_switches).unwrap_or(0),
        involuntary_switches: during(|s| s.involuntary_switches).unwrap_or(0),
        user_s: spent_s(|s| s.user_s),
        system_s: spent_s(|s| s.system_s),
        schedule: schedule(during(|s| s.run_ns), during(|s| s.wait_ns)),
    };
    let share = before.zip(after.as_ref()).map_or(1.0, |(before, after)| window.share(before.at, after.at));
    take_share(&mut record, share, window.length().as_secs_f64());
    record
}

fn schedule(run_ns: Option<u64>, wait_ns: Option<u64>) -> Option<ScheduleRecord> {
    Some(ScheduleRecord { ran_s: run_ns? as f64 / 1e9, waited_s: wait_ns? as f64 / 1e9, slept_s: 0.0 })
}

/// Share of the server threads' time in which they were runnable without a CPU.
pub(crate) fn waited_for_cpu(threads: &[ThreadRecord]) -> Option<f64> {
    let server =
        threads.iter().filter(|thread| thread.class == ThreadClass::Connection).filter_map(|thread| thread.schedule);
    let (waited_s, all_s) =
        server.fold((0.0, 0.0), |(waited, all), s| (waited + s.waited_s, all + s.ran_s + s.waited_s + s.slept_s));
    (all_s > 0.0).then_some(waited_s / all_s)
}

/// Describes the first thread that is, or was seen, outside its requested CPUs.
pub(crate) fn misplaced(threads: &[Watched], records: &[ThreadRecord]) -> Option<String> {
    threads.iter().zip(records).find_map(|(thread, record)| {
        let requested = thread.requested.as_ref()?;
        if thread.class == ThreadClass::Background && record.allowed_cpus.is_empty() {
            return None; // helpers of a server come and go
        }
        let who = || format!("{} thread {} ({})", thread.class.side(), thread.thread.tid, record.name);
        let now = &record.allowed_cpus;
        if now.is_empty() {
            // Its name is gone too.
            let (side, tid) = (thread.class.side(), thread.thread.tid);
            let why = match thread.class {
                ThreadClass::Client => "",
                _ => ": the server ended, or closed the connection",
            };
            return Some(format!("{side} thread {tid}, bound to CPUs {requested}, ended during the sample{why}"));
        }
        if now != requested {
            return Some(format!("{} was bound to CPUs {requested} and its affinity is now {now}", who()));
        }
        // A sleeping thread is still reported on the CPU where it last ran, whatever its affinity.
        if thread.class == ThreadClass::Background {
            return None;
        }
        let outside = record.seen_cpus.keys().find(|cpu| !requested.iter().any(|a| a as usize == **cpu))?;
        Some(format!("{} was bound to CPUs {requested} and was seen on CPU {outside}", who()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::LoadAround;
    use super::*;

    /// Counters of a thread that ran and waited for this long, read at this time.
    fn read(thread: ThreadRef, at: Instant, ran: Duration, waited: Duration) -> Read {
        let [run_ns, wait_ns] = [ran, waited].map(|time| Some(time.as_nanos() as u64));
        let counters = ThreadSample {
            thread,
            name: "t".to_owned(),
            cpu: 0,
            voluntary_switches: Some(0),
            involuntary_switches: Some(0),
            migrations: Some(0),
            user_s: ran.as_secs_f64(),
            system_s: 0.0,
            run_ns,
            wait_ns,
        };
        Read { at, counters }
    }

    #[test]
    fn a_bound_thread_that_ends_is_reported_with_what_ended_it() {
        let ended = |class| {
            let thread = ThreadRef { pid: i32::MAX, tid: 7 };
            let watched = Watched { class, pair: None, thread, requested: Some(CpuSet::from(3)) };
            misplaced(&[watched], &[ThreadRecord { class, ..ThreadRecord::default() }])
        };
        let of_server = "server thread 7, bound to CPUs 3, ended during the sample: the server ended, or closed the \
                         connection";
        assert_eq!(ended(ThreadClass::Connection).as_deref(), Some(of_server));
        let of_client = "client thread 7, bound to CPUs 3, ended during the sample";
        assert_eq!(ended(ThreadClass::Client).as_deref(), Some(of_client));
        assert_eq!(ended(ThreadClass::Background), None, "helpers of a server come and go");
    }

    #[test]
    fn a_thread_outside_its_cpus_is_reported_and_a_helper_by_its_affinity_alone() {
        let found = |class, allowed: u32, seen: usize| {
            let thread = ThreadRef { pid: 7, tid: 7 };
            let watched = Watched { class, pair: None, thread, requested: Some(CpuSet::from(3)) };
            let (allowed_cpus, seen_cpus) = (CpuSet::from(allowed), [(3, 9), (seen, 1)].into());
            misplaced(&[watched], &[ThreadRecord { class, allowed_cpus, seen_cpus, ..ThreadRecord::default() }])
        };
        for class in [ThreadClass::Client, ThreadClass::Connection, ThreadClass::Background] {
            assert_eq!(found(class, 3, 3), None);
            assert!(found(class, 4, 3).is_some_and(|text| text.ends_with("its affinity is now 4")));
        }
        for class in [ThreadClass::Client, ThreadClass::Connection] {
            assert!(found(class, 3, 4).is_some_and(|text| text.ends_with("was seen on CPU 4")));
        }
        assert_eq!(found(ThreadClass::Background, 3, 4), None, "it may sleep where it last ran");
    }

    #[test]
    fn the_share_in_which_the_server_waited_for_a_cpu_is_of_its_connections_alone() {
        let thread = |class, ran_s: f64, waited_s: f64, slept_s: f64| ThreadRecord {
            class,
            schedule: Some(ScheduleRecord { ran_s, waited_s, slept_s }),
            ..ThreadRecord::default()
        };
        let (server, client) = (ThreadClass::Connection, ThreadClass::Client);
        let threads = [thread(server, 1.0, 3.0, 4.0), thread(server, 2.0, 1.0, 5.0), thread(client, 9.0, 9.0, 9.0)];
        assert_eq!(waited_for_cpu(&threads), Some(0.25));
        assert_eq!(waited_for_cpu(&threads[2..]), None);
        assert_eq!(waited_for_cpu(&[thread(server, 0.0, 0.0, 0.0)]), None);
    }

    #[test]
    fn a_thread_that_goes_on_while_counters_are_read_did_no_more_than_the_measurement_is_long() {
        let (zero, ms) = (Instant::now(), Duration::from_millis);
        // No thread has this number, so that its last known counters are used: always busy, a third of it waiting.
        let thread = ThreadRef { pid: i32::MAX, tid: i32::MAX };
        let watched = Watched { class: ThreadClass::Connection, pair: None, thread, requested: None };
        let mut tracked = Tracked::now(watched);
        tracked.before = Some(read(thread, zero, ms(1000), ms(500)));
        tracked.last = Some((read(thread, zero + ms(180), ms(1120), ms(560)), CpuSet::default()));
        let (began, ended) = (zero + ms(60), zero + ms(120));
        let during = |load| {
            let found = record(&tracked, &Window { began, ended, load });
            let spent = found.schedule.unwrap();
            assert!((found.user_s - spent.ran_s).abs() < 1e-9, "{found:?}");
            [spent.ran_s, spent.waited_s, spent.slept_s].map(|time_s| (time_s * 1e6).round() / 1e3)
        };
        assert_eq!(during(LoadAround::GoesOn), [40.0, 20.0, 0.0], "ms");
        assert_eq!(during(LoadAround::Follows), [60.0, 30.0, 0.0]);
        assert_eq!(during(LoadAround::Idle), [120.0, 60.0, 0.0]);
    }
}
