//! How long a run still takes: by the estimate until a trial has ended, then by how its trials went.

use std::time::Duration;

/// What is known of a run's pace.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLeft {
    /// Seconds a trial, as estimated.
    expected_s: f64,
    /// From the begin of the first trial to the end of the last one: what lies between trials counts too.
    spent: Duration,
    ended: usize,
    good: usize,
}

impl TimeLeft {
    /// Of a run whose trials are expected to take so long each.
    pub fn new(expected_s: f64) -> Self {
        Self { expected_s, spent: Duration::ZERO, ended: 0, good: 0 }
    }

    /// A trial has ended, so long after the first began.
    pub fn ended(&mut self, since_first: Duration, good: bool) {
        self.spent = since_first;
        self.ended += 1;
        self.good += usize::from(good);
    }

    /// Seconds a trial.
    fn mean_s(&self) -> f64 {
        if self.ended == 0 { self.expected_s } else { self.spent.as_secs_f64() / self.ended as f64 }
    }

    /// Seconds until the end, with so many trials to go, of which one may have begun. As many as before are run again.
    pub fn left_s(&self, to_go: usize, begun: Option<Duration>) -> f64 {
        let again = if self.good == 0 { 1.0 } else { self.ended as f64 / self.good as f64 };
        let here_s = begun.map_or(0.0, |begun| (self.mean_s() - begun.as_secs_f64()).max(0.0));
        here_s + self.mean_s() * to_go as f64 * again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_of_the_trials_replaces_the_estimate() {
        let mut left = TimeLeft::new(10.0);
        assert_eq!(left.left_s(5, None), 50.0);
        assert_eq!(left.left_s(4, Some(Duration::from_secs(3))), 47.0);
        // Two seconds of a trial, one between it and the next.
        left.ended(Duration::from_secs(2), true);
        left.ended(Duration::from_secs(5), true);
        assert_eq!(left.left_s(4, None), 10.0);
        // Every third is disturbed, and so will be of those to come.
        left.ended(Duration::from_secs(9), false);
        assert_eq!(left.left_s(4, Some(Duration::from_secs(60))), 18.0);
    }
}
