//! The tables of `benches/decide`: type I error, power for +2%, and number of trials, for the rules of `tare ab` and
//! for other methods in use. Argument: simulated comparisons per cell (default 10000); or `neighbours`; or `fixed`, for
//! the trials that fixed plans need on trials that were measured (`fixed.rs`).

#[path = "neighbour/bursts.rs"]
mod bursts;
#[path = "plans/fixed.rs"]
mod fixed;

use bursts::{Bursts, Runs};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, LogNormal, Normal, StudentT};
use tare_stats::counts::Count;
use tare_stats::descriptive::{mean, median, variance};
use tare_stats::ratio::Rounding;
use tare_stats::sequential::{Fit, Pair, Question, Rule, Verdict, decide, decide_sessions, is_one_sided, orders};

/// Standard deviation of a trial such that a pair has 1%.
const TRIAL_SD: f64 = 0.01 * std::f64::consts::FRAC_1_SQRT_2;
const EFFECT: f64 = 0.02;
/// An effect that is found next to a disturbing program, too.
const LARGE: f64 = 0.1;
/// A minimum effect so small that no interval lies within it.
const NO_EFFECT: f64 = 1e-9;
/// No seed below was used to choose a level: those were 0 to 9,999.
const FIRST_SEED: u64 = 1_000_000;
/// Trials per side of the fixed plans.
const NINE: usize = 9;
/// Pairs with the anytime rule, and of five sessions.
const MOST_PAIRS: usize = 60;
/// Permutations of the randomisation test.
const SHUFFLES: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Normal,
    T3,
    T2,
    Lognormal,
    Exponential,
    Uniform,
    Bimodal,
    /// Logs of values in one of two modes, 68 and 305, each with 1% noise.
    Modes,
    /// Logs of values of which one in ten is ten times as large, each with 1% noise.
    Spike,
    /// Logs of values from 0.2 to 1.
    Times,
}

const SHAPES: [Shape; 10] = [
    Shape::Normal,
    Shape::T3,
    Shape::T2,
    Shape::Lognormal,
    Shape::Exponential,
    Shape::Uniform,
    Shape::Bimodal,
    Shape::Modes,
    Shape::Spike,
    Shape::Times,
];

/// Lag-1 correlation of a drift.
const CORRELATION: f64 = 0.9;

/// Logs of trial values over time: noise with the standard deviation [`TRIAL_SD`], and a drift, a first-order
/// autoregression of so many times that.
struct Machine {
    shape: Shape,
    drift: f64,
    rng: StdRng,
    level: f64,
    /// Whether B is first in each pair of `tare ab`, and the number of pairs made.
    orders: Vec<bool>,
    made: usize,
}

impl Machine {
    fn new(shape: Shape, drift: f64, seed: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(FIRST_SEED + seed as u64);
        let level = drift * normal(&mut rng);
        Self { shape, drift, rng, level, orders: orders(MOST_PAIRS, seed as u64), made: 0 }
    }

    fn trial(&mut self) -> f64 {
        let rng = &mut self.rng;
        let own = match self.shape {
            Shape::Normal => normal(rng),
            Shape::T3 => StudentT::new(3.0).map_or(0.0, |t| t.sample(rng)) / 3.0_f64.sqrt(),
            Shape::T2 => StudentT::new(2.0).map_or(0.0, |t| t.sample(rng)),
            Shape::Lognormal => (LogNormal::new(0.0, 0.5).map_or(0.0, |l| l.sample(rng)) - 1.133) / 0.604,
            Shape::Exponential => <Exp1 as Distribution<f64>>::sample(&Exp1, rng) - 1.0,
            Shape::Uniform => (rng.random::<f64>() - 0.5) * 12.0_f64.sqrt(),
            Shape::Bimodal => {
                let mode = if rng.random_bool(0.5) { 0.97 } else { -0.97 };
                mode + Normal::new(0.0, 0.243).map_or(0.0, |n| n.sample(rng))
            }
            Shape::Modes => modes(0.5, 305.0 / 68.0, rng),
            Shape::Spike => modes(0.1, 10.0, rng),
            Shape::Times => rng.random_range(0.2_f64..1.0).ln() / TRIAL_SD,
        };
        let own_drift = self.drift * (1.0 - CORRELATION * CORRELATION).sqrt() * normal(rng);
        self.level = CORRELATION * self.level + own_drift;
        (self.level + own) * TRIAL_SD
    }

