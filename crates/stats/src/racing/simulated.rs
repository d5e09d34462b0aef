//! How often the named candidate is correct, and in how many trials, by simulation. Looks and shares were chosen with
//! seed 1000; the seeds here were not used for that.

use super::*;
use crate::interval::Estimate;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal, StudentT};

const QUESTION: Question = Question { minimum_effect: 0.02, alpha: 0.05 };

/// The planted ln throughputs, and the variation of trials around them, as a fraction.
struct Ground {
    planted: Vec<f64>,
    cov: f64,
    heavy_tails: bool,
    next_to: NextTo,
}

/// Another program that takes CPU time of some trials, which are then marked as disturbed.
#[derive(Clone, Copy)]
enum NextTo {
    Nothing,
    /// 10 to 60% of the time of this share of all trials.
    Anything(f64),
    /// `takes` of the time of the best candidate alone, in this share of the blocks.
    TheBest {
        blocks: f64,
        takes: f64,
    },
}

/// The result of a race.
struct Ran {
    /// How far the named candidate is behind the best, as ln; `None` when none was named.
    lost: Option<f64>,
    trials: usize,
    /// Whether the best of the candidates that were not disturbed alone is further ahead of the leader than the
    /// reported limit; `None` without a limit.
    further: Option<bool>,
}

/// A drift is added to all: an AR(1) process with steps of 0.5% and a coefficient of 0.95.
fn race(ground: &Ground, rng: &mut StdRng) -> Ran {
    let candidates = ground.planted.len();
    let best = ground.planted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let normal = Normal::new(0.0, 1.0).unwrap();
    let (mut blocks, mut marks): (Vec<Vec<Option<f64>>>, Vec<Vec<bool>>) = (Vec::new(), Vec::new());
    let (mut level, mut trials) = (0.0, 0);
    let mut standing = judge(Blocks::of(&blocks), candidates, &QUESTION, &[]).unwrap();
    loop {
        // Between looks no race is decided and no candidate dropped.
        if LOOKS.contains(&blocks.len()) {
            let so_far = Blocks { disturbed: &marks, ..Blocks::of(&blocks) };
            standing = judge(so_far, candidates, &QUESTION, &[]).unwrap();
        }
        if standing.decided || blocks.len() == LOOKS[LOOKS.len() - 1] {
            let named = standing.leader.filter(|_| standing.decided);
            let even = ground.planted.iter().zip(&standing.disturbed_alone).filter(|(_, alone)| !**alone);
            let most = even.map(|(planted, _)| *planted).fold(f64::NEG_INFINITY, f64::max);
            let leader = standing.leader.map(|leader| most - ground.planted[leader]);
            let further = standing.behind.zip(leader).map(|(reported, is)| is > reported.ln());
            return Ran { lost: named.map(|named| best - ground.planted[named]), trials, further };
        }
        let mut order = standing.left();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        let (mut block, mut marked) = (vec![None; candidates], vec![false; candidates]);
        let is_at_best = matches!(ground.next_to, NextTo::TheBest { blocks, .. } if rng.random_bool(blocks));
        for i in order {
            level = 0.95 * level + 0.005 * normal.sample(rng);
            let error = match ground.heavy_tails {
                true => StudentT::new(3.0).unwrap().sample(rng) / 3.0_f64.sqrt(),
                false => normal.sample(rng),
            };
            let taken: f64 = match ground.next_to {
                NextTo::Anything(part) if rng.random_bool(part) => rng.random_range(0.1..0.6),
                NextTo::TheBest { takes, .. } if is_at_best && ground.planted[i] >= best => takes,
                _ => 0.0,
            };
            block[i] = Some(ground.planted[i] + level + ground.cov * error + (1.0 - taken).ln());
            marked[i] = taken > 0.0;
            trials += 1;
        }
        blocks.push(block);
        marks.push(marked);
    }
}

/// Shares of wrongly and of correctly named candidates, and the mean number of trials.
fn races(runs: usize, seed: u64, mut ground: impl FnMut(&mut StdRng) -> Ground) -> (f64, f64, f64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut wrong, mut right, mut trials) = (0, 0, 0);
    for _ in 0..runs {
        let ran = race(&ground(&mut rng), &mut rng);
        let is_right = |lost: f64| lost <= QUESTION.minimum_effect.ln_1p();
        right += usize::from(ran.lost.is_some_and(is_right));
        wrong += usize::from(ran.lost.is_some_and(|lost| !is_right(lost)));
        trials += ran.trials;
    }
    let share = |count: usize| count as f64 / runs as f64;
    println!("seed {seed}: wrong {wrong}, right {right} of {runs}, {:.0} trials", share(trials));
    (share(wrong), share(right), share(trials))
}

