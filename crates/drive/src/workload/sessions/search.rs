//! Search for the highest rate that meets an objective: bounds by doubling and halving, then bisection.

/// Relative distance of the bounds at the end of a search.
const PRECISION: f64 = 0.01;
/// A bound is measured again if this many later steps all lay on one side of it: its result may have been an accident.
const DOUBTED: usize = 3;
const MOST_STEPS: usize = 40;

/// A search among rates; the objective is expected to be met at low rates and not at high ones.
#[derive(Debug, Clone)]
pub struct Search {
    first: f64,
    /// Lowest rate that is tried.
    least: f64,
    /// Rates and whether the objective was met, in the order of measurement.
    seen: Vec<(f64, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Next {
    Measure(f64),
    Found(f64),
    /// No rate met the objective, down to the lowest.
    NoRate,
    /// The search does not converge: rates alternately met the objective and did not.
    NoEnd(Bracket),
    /// The search has no upper bound: every rate met the objective.
    NoLimit,
}

/// The range of the highest rate, if lower rates did not meet the objective and higher ones did: the server changed
/// during the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bracket {
    /// The highest rate below which all rates met the objective; if there is none, the lowest that met it.
    pub found: f64,
    /// The lowest rate that did not meet the objective, or `found` if that is lower.
    pub low: f64,
    /// The lowest failed rate above all rates that met the objective, or else the highest that met it.
    pub high: f64,
}

impl Search {
    /// Begins at rate `first`, and never goes below `least`.
    pub(crate) fn new(first: f64, least: f64) -> Self {
        Self { first: first.max(least), least, seen: Vec::new() }
    }

    pub(crate) fn note(&mut self, rate: f64, met: bool) {
        self.seen.push((rate, met));
    }

    /// The lowest failed rate above the highest rate that met the objective.
    pub(crate) fn bound(&self) -> Option<f64> {
        self.bounds().1
    }

    pub(crate) fn next(&self) -> Next {
        let (lower, upper) = self.bounds();
        let rate = match (lower, upper) {
            (None, None) => self.first,
            (Some(lower), None) => 2.0 * lower,
            (None, Some(upper)) if upper <= self.least => return Next::NoRate,
            (None, Some(upper)) => (upper / 2.0).max(self.least),
            (Some(lower), Some(upper)) if upper > lower * (1.0 + PRECISION) => (lower * upper).sqrt(),
            (Some(lower), Some(upper)) => match [lower, upper].into_iter().find(|bound| self.is_doubtful(*bound)) {
                Some(bound) => bound,
                None => return Next::Found(lower),
            },
        };
        match self.seen.len() < MOST_STEPS {
            true => Next::Measure(rate),
            false => self.bracket().map_or(Next::NoLimit, Next::NoEnd),
        }
    }

    /// The highest rate that met the objective, and the lowest failed rate above it.
    fn bounds(&self) -> (Option<f64>, Option<f64>) {
        let lower = self.rates(true).reduce(f64::max);
        let upper = self.rates(false).filter(|rate| lower.is_none_or(|lower| *rate > lower)).reduce(f64::min);
        (lower, upper)
    }

    /// Rates that met the objective, or that did not; the last measurement of a rate counts.
    fn rates(&self, met: bool) -> impl Iterator<Item = f64> + '_ {
        let last = |place: usize, rate: f64| self.seen[place + 1..].iter().all(|(later, _)| *later != rate);
        let counting =
            self.seen.iter().enumerate().filter(move |(place, (rate, did))| *did == met && last(*place, *rate));
        counting.map(|(_, (rate, _))| *rate)
    }

    /// None if no rate met the objective, or all did.
    fn bracket(&self) -> Option<Bracket> {
        let lowest_not = self.rates(false).reduce(f64::min)?;
        let lowest_met = self.rates(true).reduce(f64::min)?;
        let found = self.rates(true).filter(|rate| *rate < lowest_not).reduce(f64::max).unwrap_or(lowest_met);
        let (lower, upper) = self.bounds();
        Some(Bracket { found, low: found.min(lowest_not), high: upper.or(lower)? })
    }

