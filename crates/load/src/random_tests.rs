//! Streams never overlap; chi-square tests of every distribution against a formula that was derived independently of
//! the code.

use super::*;
use proptest::prelude::*;
use rand_distr::Distribution as _;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use std::collections::BTreeSet;

const DRAWS: usize = 200_000;
const WITH_PARAMETERS: [&str; 5] = ["zipfian:1.1", "zipfian:1000", "normal:2", "exponential:0.001", "exponential:9"];

fn names() -> impl Iterator<Item = &'static str> {
    Distribution::NAMES.into_iter().chain(WITH_PARAMETERS)
}

fn counts(distribution: Distribution, n: u64) -> Vec<f64> {
    let mut random = Random::new(20_260_101, Purpose::Transactions, 0);
    let draw = distribution.over(1, n);
    let mut counts = vec![0.0; n as usize];
    for _ in 0..DRAWS {
        counts[draw.draw(&mut random) as usize - 1] += 1.0;
    }
    counts
}

/// The p-value of the counts under the probabilities; cells with fewer than 5 expected counts are pooled.
fn fit(counts: &[f64], probabilities: &[f64]) -> f64 {
    assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9, "the formula itself must sum to 1");
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut pooled_count, mut pooled_expected) = (0.0, 0.0);
    for (count, probability) in counts.iter().zip(probabilities) {
        pooled_count += count;
        pooled_expected += probability * DRAWS as f64;
        if pooled_expected >= 5.0 {
            statistic += (pooled_count - pooled_expected).powi(2) / pooled_expected;
            cells += 1;
            (pooled_count, pooled_expected) = (0.0, 0.0);
        }
    }
    assert!(cells > 10, "too few cells to tell anything");
    1.0 - ChiSquared::new(f64::from(cells - 1)).unwrap().cdf(statistic)
}

fn assert_fits(distribution: Distribution, probabilities: &[f64]) {
    let p = fit(&counts(distribution, probabilities.len() as u64), probabilities);
    assert!(p > 0.001, "{distribution}: p = {p}");
}

/// P(mean of 12 uniforms <= y): the Irwin-Hall distribution function.
fn irwin_hall_mean_cdf(y: f64) -> f64 {
    let x = 12.0 * y.clamp(0.0, 1.0);
    let (mut sum, mut choose, mut factorial) = (0.0, 1.0, 1.0);
    for k in 0..=12 {
        let k = f64::from(k);
        if k <= x {
            sum += if k % 2.0 == 0.0 { choose } else { -choose } * (x - k).powi(12);
        }
        choose *= (12.0 - k) / (k + 1.0);
        factorial *= if k > 0.0 { k } else { 1.0 };
    }
    sum / factorial
}

