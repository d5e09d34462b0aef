//! Nothing is claimed where there is nothing, whatever the shape of the trials and however the machine drifts; and what
//! there is, is found. Simulated studies, a few hundred to a few thousand each.

use crate::simulate::{Generator, assert_covers, generator, normal, normals, share};
use rand_distr::{Distribution, Exp1, LogNormal, StudentT, Uniform};
use tare_stats::control::{Arm, adjusted};
use tare_stats::covariates::{Covariate, Shape, Values, explain, neighbours};
use tare_stats::effects::{Cell, sources};
use tare_stats::modes::detect;
use tare_stats::ratio::{Arms, Better, Design, Verdict, compare};
use tare_stats::serial::run_order;

type Draw = fn(&mut Generator) -> f64;

/// Shapes of standardised trial means.
const SHAPES: [(&str, Draw); 6] = [
    ("normal", |rng| normal(rng, 0.0, 1.0)),
    ("t3", |rng| StudentT::new(3.0).unwrap().sample(rng)),
    ("uniform", |rng| Uniform::new(0.0, 1.0).unwrap().sample(rng)),
    ("exponential", |rng| Exp1.sample(rng)),
    ("lognormal 0.5", |rng| LogNormal::new(0.0, 0.5).unwrap().sample(rng)),
    ("lognormal 1", |rng| LogNormal::new(0.0, 1.0).unwrap().sample(rng)),
];

/// Trials about 1: an independent part, and one that neighbours share.
fn drifting(rng: &mut Generator, n: usize, rho: f64, slope: f64) -> Vec<f64> {
    let mut state = normal(rng, 0.0, 1.0);
    (0..n)
        .map(|i| {
            state = rho * state + normal(rng, 0.0, (1.0 - rho * rho).sqrt());
            state + slope * i as f64
        })
        .collect()
}

#[test]
fn modes_are_not_seen_in_any_shape_of_one_mode() {
    let mut rng = generator(21);
    for (name, draw) in SHAPES {
        for n in [8usize, 12, 20, 50] {
            let alarms = share(2000, || detect(&(0..n).map(|_| draw(&mut rng)).collect::<Vec<_>>()).is_some());
            println!("{name}, {n} trials: {:.1}%", 100.0 * alarms);
            // 2.5% and two standard deviations of the simulation.
            assert!(alarms < 0.025 + 2.0 * 0.0035, "{name}, {n}: {alarms}");
        }
    }
}

#[test]
fn no_source_of_spread_is_named_by_tails_or_skew() {
    let mut rng = generator(22);
    for (name, draw) in SHAPES {
        for (n, queries) in [(3usize, 1), (5, 1), (10, 1), (5, 6)] {
            let wrong = share(800, || {
                let names = ["aslr".to_string(), "ahi".to_string()];
                let metric = |rng: &mut Generator| -> Vec<Cell> {
                    (0..4)
                        .map(|c| Cell {
                            levels: vec![c & 1 == 1, c >> 1 & 1 == 1],
                            trials: (0..n).map(|_| 100.0 * (0.02 * draw(rng)).exp()).collect(),
                        })
                        .collect()
                };
                let metrics: Vec<_> = (0..queries).map(|_| metric(&mut rng)).collect();
                sources(&names, &metrics, 0.95).unwrap().ranking.iter().any(|s| s.shown)
            });
            println!("{name}, {n} trials, {queries} queries: {:.1}%", 100.0 * wrong);
            assert!(wrong < 0.065, "{name}, {n}, {queries}: {wrong}");
        }
    }
}

#[test]
fn comparisons_by_block_cover_under_drift_and_are_narrow() {
    let mut rng = generator(23);
    for n in [3usize, 5, 10] {
        let (mut paired_width, mut plain_width) = (0.0, 0.0);
        let covered = share(2000, || {
            let blocks = normals(&mut rng, 0.0, 0.02, n);
            let arm = |rng: &mut Generator, scale: f64| -> Vec<f64> {
                blocks.iter().map(|b| 1000.0 * scale * (b + normal(rng, 0.0, 0.01)).exp()).collect()
            };
            let (a, b) = (arm(&mut rng, 1.0), arm(&mut rng, 0.98));
            let arms = |design| Arms { a: &a, b: &b, better: Better::Higher, design };
            let ci = arms(Design::Blocks).ratio(0.95).unwrap().ci.unwrap();
            paired_width += ci.width();
            plain_width += arms(Design::Independent).ratio(0.95).unwrap().ci.unwrap().width();
            ci.contains(0.98)
        });
        assert_covers(&format!("paired by block, {n}"), covered);
        println!("{n} blocks: {:.2} of the width of unpaired", paired_width / plain_width);
        assert!(n < 10 || paired_width / plain_width <= 0.55, "{}", paired_width / plain_width);
    }
}

