//! The time of one measurement, and the part of what counters grew by that belongs to it: reading the counters of many
//! threads takes time, in which the clients of most loads go on.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