fn zipfian(n: u64, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[test]
fn uniform_is_flat() {
    assert_fits(Distribution::Uniform, &vec![1.0 / 1000.0; 1000]);
}

#[test]
fn gaussian_is_the_irwin_hall_bell_over_the_range() {
    let n = 500;
    let cdf = |j: u64| irwin_hall_mean_cdf(j as f64 / n as f64);
    assert_fits(Distribution::Gaussian, &(0..n).map(|j| cdf(j + 1) - cdf(j)).collect::<Vec<_>>());
}

#[test]
fn pareto_follows_its_power_law_and_the_80_20_rule() {
    let n = 1000u64;
    let power = 0.2f64.ln() / 0.8f64.ln();
    let cdf = |j: u64| (j as f64 / n as f64).powf(1.0 / power);
    assert!((cdf(200) - 0.8).abs() < 1e-12);
    assert_fits(Distribution::Pareto, &(0..n).map(|j| cdf(j + 1) - cdf(j)).collect::<Vec<_>>());
    let first_fifth: f64 = counts(Distribution::Pareto, n)[..200].iter().sum::<f64>() / DRAWS as f64;
    assert!((first_fifth - 0.8).abs() < 0.005, "{first_fifth}");
}

#[test]
fn special_is_a_quarter_bell_and_three_quarters_hot_middle() {
    let n = 2000u64;
    let t = (n - 1) as f64;
    let bell = |j: u64| irwin_hall_mean_cdf(j as f64 / t);
    // The hot part is uniform over this interval of offsets, u in [1/4, 1).
    let at = |u: f64| u * (0.01 * t + 1.0) + t / 2.0 - 0.005 * t;
    let hot = |j: u64| ((j as f64 - at(0.25)) / (at(1.0) - at(0.25))).clamp(0.0, 1.0);
    let probabilities: Vec<f64> =
        (0..n).map(|j| 0.25 * (bell(j + 1) - bell(j)) + 0.75 * (hot(j + 1) - hot(j))).collect();
    assert_fits(Distribution::Special, &probabilities);
}

#[test]
fn zipfian_has_its_mass_function_at_and_around_exponent_one() {
    // pgbench's random_zipfian, with parameters from 1.001 on, has the same one.
    for exponent in [0.0, 0.5, 0.8, 1.0, 1.001, 1.3, 2.0] {
        assert_fits(Distribution::Zipfian { exponent }, &zipfian(300, exponent));
    }
}

#[test]
fn normal_and_exponential_have_the_probabilities_of_the_manual_of_pgbench() {
    let n = 500_u64;
    let of = |cdf: &dyn Fn(f64) -> f64| (0..n).map(|k| cdf((k + 1) as f64) - cdf(k as f64)).collect::<Vec<_>>();
    let bell = Normal::new(0.0, 1.0).unwrap();
    for deviations in [2.0, 2.5, 7.0] {
        let total = 2.0 * bell.cdf(deviations) - 1.0;
        let cdf = |key: f64| bell.cdf(2.0 * deviations * (key / n as f64 - 0.5)) / total;
        assert_fits(Distribution::Normal { deviations }, &of(&cdf));
    }
    for decay in [0.001, 2.5, 20.0] {
        let cdf = |key: f64| (-decay * key / n as f64).exp_m1() / (-decay).exp_m1();
        assert_fits(Distribution::Exponential { decay }, &of(&cdf));
    }
}

#[test]
fn zipfian_agrees_with_an_independent_sampler() {
    let other = rand_distr::Zipf::new(300.0, 0.8).unwrap();
    let mut generator = <Xoshiro256PlusPlus as SeedableRng>::seed_from_u64(5);
    let mut theirs = vec![0.0; 300];
    for _ in 0..DRAWS {
        theirs[other.sample(&mut generator) as usize - 1] += 1.0;
    }
    let ours = counts(Distribution::Zipfian { exponent: 0.8 }, 300);
    // Two-sample chi-square with equal sizes: sum of (a-b)^2/(a+b), one degree of freedom less than cells.
    let statistic: f64 = ours.iter().zip(&theirs).map(|(a, b)| (a - b) * (a - b) / (a + b)).sum();
    let p = 1.0 - ChiSquared::new(299.0).unwrap().cdf(statistic);
    assert!(p > 0.001, "p = {p}");
}

#[test]
fn the_test_of_fit_distinguishes_neighbouring_shapes() {
    assert!(fit(&counts(Distribution::Zipfian { exponent: 0.8 }, 300), &zipfian(300, 0.83)) < 1e-6);
}

#[test]
fn names_parse_and_print_back() {
    for name in names() {
        assert_eq!(name.parse::<Distribution>().unwrap().to_string(), name);
    }
    assert_eq!("zipfian:1.1".parse(), Ok(Distribution::Zipfian { exponent: 1.1 }));
    assert_eq!(Distribution::default(), Distribution::Special);
    let parameters = ["zipfian:", "zipfian:-1", "zipfian:NaN", "zipfian:inf", "normal:1.9", "normal", "exponential:0"];
    for wrong in ["", "Uniform", "zipf"].into_iter().chain(parameters) {
        assert_eq!(wrong.parse::<Distribution>().unwrap_err().given, wrong);
    }
}

proptest! {
    #[test]
    fn every_draw_stays_in_its_range(seed: u64, a in 0u64..1_000_000_000_000, span in 0u64..1_000_000_000_000) {
        let mut random = Random::new(seed, Purpose::Transactions, 0);
        for name in names() {
            let drawn = name.parse::<Distribution>().unwrap().over(a, a + span).draw(&mut random);
            prop_assert!((a..=a + span).contains(&drawn), "{name}: {drawn}");
        }
    }
}

#[test]
fn a_range_of_one_key_gives_that_key() {
    let mut random = Random::new(0, Purpose::Transactions, 0);
    for name in names() {
        let distribution: Distribution = name.parse().unwrap();
        assert!((0..100).all(|_| distribution.over(5, 5).draw(&mut random) == 5), "{name}");
        assert_eq!(distribution.over(5, 2).draw(&mut random), 5, "an empty range counts as its start");
    }
}

#[test]
fn a_stream_repeats_and_no_two_share_their_numbers() {
    let firsts = |seed, purpose, index| {
        let mut random = Random::new(seed, purpose, index);
        (0..50).map(|_| random.bits()).collect::<Vec<_>>()
    };
    assert_eq!(firsts(7, Purpose::Transactions, 3), firsts(7, Purpose::Transactions, 3));
    let mut seen = BTreeSet::new();
    for seed in [7, 8] {
        for purpose in [Purpose::Transactions, Purpose::Arrivals, Purpose::Rows] {
            for index in 0..4 {
                seen.extend(firsts(seed, purpose, index));
            }
        }
    }
    assert_eq!(seen.len(), 2 * 3 * 4 * 50);
}

#[test]
fn below_reaches_both_ends_and_stays_inside() {
    let mut random = Random::new(1, Purpose::Rows, 0);
    let drawn: BTreeSet<u64> = (0..1000).map(|_| random.below(5)).collect();
    assert_eq!(drawn, BTreeSet::from([0, 1, 2, 3, 4]));
    assert_eq!(random.below(0), 0);
}
