//! When transactions are sent.

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
        /// Transactions a second over all threads, above 0.
        rate: f64,
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
    /// Equal gaps, the threads in turn.
    Constant,
}

/// The due times of one thread, nanoseconds from the start of the warm-up, in order and without end.
///
/// Every thread has a queue of its own, so that nothing is shared between threads on the way to a transaction:
/// `threads` independent Poisson processes of rate / threads each are together one of the whole rate. A transaction
/// waits for its own thread even when another one is idle, as with a pool whose connections are dealt out in advance.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Mean gap of this thread, nanoseconds.
    gap_ns: f64,
    due_ns: f64,
    gaps: Gaps,
}

#[derive(Debug, Clone, PartialEq)]
enum Gaps {
    Exponential(Random),
    Equal,
}

impl Schedule {
    /// The due times of thread `index` of `threads`; none in closed loop. Deterministic from the seed.
    pub fn new(pace: Pace, seed: u64, index: usize, threads: usize) -> Option<Self> {
        let Pace::Open { rate, arrivals } = pace else { return None };
        let gap_ns = threads as f64 / rate * 1e9;
        let (gaps, before_first_ns) = match arrivals {
            Arrivals::Poisson => (Gaps::Exponential(Random::new(seed, Purpose::Arrivals, index)), 0.0),
            // One gap before the first due time, so that the first call of next() lands on it.
            Arrivals::Constant => (Gaps::Equal, index as f64 / rate * 1e9 - gap_ns),
        };
        Some(Self { gap_ns, due_ns: before_first_ns, gaps })
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.due_ns += match &mut self.gaps {
            // 1 - u is in (0, 1], where the logarithm is finite.
            Gaps::Exponential(random) => -(1.0 - random.unit()).ln() * self.gap_ns,
            Gaps::Equal => self.gap_ns,
        };
        Some(self.due_ns.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate: f64, arrivals: Arrivals) -> Pace {
        Pace::Open { rate, arrivals }
    }

    fn merged(pace: Pace, threads: usize, until_ns: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..threads)
            .flat_map(|index| Schedule::new(pace, 9, index, threads).unwrap().take_while(|due| *due < until_ns))
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
        let due = |seed, index| Schedule::new(pace, seed, index, 2).unwrap().take(50).collect::<Vec<_>>();
        assert_eq!(due(1, 0), due(1, 0));
        assert_ne!(due(1, 0), due(1, 1));
        assert_ne!(due(1, 0), due(2, 0));
        assert_eq!(Schedule::new(Pace::Closed, 1, 0, 2), None);
    }
}
