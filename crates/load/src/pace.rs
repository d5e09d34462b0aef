//! Computes when transactions are sent, and when they would have ended if the client had begun each without delay. The
//! difference to the measured latency is the client's own delay.

use crate::curve::Curve;
use crate::random::{Purpose, Random};
use std::time::Instant;

/// When the next transaction begins: a closed or an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Pace {
    /// Every thread sends its next transaction as soon as the last one has ended.
    #[default]
    Closed,
    /// Transactions are due at times that are independent of the server. Latency is measured from the due time, so a
    /// stall adds to the latency of every transaction that had to wait for its end.
    Open {
        /// Transactions per second over all threads, from start to end of each sample.
        rate: Curve,
        /// Distribution of the gaps between due times.
        arrivals: Arrivals,
    },
}

/// Distribution of the gaps between due times of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// Exponential gaps, as in sysbench.
    #[default]
    Poisson,
    /// Equal gaps while the rate is constant; the threads take turns.
    Constant,
}

/// The due times of one thread, in nanoseconds from the start of the warm-up, in ascending order and without end.
///
/// They are the inverse of [`Curve::arrivals`] at numbers with a gap of `threads`, or at the points of a Poisson
/// process with that mean gap. A Poisson process with a changing rate is one of rate 1 if time is measured in expected
/// arrivals (Çinlar, Introduction to Stochastic Processes, 4.7).
///
/// Every thread has its own queue, so threads share no data when they begin a transaction: `threads` independent
/// Poisson processes of rate / threads each together form one process of the whole rate. A transaction waits for its
/// own thread even if another one is idle, as with a connection pool whose connections are assigned in advance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schedule {
    curve: Curve,
    /// Length of a sample, seconds.
    length_s: f64,
    /// Whether a sample has begun; before that the rate is the curve's first one.
    begun: bool,
    /// The time from which arrivals are counted, nanoseconds.
    begin_ns: f64,
    /// Number of arrivals of all threads at this thread's last one.
    arrivals: f64,
    /// When the curve restarts, nanoseconds; earlier due times stay unchanged.
    again_ns: Option<u64>,
    index: usize,
    threads: usize,
    gaps: Gaps,
}

#[derive(Debug, Clone, PartialEq)]
enum Gaps {
    Exponential(Random),
    Equal,
}

impl Schedule {
    /// The due times of thread `index` of `threads`, for samples of `length_s` seconds; `None` in closed loop. The seed
    /// determines them completely.
    pub(crate) fn new(pace: Pace, length_s: f64, seed: u64, index: usize, threads: usize) -> Option<Self> {
        let Pace::Open { rate: curve, arrivals } = pace else { return None };
        let gaps = match arrivals {
            Arrivals::Poisson => Gaps::Exponential(Random::new(seed, Purpose::Arrivals, index)),
            Arrivals::Constant => Gaps::Equal,
        };
        let mut made =
            Self { curve, length_s, begun: false, begin_ns: 0.0, arrivals: 0.0, again_ns: None, index, threads, gaps };
        made.count_from(0.0);
        Some(made)
    }

    /// Restarts the curve, because a sample begins. A constant rate continues unchanged.
    pub(crate) fn sample_begins(&mut self, at_ns: u64) {
        self.again_ns = (!matches!(self.curve, Curve::Constant(_))).then_some(at_ns);
    }

    /// Corrects a due time that was drawn before a sample began: if it is in the sample, it is drawn again.
    pub(crate) fn known_now(&mut self, due_ns: u64) -> u64 {
        if self.again_ns.is_some_and(|again| due_ns >= again) { self.draw() } else { due_ns }
    }

    fn count_from(&mut self, begin_ns: f64) {
        self.begin_ns = begin_ns;
        self.arrivals = match self.gaps {
            Gaps::Exponential(_) => 0.0,
            // One gap before the first arrival, so that the first step ends at it.
            Gaps::Equal => self.index as f64 - self.threads as f64,
        };
    }

