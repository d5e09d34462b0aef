//! Invariants over arbitrary input: order and unit do not matter, finite input never gives NaN.

use proptest::prelude::*;
use tare_stats::components::{Nested, components};
use tare_stats::covariates::{Covariate, Shape, Values, explain};
use tare_stats::descriptive::{batch_means, cov, lag1_autocorrelation, mean, quantile, variance};
use tare_stats::effects::{Cell, effects, sources};
use tare_stats::growth::{Profile, rank};
use tare_stats::ladder::{Rung, steps};
use tare_stats::modes::detect;
use tare_stats::multiple::holm;
use tare_stats::order::randomized_blocks;
use tare_stats::plan::{Costs, Pilot, Target, recommend, warmup_readings};
use tare_stats::ratio::{Arms, Better, Design, Verdict, compare, fieller};
use tare_stats::scaling::{Point, fit};
use tare_stats::trials::summarize;
use tare_stats::{Estimate, Interval, Trials};

/// Any finite value that a metric may have, including zero and repeated values.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -1e9..1e9, 1 => Just(0.0), 1 => Just(1.0), 1 => -1e-9..1e-9, 1 => any::<f64>().prop_filter("finite", |v| v.is_finite())]
}

fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 1.0..1e6, 1 => Just(1.0), 1 => 1e-9..1e12]
}

fn trials() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(value(), 0..6), 0..8)
}

fn in_order(ci: Option<Interval>) -> bool {
    ci.is_none_or(|i| i.low <= i.high)
}

