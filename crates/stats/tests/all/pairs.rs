//! Comparisons of conditions in blocks: type I error, whatever the distribution and however unequal the variances, and
//! power. A trial varies by 2%, a state that neighbours share by 4%.

use crate::simulate::{Generator, generator, normal, share};
use rand_distr::{Distribution, LogNormal, StudentT};
use tare_stats::blocks::{Condition, Model, Spread, shared_p_values};
use tare_stats::effects::{Cell, adjusted_means, effects};
use tare_stats::order::randomized_blocks;
use tare_stats::ratio::{Arms, Better, Design, Verdict, compare};
use tare_stats::simultaneous::rank;

/// Type I error.
const ALPHA: f64 = 0.02;
const COV: f64 = 0.02;

pub type Draw = fn(&mut Generator) -> f64;

pub const SHAPES: [(&str, Draw); 3] = [
    ("normal", |rng| normal(rng, 0.0, 1.0)),
    ("t3", |rng| StudentT::new(3.0).unwrap().sample(rng)),
    ("lognormal 0.5", |rng| 2.0 * (LogNormal::new(0.0, 0.5).unwrap().sample(rng) - 1.13)),
];

/// Two modes a hundred standard deviations apart, with three of ten trials in the second.
const MODES: (&str, Draw) =
    ("two modes", |rng| normal(rng, 0.0, 1.0) + if normal(rng, 0.0, 1.0) < -0.5244 { 100.0 } else { 0.0 });

/// A study of k conditions in n blocks.
#[derive(Clone, Copy)]
pub struct Study<'a> {
    pub k: usize,
    pub n: usize,
    pub draw: Draw,
    /// Standard deviation of the part that neighbours share (AR 0.8), in units of that of a trial.
    pub drift: f64,
    /// Gain (as a logarithm) and standard deviation (in units of that of a trial) of a condition.
    pub of: &'a dyn Fn(usize) -> (f64, f64),
}

impl Study<'_> {
    pub fn run(&self, rng: &mut Generator) -> Vec<Condition> {
        let seed = (normal(rng, 0.0, 1e9)).abs() as u64;
        let mut state = normal(rng, 0.0, 1.0);
        let mut conditions = vec![Vec::new(); self.k];
        for (block, order) in randomized_blocks(self.k, self.n, seed).into_iter().enumerate() {
            for condition in order {
                state = 0.8 * state + normal(rng, 0.0, 0.6);
                let (gain, spread) = (self.of)(condition);
                let value = gain + COV * (spread * (self.draw)(rng) + self.drift * state);
                conditions[condition].push((block, value));
            }
        }
        conditions
    }
}

pub fn claims(conditions: &[Condition]) -> bool {
    rank(conditions, ALPHA, true).unwrap().widest.is_some()
}

pub fn alike(_: usize) -> (f64, f64) {
    (0.0, 1.0)
}

fn last_of_seven(condition: usize) -> (f64, f64) {
    (if condition == 6 { 0.05 } else { 0.0 }, 1.0)
}

/// The documented 2%, plus three standard errors of 1,200 studies, which are 1.2%.
const STUDIES: usize = 1200;
const LIMIT: f64 = 0.02 + 0.012;