    fn step(&mut self) -> f64 {
        self.arrivals += self.threads as f64
            * match &mut self.gaps {
                // 1 - u is in (0, 1], where the logarithm is finite.
                Gaps::Exponential(random) => -(1.0 - random.unit()).ln(),
                Gaps::Equal => 1.0,
            };
        let after_s = match self.begun {
            true => self.curve.when(self.arrivals / self.length_s) * self.length_s,
            false => self.arrivals / self.curve.rate(0.0),
        };
        self.begin_ns + after_s * 1e9
    }

    fn draw(&mut self) -> u64 {
        let mut due_ns = self.step();
        if let Some(again_ns) = self.again_ns.filter(|again| due_ns >= *again as f64) {
            (self.begun, self.again_ns) = (true, None);
            self.count_from(again_ns as f64);
            due_ns = self.step();
        }
        due_ns.round() as u64
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        Some(self.draw())
    }
}

/// The queue of one connection with a client that is never late: Lindley's recursion (1952) over the measured service
/// times (from start to end) of the transactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prompt {
    /// When the connection would have been free.
    free: Instant,
}

impl Prompt {
    /// A connection that is free from `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self { free: now }
    }

    /// Adds a transaction that has ended, and returns the latency that it would have had, nanoseconds.
    #[inline]
    pub(super) fn ended(&mut self, due: Instant, begun: Instant, end: Instant) -> u64 {
        self.free = due.max(self.free) + end.saturating_duration_since(begun);
        nanoseconds(due, self.free)
    }

    /// How long a transaction that is due would have waited for the connection until `now`, nanoseconds.
    pub(super) fn waiting(&self, due: Instant, now: Instant) -> u64 {
        nanoseconds(due, self.free.min(now))
    }
}

