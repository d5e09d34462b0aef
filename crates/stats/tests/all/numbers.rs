//! Calls every public function with the smallest and largest numbers, zeros, equal values, and one and two values:
//! results do not depend on the unit, or the input is rejected. Every result is a finite number, and nothing panics.

use std::collections::BTreeMap;
use tare_stats::components::{Nested, components, of_trials};
use tare_stats::control::{self, Arm};
use tare_stats::covariates::{Covariate, Shape, Values, explain};
use tare_stats::effects::{self, Cell};
use tare_stats::ladder::{Rung, steps};
use tare_stats::plan::{Costs, Pilot, Target};
use tare_stats::ratio::{Arms, Better, Design, Effect};
use tare_stats::scaling::{self, Point};
use tare_stats::{
    Estimate, Groups, Interval, Trials, descriptive, growth, machines, modes, multiple, order, outliers, plan, ratio,
    serial, simultaneous, trials,
};

/// The results of a function: figures in the unit of the values, and figures without a unit.
#[derive(Default)]
struct Figures {
    in_unit: Vec<f64>,
    free: Vec<f64>,
}

impl Figures {
    fn in_unit(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.in_unit.extend(values);
        self
    }

    fn free(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.free.extend(values);
        self
    }
}

fn ends(ci: Option<Interval>) -> impl Iterator<Item = f64> {
    ci.into_iter().flat_map(|ci| [ci.low, ci.high])
}

fn of(estimate: Estimate) -> Vec<f64> {
    std::iter::once(estimate.value).chain(ends(estimate.ci)).collect()
}

/// A function: takes two arms, returns all its figures; `None` when it rejects the input.
type Entry = fn(&[f64], &[f64]) -> Option<Figures>;

fn figures() -> Figures {
    Figures::default()
}

fn nested(values: &[f64]) -> Vec<Vec<f64>> {
    values.chunks(3).map(<[f64]>::to_vec).collect()
}

fn cells(a: &[f64], b: &[f64]) -> Vec<Cell> {
    let half = a.len() / 2;
    let cell = |levels: [bool; 2], trials: &[f64]| Cell { levels: levels.to_vec(), trials: trials.to_vec() };
    vec![
        cell([false, false], &a[..half]),
        cell([true, false], &a[half..]),
        cell([false, true], &b[..half.min(b.len())]),
        cell([true, true], &b[half.min(b.len())..]),
    ]
}

fn numbered(values: &[f64]) -> Vec<(usize, f64)> {
    values.iter().copied().enumerate().collect()
}

/// Similar to the first arm, but not tied with it.
fn third(a: &[f64]) -> Vec<f64> {
    a[usize::from(a.len() > 2)..].to_vec()
}

fn rungs(a: &[f64], b: &[f64]) -> Vec<Rung> {
    let rung = |(place, trials): (usize, &[f64])| Rung {
        n: [1.0, 2.0, 4.0, 8.0][place % 4],
        trials: trials.to_vec(),
        blocks: Vec::new(),
        rounding: None,
    };
    let part = (a.len() / 2).max(1);
    a.chunks(part).take(2).chain(b.chunks(part).take(2)).enumerate().map(rung).collect()
}

fn compared(a: &[f64], b: &[f64], design: Design<'_>) -> Option<Figures> {
    let arms = Arms { a, b, better: Better::Lower, design, rounding: None };
    let found = ratio::compare(&[arms], 0.01, 0.95).ok()?;
    Some(found.iter().fold(figures(), |all, c| match c.effect {
        Effect::Ratio(found) => all.free(of(found)).free([c.p_value]),
        Effect::Difference(found) => all.in_unit(of(found)).free([c.p_value]),
    }))
}