/// The full grid is ten trials of each candidate.
#[test]
fn of_24_placements_the_named_one_is_right_in_a_third_of_the_grid() {
    let (_, right, trials) = races(100, 20_261_123, |rng| {
        let mut fallen = 0.0;
        let mut planted: Vec<f64> = Vec::new();
        for _ in 0..24 {
            planted.push(fallen);
            fallen -= rng.random_range(0.01..0.05);
        }
        Ground { planted, cov: rng.random_range(0.01..0.02), heavy_tails: false, next_to: NextTo::Nothing }
    });
    assert!(right >= 0.95 && trials <= 80.0, "{right} {trials}");
}

/// Each is 0 to 2% behind the one before: several are within the minimum effect of the best.
#[test]
fn of_24_placements_close_together_the_named_one_is_right_in_a_third_of_the_grid() {
    let (wrong, right, trials) = races(100, 20_261_126, |rng| {
        let mut fallen = 0.0;
        let planted = (0..24).map(|_| {
            let own = fallen;
            fallen -= rng.random_range(0.0..0.02);
            own
        });
        Ground { planted: planted.collect(), cov: 0.015, heavy_tails: false, next_to: NextTo::Nothing }
    });
    assert!(wrong <= 0.05 && right >= 0.95 && trials <= 80.0, "{wrong} {right} {trials}");
}

#[test]
fn the_best_is_not_lost_where_it_is_just_ahead_of_equals_whatever_the_tails() {
    let (wrong, ..) = races(60, 20_261_124, |_| Ground { heavy_tails: true, ..just_ahead(NextTo::Nothing) });
    assert!(wrong <= 0.05, "{wrong}");
}

#[test]
fn equals_are_named_without_waiting_for_a_difference() {
    let (wrong, right, _) = races(40, 20_261_125, |_| Ground {
        planted: vec![0.0; 3],
        cov: 0.01,
        heavy_tails: false,
        next_to: NextTo::Nothing,
    });
    assert!(wrong == 0.0 && right >= 0.95, "{wrong} {right}");
}

/// One of six is just ahead of five equal ones.
fn just_ahead(next_to: NextTo) -> Ground {
    Ground { planted: vec![0.0, 0.0, 0.0, 0.0, 0.021, 0.0], cov: 0.015, heavy_tails: false, next_to }
}

/// Nor is the best lost to what slows it alone.
#[test]
fn the_leader_is_no_further_behind_the_best_than_reported() {
    let next_to = [
        NextTo::Nothing,
        NextTo::Anything(0.67),
        NextTo::Anything(1.0),
        NextTo::TheBest { blocks: 0.3, takes: 0.06 },
        NextTo::TheBest { blocks: 0.9, takes: 0.1 },
    ];
    for (seed, next_to) in (20_261_140..).zip(next_to) {
        let mut rng = StdRng::seed_from_u64(seed);
        let ran: Vec<Ran> = (0..60).map(|_| race(&just_ahead(next_to), &mut rng)).collect();
        let reported: Vec<bool> = ran.iter().filter_map(|ran| ran.further).collect();
        let wrong = reported.iter().filter(|further| **further).count();
        let lost = ran.iter().filter(|ran| ran.lost.is_some_and(|lost| lost > 0.02)).count();
        println!("seed {seed}: {wrong} of {}, {lost} lost", reported.len());
        assert!(wrong <= 5 && reported.len() >= 50, "{seed}: {wrong} of {}", reported.len());
        assert!(lost <= 3 || matches!(next_to, NextTo::Anything(_)), "{seed}: {lost} of 60 lost");
    }
}

#[test]
fn next_to_bursts_the_best_is_found_from_what_they_leave() {
    let (wrong, right, trials) = races(40, 20_261_128, |_| just_ahead(NextTo::Anything(0.33)));
    assert!(wrong <= 0.05 && right >= 0.9 && trials <= 100.0, "{wrong} {right} {trials}");
}

#[test]
fn a_candidate_is_lost_with_two_missing_values_and_no_more_others() {
    let ended = |has_value: &[bool]| {
        let of = |(block, has): (usize, &bool)| vec![Some(0.01 * block as f64), has.then_some(0.3)];
        let blocks: Vec<Vec<Option<f64>>> = has_value.iter().enumerate().map(of).collect();
        judge(Blocks::of(&blocks), 2, &QUESTION, &[]).unwrap().ended[1]
    };
    assert_eq!(ended(&[false]), None);
    assert_eq!(ended(&[false, false]), Some(End::Lost(2)));
    assert_eq!(ended(&[true, false, false]), Some(End::Lost(3)));
    assert_eq!(ended(&[true, false, true, false]), Some(End::Lost(4)));
    assert_eq!(ended(&[true, true, true, false, false]), None);
}

