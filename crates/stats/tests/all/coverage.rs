//! Coverage of intervals, over simulated studies.

use crate::simulate::{assert_covers, generator, nested, normal, normals, share};
use rand_distr::{Distribution, StudentT};
use tare_stats::Trials;
use tare_stats::components::{Nested, components};
use tare_stats::effects::{Cell, effects};
use tare_stats::ratio::{Arms, Better, Design, Verdict, compare, fieller, paired};
use tare_stats::scaling::{Point, fit};
use tare_stats::trials::summarize;

#[test]
fn components_within_ten_percent_at_200_by_50() {
    let mut rng = generator(1);
    let mut worst = [0.0f64; 2];
    let mut sums = [0.0; 2];
    for _ in 0..40 {
        let c = components(&Nested::from_trials(Trials::new(&nested(&mut rng, 100.0, 5.0, 2.0, 200, 50)).unwrap()))
            .unwrap();
        let covs = c.covs().unwrap();
        for (i, truth) in [0.02, 0.05].into_iter().enumerate() {
            worst[i] = worst[i].max((covs[i] / truth - 1.0).abs());
            sums[i] += c.levels[i].t2 / 40.0;
        }
    }
    // The between-trial standard deviation of 200 trials has a standard error of 5%: 10% is two of these, which most
    // studies keep.
    assert!(worst[0] < 0.10, "{worst:?}");
    let mut rng = generator(2);
    let held = share(400, || {
        let c = components(&Nested::from_trials(Trials::new(&nested(&mut rng, 100.0, 5.0, 2.0, 200, 50)).unwrap()))
            .unwrap();
        (c.covs().unwrap()[1] / 0.05 - 1.0).abs() < 0.10
    });
    assert!(held > 0.93, "{held}");
    // Neither estimate is biased.
    assert!((sums[0] / 4.0 - 1.0).abs() < 0.01 && (sums[1] / 25.0 - 1.0).abs() < 0.05, "{sums:?}");
}

#[test]
fn unequal_sample_counts_leave_the_components_unbiased() {
    let mut rng = generator(3);
    let mut sum = 0.0;
    for _ in 0..4000 {
        let mut data = nested(&mut rng, 100.0, 3.0, 9.0, 20, 30);
        data.iter_mut().enumerate().for_each(|(i, t)| t.truncate(2 + i % 5 * 6));
        let c = components(&Nested::from_trials(Trials::new(&data).unwrap())).unwrap();
        sum += (c.levels[1].s2.unwrap() - c.levels[0].s2.unwrap() / c.levels[0].count) / 4000.0;
    }
    assert!((sum / 9.0 - 1.0).abs() < 0.06, "{sum}");
}

#[test]
fn intervals_over_trials_cover_and_pooled_ones_would_not() {
    let mut rng = generator(4);
    for trials in [3, 10] {
        let mean = share(2000, || {
            let s = summarize(Trials::new(&nested(&mut rng, 100.0, 5.0, 2.0, trials, 20)).unwrap(), 0.95).unwrap();
            s.ci.unwrap().contains(100.0)
        });
        assert_covers(&format!("mean of {trials} trials"), mean);
    }
    let pooled = share(500, || {
        let samples: Vec<Vec<f64>> =
            nested(&mut rng, 100.0, 5.0, 2.0, 10, 20).concat().into_iter().map(|v| vec![v]).collect();
        summarize(Trials::new(&samples).unwrap(), 0.95).unwrap().ci.unwrap().contains(100.0)
    });
    assert!(pooled < 0.6, "pooling would cover {pooled}");
    for truth in [0.02, 0.30] {
        let cov = share(2000, || {
            let s = summarize(Trials::new(&nested(&mut rng, 100.0, 100.0 * truth, 0.0, 10, 1)).unwrap(), 0.95).unwrap();
            // Absent when the upper limit is infinite, which at 0.3 happens in one of 2000 studies.
            s.between_cov_ci.is_none_or(|ci| ci.contains(truth))
        });
        assert_covers(&format!("between-trial CoV of {truth}"), cov);
    }
}

#[test]
fn fieller_covers_with_unequal_spread_and_counts() {
    let mut rng = generator(5);
    for (n, m, sd_a, sd_b) in [(10, 10, 5.0, 5.0), (10, 10, 2.0, 20.0), (5, 12, 10.0, 4.0), (3, 3, 5.0, 5.0)] {
        let covered = share(2000, || {
            let (a, b) = (normals(&mut rng, 100.0, sd_a, n), normals(&mut rng, 120.0, sd_b, m));
            fieller(&a, &b, 0.95).unwrap().ci.is_some_and(|ci| ci.contains(1.2))
        });
        if n == 3 {
            // Welch's test is conservative with few trials; its coverage must not be too low.
            assert!((0.93..=0.985).contains(&covered), "{covered}");
        } else {
            assert_covers(&format!("Fieller {n} {m} {sd_a} {sd_b}"), covered);
        }
    }
    let pairs = share(2000, || {
        let shared = normals(&mut rng, 0.0, 0.3, 8);
        let side =
            |rng: &mut _, e: f64| shared.iter().map(|s| (s + e + normal(rng, 0.0, 0.02)).exp()).collect::<Vec<_>>();
        let (a, b) = (side(&mut rng, 0.0), side(&mut rng, 0.05));
        paired(&a, &b, 0.95).unwrap().ci.unwrap().contains(0.05f64.exp())
    });
    assert_covers("pairs", pairs);
}

