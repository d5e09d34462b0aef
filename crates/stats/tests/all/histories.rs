//! Change points of simulated histories: false alarms, steps, outliers, drifts. These seeds were not used for tuning.
//! The limits are the documented ones, or results of other series (40 runs, -2%: a change was reported in 97% at a CoV
//! of 1%, in 48% at 2%).

use crate::simulate::{Generator, generator, normal, normals, share};
use tare_stats::change_points::{Found, Options, find};

const OPTIONS: Options = Options { error_rate: 0.05, minimum_effect: 0.0, confidence: 0.95, seed: 1 };
const RUNS: usize = 40;

fn of(values: &[f64]) -> Found {
    find(values, &OPTIONS).unwrap()
}

fn says_something(found: &Found) -> bool {
    !found.changes.is_empty() || found.drift.is_some()
}

/// Runs of an AR(1) process around 100.
fn resembling(rng: &mut Generator, rho: f64, sd: f64, runs: usize) -> Vec<f64> {
    let mut last = normal(rng, 0.0, sd);
    let mut next = || {
        last = rho * last + normal(rng, 0.0, sd * (1.0 - rho * rho).sqrt());
        100.0 + last
    };
    (0..runs).map(|_| next()).collect()
}

/// 5% +- 2.5 of 300 series are at most 23.
#[test]
fn lines_without_a_change_say_something_no_more_often_than_expected() {
    let mut rng = generator(9011);
    let normal_runs = share(300, || says_something(&of(&normals(&mut rng, 100.0, 2.0, RUNS))));
    // One run in ten is far off, on the slow side.
    let tailed = share(300, || {
        let values = normals(&mut rng, 100.0, 2.0, RUNS);
        let off = |rng: &mut Generator| normal(rng, 0.0, 1.0) > 1.28;
        says_something(&of(&values.iter().map(|v| if off(&mut rng) { v * 0.8 } else { *v }).collect::<Vec<_>>()))
    });
    let short = share(300, || says_something(&of(&normals(&mut rng, 100.0, 2.0, 10))));
    println!("normal {normal_runs:.3}, tailed {tailed:.3}, ten runs {short:.3}");
    for found in [normal_runs, tailed, short] {
        assert!(found <= 23.0 / 300.0, "{found}");
    }
}

/// Three in ten runs, or half of them, are in a mode 8% higher, and a run in five is 20% slower: their order is random.
#[test]
fn runs_in_two_modes_are_seldom_changes() {
    let mut rng = generator(9019);
    let (half, three_in_ten, a_fifth) = (0.0, 0.524, 0.842);
    for (runs, above, gap) in
        [(12, three_in_ten, 1.08), (12, half, 1.08), (40, three_in_ten, 1.08), (40, half, 1.08), (40, a_fifth, 0.8)]
    {
        let found = share(300, || {
            let values = normals(&mut rng, 100.0, 0.4, runs);
            let in_mode = |v: &f64| if normal(&mut rng, 0.0, 1.0) > above { v * gap } else { *v };
            says_something(&of(&values.iter().map(in_mode).collect::<Vec<_>>()))
        });
        println!("{runs} runs, those above {above} in a mode of {gap}: {found:.3}");
        assert!(found <= 23.0 / 300.0, "{runs} {above} {gap}: {found}");
    }
}

/// The error rate also holds with autocorrelation.
#[test]
fn sessions_that_resemble_the_ones_before_are_seldom_changes() {
    let mut rng = generator(9012);
    for (rho, runs) in [(0.4, 40), (0.4, 20), (0.4, 14), (0.2, 40)] {
        let found = share(300, || says_something(&of(&resembling(&mut rng, rho, 2.0, runs))));
        println!("AR(1) {rho}, {runs} runs: {found:.3}");
        assert!(found <= 23.0 / 300.0, "{rho} {runs}: {found}");
    }
}

#[test]
fn a_step_of_two_percent_is_found_near_its_place() {
    let mut rng = generator(9013);
    for (cov, least, reported) in [(1.0, 0.75, 0.92), (2.0, 0.18, 0.35)] {
        let mut covered = (0, 0);
        let mut seen = 0;
        let right = share(100, || {
            let mut values = normals(&mut rng, 100.0, cov, 20);
            values.extend(normals(&mut rng, 98.0, 0.98 * cov, 20));
            let found = of(&values);
            seen += usize::from(says_something(&found));
            let [change] = found.changes.as_slice() else { return false };
            covered.0 += usize::from(change.ratio.ci.unwrap().contains(0.98));
            covered.1 += 1;
            found.drift.is_none() && change.first_after.abs_diff(20) <= 4 && change.ratio.value < 1.0
        });
        println!(
            "-2% at CoV {cov}%: something said in {seen} of 100, one step near its place in {right:.2}, interval holds in {} of {}",
            covered.0, covered.1
        );
        assert!(right >= least && seen as f64 >= 100.0 * reported, "CoV {cov}: {right}, {seen}");
        assert!(covered.0 * 100 >= covered.1 * 80, "{covered:?}");
    }
}

