//! The time of one measurement. Reading the counters of many threads takes time, in which the clients of most loads go
//! on: only a part of what they grew by belongs to it. And there are times in it in which this process or its server
//! could not run, whatever CPUs were free: it was frozen with its control group (as by `docker pause`), or a signal
//! stopped it.
//!
//! A freeze stops all threads of this process, the watching one too. That thread then wakes too late, as it does on a
//! busy machine or beyond a CPU quota. But there it is runnable, and the kernel counts the time in which it waits for a
//! CPU; a frozen thread does not wait for one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tare_cpuset::observe::SightingFile;
use tare_cpuset::{ThreadRef, observe};
use tare_noise::Freezers;
use tare_results::covariate;
use tare_results::schema::ThreadRecord;

/// What the clients do while counters are read, before a measurement and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadAround {
    /// Nothing: all that the counters contain happened during the measurement.
    Idle,
    /// They begin with the measurement, and go on after it.
    Follows,
    /// They go on before and after it.
    GoesOn,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub began: Instant,
    pub ended: Instant,
    pub load: LoadAround,
}

impl Window {
    pub(crate) fn length(&self) -> Duration {
        self.ended - self.began
    }

    /// The share that belongs to the measurement of what a counter grew by between two readings: of an even load, the
    /// share of the time.
    pub(crate) fn share(&self, first: Instant, last: Instant) -> f64 {
        let from = if self.load == LoadAround::GoesOn { first } else { first.max(self.began) };
        let until = if self.load == LoadAround::Idle { last.min(self.ended) } else { last };
        let loaded = until.saturating_duration_since(from);
        let inside = until.min(self.ended).saturating_duration_since(from.max(self.began));
        if loaded.is_zero() { 1.0 } else { inside.as_secs_f64() / loaded.as_secs_f64() }
    }
}

/// Takes this share of what a thread did; what it did not do, it slept. `length_s` is the length of the measurement.
pub(super) fn take_share(thread: &mut ThreadRecord, share: f64, length_s: f64) {
    let part = |count: u64| (count as f64 * share).round() as u64;
    thread.migrations = part(thread.migrations);
    thread.voluntary_switches = part(thread.voluntary_switches);
    thread.involuntary_switches = part(thread.involuntary_switches);
    thread.user_s *= share;
    thread.system_s *= share;
    if let Some(spent) = &mut thread.schedule {
        spent.ran_s *= share;
        spent.waited_s *= share;
        spent.slept_s = (length_s - spent.ran_s - spent.waited_s).max(0.0);
    }
}

/// Delays of a wake-up up to this one are not examined.
const LATE: Duration = Duration::from_millis(50);

/// The time that was found so far.
#[derive(Debug, Default)]
pub(super) struct Stops {
    own: Duration,
    /// None without a server.
    of_server: Option<Duration>,
}

/// Looks for such times in a thread that pauses between its looks at other threads.
pub(super) struct StopWatch {
    server: Option<(Option<SightingFile>, Freezers)>,
    /// When the server was seen, plus the time in which this process could not run since then.
    looked: Instant,
    stops: Stops,
}

impl StopWatch {
    pub(super) fn over(server: Option<i32>) -> Self {
        let of_server = server.map(|_| Duration::ZERO);
        let server = server.map(|pid| (SightingFile::open(ThreadRef::main_of(pid)).ok(), Freezers::of(pid)));
        Self { server, looked: Instant::now(), stops: Stops { own: Duration::ZERO, of_server } }
    }

    /// Looks at the server; `is_seen` says that one of its threads was seen stopped.
    pub(super) fn look(&mut self, is_seen: bool) {
        let Some((server, freezers)) = &self.server else { return };
        let is_main_stopped = || server.as_ref().is_some_and(|stat| stat.read().is_ok_and(|seen| seen.is_stopped));
        let is_stopped = is_seen || freezers.are_frozen() || is_main_stopped();
        let now = Instant::now();
        if let Some(sum) = self.stops.of_server.as_mut().filter(|_| is_stopped) {
            *sum += now.saturating_duration_since(self.looked);
        }
        self.looked = now;
    }

    /// Pauses for this time, unless the thread is unparked.
    pub(super) fn pause(&mut self, length: Duration) {
        let own = ThreadRef::of_this_thread();
        let (waited, began) = (observe::waited(own), Instant::now());
        std::thread::park_timeout(length);
        let late = began.elapsed().saturating_sub(length);
        if late <= LATE {
            return;
        }
        let Some((before, after)) = waited.zip(observe::waited(own)) else { return };
        let stopped = late.saturating_sub(after.saturating_sub(before));
        if stopped > LATE {
            self.stops.own += stopped;
            self.looked += stopped;
        }
    }

    pub(super) fn end(self) -> Stops {
        self.stops
    }
}

impl Stops {
    /// The hypervisor took up to `stolen_s` from one CPU: a timer of an idle CPU is late then too.
    pub(super) fn covariates(&self, stolen_s: f64) -> BTreeMap<String, f64> {
        let own_s = (self.own.as_secs_f64() - stolen_s).max(0.0);
        let of_server = self.of_server.map(|sum| (covariate::SERVER_STOPPED.to_owned(), sum.as_secs_f64()));
        [(covariate::STOPPED.to_owned(), own_s)].into_iter().chain(of_server).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::Command;

    #[test]
    fn a_share_is_that_of_the_time_under_load() {
        let zero = Instant::now();
        let at = |s: u64| zero + Duration::from_secs(s);
        let share = |load, first, last| Window { began: at(2), ended: at(6), load }.share(at(first), at(last));
        // Read from second 1 to second 9, of which the measurement has 2 to 6.
        assert_eq!(share(LoadAround::Idle, 1, 9), 1.0);
        assert_eq!(share(LoadAround::Follows, 1, 9), 4.0 / 7.0);
        assert_eq!(share(LoadAround::GoesOn, 1, 9), 4.0 / 8.0);
        // A thread that began at second 4, and one that had ended at second 5.
        assert_eq!(share(LoadAround::GoesOn, 4, 8), 2.0 / 4.0);
        assert_eq!(share(LoadAround::GoesOn, 1, 5), 3.0 / 4.0);
        assert_eq!(share(LoadAround::GoesOn, 3, 3), 1.0, "nothing was read");
    }

    #[test]
    fn a_stopped_server_is_seen_and_a_sleeping_or_an_ended_one_is_not() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut watch = StopWatch::over(Some(pid.as_raw_nonzero().get()));
        let mut seen_s = || {
            let before = watch.stops.of_server.unwrap();
            for _ in 0..4 {
                watch.pause(Duration::from_millis(20));
                watch.look(false);
            }
            (watch.stops.of_server.unwrap() - before).as_secs_f64()
        };
        assert_eq!(seen_s(), 0.0);
        kill_process(pid, Signal::STOP).unwrap();
        assert!(seen_s() >= 0.04, "the first look may be too early");
        kill_process(pid, Signal::CONT).unwrap();
        let _ = seen_s();
        assert_eq!(seen_s(), 0.0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen_s(), 0.0);
    }

    #[test]
    fn time_that_the_hypervisor_took_does_not_count() {
        let stops = Stops { own: Duration::from_millis(1200), of_server: None };
        let found = |stolen_s| stops.covariates(stolen_s)[covariate::STOPPED];
        assert!((found(0.0) - 1.2).abs() < 1e-9 && (found(0.5) - 0.7).abs() < 1e-9 && found(2.0) == 0.0);
        assert_eq!(stops.covariates(0.0).len(), 1, "no server");
    }
}