    fn is_b_first(&mut self) -> bool {
        self.made += 1;
        self.orders[self.made - 1]
    }

    fn pair(&mut self, effect: f64) -> Pair {
        let b_first = self.is_b_first();
        let (first, second) = (self.trial(), self.trial());
        let difference = if b_first { first - second } else { second - first };
        Pair { log_ratio: effect + difference, b_first }
    }

    /// Equally many trials of each side, in blocks of two in random order.
    fn interleaved(&mut self, effect: f64, a_side: usize) -> (Vec<f64>, Vec<f64>) {
        let pair = |machine: &mut Self| {
            let b_first = machine.rng.random_bool(0.5);
            let (first, second) = (machine.trial(), machine.trial());
            if b_first { (second, first + effect) } else { (first, second + effect) }
        };
        (0..a_side).map(|_| pair(self)).unzip()
    }
}

/// The log of a value that is `times` as large with probability `upper`, with 1% noise, in standard deviations of a
/// trial.
fn modes(upper: f64, times: f64, rng: &mut StdRng) -> f64 {
    let mode = if rng.random_bool(upper) { times.ln() } else { 0.0 };
    (mode + 0.01 * normal(rng)) / TRIAL_SD
}

fn normal(rng: &mut StdRng) -> f64 {
    rand_distr::StandardNormal.sample(rng)
}

