//! Power at a type I error of 2%: a trial varies by 2%, a state that neighbours share (AR 0.8) by 4%.
//! `TARE_NULL_STUDIES` sets the number of studies of each kind; `benches/truth` runs the full number. The limits were
//! determined with other seeds.

use crate::pairs::{SHAPES, Study, alike, claims, moved, two_by_two};
use crate::rates::{Limit, Rate, Rows, requested};
use crate::simulate::{Generator, generator, normal, normals};
use rand_distr::{Distribution, LogNormal, StudentT};
use tare_stats::Trials;
use tare_stats::descriptive::{mean, median, quantile, variance};
use tare_stats::effects::{Cell, sources_at};
use tare_stats::plan::{Costs, POWER, Pilot, Target, recommend, relative_half_width, top_count, trials_to_show};
use tare_stats::ratio::{Design, shift};

fn studies(few: usize) -> usize {
    requested().unwrap_or(few)
}

/// The limit of an observed rate whose true value is `expected`, at three standard errors.
fn least(expected: f64, studies: usize) -> Limit {
    Limit::AtLeast(100.0 * (expected - 3.0 * (expected * (1.0 - expected) / studies as f64).sqrt()))
}

fn rate(studies: usize, mut holds: impl FnMut() -> bool) -> Rate {
    Rate::count(studies, |_| holds())
}

/// A pattern of seven conditions, the number of blocks, whether trials drift, and the power.
type Pattern = (&'static str, fn(usize) -> (f64, f64), usize, bool, f64);

const PATTERNS: [Pattern; 4] = [
    ("one +5%", |c| last(c, 0.05), 5, false, 0.83),
    ("one +3%, one -3%", |c| (last(c, 0.03).0 + last(6 - c, -0.03).0, 1.0), 5, true, 0.24),
    ("one +3%, one -3%", |c| (last(c, 0.03).0 + last(6 - c, -0.03).0, 1.0), 10, true, 0.70),
    ("three +4%", |c| (if c > 3 { 0.04_f64.ln_1p() } else { 0.0 }, 1.0), 10, true, 0.72),
];

/// The logarithm of what the last of seven conditions gains, and its spread.
fn last(condition: usize, gain: f64) -> (f64, f64) {
    (if condition == 6 { gain.ln_1p() } else { 0.0 }, 1.0)
}

#[test]
fn a_difference_of_one_condition_in_seven_is_found() {
    let mut rng = generator(77_101);
    let each = studies(300);
    let mut rows = Rows::default();
    for (name, of, n, drifts, expected) in PATTERNS {
        let study = Study { k: 7, n, draw: SHAPES[0].1, drift: if drifts { 2.0 } else { 0.0 }, of: &of };
        let found = rate(each, || claims(&study.run(&mut rng)));
        let drift = if drifts { ", drift" } else { "" };
        rows.add(&format!("1x7, {n} blocks{drift}: {name}"), least(expected, each), found);
    }
    rows.judge();
}

/// The studentised range requires less of a pair than Holm's method, but must not increase the type I error. In the
/// test suite `pairs` makes more studies.
#[test]
fn equal_conditions_are_not_claimed_to_differ_beyond_the_stated_rate() {
    let mut rng = generator(77_102);
    let each = studies(300);
    let mut rows = Rows::default();
    for (name, draw) in SHAPES {
        for (k, n, drift) in [(3, 5, 2.0), (5, 6, 0.0), (8, 5, 2.0), (10, 5, 2.0)] {
            let study = Study { k, n, draw, drift, of: &alike };
            let wrong = rate(each, || claims(&study.run(&mut rng)));
            rows.add(&format!("{name}, {k} alike in {n} blocks, drift {drift}"), Limit::AtMost(2.0), wrong);
        }
    }
    // Conditions that are alike are not shown to differ from each other next to one that is noisier.
    for (k, n) in [(4, 5), (7, 5), (14, 5)] {
        for noisy in [3.0, 10.0] {
            let of = |c: usize| (0.0, if c == 0 { noisy } else { 1.0 });
            let study = Study { k, n, draw: SHAPES[0].1, drift: 2.0, of: &of };
            let wrong = rate(each, || claims(&study.run(&mut rng)));
            // Two percent, plus the cost of choosing the variances from the trials themselves: docs/noise.md.
            rows.add(&format!("one of {k} {noisy} times as noisy, {n} blocks"), Limit::AtMost(3.3), wrong);
        }
    }
    rows.judge();
}

/// The conditions of a study, and whether anything is reported.
type Layout = (&'static str, usize, fn(&mut Generator, &Study<'_>) -> bool);

