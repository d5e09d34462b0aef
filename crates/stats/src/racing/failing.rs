//! Candidates whose attempts fail: their other trials may be a selection of the fast ones.

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

const QUESTION: Question = Question { minimum_effect: 0.02, alpha: 0.05 };

/// Eight blocks of two candidates, of which the first is ahead by this, as ln.
fn ahead(by: f64) -> Vec<Vec<Option<f64>>> {
    let off = |block: usize, step: usize| 0.002 * ((block * step % 5) as f64 - 2.0);
    (0..8).map(|block| vec![Some(by + off(block, 2)), Some(off(block, 3))]).collect()
}

#[test]
fn a_candidate_that_fails_more_often_drops_no_other() {
    let values = ahead(0.05);
    let of = |marks: &dyn Fn(usize) -> [bool; 2]| {
        let failed: Vec<Vec<bool>> = (0..8).map(|block| marks(block).to_vec()).collect();
        judge(Blocks { failed: &failed, ..Blocks::of(&values) }, 2, &QUESTION, &[]).unwrap()
    };
    let after = |marks: &dyn Fn(usize) -> [bool; 2]| match of(marks) {
        Standing { ended, decided: true, leader: Some(0), .. } => ended[1],
        standing => panic!("{standing:?}"),
    };
    assert_eq!(after(&|_| [false, false]), Some(End::Worse(3)));
    assert_eq!(after(&|block| [block < 6, block < 6]), Some(End::Worse(3)), "both alike");
    for few in [1, 2] {
        assert_eq!(after(&|block| [block < few, false]), Some(End::Worse(6)), "not shown to be more than chance");
    }
    let standing = of(&|block| [block < 3, false]);
    assert_eq!((standing.ended[1], standing.leader, standing.decided), (None, Some(0), false));
    assert_eq!((standing.fails_more[0], standing.behind), (true, None));
    assert!(standing.ratios[1].is_some_and(|ratio| ratio.ci.is_none()));
    // What it lacks does not speak for the one that fails.
    let worse = of(&|block| [false, block < 6]);
    assert_eq!((worse.ended[1], &worse.fails_more[..]), (Some(End::Worse(3)), &[false, true][..]));
}

/// The first candidate is just so far ahead that the last of eight blocks shows it, and has no result in three.
#[test]
fn a_block_without_a_result_of_one_counts_as_failed_alone() {
    let lacks = |block: usize| [2, 4, 6].contains(&block);
    let mut values = ahead(0.0089);
    values.iter_mut().enumerate().filter(|(block, _)| lacks(*block)).for_each(|(_, own)| own[0] = None);
    let failed: Vec<Vec<bool>> = (0..8).map(|block| vec![lacks(block), false]).collect();
    let question = Question { minimum_effect: 1e-4, ..QUESTION };
    let of = |failed: &[Vec<bool>]| judge(Blocks { failed, ..Blocks::of(&values) }, 2, &question, &[]).unwrap();
    assert_eq!(of(&[]).ended[1], Some(End::Worse(8)));
    assert!(of(&failed).fails_more[0] && !of(&failed).decided);
}

/// How many of 200 races name the first of three candidates, whose slow mode fails in this share of attempts, which are
/// made three times at most. Its fast mode is 3% better than the others, and all its attempts together are worse.
fn named(share: f64, knows_of_failures: bool) -> usize {
    let mut rng = StdRng::seed_from_u64(20_261_130);
    let named = |rng: &mut StdRng| {
        let (mut blocks, mut marks): (Vec<Vec<Option<f64>>>, Vec<Vec<bool>>) = (Vec::new(), Vec::new());
        loop {
            let failed: &[Vec<bool>] = if knows_of_failures { &marks } else { &[] };
            let standing = judge(Blocks { failed, ..Blocks::of(&blocks) }, 3, &QUESTION, &[]).unwrap();
            if standing.decided || blocks.len() == LOOKS[LOOKS.len() - 1] {
                return standing.decided && standing.leader == Some(0);
            }
            let attempts = (1..=3).find(|_| !rng.random_bool(share));
            let mut block = vec![None; 3];
            for i in standing.left() {
                let luck: f64 = StandardNormal.sample(rng);
                let value = 0.015 * luck + if i == 0 { 0.03 } else { 0.0 };
                block[i] = Some(value).filter(|_| i > 0 || attempts.is_some());
            }
            let is_marked = standing.left().contains(&0) && attempts != Some(1);
            blocks.push(block);
            marks.push(vec![is_marked, false, false]);
        }
    };
    (0..200).filter(|_| named(&mut rng)).count()
}

#[test]
fn a_candidate_whose_slow_attempts_fail_is_seldom_named() {
    for (share, most) in [(0.2, 199), (0.5, 90)] {
        let [freely, known] = [false, true].map(|knows| named(share, knows));
        println!("{share} fail: named in {freely} of 200 without the rule, in {known} with it");
        assert!(known <= most && freely > 100, "{share}: {freely} {known}");
    }
}
