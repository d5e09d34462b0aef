//! The number of executions until queries are warm, and the factor that determines it.

use crate::draws::Draws;
use crate::made_up::{results, trial};
use crate::rates::{Limit, Rate, Rows, requested};
use tare_findings::summarize;
use tare_findings::warm_up::{WarmUpBy, warm_up_by_level};

/// "Improving the Stability of MySQL Single-Threaded Benchmarks": about eight runs with the adaptive hash index, none
/// without it.
fn found(runs_of_index: [usize; 2]) -> Option<WarmUpBy> {
    let mut trials = Vec::new();
    for block in 0..3 {
        for (place, aslr) in ["on", "off"].into_iter().enumerate() {
            for ahi in ["ON", "OFF"] {
                let mut made = trial(trials.len(), block, &format!("aslr={aslr} ahi={ahi}"), 1.0, false);
                made.samples[0].metrics = [("query_s_q12".to_owned(), 1.0)].into();
                let cold = if ahi == "ON" { runs_of_index[place] } else { place };
                let seconds = (0..10).map(|run| if run < cold { 1.6 - 0.06 * run as f64 } else { 1.0 });
                made.warm_up = [("query_s_q12".to_owned(), seconds.collect())].into();
                trials.push(made);
            }
        }
    }
    let summary = summarize(&results("spread", trials));
    warm_up_by_level(&summary.warm_up, &summary.conditions)
}

#[test]
fn the_hash_index_needs_eight_runs_and_its_absence_one() {
    let by = found([7, 8]).unwrap();
    assert_eq!(by.factor, "ahi");
    assert_eq!(by.levels, [("ON".to_owned(), 7..=8), ("OFF".to_owned(), 0..=1)]);
    assert_eq!(found([0, 1]), None, "as long with it as without");
    assert_eq!(found([7, 10]), None, "one was never warm");
}

/// Five trials whose first execution takes half as long again, and whose second is 2% longer on average, by chance.
#[test]
fn an_execution_is_shown_to_be_cold_only_beyond_the_differences_of_trials() {
    let shown = |trials: usize| {
        let made = (0..trials).map(|block| {
            let mut made = trial(block, block, "ahi=ON", 1.0, false);
            made.samples[0].metrics = [("query_s_q12".to_owned(), 1.0)].into();
            let by_chance = [0.93, 1.11, 1.0, 0.95, 1.11][block];
            made.warm_up = [("query_s_q12".to_owned(), vec![1.5 + 0.01 * block as f64, by_chance])].into();
            made
        });
        summarize(&results("spread", made.collect())).warm_up.remove(0).shown
    };
    assert_eq!(shown(5), [true, false]);
    assert_eq!(shown(1), [false, false], "without an interval");
}

/// Queries that were warm from the first execution on, but the last execution of one is so much longer. Without a test
/// a query "was not warm" in 99% of studies of 22 queries.
#[test]
fn a_query_is_not_called_cold_because_trials_differ() {
    let mut draws = Draws::new(20_261_501);
    let mut cold = |queries: usize, n: usize, longer: f64| {
        let mut trials = Vec::new();
        let mut seconds = || (0.05 * draws.normal()).exp();
        for block in 0..n {
            for condition in ["ahi=ON", "ahi=OFF", "ahi=ON aslr=on", "ahi=OFF aslr=on"] {
                let mut made = trial(trials.len(), block, condition, 1.0, false);
                for query in 0..queries {
                    let name = format!("query_s_q{query}");
                    let measured = (0..5).map(|_| seconds()).sum::<f64>() / 5.0;
                    made.samples[0].metrics.insert(name.clone(), measured);
                    let mut runs: Vec<f64> = (0..8).map(|_| seconds()).collect();
                    runs[7] *= if query == 0 && condition == "ahi=ON" { 1.0 + longer } else { 1.0 };
                    made.warm_up.insert(name, runs);
                }
                trials.push(made);
            }
        }
        summarize(&results("spread", trials)).warm_up.iter().any(|warm| warm.warm_from.is_none())
    };
    let mut rows = Rows::default();
    for (queries, n) in [(1, 5), (6, 3), (22, 3)] {
        let each = requested().map_or(20, |requested| requested / 10);
        let wrong = Rate::count(each, |_| cold(queries, n, 0.0));
        rows.add(&format!("a query was not warm: {queries} queries, {n} trials"), Limit::AtMost(5.0), wrong);
        let found = Rate::count(each, |_| cold(queries, n, 0.5));
        let limit = if queries > 1 { Limit::AtLeast(75.0) } else { Limit::None };
        rows.add(&format!("a query that takes 50% longer was not warm: {queries} queries, {n} trials"), limit, found);
    }
    rows.judge();
}