#[test]
fn false_verdicts_stay_within_the_family_error_rate() {
    let mut rng = generator(9);
    let false_alarm = share(1000, || {
        let arms: Vec<(Vec<f64>, Vec<f64>)> =
            (0..10).map(|_| (normals(&mut rng, 100.0, 3.0, 8), normals(&mut rng, 100.0, 3.0, 8))).collect();
        let family: Vec<Arms> = arms
            .iter()
            .map(|(a, b)| Arms { a, b, better: Better::Higher, design: Design::Independent, rounding: None })
            .collect();
        compare(&family, 0.0, 0.95).unwrap().iter().any(|c| c.verdict != Verdict::Inconclusive)
    });
    assert!(false_alarm < 0.07, "{false_alarm}");
    // At the edge of the range neither "faster" nor "equivalent" may be reported more often than the error rate.
    let edge = share(2000, || {
        let (a, b) = (normals(&mut rng, 100.0, 1.0, 10), normals(&mut rng, 102.0, 1.0, 10));
        compare(
            &[Arms { a: &a, b: &b, better: Better::Higher, design: Design::Independent, rounding: None }],
            0.02,
            0.95,
        )
        .unwrap()[0]
            .verdict
            != Verdict::Inconclusive
    });
    // At the edge both claims are false: "changed" with 2.5% on its side, "equivalent" with the 5% of two one-sided
    // tests.
    assert!(edge < 0.085, "{edge}");
}

/// 2^3 cells of ten trials; there are effects on the mean and the variance of ln of the trial mean.
fn cells(rng: &mut crate::simulate::Generator, draw: impl Fn(&mut crate::simulate::Generator) -> f64) -> Vec<Cell> {
    (0..8)
        .map(|i| {
            let levels: Vec<bool> = (0..3).map(|f| i >> f & 1 == 1).collect();
            let sd = 0.03 * if levels[0] { 3f64.sqrt() } else { 1.0 };
            let mean = 5.0 + if levels[1] { 0.04 } else { 0.0 };
            let trials = (0..10).map(|_| (mean + sd * draw(rng)).exp()).collect();
            Cell { levels, trials }
        })
        .collect()
}

#[test]
fn effect_intervals_cover_on_mean_and_spread() {
    for (max_order, seed) in [(1, 10), (3, 11)] {
        let mut rng = generator(seed);
        let mut covered = [0usize; 4];
        for _ in 0..2000 {
            let found = effects(3, &cells(&mut rng, |r| normal(r, 0.0, 1.0)), &[], &[], max_order, 0.95).unwrap();
            let spread = |i: usize| found[i].spread_ratio.unwrap().ci.unwrap();
            covered[0] += usize::from(found[1].mean_ratio.ci.unwrap().contains(0.04f64.exp()));
            covered[1] += usize::from(found[2].mean_ratio.ci.unwrap().contains(1.0));
            covered[2] += usize::from(spread(0).contains(3.0));
            covered[3] += usize::from(spread(2).contains(1.0));
        }
        for (what, n) in ["mean, 4%", "mean, none", "spread, 3x", "spread, none"].iter().zip(covered) {
            assert_covers(&format!("effect on {what}, order {max_order}"), n as f64 / 2000.0);
        }
    }
}

#[test]
fn heavy_tails_do_not_make_factors_look_noisy() {
    let mut rng = generator(12);
    let t5 = StudentT::new(5.0).unwrap();
    let covered = share(1000, || {
        let found = effects(3, &cells(&mut rng, |r| t5.sample(r)), &[], &[], 1, 0.95).unwrap();
        found[2].spread_ratio.unwrap().ci.unwrap().contains(1.0)
    });
    println!("spread under t5: {covered}");
    assert!(covered > 0.90, "{covered}");
}

#[test]
fn scalability_law_intervals_cover() {
    let ladders: [(&[f64], usize); 3] = [
        (&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 1),
        (&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], 5),
        (&[1.0, 2.0, 4.0], 5),
    ];
    let laws = [(1000.0, 0.05, 0.001), (1000.0, 0.02, 0.0001), (1000.0, 0.1, 0.02)];
    for (i, (ladder, trials)) in ladders.into_iter().enumerate() {
        for (lambda, sigma, kappa) in laws {
            let mut rng = generator(20 + i as u64);
            let mut covered = [0usize; 4];
            for _ in 0..1000 {
                let exact = |n: f64| lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
                let points: Vec<Point> = ladder
                    .iter()
                    .flat_map(|n| vec![*n; trials])
                    .map(|n| Point { n, x: exact(n) * (1.0 + normal(&mut rng, 0.0, 0.05)) })
                    .collect();
                let law = fit(&points, 0.95).unwrap();
                let next = ladder[ladder.len() - 1] * 2.0;
                let there = exact(next) * (1.0 + normal(&mut rng, 0.0, 0.05));
                covered[0] += usize::from(law.lambda.ci.is_some_and(|ci| ci.contains(lambda)));
                covered[1] += usize::from(law.sigma.ci.is_some_and(|ci| ci.contains(sigma)));
                covered[2] += usize::from(law.kappa.ci.is_some_and(|ci| ci.contains(kappa)));
                covered[3] += usize::from(law.predict(next, 0.95).ci.is_some_and(|ci| ci.contains(there)));
            }
            for (what, n) in ["lambda", "sigma", "kappa", "next"].iter().zip(covered) {
                let coverage = n as f64 / 1000.0;
                let name = format!("{what} of {sigma}/{kappa} on {} x {trials}", ladder.len());
                if *what == "next" {
                    // Cut at linear scaling where sigma is small: coverage is never too low, and slightly too high.
                    println!("{name}: {coverage}");
                    assert!((0.93..=0.99).contains(&coverage), "{name} covers {coverage}");
                } else {
                    assert_covers(&name, coverage);
                }
            }
        }
    }
}