/// The autocorrelation of a few runs is not known precisely enough to decide alone: by the estimate of the series
/// itself 44% were found.
#[test]
fn a_step_is_found_with_autocorrelation() {
    let mut rng = generator(9018);
    let found = share(300, || {
        let mut values = resembling(&mut rng, 0.4, 1.0, RUNS);
        values[RUNS / 2..].iter_mut().for_each(|value| *value *= 0.98);
        of(&values).changes.iter().any(|change| change.first_after.abs_diff(RUNS / 2) <= 4)
    });
    println!("-2% after {} of {RUNS} runs at CoV 1%, AR(1) 0.4: {found:.2}", RUNS / 2);
    assert!(found >= 0.5, "{found}");
}

/// A step of twenty standard deviations, in the middle or near the end, with or without autocorrelation. With 8 runs
/// there are only 70 ways to split them into halves. If one of the runs counts as an outlier, those of permuted runs
/// count too, and the four runs after a step may be among them.
#[test]
fn a_plain_step_is_found_in_short_histories() {
    let mut rng = generator(9016);
    for (runs, at, rho, least) in
        [(14, 7, 0.0, 0.97), (14, 10, 0.0, 0.9), (14, 7, 0.5, 0.97), (10, 5, 0.0, 0.95), (8, 4, 0.0, 0.93)]
    {
        let found = share(100, || {
            let mut values = resembling(&mut rng, rho, 0.25, runs);
            values[at..].iter_mut().for_each(|value| *value *= 0.95);
            let found = of(&values);
            found.drift.is_none() && found.changes.iter().map(|change| change.first_after).eq([at])
        });
        println!("-5% after {at} of {runs} runs at CoV 0.25%, AR(1) {rho}: {found:.2}");
        assert!(found >= least, "{runs} {at} {rho}: {found}");
    }
}

#[test]
fn two_steps_are_two_and_outliers_are_none() {
    let mut rng = generator(9014);
    let right = share(60, || {
        let mut values = normals(&mut rng, 100.0, 1.0, 15);
        values.extend(normals(&mut rng, 97.0, 1.0, 12));
        values.extend(normals(&mut rng, 92.0, 1.0, 13));
        for place in [5, 20, 39] {
            values[place] *= 0.7;
        }
        let found = of(&values);
        let places: Vec<usize> = found.changes.iter().map(|change| change.first_after).collect();
        let near = |place: usize, truth: usize| place.abs_diff(truth) <= 2;
        let named = [5, 20, 39].iter().all(|place| found.outliers.contains(place));
        named && matches!(places.as_slice(), [a, b] if near(*a, 15) && near(*b, 27))
    });
    println!("two steps and three outliers: {right:.2}");
    assert!(right >= 0.8, "{right}");
}

/// 3% over 60 runs: 0.05% per run, below the noise of every pair.
#[test]
fn a_drift_that_stays_under_every_step_is_a_drift() {
    let mut rng = generator(9015);
    let sizes: Vec<f64> = (0..60).map(|_| 100.0).collect();
    let mut covered = 0;
    let found = share(60, || {
        let drifting = |i: usize| sizes[i] * (1.0 - 0.03 * i as f64 / 59.0);
        let values: Vec<f64> = (0..60).map(|i| drifting(i) * (1.0 + normal(&mut rng, 0.0, 0.01))).collect();
        let found = of(&values);
        covered += usize::from(found.drift.is_some_and(|drift| drift.ratio.ci.unwrap().contains(0.97)));
        found.drift.is_some() && found.changes.is_empty()
    });
    println!("drift alone: {found:.2}, interval holds in {covered} of 60");
    assert!(found >= 0.8 && covered >= 48, "{found} {covered}");
}

/// Histories so short or changes so small that the search for steps alone is often ambiguous: the better fit, a step or
/// a slope, decides how a change is reported.
#[test]
fn what_is_shown_to_change_is_called_a_step_or_a_drift_as_it_was_planted() {
    let mut rng = generator(9017);
    let mut reported = |runs: usize, planted: &dyn Fn(f64) -> f64| {
        let (mut steps, mut drifts) = (0, 0);
        for _ in 0..200 {
            let mut value =
                |i: usize| 100.0 * planted(i as f64 / (runs - 1) as f64) * (1.0 + normal(&mut rng, 0.0, 0.02));
            let found = of(&(0..runs).map(&mut value).collect::<Vec<_>>());
            steps += usize::from(found.drift.is_none() && !found.changes.is_empty());
            drifts += usize::from(found.drift.is_some());
        }
        (steps, drifts)
    };
    for (runs, size) in [(40, 0.03), (8, 0.1)] {
        let step = reported(runs, &|at| if at < 0.5 { 1.0 } else { 1.0 - size });
        let drift = reported(runs, &|at| 1.0 - 2.0 * size * at);
        println!("{runs} runs at CoV 2%, of 200 (steps, drifts): -{size} {step:?}, drift of twice as much {drift:?}");
        assert!(step.0 >= 3 * step.1 && drift.1 >= 3 * drift.0, "{runs}: {step:?} {drift:?}");
    }
}
