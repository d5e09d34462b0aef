//! Tests of the likelihood, of the next pair, and of how often the planted commit is found and in how many pairs. The
//! batch size was chosen with seeds 1000 to 1299 (1 to 6 pairs; correct in 286, 290, 296, 290 and 297 of 300 at 1, 2,
//! 3, 4, 6, in a mean of 57, 60, 62, 67, 77 pairs); none of these seeds is used here.

use super::*;
use crate::descriptive::mean;
use crate::sequential::Rule;

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

fn seen(a: usize, b: usize, log_ratio: f64, b_first: bool) -> BuildPair {
    BuildPair { a, b, pair: Pair { log_ratio, b_first } }
}

/// Compares the closed form with the integral over delta, phi and sigma that it solves.
#[test]
fn the_likelihood_is_that_of_the_model() {
    let all = [
        seen(0, 3, 0.031, false),
        seen(0, 3, 0.024, true),
        seen(0, 1, 0.006, false),
        seen(0, 2, 0.019, true),
        seen(1, 2, 0.033, false),
    ];
    let integral = |commit: usize| -> f64 {
        let mut sum = 0.0;
        for step in 0..90 {
            let sd = (-7.5 + 0.06 * f64::from(step)).exp();
            // Both in units of sigma, wide enough for all of the probability mass.
            for i in -120..=240 {
                for j in -120..=120 {
                    let (delta, phi) = (0.1 * f64::from(i) * sd, 0.1 * f64::from(j) * sd);
                    let squares: f64 = all
                        .iter()
                        .map(|seen| {
                            let s = f64::from(u8::from(seen.b >= commit)) - f64::from(u8::from(seen.a >= commit));
                            let x = if seen.pair.b_first { -0.5 } else { 0.5 };
                            (seen.pair.log_ratio - delta * s - phi * x).powi(2)
                        })
                        .sum();
                    let n = all.len() as f64;
                    // d delta and the density of phi, both of which contain sigma; d ln sigma.
                    let log = -n * sd.ln() - (squares + OF_PLACE * phi * phi) / (2.0 * sd * sd) + sd.ln();
                    sum += log.exp();
                }
            }
        }
        sum
    };
    let sums: Vec<f64> = (1..=3).map(integral).collect();
    let all_of_it: f64 = sums.iter().sum();
    for (found, sum) in chances(3, &all).unwrap().into_iter().zip(sums) {
        assert!((found - sum / all_of_it).abs() < 0.004, "{found} {}", sum / all_of_it);
    }
}

#[test]
fn without_pairs_all_commits_are_equally_likely_and_without_noise_one_is_certain() {
    assert_eq!(chances(4, &[]).unwrap(), [0.25; 4]);
    let ends = [seen(0, 4, 0.03, false), seen(0, 4, 0.03, true), seen(0, 2, 0.03, true), seen(0, 1, 0.0, false)];
    let found = chances(4, &ends).unwrap();
    assert!(found[1] > 0.999_999, "{found:?}");
    assert!(chances(4, &[seen(0, 1, f64::NAN, true)]).is_err());
    // An order effect alone is not a step.
    let place = |b: usize| [seen(0, b, 0.1, false), seen(0, b, -0.1, true)];
    let both = [place(2), place(2), place(1)].concat();
    assert!(chances(2, &both).unwrap().iter().all(|chance| (0.2..0.8).contains(chance)));
}

#[test]
fn the_middle_comes_first_and_neighbours_once_one_commit_has_half() {
    let none = [false; 9];
    assert_eq!(next(&[0.125; 8], &[true; 9], &none, 0.95), Next::Pairs { a: 0, b: 4 });
    let mut sure = [0.05; 8];
    sure[5] = 0.65;
    assert_eq!(next(&sure, &[true; 9], &none, 0.95), Next::Pairs { a: 5, b: 6 });
    // A build that exists and splits nearly as well.
    let mut built = none;
    (built[0], built[4]) = (true, true);
    let uneven = [0.15, 0.1, 0.12, 0.1, 0.13, 0.2, 0.1, 0.1];
    assert_eq!(next(&uneven, &[true; 9], &none, 0.95), Next::Pairs { a: 0, b: 4 });
    assert_eq!(next(&uneven, &[true; 9], &built, 0.95), Next::Pairs { a: 0, b: 4 });
}

#[test]
fn commits_that_cannot_be_built_are_reported_together() {
    let chances = [0.01, 0.40, 0.50, 0.07, 0.02];
    let usable = [true, true, false, true, true, true];
    let Next::Found(cell) = next(&chances, &usable, &[true; 6], 0.9) else { panic!() };
    assert_eq!(cell.commits, 2..=3);
    assert!((cell.chance - 0.9).abs() < 1e-12);
    assert_eq!(next(&chances, &usable, &[true; 6], 0.95), Next::Pairs { a: 1, b: 3 });
    // No commit between the ends can be built.
    let Next::Found(all) = next(&[0.5, 0.5], &[true, false, true], &[true; 3], 0.95) else { panic!() };
    assert_eq!((all.commits, all.chance), (1..=2, 1.0));
    assert_eq!(next(&[1.0], &[true; 2], &[true; 2], 0.95), Next::Found(Cell { commits: 1..=1, chance: 1.0 }));
}
