//! How often the planted commit is found, and in how many pairs. The batch size was chosen with seeds 1000 to 1299 (1
//! to 6 pairs; correct in 286, 290, 296, 290 and 297 of 300 at 1, 2, 3, 4, 6, in a mean of 57, 60, 62, 67, 77 pairs);
//! none of these seeds is used here.

use super::next::Cell;
use super::planned::{BATCH, Effort, Planned, effort};
use crate::descriptive::mean;
use crate::quantiles::normal;
use crate::sequential::{Question, Rule};

const COMMITS: usize = 60;
const RUNS: u64 = 200;
/// +3%, with a coefficient of variation of 2% between trials.
const STEP: f64 = 0.03;
const SD: f64 = 0.02 * std::f64::consts::SQRT_2;

fn planned(step: f64) -> Planned {
    Planned {
        usable: vec![true; COMMITS + 1],
        step: step.ln_1p(),
        sd: SD,
        question: Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Anytime },
        batch: BATCH,
        confidence: 0.95,
    }
}

/// Every run, with the planted commit.
fn runs(planned: &Planned, from: u64) -> Vec<(usize, Effort)> {
    let one = |run: u64| {
        let first = 1 + (run as usize * 37) % COMMITS;
        (first, effort(planned, first, from + run).unwrap())
    };
    (0..RUNS).map(one).collect()
}

fn mean_pairs(runs: &[(usize, Effort)]) -> f64 {
    mean(&runs.iter().map(|(_, effort)| effort.pairs as f64).collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_planted_commit_is_found_in_19_of_20_and_in_half_the_pairs_of_plain_bisection() {
    let all = runs(&planned(STEP), 50_000);
    let right =
        all.iter().filter(|(first, effort)| effort.found.as_ref().is_some_and(|f| f.commits == (*first..=*first)));
    let right = right.count();
    let builds = mean(&all.iter().map(|(_, effort)| effort.builds as f64).collect::<Vec<_>>()).unwrap();
    println!("right in {right} of {RUNS}, {:.0} pairs, {builds:.1} builds", mean_pairs(&all));
    assert!(right >= 190, "{right}");
    // The pairs that plain bisection needs when the size of the step is known: six answers, each correct with the sixth
    // root of the probability that was reached here, with the threshold at half the step.
    let each = (right as f64 / RUNS as f64).min(0.99).powf(1.0 / (COMMITS as f64).log2().ceil());
    let plain = 6.0 * (normal(each) * SD / (STEP.ln_1p() / 2.0)).powi(2).ceil();
    println!("plain bisection: {plain} pairs");
    assert!(mean_pairs(&all) <= 0.6 * plain, "{} {plain}", mean_pairs(&all));
}

#[test]
fn commits_that_cannot_be_built_are_found_together_with_their_neighbour() {
    let mut planned = planned(STEP);
    (2..COMMITS).filter(|place| place % 4 == 1 || place % 7 == 0).for_each(|place| planned.usable[place] = false);
    let all = runs(&planned, 60_000);
    let right = |(first, effort): &&(usize, Effort)| {
        let cell = |found: &Cell| {
            // The cell holds only commits that cannot be distinguished.
            let between = *found.commits.start()..*found.commits.end();
            found.commits.contains(first) && between.clone().all(|place| !planned.usable[place])
        };
        effort.found.as_ref().is_some_and(cell)
    };
    let right = all.iter().filter(right).count();
    println!("unbuildable: right in {right} of {RUNS}, {:.0} pairs", mean_pairs(&all));
    assert!(right >= 190, "{right}");
}

#[test]
fn without_a_step_nothing_is_bisected() {
    let all = runs(&planned(0.0), 70_000);
    let wrong = all.iter().filter(|(_, effort)| effort.found.is_some()).count();
    println!("no step: bisected in {wrong} of {RUNS}, {:.0} pairs", mean_pairs(&all));
    assert!(wrong <= 10, "{wrong}");
}