#[test]
fn equivalence_has_the_power_of_two_one_sided_tests() {
    let mut rng = generator(24);
    let equivalent = |rng: &mut Generator, truth: f64| {
        let (a, b) = (normals(rng, 100.0, 1.0, 10), normals(rng, 100.0 * truth, 1.0, 10));
        let arms = Arms { a: &a, b: &b, better: Better::Higher, design: Design::Independent };
        compare(&[arms], 0.01, 0.95).unwrap()[0].verdict == Verdict::Equivalent
    };
    let (power, alarms) = (share(2000, || equivalent(&mut rng, 1.0)), share(2000, || equivalent(&mut rng, 1.01)));
    println!("equivalent within 1% at CoV 1%, n 10: {power}, at the edge {alarms}");
    assert!(power > 0.30 && alarms < 0.06, "{power} {alarms}");
}

#[test]
fn what_drifts_beside_the_trials_explains_nothing() {
    let mut rng = generator(25);
    for (name, rho, slope) in
        [("independent", 0.0, 0.0), ("AR 0.5", 0.5, 0.0), ("AR 0.8", 0.8, 0.0), ("linear", 0.0, 0.1)]
    {
        for n in [12usize, 20, 40] {
            let wrong = share(400, || {
                let y = drifting(&mut rng, n, rho, slope);
                let covariates: Vec<Covariate> = (0..5)
                    .map(|i| Covariate {
                        name: format!("{i}"),
                        values: Values::Numeric(drifting(&mut rng, n, rho, slope).into_iter().map(Some).collect()),
                    })
                    .collect();
                let groups: Vec<usize> = (0..n).map(|i| i % 2).collect();
                let strata = neighbours(&(0..n).collect::<Vec<_>>());
                let found = explain(&y, &groups, &strata, &covariates, Shape::Linear, 199, 7).unwrap();
                found.iter().any(|a| a.p_adjusted <= 0.05)
            });
            println!("{name}, {n} trials: {:.1}%", 100.0 * wrong);
            assert!(wrong < 0.06 + 2.0 * 0.011, "{name}, {n}: {wrong}");
        }
    }
}

#[test]
fn the_control_variate_covers_and_narrows() {
    let mut rng = generator(27);
    for n in [6usize, 10, 20] {
        for (name, sd_b, correlation) in [("equal", 1.0, 0.9), ("unequal", 2.0, 0.8), ("useless", 1.0, 0.0)] {
            let (mut width, mut plain) = (0.0, 0.0);
            let covered = share(1500, || {
                let arm = |rng: &mut Generator, scale: f64, sd: f64| -> (Vec<f64>, Vec<f64>) {
                    (0..n)
                        .map(|_| {
                            let x = normal(rng, 0.0, 1.0);
                            let left: f64 = 1.0 - correlation * correlation;
                            let y = correlation * x + left.sqrt() * sd * normal(rng, 0.0, 1.0);
                            ((0.1 * x).exp(), scale * (0.1 * y).exp())
                        })
                        .unzip()
                };
                let ((xa, ya), (xb, yb)) = (arm(&mut rng, 1.0, 1.0), arm(&mut rng, 1.05, sd_b));
                let found = adjusted(&Arm { metric: &ya, probe: &xa }, &Arm { metric: &yb, probe: &xb }, 0.95).unwrap();
                let ci = found.ci.unwrap();
                width += (ci.high / ci.low).ln();
                let arms = Arms { a: &ya, b: &yb, better: Better::Higher, design: Design::Independent };
                plain += arms.ratio(0.95).unwrap().ci.map_or(0.0, |ci| (ci.high / ci.low).ln());
                ci.contains(1.05)
            });
            assert_covers(&format!("adjusted, {name}, {n}"), covered);
            println!("  {:.2} of the plain width", width / plain);
            assert!(correlation < 0.85 || width / plain < 0.55, "{name} {n}: {}", width / plain);
        }
    }
}

#[test]
fn two_runs_one_after_the_other_carry_the_drift_seen_inside_each() {
    let mut rng = generator(28);
    for (name, rho, limit) in [("independent", 0.0, 0.06), ("AR 0.5", 0.5, 0.14), ("AR 0.8", 0.8, 0.22)] {
        for n in [10usize, 20] {
            let mut plain = 0usize;
            let studies = 1000;
            let wrong = share(studies, || {
                let run = |rng: &mut Generator| -> Vec<f64> {
                    drifting(rng, n, rho, 0.0).iter().map(|v| 100.0 * (1.0 + 0.01 * v)).collect()
                };
                let (a, b) = (run(&mut rng), run(&mut rng));
                let inflation = [&a, &b].map(|run| run_order(run, 1).map_or(1.0, |order| order.inflation(n)));
                let verdict = |design| {
                    let arms = Arms { a: &a, b: &b, better: Better::Higher, design };
                    compare(&[arms], 0.0, 0.95).unwrap()[0].verdict != Verdict::Inconclusive
                };
                plain += usize::from(verdict(Design::Independent));
                verdict(Design::Apart(inflation))
            });
            println!("{name}, {n}: {:.1}%, without {:.1}%", 100.0 * wrong, 100.0 * plain as f64 / studies as f64);
            assert!(wrong < limit, "{name} {n}: {wrong}");
        }
    }
}
