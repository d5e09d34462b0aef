//! The table of `benches/decide`: false alarms of both rules for six shapes of trial means and a drift, power at +2%,
//! and pairs used against nine trials a side and Welch's t. Argument: simulated comparisons a cell (default 2000).

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, LogNormal, Normal, StudentT};
use tare_stats::descriptive::{mean, median, variance};
use tare_stats::sequential::{Fit, Pair, Rule};

/// Standard deviation of a trial where a pair has 1%.
const TRIAL_SD: f64 = 0.01 * std::f64::consts::FRAC_1_SQRT_2;
const EFFECT: f64 = 0.02;

#[derive(Debug, Clone, Copy)]
enum Shape {
    Normal,
    T3,
    Lognormal,
    Exponential,
    Uniform,
    Bimodal,
    Drift,
}

const SHAPES: [Shape; 7] =
    [Shape::Normal, Shape::T3, Shape::Lognormal, Shape::Exponential, Shape::Uniform, Shape::Bimodal, Shape::Drift];

/// Logs of trial values in time: noise of sd [`TRIAL_SD`], and for `Drift` a first-order autoregression of three times
/// that with a coefficient of 0.9.
struct Machine {
    shape: Shape,
    rng: StdRng,
    level: f64,
}

impl Machine {
    fn trial(&mut self) -> f64 {
        let rng = &mut self.rng;
        let normal = |rng: &mut StdRng| -> f64 { rand_distr::StandardNormal.sample(rng) };
        let standard = match self.shape {
            Shape::Normal => normal(rng),
            Shape::T3 => StudentT::new(3.0).map_or(0.0, |t| t.sample(rng)) / 3.0_f64.sqrt(),
            Shape::Lognormal => (LogNormal::new(0.0, 0.5).map_or(0.0, |l| l.sample(rng)) - 1.133) / 0.604,
            Shape::Exponential => <Exp1 as Distribution<f64>>::sample(&Exp1, rng) - 1.0,
            Shape::Uniform => (rng.random::<f64>() - 0.5) * 12.0_f64.sqrt(),
            Shape::Bimodal => {
                let mode = if rng.random_bool(0.5) { 0.97 } else { -0.97 };
                mode + Normal::new(0.0, 0.243).map_or(0.0, |n| n.sample(rng))
            }
            Shape::Drift => {
                self.level = 0.9 * self.level + 3.0 * (1.0_f64 - 0.81).sqrt() * normal(rng);
                self.level + normal(rng)
            }
        };
        standard * TRIAL_SD
    }

    fn pair(&mut self, effect: f64) -> Pair {
        let b_first = self.rng.random_bool(0.5);
        let (first, second) = (self.trial(), self.trial());
        let difference = if b_first { first - second } else { second - first };
        Pair { log_ratio: effect + difference, b_first }
    }

    /// Pairs used, and whether B was called changed.
    fn sequential(&mut self, rule: Rule, effect: f64) -> (usize, bool) {
        let mut pairs = Vec::new();
        let most = rule.most_pairs().unwrap_or(60);
        for n in 1..=most {
            pairs.push(self.pair(effect));
            let fit = Fit::of(&pairs).ok().flatten().filter(|_| rule.looks_at(n, false));
            let Some(fit) = fit else { continue };
            let half = rule.half_width(&fit, 0.05);
            if fit.mean.abs() + half <= EFFECT.ln_1p() {
                return (n, false);
            }
            if fit.mean.abs() > half {
                return (n, true);
            }
        }
        (most, false)
    }

    /// Nine trials of A, then nine of B, and Welch's t at 5%.
    fn welch(&mut self, effect: f64) -> bool {
        let a: Vec<f64> = (0..9).map(|_| self.trial()).collect();
        let b: Vec<f64> = (0..9).map(|_| effect + self.trial()).collect();
        let moments = |values: &[f64]| Some((mean(values)?, variance(values)? / 9.0));
        let (Some((mean_a, a)), Some((mean_b, b))) = (moments(&a), moments(&b)) else { return false };
        // The quantile of t with the 8 to 16 degrees of freedom that Welch's formula gives here.
        let df = (a + b).powi(2) / ((a * a + b * b) / 8.0);
        let t = [2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120];
        (mean_b - mean_a).abs() > t[(df.floor() as usize).clamp(8, 16) - 8] * (a + b).sqrt()
    }
}

fn share(hits: usize, of: usize) -> f64 {
    100.0 * hits as f64 / of as f64
}

fn main() {
    let runs: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2000);
    println!("pair sd 1%, minimum effect 2%, {runs} comparisons a cell; fixed: nine trials a side, Welch");
    println!("shape        false alarms %            +2% seen %                median pairs at +2%");
    println!("             looks  anytime  fixed     looks  anytime  fixed     looks  anytime  fixed");
    for shape in SHAPES {
        let machine = |seed| Machine { shape, rng: StdRng::seed_from_u64(seed), level: 0.0 };
        let row = |effect: f64| {
            let ends = |rule| (0..runs).map(|i| machine(i as u64).sequential(rule, effect)).collect::<Vec<_>>();
            let (looks, anytime) = (ends(Rule::Looks), ends(Rule::Anytime));
            let fixed = (0..runs).filter(|i| machine(*i as u64).welch(effect)).count();
            let seen = |ends: &[(usize, bool)]| share(ends.iter().filter(|(_, changed)| *changed).count(), runs);
            let used = |ends: &[(usize, bool)]| {
                median(&ends.iter().map(|(n, _)| *n as f64).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
            };
            ([seen(&looks), seen(&anytime), share(fixed, runs)], [used(&looks), used(&anytime)])
        };
        let (([a, b, c], _), ([d, e, f], [g, h])) = (row(0.0), row(EFFECT.ln_1p()));
        let name = format!("{shape:?}").to_lowercase();
        println!("{name:<12} {a:5.1}  {b:7.1}  {c:5.1}     {d:5.1}  {e:7.1}  {f:5.1}     {g:5}  {h:7}  {:5}", 9);
    }
}
