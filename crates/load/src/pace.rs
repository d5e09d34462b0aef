//! When transactions are sent.

use crate::curve::Curve;
use crate::random::{Purpose, Random};

/// When the next transaction begins: a closed or an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Pace {
    /// Every thread sends its next transaction as soon as the last one has ended.
    #[default]
    Closed,
    /// Transactions are due at times fixed beforehand, whatever the server does. Latency counts from the time a
    /// transaction was due, so a stall is charged to every transaction that had to wait for its end.
    Open {
        /// Transactions a second over all threads, in each sample from its begin to its end.
        rate: Curve,
        /// How the due times are spread.
        arrivals: Arrivals,
    },
}

/// How the due times of an open loop are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// Exponential gaps, as sysbench draws them.
    #[default]
    Poisson,
    /// Equal gaps where the rate is one, the threads in turn.
    Constant,
}

/// The due times of one thread, nanoseconds from the start of the warm-up, in order and without end.
///
/// They are the inverse of [`Curve::arrivals`] at numbers that lie `threads` apart, or at those of a Poisson process of
/// that mean gap: a process whose rate changes is one of rate 1 in the time of its arrivals (Çinlar, Introduction to
/// Stochastic Processes, 4.7).
///
/// Every thread has a queue of its own, so that nothing is shared between threads on the way to a transaction:
/// `threads` independent Poisson processes of rate / threads each are together one of the whole rate. A transaction
/// waits for its own thread even when another one is idle, as with a pool whose connections are dealt out in advance.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    curve: Curve,
    /// Length of a sample, seconds.
    length_s: f64,
    /// Whether its sample has begun; before that the rate is the curve's first one.
    begun: bool,
    /// What arrivals are counted from, nanoseconds.
    begin_ns: f64,
    /// Arrivals of all threads up to this one's last.
    arrivals: f64,
    /// When the curve begins anew, nanoseconds; what is due before stays so.
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
    /// The due times of thread `index` of `threads`, in samples of so many seconds; none in closed loop. Deterministic
    /// from the seed.
    pub fn new(pace: Pace, length_s: f64, seed: u64, index: usize, threads: usize) -> Option<Self> {
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

    /// A sample begins: its curve does so anew. One rate goes on as it is.
    pub fn sample_begins(&mut self, at_ns: u64) {
        self.again_ns = (!self.curve.is_constant()).then_some(at_ns);
    }

    /// A due time that was drawn before a sample began: as it is, or drawn anew where it lies in the sample.
    pub fn known_now(&mut self, due_ns: u64) -> u64 {
        if self.again_ns.is_some_and(|again| due_ns >= again) { self.draw() } else { due_ns }
    }

    fn count_from(&mut self, begin_ns: f64) {
        self.begin_ns = begin_ns;
        self.arrivals = match self.gaps {
            Gaps::Exponential(_) => 0.0,
            // One gap before the first, so that the first step lands on it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        // 100,000 expected, standard deviation 316: four of them.
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

    /// Due times from the begin of a sample at 2 s, of all threads together, up to so many seconds.
    fn from_sample(text: &str, arrivals: Arrivals, length_s: f64, until_s: f64) -> (usize, Vec<f64>) {
        let pace = Pace::Open { rate: text.parse().unwrap(), arrivals };
        let (mut before, mut all) = (0, Vec::new());
        for index in 0..4 {
            let mut schedule = Schedule::new(pace, length_s, 5, index, 4).unwrap();
            let mut due = schedule.next().unwrap();
            // It is in the warm-up that a sample begins: what is due behind that is another matter then.
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
            // Ten seconds by the curve, and five with its last rate.
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
    fn what_was_due_before_a_sample_stays_due_and_nothing_is_lost_at_its_begin() {
        let pace = Pace::Open { rate: "10 to 1000".parse().unwrap(), arrivals: Arrivals::Constant };
        let mut schedule = Schedule::new(pace, 1.0, 1, 0, 1).unwrap();
        // Far behind: the second sample begins, and the first is not half done.
        schedule.sample_begins(0);
        let first = schedule.by_ref().take(100).last().unwrap();
        schedule.sample_begins(1_100_000_000);
        assert_eq!(schedule.known_now(first), first);
        let rest: Vec<u64> = schedule.take_while(|due| *due < 1_300_000_000).collect();
        let before = rest.iter().filter(|due| **due < 1_100_000_000).count();
        // 505 by the curve and 100 with its last rate until the second begins, of which 100 are taken.
        assert!((504..=506).contains(&before), "{before}");
        let again = rest.len() - before;
        assert!((21..=23).contains(&again), "0.2 s of the curve are 21.8: {again}");
    }
}