const LAYOUTS: [Layout; 3] = [
    ("2x2", 4, |rng, study| moved(rng, study, two_by_two, 0)),
    ("1x7", 7, |rng, study| claims(&study.run(rng))),
    ("4x6x2", 48, |rng, study| moved(rng, study, four_by_six_by_two, 0)),
];

/// Every level but the first of each factor as a column.
fn four_by_six_by_two(condition: usize) -> Vec<bool> {
    let column = |level: usize, of: usize| (1..of).map(move |own| own == level);
    column(condition % 2, 2).chain(column(condition / 2 % 4, 4)).chain(column(condition / 8, 6)).collect()
}

/// A layout, the number of blocks, and the minimum power for a gain of one of its levels.
type Case = (usize, usize, &'static [(f64, f64)]);

const CASES: [Case; 5] = [
    (0, 5, &[(0.03, 0.25), (0.05, 0.65), (0.10, 0.99)]),
    (0, 10, &[(0.03, 0.60), (0.05, 0.98)]),
    (1, 5, &[(0.05, 0.37), (0.10, 0.96)]),
    (1, 10, &[(0.05, 0.81), (0.10, 0.99)]),
    (2, 5, &[(0.02, 0.70), (0.03, 0.97)]),
];

/// Type I error and power of the same analysis, in one table.
#[test]
fn one_level_is_found_and_nothing_is_not() {
    let mut rng = generator(77_103);
    let each = studies(300);
    let mut rows = Rows::default();
    for (layout, n, requested) in CASES {
        let (name, k, claims) = LAYOUTS[layout];
        let mut found = |gain: f64| {
            let of = |c: usize| (if k == 7 { last(c, gain).0 } else { (c & 1) as f64 * gain.ln_1p() }, 1.0);
            rate(each, || claims(&mut rng, &Study { k, n, draw: SHAPES[0].1, drift: 2.0, of: &of }))
        };
        rows.add(&format!("{name}, {n} blocks, drift: of nothing"), Limit::AtMost(2.0), found(0.0));
        for (gain, expected) in requested {
            let what = format!("{name}, {n} blocks, drift: one +{:.0}%", 100.0 * gain);
            rows.add(&what, least(*expected, each), found(*gain));
        }
    }
    rows.judge();
}

type Draw = fn(&mut Generator) -> f64;

/// One level with three times the standard deviation, in a 2 x 2 design, and blocks that differ by half of the larger
/// standard deviation or not at all. Whether the blocks are shown to differ is random; the interval covers the ratio in
/// both cases.
#[test]
fn intervals_of_a_ratio_of_spreads_cover_it() {
    let shapes: [(&str, Draw); 3] = [
        ("normal", |rng| normal(rng, 0.0, 1.0)),
        ("t3", |rng| StudentT::new(3.0).unwrap().sample(rng)),
        ("lognormal 0.5", |rng| LogNormal::new(0.0, 0.5).unwrap().sample(rng)),
    ];
    let mut rng = generator(77_104);
    let each = studies(400);
    let mut rows = Rows::default();
    for (name, draw) in shapes {
        for (n, blocks) in [4, 5, 10, 20].into_iter().flat_map(|n| [(n, 0.0), (n, 0.0015)]) {
            let covers = rate(each, || {
                let shifts: Vec<f64> = (0..n).map(|_| normal(&mut rng, 0.0, blocks)).collect();
                let cell = |c: usize| {
                    let scale = if c & 1 == 1 { 0.003 } else { 0.001 };
                    let trials = shifts.iter().map(|shift| (shift + scale * draw(&mut rng)).exp()).collect();
                    Cell { levels: vec![c & 1 == 1, c & 2 == 2], trials }
                };
                let cells: Vec<Cell> = (0..4).map(cell).collect();
                let found = sources_at(2, &[cells], &vec![(0..n).collect(); 4], 0.95, 0.02).unwrap();
                let noisy = found.ranking.iter().find(|source| source.factor == 0).unwrap();
                noisy.spread_ratio.ci.unwrap().contains(9.0)
            });
            let what = format!("the interval of a ratio of spreads covers: {name}, {n} blocks that differ by {blocks}");
            rows.add(&what, least(0.93, each), covers);
        }
    }
    rows.judge();
}

/// Further blocks of one study with a CoV of 5% that should reach a half-width of 3%, as added after a pilot of `n`
/// trials, and whether its interval covers the true mean.
fn after_a_pilot(rng: &mut Generator, n: usize) -> (usize, usize, bool) {
    const HALF: f64 = 0.03;
    let mut draw = || vec![normal(rng, 100.0, 5.0)];
    let mut samples: Vec<Vec<f64>> = (0..n).map(|_| draw()).collect();
    let pilot = Pilot { series: &[], interval_s: 1.0, samples: Trials::new(&samples).unwrap() };
    let costs = Costs { trial_s: 1.0, sample_s: 1.0, conditions: 1 };
    let target =
        Target { relative_half_width: HALF, confidence: 0.95, budget_s: 1e6, max_samples: 1, max_trials: 1_000_000 };
    let planned = recommend(&pilot, &costs, &target).unwrap().trials as usize;
    samples.extend((n..planned).map(|_| draw()));
    let planned = samples.len();
    loop {
        let means: Vec<f64> = samples.iter().map(|own| own[0]).collect();
        let (centre, s2) = (mean(&means).unwrap(), variance(&means).unwrap());
        let half = relative_half_width(centre, s2, means.len() as u64, 0.95);
        if half <= HALF {
            return (planned, means.len() - planned, (centre - 100.0).abs() <= half * centre);
        }
        let needed = top_count(centre, s2, HALF, 0.95).unwrap() as usize;
        samples.extend((0..needed.saturating_sub(means.len()).max(1)).map(|_| draw()));
    }
}

#[test]
fn pilots_reach_what_they_promise_in_a_few_blocks_more() {
    let mut rng = generator(77_105);
    let each = studies(600);
    let mut rows = Rows::default();
    for (n, most) in [(4, 5.0), (6, 4.0), (10, 2.0)] {
        let found: Vec<(usize, usize, bool)> = (0..each).map(|_| after_a_pilot(&mut rng, n)).collect();
        let all = |of: fn(&(usize, usize, bool)) -> usize| found.iter().map(|one| of(one) as f64).collect::<Vec<_>>();
        let (planned, more) = (all(|one| one.0), all(|one| one.1));
        let (usual, nine_tenths) = (median(&planned).unwrap(), quantile(&more, 0.9).unwrap());
        let of =
            |what: &str| format!("a pilot of {n} ({usual} planned, {nine_tenths:.1} added at most in 9 of 10): {what}");
        rows.add(&of("none added"), Limit::None, Rate::count(each, |i| found[i].1 == 0));
        rows.add(&of("the interval covers"), least(0.91, each), Rate::count(each, |i| found[i].2));
        let enough = Rate::count(each, |i| found[i].1 as f64 <= most + 1.0);
        rows.add(&of(&format!("no more than {} blocks added", most + 1.0)), Limit::AtLeast(90.0), enough);
    }
    rows.judge();
}

/// Half a standard deviation needs 64 trials of each side (Cohen, Statistical Power Analysis, 1988).
#[test]
fn as_many_trials_are_planned_as_show_the_difference_in_four_of_five_runs() {
    assert_eq!([0.02, 0.1, 0.0].map(|cov| trials_to_show(0.05, cov, 0.95)), [Some(4), Some(64), Some(2)]);
    assert_eq!(trials_to_show(1e-9, 1.0, 0.95), None);
    let mut rng = generator(77_106);
    let each = studies(2000);
    let shown = rate(each, || {
        let [a, b] = [1.0, 1.05].map(|mean| normals(&mut rng, mean, 0.02, 4));
        shift([&a, &b], Default::default(), Design::Independent, 0.95).unwrap().p_value <= 0.05
    });
    let mut rows = Rows::default();
    rows.add("5% with the trials that are planned for it, CoV 2%", least(POWER, each), shown);
    rows.judge();
}