/// Eight blocks of two candidates; the first is 5% better, but slowed down by a quarter in some of the blocks.
fn slowed(taken: impl Fn(usize) -> bool) -> Vec<Vec<Option<f64>>> {
    let off = |block: usize, by: usize| 0.002 * ((block * by % 5) as f64 - 2.0);
    let of = |block: usize| {
        let taken = if taken(block) { 0.3 } else { 0.0 };
        vec![Some(0.05 - taken + off(block, 2)), Some(off(block, 3))]
    };
    (0..8).map(of).collect()
}

#[test]
fn a_candidate_is_not_dropped_for_what_something_else_did_to_it_alone() {
    let values = slowed(|block| block != 5);
    let of = |disturbed: &[Vec<bool>]| {
        let blocks = Blocks { disturbed, ..Blocks::of(&values) };
        let standing = judge(blocks, 2, &QUESTION, &[]).unwrap();
        let outlook = outlook(blocks, &QUESTION, &standing);
        (standing, outlook)
    };
    let ended = |disturbed: &[Vec<bool>]| of(disturbed).0.ended[0];
    assert!(matches!(ended(&[]), Some(End::Worse(_))), "nothing is marked");
    let both: Vec<Vec<bool>> = (0..8).map(|block| vec![block != 5; 2]).collect();
    assert!(matches!(ended(&both), Some(End::Worse(_))), "both were disturbed alike");
    let never_clean = vec![vec![true, false]; 8];
    assert_eq!(ended(&never_clean), None, "nothing is known of it");
    let alone: Vec<Vec<bool>> = (0..8).map(|block| vec![block != 5, false]).collect();
    let (standing, to_go) = of(&alone);
    assert_eq!((standing.ended[0], standing.leader, to_go), (None, Some(1), None));
    // Neither the interval nor the outlook may contradict the rule.
    assert!(standing.disturbed_alone[0] && standing.ratios[0].is_some_and(|ratio| ratio.ci.is_none()));
}

#[test]
fn ratio_and_interval_are_of_blocks_that_disturbed_neither_alone() {
    let values = slowed(|block| block % 4 == 3);
    let marked: Vec<Vec<bool>> = (0..8).map(|block| vec![block % 4 == 3, false]).collect();
    let standing = judge(Blocks { disturbed: &marked, ..Blocks::of(&values) }, 2, &QUESTION, &[]).unwrap();
    let of = standing.ratios[1].unwrap();
    let ci = of.ci.unwrap();
    assert!(standing.leader == Some(0) && (of.value - 0.95).abs() < 0.01 && ci.high < 0.98, "{of:?}");
}

/// Two factors with two levels each: 25% and 10% less with the other level. Blocks vary by 10%, trials by 3%.
#[test]
fn what_a_level_is_worth_has_its_interval_together_with_the_others() {
    let levels = [[0, 0], [0, 1], [1, 0], [1, 1]].map(Vec::from);
    let planted = [0.75_f64.ln(), 0.9_f64.ln()];
    let (normal, mut rng) = (Normal::new(0.0, 1.0).unwrap(), StdRng::seed_from_u64(5));
    let (studies, mut together, mut against_first) = (400, 0, 0);
    for _ in 0..studies {
        let blocks: Vec<Vec<Option<f64>>> = (0..6)
            .map(|_| {
                let block = 0.1 * normal.sample(&mut rng);
                let mut trial = |of: &Vec<usize>| {
                    let own: f64 = of.iter().zip(planted).map(|(level, lost)| *level as f64 * lost).sum();
                    Some(own + block + 0.03 * normal.sample(&mut rng))
                };
                levels.iter().map(&mut trial).collect()
            })
            .collect();
        let found = worth(Blocks::of(&blocks), &levels, 0, 0.95).unwrap();
        let of: Vec<_> = found.iter().map(|one| (one.factor, one.level, one.pairs)).collect();
        assert_eq!(of, [(0, 1, 2), (1, 1, 2)]);
        let covers = |estimate: &Estimate, truth: f64| estimate.ci.is_some_and(|ci| ci.contains(truth.exp()));
        together += usize::from(found.iter().zip(planted).all(|(one, lost)| covers(&one.ratio, lost)));
        let others = against(Blocks::of(&blocks), 0, 0.95);
        assert!(others[0].is_none());
        let truths = [planted[1], planted[0], planted[0] + planted[1]];
        against_first += usize::from(others[1..].iter().flatten().zip(truths).all(|(one, lost)| covers(one, lost)));
    }
    // 95% are expected; a rate of 95% is below 92% in one of 300 such runs.
    for covered in [together, against_first] {
        assert!(covered * 100 >= 92 * studies, "{together} and {against_first} of {studies}");
    }
    assert!(together < studies, "intervals of no information");
}