#[test]
fn of_equal_conditions_no_pair_is_shown_to_differ() {
    let mut rng = generator(31);
    for (name, draw) in SHAPES {
        for (k, n) in [(3, 5), (4, 5), (7, 5), (7, 10), (14, 3)] {
            let study = Study { k, n, draw, drift: 2.0, of: &alike };
            let wrong = share(STUDIES, || claims(&study.run(&mut rng)));
            println!("{name}, {k} conditions in {n} blocks: {:.1}%", 100.0 * wrong);
            assert!(wrong < LIMIT, "{name} {k} {n}: {wrong}");
        }
    }
    // By the differences of each pair alone: 20, 20, 6 and 33%. With two blocks and p as it is of 2, 3 and 4 conditions
    // 10, 8 and 5%.
    for (k, n) in [(8, 2), (8, 3), (8, 4), (14, 3), (2, 2), (2, 3), (3, 2), (4, 2)] {
        let study = Study { k, n, draw: MODES.1, drift: 0.0, of: &alike };
        let wrong = share(STUDIES, || claims(&study.run(&mut rng)));
        println!("{}, {k} conditions in {n} blocks: {:.1}%", MODES.0, 100.0 * wrong);
        assert!(wrong < LIMIT, "{} {k} {n}: {wrong}", MODES.0);
    }
    // Two conditions under each of four loads: 7% by the spread of each load alone.
    let study = Study { k: 2, n: 3, draw: MODES.1, drift: 0.0, of: &alike };
    let wrong = share(STUDIES, || {
        let loads: Vec<([Condition; 2], bool)> =
            (0..4).map(|_| (study.run(&mut rng).try_into().unwrap(), true)).collect();
        let own = |(load, blocked): &([Condition; 2], bool)| {
            Model::of(load, *blocked).contrast(&[(0, -1.0), (1, 1.0)]).unwrap().p_value()
        };
        loads.iter().map(own).zip(shared_p_values(&loads)).any(|(own, shared)| 4.0 * own.max(shared) <= ALPHA)
    });
    println!("{}, 4 loads of 2 conditions in 3 blocks: {:.1}%", MODES.0, 100.0 * wrong);
    assert!(wrong < LIMIT, "4 loads: {wrong}");
    // Without blocks, each pair with its own spread alone: 4 and 19%; two trials with Welch's degrees of freedom: 5%.
    for (k, n) in [(3, 3), (8, 3), (8, 4), (2, 2), (3, 2)] {
        let study = Study { k, n, draw: MODES.1, drift: 0.0, of: &alike };
        let wrong = share(STUDIES, || rank(&study.run(&mut rng), ALPHA, false).unwrap().widest.is_some());
        println!("{}, {k} conditions of {n} trials without blocks: {:.1}%", MODES.0, 100.0 * wrong);
        assert!(wrong < LIMIT, "{} {k} {n} without blocks: {wrong}", MODES.0);
    }
    // By Welch's degrees of freedom, with p times 20, two trials per side: 6%.
    for n in [[2, 2], [2, 3], [3, 3]] {
        let study = Study { k: 2, n: 3, draw: MODES.1, drift: 0.0, of: &alike };
        let wrong = share(STUDIES, || {
            let all = study.run(&mut rng);
            let side = |side: usize| all[side][..n[side]].iter().map(|(_, ln)| ln.exp()).collect::<Vec<f64>>();
            let (a, b) = (side(0), side(1));
            let arms = Arms { a: &a, b: &b, better: Better::Higher, design: Design::Independent, rounding: None };
            compare(&[arms], 0.0, 0.95).unwrap()[0].verdict != Verdict::Inconclusive
        });
        println!("{}, sides of {n:?} trials: {:.1}%", MODES.0, 100.0 * wrong);
        assert!(wrong < LIMIT, "{} {n:?}: {wrong}", MODES.0);
    }
}

#[test]
fn a_condition_ten_times_as_noisy_makes_no_pair_differ_and_hides_none() {
    let mut rng = generator(32);
    let noisy = |condition: usize| (0.0, if condition == 0 { 10.0 } else { 1.0 });
    for (k, n) in [(4, 5), (7, 3), (7, 5), (7, 10), (8, 2), (8, 4), (14, 5)] {
        let study = Study { k, n, draw: SHAPES[0].1, drift: 2.0, of: &noisy };
        let wrong = share(STUDIES, || claims(&study.run(&mut rng)));
        println!("one of {k} noisy, {n} blocks: {:.1}%", 100.0 * wrong);
        assert!(wrong < LIMIT + 0.008, "{k} {n}: {wrong}");
    }
    let masked = |condition: usize| (last_of_seven(condition).0, noisy(condition).1);
    let far = |condition: usize| (4.0 * masked(condition).0, masked(condition).1);
    let study = |n: usize, of| Study { k: 7, n, draw: SHAPES[0].1, drift: 0.0, of };
    for study in [study(10, &masked as &dyn Fn(usize) -> (f64, f64)), study(4, &far)] {
        let found = share(400, || claims(&study.run(&mut rng)));
        println!("one faster with a noisy condition, {} blocks: {:.1}%", study.n, 100.0 * found);
        assert!(found > 0.92, "{}: {found}", study.n);
    }
}

/// In five blocks, and in drift: `powers`.
#[test]
fn five_percent_of_one_condition_are_found() {
    let mut rng = generator(33);
    // With paired differences of each pair alone 98; with the extreme pair alone 94.
    let study = Study { k: 7, n: 10, draw: SHAPES[0].1, drift: 0.0, of: &last_of_seven };
    let found = share(400, || claims(&study.run(&mut rng)));
    println!("+5% of one in seven, 10 blocks: {:.1}%", 100.0 * found);
    assert!(found > 0.97, "{found}");
    // 10% at a CoV of 1%: 52 and 96 by the differences of each pair alone.
    let of_eight = |condition: usize| (if condition == 7 { 0.2 } else { 0.0 }, 1.0);
    for (n, least) in [(3, 0.85), (4, 0.98)] {
        let study = Study { k: 8, n, draw: SHAPES[0].1, drift: 0.0, of: &of_eight };
        let found = share(400, || claims(&study.run(&mut rng)));
        println!("ten standard deviations of one in eight, {n} blocks: {:.1}%", 100.0 * found);
        assert!(found > least, "{n}: {found}");
    }
}