const ENTRIES: &[(&str, Entry)] = &[
    ("descriptive", |a, _| {
        let in_unit =
            [descriptive::mean(a), descriptive::std_dev(a), descriptive::median(a), descriptive::quantile(a, 0.3)];
        let ends = descriptive::min_max(a).into_iter().flat_map(|(low, high)| [low, high]);
        let free = [descriptive::cov(a), descriptive::lag1_autocorrelation(a)];
        Some(
            figures()
                .in_unit(in_unit.into_iter().flatten().chain(ends))
                .in_unit(descriptive::batch_means(a, 2))
                .free(free.into_iter().flatten()),
        )
    }),
    ("variance", |a, _| {
        Some(figures().free([descriptive::variance(a)?.sqrt() / descriptive::mean(a).filter(|m| *m != 0.0)?]))
    }),
    ("trials", |a, _| {
        let found = trials::summarize(Trials::new(&nested(a)).ok()?, 0.95)?;
        let in_unit = [found.mean, found.min, found.max, found.sample_min, found.sample_max];
        let free = [found.within_cov, found.between_cov];
        Some(
            figures()
                .in_unit(in_unit)
                .in_unit(ends(found.ci))
                .free(free.into_iter().flatten())
                .free(ends(found.between_cov_ci)),
        )
    }),
    ("mean_interval", |a, _| Some(figures().in_unit(ends(trials::mean_interval(a, 0.95))))),
    ("cov_interval", |a, _| Some(figures().free(ends(trials::cov_interval(descriptive::cov(a)?, a.len(), 0.95))))),
    ("cov_interval of the values", |a, _| {
        // Its value has no meaning here; it must be absent or a number.
        let ends: Vec<f64> = a.iter().flat_map(|k| ends(trials::cov_interval(*k, 5, 0.95))).collect();
        assert!(ends.iter().all(|end| end.is_finite()));
        None
    }),
    ("average_and_largest", |a, _| trials::average_and_largest(a).map(|(mean, most)| figures().in_unit([mean, most]))),
    ("components", |a, _| {
        let samples = nested(a);
        let samples = Trials::new(&samples).ok()?;
        let found = components(&Nested::from_trials(samples)).ok()?;
        assert_eq!(of_trials(samples).as_ref(), Ok(&found));
        Some(figures().in_unit([found.mean]).free(found.covs()?))
    }),
    ("plan", |a, _| {
        let samples = nested(a);
        let pilot = Pilot { series: &[a.to_vec()], interval_s: 1.0, samples: Trials::new(&samples).ok()? };
        let costs = Costs { trial_s: 10.0, sample_s: 1.0, conditions: 3 };
        let target = Target {
            relative_half_width: 0.01,
            confidence: 0.95,
            budget_s: 3600.0,
            max_samples: 50,
            max_trials: 1_000_000,
        };
        let found = plan::recommend(&pilot, &costs, &target).ok()?;
        let counts = [found.samples as f64, found.trials as f64];
        Some(figures().free([found.warmup_s, found.relative_half_width, found.total_s]).free(counts))
    }),
    ("plan::warmup_readings", |a, _| plan::warmup_readings(a).map(|n| figures().free([n as f64]))),
    ("ratio, independent", |a, b| compared(a, b, Design::Independent)),
    ("ratio, blocks", |a, b| compared(a, b, Design::Blocks)),
    ("ratio, apart", |a, b| compared(a, b, Design::Apart([1.5, 2.0]))),
    ("ratio, probed", |a, b| compared(a, b, Design::Probed { probes: [b, a], trials: &Design::Independent })),
    ("ratio, probed in blocks", |a, b| compared(a, b, Design::Probed { probes: [b, a], trials: &Design::Blocks })),
    ("fieller", |a, b| ratio::fieller(a, b, 0.95).ok().map(|found| figures().free(of(found)))),
    ("paired", |a, b| ratio::paired(a, b, 0.95).ok().map(|found| figures().free(of(found)))),
    ("control", |a, b| {
        let probe: Vec<f64> = (0..a.len()).map(|i| 1.0 + (i * i % 5) as f64).collect();
        let (one, other) =
            (Arm { metric: a, probe: &probe }, Arm { metric: b, probe: &probe[..b.len().min(probe.len())] });
        let free = [control::adjusted(&one, &other, 0.95)];
        let at = control::mean_at(&one, 2.0, 0.95).ok()?;
        Some(figures().free(free.into_iter().flatten().flat_map(of)).free(control::left(&one).ok()).in_unit(of(at)))
    }),
    ("covariates", |a, b| {
        let alone = vec![0; a.len()];
        let numbers = b.iter().copied().map(Some).chain(std::iter::repeat(None)).take(a.len()).collect();
        let words = (0..a.len()).map(|i| Some(format!("{}", i % 2))).collect();
        let covariates = [
            Covariate { name: "x", values: Values::Numeric(numbers) },
            Covariate { name: "w", values: Values::Categorical(words) },
        ];
        let by = |shape| explain(a, &alone, &alone, &covariates, shape, 99, 1).unwrap();
        let all = by(Shape::Linear).into_iter().chain(by(Shape::Threshold));
        Some(figures().free(all.flat_map(|found| [found.share, found.p_value, found.p_adjusted])))
    }),
    ("modes", |a, _| {
        let found = modes::detect(a)?;
        let centres = found.modes.iter().map(|mode| mode.centre).chain(modes::means(&found, a));
        Some(
            figures()
                .in_unit(centres.collect::<Vec<_>>())
                .free(found.modes.iter().map(|mode| mode.weight))
                .free([found.excess]),
        )
    }),
    ("effects", |a, b| {
        let found = effects::effects(2, &cells(a, b), &[], &[], 2, 0.95).ok()?;
        let spreads = found.iter().flat_map(|effect| effect.spread_ratio.map(of).unwrap_or_default());
        let means = found.iter().flat_map(|effect| of(effect.mean_ratio).into_iter().chain(effect.mean_p));
        Some(figures().free(means).free(spreads).free(found.iter().filter_map(|effect| effect.spread_p)))
    }),
    ("effects::residuals", |a, b| effects::residuals(&cells(a, b)).ok().map(|(left, _)| figures().free(left))),
    ("effects::sources", |a, b| {
        let mut found = effects::sources(2, &[cells(a, b)], 0.95).ok()?;
        // Two factors of equal strength may swap places through rounding.
        found.ranking.sort_by(|a, b| a.factor.cmp(&b.factor));
        let each =
            found.ranking.iter().flat_map(|one| of(one.spread_ratio).into_iter().chain([one.p_value, one.share]));
        Some(figures().free(each).free([found.unexplained]))
    }),
    ("scaling", |a, b| {
        let points = scaling::rung_points(&rungs(a, b));
        let law = scaling::fit(&points, 0.95).ok()?;
        let free = [law.sigma, law.kappa].into_iter().flat_map(of).chain(law.peak).chain(law.residual_cov);
        Some(figures().in_unit(of(law.lambda)).in_unit([law.at(16.0)]).in_unit(of(law.predict(16.0, 0.95))).free(free))
    }),
    ("ladder", |a, b| {
        let found = steps(&rungs(a, b), 0.95).ok()?;
        Some(figures().free(found.iter().flat_map(|step| of(step.ratio))))
    }),
    ("growth", |a, b| {
        let profile = |n: f64, values: &[f64]| growth::Profile {
            n,
            shares: values.iter().enumerate().map(|(i, v)| (format!("s{i}"), *v)).collect::<BTreeMap<_, _>>(),
        };
        let found = growth::rank(&[profile(1.0, a), profile(2.0, b), profile(4.0, a)], 0.95).ok()?;
        Some(
            figures()
                .in_unit(found.iter().flat_map(|one| [one.first, one.last].into_iter().chain(of(one.per_doubling)))),
        )
    }),
    ("serial", |a, _| {
        let order = serial::run_order(a, 1).map(|found| [found.correlation, found.p_value, found.inflation(a.len())]);
        Some(figures().free(order.into_iter().flatten()).free(serial::drift(a)))
    }),
    ("serial, two runs", |a, b| {
        let order = serial::of_runs(&[a, b], 1)?;
        Some(figures().free([order.correlation, order.p_value, order.inflation_apart(a.len(), 2.5)]))
    }),
    ("outliers", |a, _| outliers::farthest(a).map(|found| figures().free([found.index as f64, found.p_value]))),
    ("machines", |a, b| {
        let all = [a.to_vec(), b.to_vec(), third(a)];
        let all = Groups::new(&all).ok()?;
        let found = machines::compare(all, 0.95)?;
        // Machines with too few blocks have no interval.
        let differences = found.differences.into_iter().filter(|one| one.ci.is_some()).flat_map(of);
        Some(
            figures()
                .in_unit(differences.collect::<Vec<_>>())
                .in_unit([found.between, found.within])
                .free(machines::odd(all, 0.05, 0.8).shown.into_iter().map(|i| i as f64)),
        )
    }),
    ("simultaneous", |a, b| {
        let both = [false, true]
            .map(|blocks| simultaneous::rank(&[numbered(a), numbered(b), numbered(&third(a))], 0.05, blocks));
        Some(both.into_iter().flatten().fold(figures(), |all, found| {
            let all = all.free([found.p_value, found.lowest.len() as f64]);
            found
                .widest
                .into_iter()
                .fold(all, |all, pair| all.in_unit([pair.difference]).in_unit(ends(pair.interval(0.95))))
        }))
    }),
];