    fn is_doubtful(&self, bound: f64) -> bool {
        let mut times = self.seen.iter().enumerate().filter(|(_, (rate, _))| *rate == bound).map(|(place, _)| place);
        match (times.next(), times.next()) {
            (Some(only), None) => self.seen.len() - 1 - only >= DOUBTED,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::{Purpose, Random};

    /// The result of a search, and its number of steps.
    fn found(first: f64, mut meets: impl FnMut(f64) -> bool) -> (Next, usize) {
        let mut search = Search::new(first, 0.001);
        loop {
            match search.next() {
                Next::Measure(rate) => {
                    let met = meets(rate);
                    search.note(rate, met);
                }
                end => return (end, search.seen.len()),
            }
        }
    }

    #[test]
    fn the_highest_rate_is_found_from_any_beginning_within_a_hundredth() {
        for first in [0.01, 3.0, 770.0, 1e6] {
            let (Next::Found(rate), steps) = found(first, |rate| rate <= 770.0) else { panic!("{first}") };
            assert!((762.0..=770.0).contains(&rate) && steps < 32, "{first}: {rate} in {steps}");
        }
        assert_eq!(found(5.0, |_| false).0, Next::NoRate);
        assert_eq!(found(5.0, |_| true).0, Next::NoLimit);
    }

    #[test]
    fn an_unfinished_search_reports_the_rates_between_which_it_moved() {
        let mut drifting = Search::new(500.0, 0.001);
        (0..MOST_STEPS).for_each(|step| drifting.note(700.0 + 20.0 * step as f64, step % 2 == 0));
        let Next::NoEnd(bracket) = drifting.next() else { panic!("{:?}", drifting.next()) };
        assert_eq!(bracket, Bracket { found: 700.0, low: 700.0, high: 1480.0 });
    }

    #[test]
    fn one_wrong_step_does_not_change_the_found_rate() {
        for accident in 0..9 {
            let mut step = 0;
            let (Next::Found(rate), _) = found(700.0, |rate| {
                step += 1;
                (rate <= 1000.0) != (step == accident + 1)
            }) else {
                panic!("{accident}")
            };
            assert!((980.0..=1015.0).contains(&rate), "accident in step {accident}: {rate}");
        }
    }

    /// The `quantile` of the sojourn times of a queue with one server and Poisson arrivals: Lindley's recursion over
    /// `count` transactions.
    fn sojourn(rate: f64, quantile: f64, count: usize, random: &mut Random, service: fn(&mut Random) -> f64) -> f64 {
        let exponential = |random: &mut Random| -(1.0 - random.unit()).ln();
        let (mut free, mut due) = (0.0f64, 0.0);
        let mut times: Vec<f64> = (0..count)
            .map(|_| {
                due += exponential(random) / rate;
                free = free.max(due) + service(random);
                free - due
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[(quantile * count as f64) as usize]
    }

    /// The mean of ten trials, as a study reports it.
    fn capacity(limit: f64, service: fn(&mut Random) -> f64) -> f64 {
        let trial = |trial: usize| {
            let mut random = Random::new(5, Purpose::Transactions, trial);
            let meets = |rate| sojourn(rate, 0.99, 20_000, &mut random, service) <= limit;
            match found(0.5, meets).0 {
                Next::Found(rate) => rate,
                other => panic!("{other:?}"),
            }
        };
        (0..10).map(trial).sum::<f64>() / 10.0
    }

    #[test]
    fn the_capacity_of_queues_with_known_service_times_is_found_within_three_percent() {
        // M/M/1: the sojourn time is exponential with the rate mu - lambda, so lambda = mu - ln(100) / limit.
        let exact = 1.0 - 100.0f64.ln() / 20.0;
        let found = capacity(20.0, |random| -(1.0 - random.unit()).ln());
        assert!((found / exact - 1.0).abs() < 0.03, "M/M/1: {found} of {exact}");
        // M/D/1 with a limit of five service times: P(wait <= 4) = 0.99 by Erlang's formula (1909).
        let waits = |rho: f64| {
            let term = |k: i32| {
                let x = rho * (f64::from(k) - 4.0);
                x.powi(k) / (1..=k).map(f64::from).product::<f64>() * (-x).exp()
            };
            (1.0 - rho) * (0..=4).map(term).sum::<f64>()
        };
        let (mut low, mut high) = (0.1, 0.95);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            *(if waits(middle) >= 0.99 { &mut low } else { &mut high }) = middle;
        }
        let found = capacity(5.0, |_| 1.0);
        assert!((found / low - 1.0).abs() < 0.03, "M/D/1: {found} of {low}");
    }
}
