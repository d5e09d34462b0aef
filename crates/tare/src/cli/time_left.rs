//! The remaining time of a run: from the estimate until a trial has ended, then from the durations of its trials.

use super::output::duration;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLeft {
    /// Estimated seconds per trial.
    expected_s: f64,
    attempts: u32,
    /// From the start of the first trial to the end of the last one, including the time between trials.
    spent: Duration,
    ended: usize,
    good: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ToGo {
    pub first: usize,
    /// Trials that are certain to be repeated.
    pub again: usize,
}

impl ToGo {
    /// Whether neither first attempts nor repeats are left.
    pub(crate) fn is_over(self) -> bool {
        self.first + self.again == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Left {
    /// If repeats are as frequent as so far.
    pub likely_s: f64,
    pub most_s: f64,
}

impl TimeLeft {
    /// For a run whose trials take about `expected_s` each and have up to `attempts` attempts.
    pub(crate) fn new(expected_s: f64, attempts: u32) -> Self {
        Self { expected_s, attempts: attempts.max(1), spent: Duration::ZERO, ended: 0, good: 0 }
    }

    /// Records the end of a trial and the time since the first trial began.
    pub(crate) fn ended(&mut self, since_first: Duration, good: bool) {
        self.spent = since_first;
        self.ended += 1;
        self.good += usize::from(good);
    }

    fn mean_s(&self) -> f64 {
        if self.ended == 0 { self.expected_s } else { self.spent.as_secs_f64() / self.ended as f64 }
    }

    /// The time left, with a trial running for `begun` if one has begun. Assumes repeats to be as frequent as so far.
    pub(crate) fn left(&self, to_go: ToGo, begun: Option<Duration>) -> Left {
        let (first, again) = (to_go.first as f64, to_go.again as f64);
        let most = first * f64::from(self.attempts) + again * f64::from(self.attempts.saturating_sub(1).max(1));
        let seen = if self.good == 0 { 1.0 } else { self.ended as f64 / self.good as f64 };
        let likely = (first * seen + again).min(most);
        let here_s = begun.map_or(0.0, |begun| (self.mean_s() - begun.as_secs_f64()).max(0.0));
        Left { likely_s: here_s + self.mean_s() * likely, most_s: here_s + self.mean_s() * most }
    }
}

impl Left {
    /// For instance "47 s left, up to 4 min if disturbed", with " left" as the suffix of the likely time.
    pub(crate) fn words(self, suffix: &str) -> String {
        let (likely, most) = (duration(self.likely_s), duration(self.most_s));
        let more = if likely == most { String::new() } else { format!(", up to {most} if disturbed") };
        format!("{likely}{suffix}{more}")
    }

    /// A shorter form, for a line with other content.
    pub(crate) fn short(self) -> String {
        let (likely, most) = (duration(self.likely_s), duration(self.most_s));
        if likely == most { format!("{likely} left") } else { format!("{likely} to {most} left") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(first: usize) -> ToGo {
        ToGo { first, again: 0 }
    }

    #[test]
    fn the_pace_of_the_trials_replaces_the_estimate() {
        let mut left = TimeLeft::new(10.0, 2);
        assert_eq!(left.left(first(5), None), Left { likely_s: 50.0, most_s: 100.0 });
        assert_eq!(left.left(first(4), Some(Duration::from_secs(3))).likely_s, 47.0);
        // Two seconds for a trial, one between it and the next.
        left.ended(Duration::from_secs(2), true);
        left.ended(Duration::from_secs(5), true);
        assert_eq!(left.left(first(4), None).likely_s, 10.0);
        // One trial in three is disturbed, and the prediction assumes the same rate.
        left.ended(Duration::from_secs(9), false);
        assert_eq!(left.left(first(4), Some(Duration::from_secs(60))), Left { likely_s: 18.0, most_s: 24.0 });
    }

    #[test]
    fn after_the_first_pass_the_remaining_time_is_one_figure() {
        let mut left = TimeLeft::new(10.0, 2);
        assert_eq!(left.left(first(5), None).words(" left"), "50 s left, up to 100 s if disturbed");
        (1..=5).for_each(|n| left.ended(Duration::from_secs(4 * n), false));
        let repeats = ToGo { first: 0, again: 5 };
        assert_eq!(left.left(repeats, None).words(" left"), "20 s left");
        assert_eq!(TimeLeft::new(10.0, 3).left(repeats, None).short(), "50 s to 100 s left");
        assert_eq!(TimeLeft::new(10.0, 1).left(first(5), None).words(" left"), "50 s left");
    }
}
