//! The figures of `benches/find`: the share of the error that one limit of a race may have (`shares`), and how often
//! the named candidate is correct, in how many trials (`fields`), also next to another program that runs in bursts
//! (`neighbours`). Second argument: simulations per cell.

#[path = "neighbour/bursts.rs"]
mod bursts;

use bursts::{Bursts, Runs};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal, StandardNormal, StudentT};
use statrs::distribution::{ContinuousCDF, StudentsT};
use tare_stats::racing::{Blocks, LOOKS, Question, judge, weight};

/// Seed of the shares; the fields use other seeds.
const SHARES_SEED: u64 = 2_700;

fn normal(rng: &mut StdRng) -> f64 {
    StandardNormal.sample(rng)
}

fn t(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// At each look, how far the first of `k` equal candidates is behind the leader, in standard errors.
fn behind(k: usize, rng: &mut StdRng) -> Vec<f64> {
    let (mut sums, mut squares, mut of_blocks) = (vec![0.0; k], 0.0, 0.0);
    let mut found = Vec::new();
    for n in 1..=LOOKS[LOOKS.len() - 1] {
        let mut block = 0.0;
        for sum in &mut sums {
            let y = normal(rng);
            *sum += y;
            squares += y * y;
            block += y;
        }
        of_blocks += block * block / k as f64;
        if LOOKS.contains(&n) {
            let count = n as f64;
            let total: f64 = sums.iter().sum();
            let of_candidates: f64 = sums.iter().map(|sum| sum * sum / count).sum();
            let rest = squares - of_blocks - of_candidates + total * total / (count * k as f64);
            let variance = rest / ((n - 1) * (k - 1)) as f64;
            let ahead = sums[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            found.push((ahead - sums[0]) / count / (2.0 * variance / count).sqrt());
        }
    }
    found
}

/// The share of one limit with which the best of `k` equal candidates is dropped at any look, with each probability of
/// `alphas`.
fn shares(k: usize, alphas: &[f64], runs: usize) -> Vec<f64> {
    let mut rng = StdRng::seed_from_u64(SHARES_SEED + k as u64);
    let all: Vec<Vec<f64>> = (0..runs).map(|_| behind(k, &mut rng)).collect();
    let dropped = |share: f64| {
        let limits: Vec<f64> = LOOKS.iter().map(|n| t(1.0 - share * weight(*n), ((n - 1) * (k - 1)) as f64)).collect();
        let is_dropped = |of: &&Vec<f64>| of.iter().zip(&limits).any(|(found, limit)| found > limit);
        all.iter().filter(is_dropped).count() as f64 / runs as f64
    };
    let share_of = |alpha: &f64| {
        let (mut low, mut high) = ((alpha / 1e4).ln(), alpha.ln());
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if dropped(middle.exp()) > *alpha { high = middle } else { low = middle }
        }
        low.exp()
    };
    alphas.iter().map(share_of).collect()
}

const EFFECT: f64 = 0.02;

#[derive(Debug, Clone, Copy)]
enum Tails {
    Normal,
    T3,
    Lognormal,
}

/// Trials next to another program, with a slowly changing level.
struct Machine {
    cov: f64,
    tails: Tails,
    level: f64,
    bursts: Bursts,
}

impl Machine {
    fn new(cov: f64, tails: Tails, runs: Runs, rng: &mut StdRng) -> Self {
        Self { cov, tails, level: 0.0, bursts: Bursts::new(runs, rng) }
    }

    /// The log of a trial's value, and whether it was disturbed.
    fn trial(&mut self, planted: f64, hit: bool, rng: &mut StdRng) -> (f64, bool) {
        self.level = 0.95 * self.level + 0.005 * normal(rng);
        let error = match self.tails {
            Tails::Normal => normal(rng),
            Tails::T3 => StudentT::new(3.0).map_or(0.0, |t| t.sample(rng)) / 3.0_f64.sqrt(),
            Tails::Lognormal => (LogNormal::new(0.0, 0.5).map_or(0.0, |l| l.sample(rng)) - 1.133) / 0.604,
        };
        let (taken, disturbed) = self.bursts.attempt(hit, rng);
        (planted + self.level + self.cov * error + taken, disturbed)
    }

    /// A block of the remaining candidates in random order; a disturbed trial is repeated once after it.
    fn block(
        &mut self,
        planted: &[f64],
        mut order: Vec<usize>,
        best: f64,
        rng: &mut StdRng,
    ) -> (Vec<Option<f64>>, Vec<bool>) {
        for i in (1..order.len()).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        let at_best = self.bursts.is_at_one(rng);
        let mut block = vec![None; planted.len()];
        let mut marked = vec![false; planted.len()];
        for i in order.iter().copied() {
            let (value, disturbed) = self.trial(planted[i], at_best && planted[i] >= best, rng);
            block[i] = Some(value);
            marked[i] = disturbed;
        }
        let again: Vec<usize> = order.into_iter().filter(|i| marked[*i]).collect();
        for i in again {
            if self.bursts.repeats() {
                let (value, disturbed) = self.trial(planted[i], at_best && planted[i] >= best, rng);
                block[i] = Some(value);
                marked[i] = disturbed;
                self.bursts.repeated(disturbed);
            }
        }
        (block, marked)
    }
}

/// The result of a race: how far the named candidate is behind the best, and the number of trials.
fn race(planted: &[f64], machine: &mut Machine, rng: &mut StdRng) -> (Option<f64>, usize) {
    let question = Question { minimum_effect: EFFECT, alpha: 0.05 };
    let best = planted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut blocks: Vec<Vec<Option<f64>>> = Vec::new();
    let mut marks: Vec<Vec<bool>> = Vec::new();
    let mut trials = 0;
    loop {
        let so_far = Blocks { disturbed: &marks, ..Blocks::of(&blocks) };
        let Ok(standing) = judge(so_far, planted.len(), &question, &[]) else { return (None, trials) };
        if standing.decided || blocks.len() == LOOKS[LOOKS.len() - 1] {
            let named = standing.leader.filter(|_| standing.decided);
            return (named.map(|named| best - planted[named]), trials);
        }
        let left = standing.left();
        trials += left.len();
        let (block, marked) = machine.block(planted, left, best, rng);
        blocks.push(block);
        marks.push(marked);
    }
}

/// A field of 24 candidates, each behind the one before by 0 to twice `step`.
fn dense(step: f64, rng: &mut StdRng) -> Vec<f64> {
    let mut fallen = 0.0;
    (0..24)
        .map(|_| {
            let own = fallen;
            fallen -= rng.random_range(0.0..2.0 * step);
            own
        })
        .collect()
}

/// A field: its name and its generator.
type Field = (&'static str, fn(&mut StdRng) -> Vec<f64>);

const FIELDS: [Field; 7] = [
    ("24, 3% apart", |rng| dense(0.03, rng)),
    ("24, 2% apart", |rng| dense(0.02, rng)),
    ("24, 1% apart", |rng| dense(0.01, rng)),
    ("24, 0.5% apart", |rng| dense(0.005, rng)),
    ("6, one 2.1% ahead", |_| vec![0.0, 0.0, 0.0, 0.0, 0.021, 0.0]),
    ("24, one 2.1% ahead", |_| (0..24).map(|i| if i == 7 { 0.021 } else { 0.0 }).collect()),
    ("24 equals", |_| vec![0.0; 24]),
];

/// A table row for `runs` races: wrong, correct and undecided in percent, and trials.
fn row(field: fn(&mut StdRng) -> Vec<f64>, cov: f64, tails: Tails, of: Runs, runs: usize) -> String {
    let mut rng = StdRng::seed_from_u64(20_261_124);
    let (mut wrong, mut right, mut trials) = (0, 0, 0);
    for _ in 0..runs {
        let planted = field(&mut rng);
        let mut machine = Machine::new(cov, tails, of, &mut rng);
        let (lost, used) = race(&planted, &mut machine, &mut rng);
        let is_right = |lost: f64| lost <= EFFECT.ln_1p();
        right += usize::from(lost.is_some_and(is_right));
        wrong += usize::from(lost.is_some_and(|lost| !is_right(lost)));
        trials += used;
    }
    let share = |count: usize| 100.0 * count as f64 / runs as f64;
    format!(
        "{:>8.1}{:>8.1}{:>11.1}{:>9.0}",
        share(wrong),
        share(right),
        share(runs - wrong - right),
        trials as f64 / runs as f64
    )
}

fn fields(runs: usize) {
    println!("minimum effect 2%, error 5%, drift; a grid of ten trials each has 240 or 60");
    println!("{:<20}{:<6}{:<11} wrong % right %  undecided   trials", "field", "CoV", "tails");
    for (name, field) in FIELDS {
        for (cov, tails) in
            [(0.01, Tails::Normal), (0.015, Tails::Normal), (0.015, Tails::T3), (0.015, Tails::Lognormal)]
        {
            let figures = row(field, cov, tails, Runs::Anywhere(0.0), runs);
            println!("{name:<20}{cov:<6}{:<11}{figures}", format!("{tails:?}").to_lowercase());
        }
    }
}

/// The fields in which errors are likely, and one in which they are not.
const NEXT_TO: [usize; 2] = [1, 4];
const NEIGHBOURS: [(&str, Runs); 9] = [
    ("a tenth of the time", Runs::Anywhere(0.1)),
    ("a third", Runs::Anywhere(0.33)),
    ("two thirds", Runs::Anywhere(0.67)),
    ("all the time", Runs::Anywhere(1.0)),
    ("at the best in 15%", Runs::AtOne(0.15)),
    ("at the best in 30%", Runs::AtOne(0.3)),
    ("at the best in 60%", Runs::AtOne(0.6)),
    ("6% of it in 30%", Runs::Steadily { blocks: 0.3, takes: 0.06 }),
    ("10% of it in 90%", Runs::Steadily { blocks: 0.9, takes: 0.1 }),
];

fn neighbours(runs: usize) {
    println!("next to another program; CoV 1.5%, normal trials, drift");
    println!("{:<20}{:<21} wrong % right %  undecided   trials", "field", "it runs");
    for (name, field) in NEXT_TO.map(|at| FIELDS[at]) {
        for (when, of) in NEIGHBOURS {
            println!("{name:<20}{when:<21}{}", row(field, 0.015, Tails::Normal, of, runs));
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let runs = words.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    match &*what {
        "shares" => {}
        "neighbours" => return neighbours(runs),
        _ => return fields(runs),
    }
    let alphas = [0.05, 0.02];
    println!("share of one bound, as alpha / share, for alpha = {alphas:?}");
    for k in [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128] {
        let found = shares(k, &alphas, runs);
        let message: Vec<String> =
            found.iter().zip(alphas).map(|(share, alpha)| format!("{:.1}", alpha / share)).collect();
        println!("    ({k}, [{}]),", message.join(", "));
    }
}