/// Nanoseconds from one time to another; 0 if the other is earlier.
#[inline]
pub(super) fn nanoseconds(from: Instant, to: Instant) -> u64 {
    to.saturating_duration_since(from).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn open(rate: f64, arrivals: Arrivals) -> Pace {
        Pace::Open { rate: rate.into(), arrivals }
    }

    fn merged(pace: Pace, threads: usize, until_ns: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..threads)
            .flat_map(|index| Schedule::new(pace, 1.0, 9, index, threads).unwrap().take_while(|due| *due < until_ns))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn constant_arrivals_of_all_threads_interleave_to_equal_gaps() {
        let due = merged(open(1000.0, Arrivals::Constant), 4, 10_000_000);
        assert_eq!(due, (0..10).map(|n| n * 1_000_000).collect::<Vec<u64>>());
    }

    #[test]
    fn poisson_arrivals_of_all_threads_have_the_rate_and_exponential_gaps() {
        let due = merged(open(10_000.0, Arrivals::Poisson), 8, 10_000_000_000);
        // 100,000 expected, within four standard deviations of 316.
        assert!((98_735..101_265).contains(&due.len()), "{}", due.len());
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e5).collect();
        for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let beyond = gaps.iter().filter(|gap| **gap > x).count() as f64 / gaps.len() as f64;
            assert!((beyond - (-x).exp()).abs() < 0.007, "P(gap > {x}) = {beyond}");
        }
    }

    #[test]
    fn due_times_repeat_from_the_seed_and_differ_between_threads() {
        let pace = open(500.0, Arrivals::Poisson);
        let due = |seed, index| Schedule::new(pace, 1.0, seed, index, 2).unwrap().take(50).collect::<Vec<_>>();
        assert_eq!(due(1, 0), due(1, 0));
        assert_ne!(due(1, 0), due(1, 1));
        assert_ne!(due(1, 0), due(2, 0));
        assert_eq!(Schedule::new(Pace::Closed, 1.0, 1, 0, 2), None);
    }

    /// Due times of all threads, in seconds from the start of a sample at 2 s, up to `until_s`.
    fn from_sample(text: &str, arrivals: Arrivals, length_s: f64, until_s: f64) -> (usize, Vec<f64>) {
        let pace = Pace::Open { rate: text.parse().unwrap(), arrivals };
        let (mut before, mut all) = (0, Vec::new());
        for index in 0..4 {
            let mut schedule = Schedule::new(pace, length_s, 5, index, 4).unwrap();
            let mut due = schedule.next().unwrap();
            // The begin of the sample is announced during the warm-up; later due times are drawn again.
            schedule.sample_begins(2_000_000_000);
            due = schedule.known_now(due);
            while (due as f64) < (2.0 + until_s) * 1e9 {
                if due < 2_000_000_000 {
                    before += 1
                } else {
                    all.push(due as f64 / 1e9 - 2.0)
                }
                due = schedule.next().unwrap();
            }
        }
        all.sort_by(f64::total_cmp);
        (before, all)
    }

    #[test]
    fn a_curve_begins_with_the_sample_and_its_arrivals_are_those_of_the_formula() {
        for text in ["100 to 2000", "2000 to 100 in 5 steps", "500 to 1500 in 2 waves"] {
            let curve: Curve = text.parse().unwrap();
            let (before, due) = from_sample(text, Arrivals::Constant, 10.0, 15.0);
            assert_eq!(before as f64, 2.0 * curve.rate(0.0), "{text}: the warm-up has the first rate");
            for (number, due_s) in due.iter().enumerate() {
                let arrivals = 10.0 * curve.arrivals(due_s / 10.0);
                assert!((arrivals - number as f64).abs() < 1e-3, "{text}: number {number} at {due_s}");
            }
            // Ten seconds of the curve, and five with its last rate.
            let all = 10.0 * curve.arrivals(1.5);
            assert!((due.len() as f64 - all).abs() <= 1.0, "{text}: {} of {all}", due.len());
            let (_, drawn) = from_sample(text, Arrivals::Poisson, 10.0, 10.0);
            for tenth in 0..10_u32 {
                let (from, to) = (f64::from(tenth), f64::from(tenth + 1));
                let there = drawn.iter().filter(|due| (from..to).contains(due)).count() as f64;
                let expected = 10.0 * (curve.arrivals(to / 10.0) - curve.arrivals(from / 10.0));
                assert!((there - expected).abs() < 5.0 * expected.sqrt(), "{text}: {there} of {expected} in {tenth}");
            }
        }
    }

    #[test]
    fn arrivals_due_before_a_sample_stay_due_and_none_are_lost_at_its_start() {
        let pace = Pace::Open { rate: "10 to 1000".parse().unwrap(), arrivals: Arrivals::Constant };
        let mut schedule = Schedule::new(pace, 1.0, 1, 0, 1).unwrap();
        // The thread is late: the second sample begins when the first is not yet half done.
        schedule.sample_begins(0);
        let first = schedule.by_ref().take(100).last().unwrap();
        schedule.sample_begins(1_100_000_000);
        assert_eq!(schedule.known_now(first), first);
        let rest: Vec<u64> = schedule.take_while(|due| *due < 1_300_000_000).collect();
        let before = rest.iter().filter(|due| **due < 1_100_000_000).count();
        // 505 of the curve and 100 with its last rate until the second sample begins; 100 of them are already taken.
        assert!((504..=506).contains(&before), "{before}");
        let again = rest.len() - before;
        assert!((21..=23).contains(&again), "0.2 s of the curve are 21.8: {again}");
    }

    #[test]
    fn a_prompt_latency_excludes_delays_of_the_client_and_includes_the_server() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let mut prompt = Prompt::new(zero);
        let mut ended = |due, begun, end| prompt.ended(at(due), at(begun), at(end)) / 1_000_000;
        assert_eq!(ended(10, 10, 14), 4);
        assert_eq!(ended(12, 14, 18), 6, "waited for the previous transaction");
        // The client slept from 20 to 520; the transactions that became due meanwhile are sent one after the other.
        assert_eq!(ended(100, 520, 524), 4);
        assert_eq!(ended(200, 524, 528), 4);
        assert_eq!(ended(201, 528, 532), 7);
        // The server stalled.
        assert_eq!(ended(600, 600, 1100), 500);
        assert_eq!(ended(700, 1100, 1104), 404);
        let prompt = Prompt { free: at(1104) };
        assert_eq!(prompt.waiting(at(1100), at(1102)), 2_000_000);
        assert_eq!(prompt.waiting(at(1100), at(1900)), 4_000_000, "the rest is the client's own delay");
        assert_eq!(prompt.waiting(at(1200), at(1900)), 0);
    }
}