/// The levels of a condition in a design of two factors with two levels.
pub fn two_by_two(condition: usize) -> Vec<bool> {
    vec![condition & 1 == 1, condition & 2 == 2]
}

/// Whether any main effect is reported in a factorial design, with levels as pairs of columns and some trials lost.
pub fn moved(rng: &mut Generator, study: &Study<'_>, levels: fn(usize) -> Vec<bool>, lost: usize) -> bool {
    let mut conditions = study.run(rng);
    // Each in a block of its own, from different conditions.
    for place in 0..lost {
        conditions[place % study.k].retain(|(block, _)| *block != place);
    }
    let blocks: Vec<Vec<usize>> = conditions.iter().map(|c| c.iter().map(|(block, _)| *block).collect()).collect();
    any_moved(&conditions, &blocks, levels)
}

fn any_moved(conditions: &[Condition], blocks: &[Vec<usize>], levels: fn(usize) -> Vec<bool>) -> bool {
    let cells: Vec<Cell> = conditions
        .iter()
        .enumerate()
        .map(|(c, trials)| Cell { levels: levels(c), trials: trials.iter().map(|(_, ln)| ln.exp()).collect() })
        .collect();
    let found = effects(levels(0).len(), &cells, blocks, &[], 1, 0.95).unwrap();
    adjusted_means(&found.iter().collect::<Vec<_>>()).iter().any(|p| *p <= ALPHA)
}

#[test]
fn factors_keep_their_rate_and_gain_their_power_by_pooling() {
    let mut rng = generator(34);
    for (name, draw) in SHAPES.into_iter().chain([MODES]) {
        for (n, lost) in [(2, 0), (3, 0), (5, 0), (10, 0), (6, 3)] {
            let study = Study { k: 4, n, draw, drift: 2.0, of: &alike };
            let wrong = share(STUDIES, || moved(&mut rng, &study, two_by_two, lost));
            println!("2x2 {name}, {n} blocks, {lost} lost: {:.1}%", 100.0 * wrong);
            assert!(wrong < LIMIT, "{name} {n} {lost}: {wrong}");
        }
    }
    for (k, levels) in [(4, two_by_two as fn(usize) -> Vec<bool>), (8, |c| vec![c & 1 == 1, c & 2 == 2, c & 4 == 4])] {
        let study = Study { k, n: 2, draw: MODES.1, drift: 0.0, of: &alike };
        let wrong = share(STUDIES, || any_moved(&study.run(&mut rng), &[], levels));
        println!("{k} conditions {}, two trials without blocks: {:.1}%", MODES.0, 100.0 * wrong);
        assert!(wrong < LIMIT, "{k} without blocks: {wrong}");
    }
    let half = |condition: usize| (0.0, if condition & 1 == 1 { 3.0 } else { 1.0 });
    let study = Study { k: 4, n: 5, draw: SHAPES[0].1, drift: 2.0, of: &half };
    let wrong = share(STUDIES, || moved(&mut rng, &study, two_by_two, 0));
    println!("2x2, one level three times as noisy: {:.1}%", 100.0 * wrong);
    assert!(wrong < LIMIT + 0.004, "{wrong}");
    let fast = |condition: usize| (if condition & 1 == 1 { 0.05 } else { 0.0 }, 1.0);
    let study = Study { k: 4, n: 5, draw: SHAPES[0].1, drift: 2.0, of: &fast };
    let found = share(600, || moved(&mut rng, &study, two_by_two, 0));
    println!("2x2, +5%, 5 blocks: {:.1}%", 100.0 * found);
    assert!(found > 0.60, "{found}");
}

#[test]
fn lost_trials_cost_what_they_are_worth() {
    let mut rng = generator(35);
    let fast = |condition: usize| (if condition & 1 == 1 { 0.06 } else { 0.0 }, 1.0);
    let study = Study { k: 4, n: 6, draw: SHAPES[0].1, drift: 2.0, of: &fast };
    // When dropping blocks that lost a trial: 95, 88, 50, 20.
    for lost in 0..4 {
        let found = share(300, || moved(&mut rng, &study, two_by_two, lost));
        println!("+6%, {lost} of 24 lost: {:.1}%", 100.0 * found);
        assert!(found > 0.85, "{lost}: {found}");
    }
    let lossy = Study { of: &alike, ..study };
    let conditions = || {
        let mut found = lossy.run(&mut generator(7));
        found[2].remove(1);
        found[3].remove(4);
        found
    };
    let analysis = Model::of(&conditions(), true).analysis();
    assert_eq!((analysis.by_block, analysis.trials, analysis.of), (true, 22, 22));
    assert!(!matches!(analysis.spread, Spread::Own));
}