fn sound(e: &Estimate) -> bool {
    !e.value.is_nan() && in_order(e.ci)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    prop::collection::vec(prop::collection::vec(positive(), 0..5), 4).prop_map(|all| {
        all.into_iter()
            .enumerate()
            .map(|(i, trials)| Cell { levels: vec![i & 1 == 1, i >> 1 & 1 == 1], trials })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn figures_of_a_slice_are_never_nan(values in prop::collection::vec(value(), 0..20), p in 0.0..=1.0, size in 0usize..5) {
        let figures = [mean(&values), variance(&values), cov(&values), quantile(&values, p), lag1_autocorrelation(&values)];
        prop_assert!(figures.iter().flatten().all(|v| !v.is_nan()));
        prop_assert!(batch_means(&values, size).iter().all(|v| v.is_finite()));
        prop_assert!(warmup_readings(&values).is_none_or(|d| d <= values.len()));
    }

    #[test]
    fn summaries_are_sound(data in trials()) {
        if let Some(s) = Trials::new(&data).ok().and_then(|data| summarize(data, 0.95)) {
            prop_assert!(s.mean.is_finite() && in_order(s.ci) && in_order(s.between_cov_ci));
            prop_assert!(s.ci.is_none_or(|ci| ci.contains(s.mean)));
            prop_assert!([s.within_cov, s.between_cov].iter().flatten().all(|c| *c >= 0.0));
            prop_assert!(s.sample_min <= s.min && s.min <= s.max && s.max <= s.sample_max);
        }
    }

    #[test]
    fn summaries_do_not_depend_on_order_and_scale_with_the_unit(
        data in prop::collection::vec(prop::collection::vec(1.0..1e6, 1..6), 2..8), unit in 1e-3..1e3f64
    ) {
        let base = summarize(Trials::new(&data).unwrap(), 0.95).unwrap();
        let turned: Vec<Vec<f64>> = data.iter().rev().map(|t| t.iter().rev().map(|v| v * unit).collect()).collect();
        let other = summarize(Trials::new(&turned).unwrap(), 0.95).unwrap();
        prop_assert!(close(base.mean * unit, other.mean));
        let (width, scaled): (f64, f64) = (base.ci.unwrap().width() * unit, other.ci.unwrap().width());
        prop_assert!((width - scaled).abs() <= 1e-6 * other.mean);
        prop_assert!((base.between_cov.unwrap() - other.between_cov.unwrap()).abs() < 1e-6);
    }

    #[test]
    fn components_are_sound_and_scale(data in trials(), unit in 1e-3..1e3f64) {
        if let Ok(c) = Trials::new(&data).and_then(|data| components(&Nested::from_trials(data))) {
            prop_assert!(c.levels.iter().all(|l| l.t2 >= 0.0 && l.t2.is_finite() && l.count >= 1.0));
            let scaled: Vec<Vec<f64>> = data.iter().map(|t| t.iter().map(|v| v * unit).collect()).collect();
            if let Ok(s) = Trials::new(&scaled).and_then(|scaled| components(&Nested::from_trials(scaled))) {
                let largest = c.levels.iter().map(|l| l.t2).fold(c.mean * c.mean, f64::max) * unit * unit;
                // Squares below the smallest normal number do not have six digits.
                let limit = (1e-6 * largest).max(f64::MIN_POSITIVE);
                prop_assert!(c.levels.iter().zip(&s.levels).all(|(a, b)| (a.t2 * unit * unit - b.t2).abs() <= limit));
            }
        }
    }

    #[test]
    fn advice_is_sound(data in trials(), series in prop::collection::vec(prop::collection::vec(value(), 0..80), 0..3),
                       cost in positive(), budget_s in positive(), width in 1e-4..0.5) {
        let Ok(samples) = Trials::new(&data) else { return Ok(()) };
        let pilot = Pilot { series: &series, interval_s: 1.0, samples };
        let costs = Costs { trial_s: cost, sample_s: 1.0, conditions: 3 };
        let target = Target { relative_half_width: width, confidence: 0.95, budget_s, max_samples: 100, max_trials: 1_000_000 };
        if let Ok(r) = recommend(&pilot, &costs, &target) {
            prop_assert!(!r.relative_half_width.is_nan() && r.samples >= 1 && r.trials >= 3);
            prop_assert!(r.total_s <= budget_s * (1.0 + 1e-9) || (r.trials, r.samples) == (3, 1));
        }
    }

    #[test]
    fn ratios_are_sound_and_verdicts_mirror(a in prop::collection::vec(value(), 0..6), b in prop::collection::vec(value(), 0..6)) {
        if let Ok(e) = fieller(&a, &b, 0.95) {
            prop_assert!(sound(&e));
            prop_assert!(e.ci.is_none_or(|ci| ci.low <= e.value + 1e-9 * e.value.abs() && e.value <= ci.high + 1e-9 * e.value.abs()));
            let verdict = |better| compare(&[Arms { a: &a, b: &b, better, design: Design::Independent, rounding: None }], 0.01, 0.95).unwrap()[0];
            let (up, down) = (verdict(Better::Higher), verdict(Better::Lower));
            let mirrored = match up.verdict { Verdict::Faster => Verdict::Slower, Verdict::Slower => Verdict::Faster, v => v };
            prop_assert_eq!(mirrored, down.verdict);
            prop_assert!(up.p_value >= 0.0 && up.p_value <= 1.0);
        }
    }

    #[test]
    fn holm_never_lowers_a_p_value_and_keeps_their_order(p in prop::collection::vec(0.0..=1.0f64, 0..20)) {
        let adjusted = holm(&p);
        prop_assert!(p.iter().zip(&adjusted).all(|(p, a)| a >= p && *a <= 1.0));
        for (i, x) in p.iter().enumerate() {
            prop_assert!(p.iter().enumerate().all(|(j, y)| x > y || adjusted[i] <= adjusted[j]));
        }
    }

    #[test]
    fn modes_are_sound_whatever_the_order(values in prop::collection::vec(value(), 0..20)) {
        if let Some(found) = detect(&values) {
            let mut members: Vec<usize> = found.modes.iter().flat_map(|m| m.members.clone()).collect();
            members.sort_unstable();
            prop_assert_eq!(members, (0..values.len()).collect::<Vec<_>>());
            prop_assert!(found.modes.iter().all(|m| m.centre.is_finite() && m.weight > 0.0 && m.weight < 1.0));
            prop_assert!(found.modes.windows(2).all(|m| m[0].centre <= m[1].centre) && found.excess > 0.0);
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert!(detect(&reversed).is_some());
        }
    }

    #[test]
    fn associations_are_probabilities(y in prop::collection::vec(value(), 0..12), x in prop::collection::vec(prop::option::of(value()), 12), step: bool) {
        let covariate = Covariate { name: "x", values: Values::Numeric(x[..y.len()].to_vec()) };
        let groups: Vec<usize> = (0..y.len()).map(|i| i % 2).collect();
        let shape = if step { Shape::Threshold } else { Shape::Linear };
        let found = explain(&y, &groups, &groups, &[covariate], shape, 19, 1).unwrap();
        prop_assert!(found.iter().all(|a| (0.0..=1.0).contains(&a.share) && a.p_value > 0.0 && a.p_value <= 1.0));
    }

    #[test]
    fn effects_are_sound_with_any_cells_missing(cells in cells(), other in cells()) {
        if let Ok(found) = effects(2, &cells, &[], &[], 2, 0.95) {
            for e in &found {
                prop_assert!(sound(&e.mean_ratio) && e.spread_ratio.is_none_or(|s| sound(&s)));
                prop_assert!([e.mean_p, e.spread_p].iter().flatten().all(|p| (0.0..=1.0).contains(p)));
            }
        }
        if let Ok(s) = sources(2, &[cells, other], 0.95) {
            let total = s.unexplained + s.ranking.iter().map(|r| r.share).sum::<f64>();
            prop_assert!((total - 1.0).abs() < 1e-9, "{}", total);
        }
    }

    #[test]
    fn the_law_is_sound_and_scales_with_the_unit(x in prop::collection::vec(1.0..1e4, 4..8), unit in 1e-3..1e3f64) {
        let points = |unit: f64| x.iter().enumerate().map(|(i, x)| Point { n: f64::from(1 << i), x: x * unit }).collect::<Vec<_>>();
        if let (Ok(a), Ok(b)) = (fit(&points(1.0), 0.95), fit(&points(unit), 0.95)) {
            prop_assert!([a.lambda, a.sigma, a.kappa, a.predict(256.0, 0.95)].iter().all(sound));
            prop_assert!(a.sigma.value >= 0.0 && a.kappa.value >= 0.0);
            prop_assert!((a.lambda.value * unit / b.lambda.value - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn ladders_and_growth_are_sound(rungs in prop::collection::vec((1u32..64, prop::collection::vec(positive(), 1..4)), 0..6)) {
        let rung = |(n, t): &(u32, Vec<f64>)| Rung { n: f64::from(*n), trials: t.clone(), blocks: Vec::new(), rounding: None };
        let ladder: Vec<Rung> = rungs.iter().map(rung).collect();
        prop_assert!(steps(&ladder, 0.95).unwrap().iter().all(|s| sound(&s.ratio)));
        let shares = |v: &[f64]| v.iter().enumerate().map(|(i, v)| (format!("s{i}"), v / 1e12)).collect();
        let profiles: Vec<Profile> = rungs.iter().map(|(n, t)| Profile { n: f64::from(*n), shares: shares(t) }).collect();
        if let Ok(ranked) = rank(&profiles, 0.95) {
            prop_assert!(ranked.iter().all(|g| sound(&g.per_doubling)));
            prop_assert!(ranked.windows(2).all(|w| w[0].per_doubling.value >= w[1].per_doubling.value));
        }
    }

    #[test]
    fn blocks_are_permutations(conditions in 0usize..20, blocks in 0usize..5, seed: u64) {
        for mut block in randomized_blocks(conditions, blocks, seed) {
            block.sort_unstable();
            prop_assert_eq!(block, (0..conditions).collect::<Vec<_>>());
        }
    }
}