/// A decision method: its name, and its result for a machine with an effect: trials used, and whether it reports that B
/// has changed.
type Way = (&'static str, fn(&mut Machine, f64) -> (usize, bool));

/// The rules of `tare ab`; the last two with a minimum effect so small that only a change ends a comparison.
const RULES: [Way; 4] = [
    ("looks", |machine, effect| sequential(|| machine.pair(effect), Rule::Looks, EFFECT)),
    ("anytime", |machine, effect| sequential(|| machine.pair(effect), Rule::Anytime, EFFECT)),
    ("looks, e 0", |machine, effect| sequential(|| machine.pair(effect), Rule::Looks, NO_EFFECT)),
    ("anytime, e 0", |machine, effect| sequential(|| machine.pair(effect), Rule::Anytime, NO_EFFECT)),
];

/// Other methods in use.
const OTHERS: [Way; 5] = [
    ("A9 B9 Welch", |machine, effect| {
        let a: Vec<f64> = (0..NINE).map(|_| machine.trial()).collect();
        let b: Vec<f64> = (0..NINE).map(|_| machine.trial() + effect).collect();
        (2 * NINE, welch(&a, &b))
    }),
    ("mixed Welch", |machine, effect| {
        let (a, b) = machine.interleaved(effect, NINE);
        (2 * NINE, welch(&a, &b))
    }),
    ("paired t", |machine, effect| {
        let (a, b) = machine.interleaved(effect, NINE);
        (2 * NINE, paired(&a, &b, 0.95))
    }),
    ("Holm looks", holm),
    ("medians", |machine, effect| {
        let (a, b) = machine.interleaved(effect, NINE);
        (2 * NINE, medians(a, b, &mut machine.rng))
    }),
];

/// `tare ab`: at most 18 pairs by looks, 60 with the anytime rule.
fn sequential(mut next: impl FnMut() -> Pair, rule: Rule, equal: f64) -> (usize, bool) {
    let mut pairs = Vec::new();
    let most = rule.most_pairs().unwrap_or(MOST_PAIRS);
    for n in 1..=most {
        pairs.push(next());
        let Some(fit) = Fit::of(&pairs).ok().flatten().filter(|_| rule.looks_at(n, false)) else { continue };
        let half = rule.half_width(&fit, 0.05);
        if fit.mean.abs() + half <= equal.ln_1p() {
            return (2 * n, false);
        }
        let question = Question { minimum_effect: equal, alpha: 0.05, rule };
        if fit.mean.abs() > half && decide(&pairs, &question, false).is_ok_and(|f| f.verdict == Verdict::Changed) {
            return (2 * n, true);
        }
    }
    (2 * most, false)
}

/// A t test of differences, at this confidence.
fn paired(a: &[f64], b: &[f64], confidence: f64) -> bool {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    Fit::without_place(&differences).ok().flatten().is_some_and(|fit| fit.mean.abs() > fit.half_width(confidence))
}

/// A paired t test after every pair from the second to the 18th, adjusted by Holm over all of them: one is significant
/// if the smallest p is at most 5% divided by their number.
fn holm(machine: &mut Machine, effect: f64) -> (usize, bool) {
    let (a, b) = machine.interleaved(effect, 18);
    let looks = 2..=18_usize;
    let confidence = 1.0 - 0.05 / looks.clone().count() as f64;
    let stop = looks.into_iter().find(|n| paired(&a[..*n], &b[..*n], confidence));
    (2 * stop.unwrap_or(18), stop.is_some())
}

/// Welch's t test at 5%.
fn welch(a: &[f64], b: &[f64]) -> bool {
    let moments = |values: &[f64]| Some((mean(values)?, variance(values)? / values.len() as f64));
    let (Some((mean_a, va)), Some((mean_b, vb))) = (moments(a), moments(b)) else { return false };
    let n = a.len() as f64;
    let df = (va + vb).powi(2) / ((va * va + vb * vb) / (n - 1.0));
    // A fit of weight 1 whose sd is the standard error of the difference.
    let fit = Fit { mean: mean_b - mean_a, place: None, sd: (va + vb).sqrt(), pairs: a.len(), weight: 1.0, df };
    fit.mean.abs() > fit.half_width(0.95)
}

/// ClickHouse's method: the difference of medians compared with that of random permutations, at 5%.
fn medians(a: Vec<f64>, b: Vec<f64>, rng: &mut StdRng) -> bool {
    let n = a.len();
    let apart = |values: &[f64]| {
        let of = |values: &[f64]| median(values).unwrap_or(0.0);
        (of(&values[n..]) - of(&values[..n])).abs()
    };
    let mut all = [a, b].concat();
    let found = apart(&all);
    let mut as_far = 0;
    for _ in 0..SHUFFLES {
        all.shuffle(rng);
        as_far += usize::from(apart(&all) >= found);
    }
    as_far * 20 < SHUFFLES
}

/// A share with its exact 95% interval, in percent.
fn share(hits: usize, of: usize) -> String {
    let high = Count { hits, of }.at_most(0.975);
    let low = 1.0 - Count { hits: of - hits, of }.at_most(0.975);
    format!("{:.1} ({:.1}-{:.1})", 100.0 * hits as f64 / of as f64, 100.0 * low, 100.0 * high)
}

/// Number of comparisons that report a change, and the trials of each.
fn ends(way: Way, shape: Shape, drift: f64, effect: f64, runs: usize) -> (usize, Vec<f64>) {
    let found: Vec<(usize, bool)> = (0..runs).map(|i| way.1(&mut Machine::new(shape, drift, i), effect)).collect();
    (found.iter().filter(|(_, changed)| *changed).count(), found.iter().map(|(n, _)| *n as f64).collect())
}

fn table(title: &str, ways: &[Way], effect: f64, runs: usize) {
    println!("\n{title}, % of {runs} with exact 95% interval");
    println!("{:<12}{}", "", ways.iter().map(|(name, _)| format!("{name:<20}")).collect::<String>());
    let rows = SHAPES.map(|shape| (format!("{shape:?}").to_lowercase(), shape, 0.0));
    let drifts = [1.0, 3.0].map(|drift| (format!("drift {drift:.0}x"), Shape::Normal, drift));
    for (name, shape, drift) in rows.into_iter().chain(drifts) {
        let cell = |way: &Way| format!("{:<20}", share(ends(*way, shape, drift, effect, runs).0, runs));
        println!("{name:<12}{}", ways.iter().map(cell).collect::<String>());
    }
}

/// Trials of each sequential method at +2%, and the trials per side that fixed plans need for the same power.
fn times(drifts: &[f64], runs: usize) {
    println!("\ntrials at +2%, and those a side of two fixed plans with as much power");
    println!("drift     rule        found %            median  mean   Welch  ratio   paired t  ratio");
    for drift in drifts.iter().copied() {
        for way in RULES[..2].iter().chain(&OTHERS[3..4]) {
            let (hits, used) = ends(*way, Shape::Normal, drift, EFFECT.ln_1p(), runs);
            let (middle, average) = (median(&used).unwrap_or(0.0), mean(&used).unwrap_or(0.0));
            let power = hits as f64 / runs as f64;
            let as_often = |test: fn(&[f64], &[f64]) -> bool| {
                let found = |a_side: usize| {
                    let changed = |i: &usize| {
                        let (a, b) = Machine::new(Shape::Normal, drift, runs + i).interleaved(EFFECT.ln_1p(), a_side);
                        test(&a, &b)
                    };
                    (0..2000).filter(changed).count() as f64 / 2000.0
                };
                (3..200).find(|n| found(*n) >= power).map(|n| (n, middle / (2 * n) as f64))
            };
            let reported = |needed: Option<(usize, f64)>| match needed {
                Some((n, ratio)) => format!("{n:>5}  {ratio:.2}"),
                None => " >199      ".to_owned(),
            };
            let (welch, paired) = (reported(as_often(welch)), reported(as_often(|a, b| paired(a, b, 0.95))));
            let found = share(hits, runs);
            println!("{:<10.2}{:<12}{found:<19}{middle:>6}  {average:>5.1}  {welch}   {paired}", drift, way.0);
        }
    }
}

/// Five sessions of six pairs; the effect of a build in one session alone has the standard deviation `own`, in units of
/// that of a pair.
fn sessions(runs: usize) {
    println!("\nA/A over 5 sessions of 6 pairs, % of {runs}: one value a session, and all pairs as independent (t)");
    for own in [0.25, 0.5, 1.0] {
        let (mut over, mut pooled) = (0, 0);
        for i in 0..runs {
            let mut machine = Machine::new(Shape::Normal, 0.0, i);
            let sessions: Vec<Vec<Pair>> = (0..5)
                .map(|_| {
                    let effect = own * 0.01 * normal(&mut machine.rng);
                    (0..6).map(|_| machine.pair(effect)).collect()
                })
                .collect();
            let question = Question { minimum_effect: 1e-9, alpha: 0.05, rule: Rule::Sessions };
            let found = decide_sessions(&sessions, &question, Rounding::default(), true).map(|found| found.verdict);
            over += usize::from(found == Ok(Verdict::Changed));
            let fit = Fit::of(&sessions.concat()).ok().flatten();
            pooled += usize::from(fit.is_some_and(|fit| fit.mean.abs() > fit.half_width(0.95)));
        }
        println!("build x session sd {own:<5} {:<18} {}", share(over, runs), share(pooled, runs));
    }
}

const NEIGHBOURS: [(&str, Runs); 12] = [
    ("never", Runs::Anywhere(0.0)),
    ("a tenth of the time", Runs::Anywhere(0.1)),
    ("a third", Runs::Anywhere(0.33)),
    ("two thirds", Runs::Anywhere(0.67)),
    ("all the time", Runs::Anywhere(1.0)),
    ("at B in 5% of pairs", Runs::AtOne(0.05)),
    ("at B in 15%", Runs::AtOne(0.15)),
    ("at B in 30%", Runs::AtOne(0.3)),
    ("at B in 60%", Runs::AtOne(0.6)),
    ("6%, at B in 30%", Runs::Steadily { blocks: 0.3, takes: 0.06 }),
    ("30%, at B in 45%", Runs::Steadily { blocks: 0.45, takes: 0.3 }),
    ("10%, at B in 90%", Runs::Steadily { blocks: 0.9, takes: 0.1 }),
];

/// Pairs next to another program, with the numbers of pairs in which it disturbed A alone and B alone.
struct Disturbed {
    machine: Machine,
    bursts: Bursts,
    alone: [usize; 2],
    pairs: usize,
}

impl Disturbed {
    fn new(runs: Runs, seed: usize) -> Self {
        let mut machine = Machine::new(Shape::Normal, 0.0, seed);
        let bursts = Bursts::new(runs, &mut machine.rng);
        Self { machine, bursts, alone: [0; 2], pairs: 0 }
    }

    /// A disturbed trial is repeated once after its pair.
    fn pair(&mut self, effect: f64) -> Pair {
        let Self { machine, bursts, .. } = self;
        let b_first = machine.is_b_first();
        let hit = bursts.is_at_one(&mut machine.rng);
        let attempt = |machine: &mut Machine, bursts: &mut Bursts, side: usize| {
            let (taken, disturbed) = bursts.attempt(hit && side == 1, &mut machine.rng);
            (machine.trial() + effect * side as f64 + taken, disturbed)
        };
        let order = if b_first { [1, 0] } else { [0, 1] };
        let mut found = [(0.0, false); 2];
        order.into_iter().for_each(|side| found[side] = attempt(machine, bursts, side));
        let mut repeated = Vec::new();
        for side in order.into_iter().filter(|side| found[*side].1).collect::<Vec<_>>() {
            if bursts.repeats() {
                found[side] = attempt(machine, bursts, side);
                bursts.repeated(found[side].1);
                repeated.push(side);
            }
        }
        let b_first = if let [side] = repeated.as_slice() { *side == 0 } else { b_first };
        let [(a, of_a), (b, of_b)] = found;
        self.pairs += usize::from(of_a || of_b);
        self.alone[0] += usize::from(of_a && !of_b);
        self.alone[1] += usize::from(of_b && !of_a);
        Pair { log_ratio: b - a, b_first }
    }

    /// Whether `tare ab` reports a change, whether it would without checking which side was disturbed, and the number
    /// of pairs.
    fn compare(&mut self, rule: Rule, effect: f64, equal: f64) -> (bool, bool, usize) {
        let mut sum = 0.0;
        let next = || {
            let pair = self.pair(effect);
            sum += pair.log_ratio;
            pair
        };
        let (trials, changed) = sequential(next, rule, equal);
        let [a, b] = self.alone;
        let may_be_that = if sum < 0.0 { is_one_sided(b, a) } else { is_one_sided(a, b) };
        (changed && !may_be_that, changed, trials / 2)
    }
}

fn neighbours(runs: usize) {
    println!("next to another program, % of {runs} called changed; in brackets without the test of what was disturbed");
    let columns = ["it runs", "A/A looks", "A/A any time", "+2% looks", "+2% any time", "+10% looks", "+10% any time"];
    let cells: String = columns[1..].iter().map(|name| format!("{name:<15}")).collect();
    println!("{:<21}{cells}{:>6}{:>8}", columns[0], "pairs", "marked");
    for (name, of) in NEIGHBOURS {
        let (mut pairs, mut marked) = (0, 0);
        let mut cell = |rule: Rule, effect: f64, equal: f64| {
            let (mut reported, mut without) = (0, 0);
            for seed in 0..runs {
                let mut disturbed = Disturbed::new(of, seed);
                let (changed, before, made) = disturbed.compare(rule, effect, equal);
                reported += usize::from(changed);
                without += usize::from(before);
                pairs += made;
                marked += disturbed.pairs;
            }
            let share = |count: usize| 100.0 * count as f64 / runs as f64;
            format!("{:<15}", format!("{:.1} ({:.1})", share(reported), share(without)))
        };
        let mut both = |effect: f64, equal: f64| cell(Rule::Looks, effect, equal) + &cell(Rule::Anytime, effect, equal);
        let cells = both(0.0, NO_EFFECT) + &both(EFFECT.ln_1p(), EFFECT) + &both(LARGE.ln_1p(), EFFECT);
        let marked = 100.0 * marked as f64 / pairs as f64;
        println!("{name:<21}{cells}{:>6.1}{marked:>7.0}%", pairs as f64 / (6 * runs) as f64);
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("neighbours") {
        return neighbours(std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(1000));
    }
    if std::env::args().nth(1).as_deref() == Some("fixed") {
        return fixed::table(std::env::args().nth(2).and_then(|share| share.parse().ok()).unwrap_or(0.95));
    }
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(10_000);
    println!("pair sd 1%, minimum effect 2%; looks and anytime are those of `tare ab`; drift: autoregression of 0.9,");
    println!(
        "with so many times the sd of a trial; Welch, paired t and medians (ClickHouse's randomisation test) on nine"
    );
    println!("trials a side, Holm over a paired t after each of 18 pairs");
    table("false alarms", &RULES, 0.0, runs);
    table("false alarms", &OTHERS, 0.0, runs);
    table("+2% called changed", &RULES[..2], EFFECT.ln_1p(), runs.min(2000));
    table("+2% called changed", &OTHERS, EFFECT.ln_1p(), runs.min(2000));
    times(&[0.0, 1.0, 3.0], runs.min(4000));
    sessions(runs);
}