const UNITS: [f64; 9] = [1e-300, 1e-200, 1e-150, 1e-100, 1.0, 1e100, 1e150, 1e200, 1e300];

/// Arms of every kind, near 1.
fn arms() -> Vec<(&'static str, Vec<f64>, Vec<f64>)> {
    // A different wave for the other arm; otherwise their differences would be pure rounding errors.
    let wave = |n: usize, centre: f64| {
        let step = if centre == 1.0 { 7 } else { 5 };
        (0..n).map(|i| centre * (1.0 + 0.01 * ((i * i * step % 13) as f64 - 6.0))).collect::<Vec<_>>()
    };
    let equal = |n: usize| vec![1.0; n];
    let mut all = vec![
        ("none", vec![], vec![]),
        ("zeros", vec![0.0; 12], vec![0.0; 12]),
        ("some zeros", [vec![0.0; 4], wave(8, 1.0)].concat(), wave(12, 1.3)),
        (
            "both signs",
            wave(12, 1.0).iter().enumerate().map(|(i, v)| if i % 2 == 0 { *v } else { -v }).collect(),
            wave(12, -1.3),
        ),
        ("two modes", [wave(6, 1.0), wave(6, 5.0)].concat(), [wave(6, 5.0), wave(6, 1.0)].concat()),
        ("an outlier", [wave(11, 1.0), vec![0.2]].concat(), wave(12, 1.1)),
        ("unequal", wave(12, 1.0), wave(8, 1.4)),
        ("one against many", wave(1, 1.0), wave(12, 1.4)),
    ];
    for n in [1, 2, 3, 6, 12, 24] {
        all.push(("values", wave(n, 1.0), wave(n, 1.3)));
        all.push(("equal values", equal(n), equal(n)));
    }
    all
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()) + 1e-9
}

