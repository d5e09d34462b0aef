//! Times in which this process or its server could not run, whatever CPUs were free: it was frozen with its control
//! group (as by `docker pause`), or a signal stopped it.
//!
//! A freeze stops all threads of this process, the watching one too. That thread then wakes too late, as it does on a
//! busy machine or beyond a CPU quota. But there it is runnable, and the kernel counts the time in which it waits for a
//! CPU; a frozen thread does not wait for one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tare_cpuset::{ThreadRef, observe};
use tare_noise::Freezers;
use tare_results::covariate;

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
    server: Option<(ThreadRef, Freezers)>,
    /// When the server was seen, plus the time in which this process could not run since then.
    looked: Instant,
    stops: Stops,
}

impl StopWatch {
    pub(super) fn over(server: Option<i32>) -> Self {
        let of_server = server.map(|_| Duration::ZERO);
        let server = server.map(|pid| (ThreadRef::main_of(pid), Freezers::of(pid)));
        Self { server, looked: Instant::now(), stops: Stops { own: Duration::ZERO, of_server } }
    }

    /// Looks at the server; `is_seen` says that one of its threads was seen stopped.
    pub(super) fn look(&mut self, is_seen: bool) {
        let Some((server, freezers)) = &self.server else { return };
        let is_stopped =
            is_seen || freezers.are_frozen() || observe::sighting(*server).is_ok_and(|seen| seen.is_stopped);
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