#[test]
fn every_figure_is_a_number_and_the_same_in_every_unit() {
    for (entry, run) in ENTRIES {
        for (kind, a, b) in arms() {
            let plain = run(&a, &b);
            let mut answered = 0;
            for unit in UNITS {
                let scaled = |values: &[f64]| values.iter().map(|v| v * unit).collect::<Vec<f64>>();
                let about = format!("{entry} of {kind}, {} and {} values in units of {unit:e}", a.len(), b.len());
                let Some(found) = run(&scaled(&a), &scaled(&b)) else { continue };
                answered += 1;
                let all = found.in_unit.iter().chain(&found.free);
                assert!(all.clone().all(|v| v.is_finite()), "{about}: {:?}", all.collect::<Vec<_>>());
                let plain = plain.as_ref().unwrap_or_else(|| panic!("{about}: reported only here"));
                let same = |here: &[f64], there: &[f64], unit: f64| {
                    here.len() == there.len() && here.iter().zip(there).all(|(h, t)| close(h / unit, *t))
                };
                assert!(same(&found.free, &plain.free, 1.0), "{about}: {:?} and {:?}", found.free, plain.free);
                assert!(
                    same(&found.in_unit, &plain.in_unit, unit),
                    "{about}: {:?} and {:?}",
                    found.in_unit,
                    plain.in_unit
                );
            }
            // Rejecting all but the common units would make the test pass without checking anything.
            assert!(plain.is_none() || answered >= 3, "{entry} of {kind} answers in {answered} units");
        }
    }
}

#[test]
fn arms_of_very_different_units_yield_figures_or_are_refused() {
    for (entry, run) in ENTRIES {
        for (kind, a, b) in arms() {
            for (of_a, of_b) in
                [(1e-300, 1e300), (1e300, 1e-300), (1e-160, 1e160), (1e150, 1.0), (1.0, 1e-150), (0.0, 1e300)]
            {
                let a: Vec<f64> = a.iter().map(|v| v * of_a).collect();
                let b: Vec<f64> = b.iter().map(|v| v * of_b).collect();
                let Some(found) = run(&a, &b) else { continue };
                let all: Vec<f64> = found.in_unit.into_iter().chain(found.free).collect();
                assert!(all.iter().all(|v| v.is_finite()), "{entry} of {kind} in {of_a:e} and {of_b:e}: {all:?}");
            }
        }
    }
}

#[test]
fn what_takes_no_measurements_is_sound_at_its_ends() {
    for p in [vec![], vec![0.0; 3], vec![1.0; 3], vec![1e-300, 1e-310, 1.0]] {
        for adjusted in [multiple::holm(&p), multiple::benjamini_yekutieli(&p)] {
            assert!(adjusted.iter().all(|p| (0.0..=1.0).contains(p)), "{adjusted:?}");
        }
    }
    for n in [0, 1, 2, 1_000_000] {
        let order = serial::RunOrder { correlation: 0.9, p_value: 0.01, trials: n };
        assert!(order.inflation(n).is_finite() && order.inflation(n) >= 1.0 || n == 0, "{n}");
    }
    assert_eq!(order::randomized_blocks(0, 3, 1).concat(), Vec::<usize>::new());
    let none = Point { n: 1.0, x: 1.0 };
    assert!(scaling::fit(&[none, none], 0.95).is_err());
    for (mean, s2, n) in [(0.0, 0.0, 0), (1e-300, 1e-300, 2), (1e300, 1e300, 2), (0.0, 1.0, 5)] {
        assert!(!plan::relative_half_width(mean, s2, n, 0.95).is_nan(), "{mean} {s2} {n}");
        let count = plan::top_count(mean, s2, 0.01, 0.95);
        assert!(count.is_none_or(|n| n >= 2), "{count:?}");
    }
}
