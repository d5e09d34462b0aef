//! How often modes are found in trials that have none, and in trials that have two.

use super::{Limit, Rate, Rows, requested};
use crate::draws::Draws;
use crate::made_up::{results, trial};
use std::collections::BTreeMap;
use tare_findings::summarize;
use tare_results::schema::TrialRecord;

/// Nominal total rate of false modes, in percent: in the metrics that a study is about, in other metrics, and in all
/// conditions together (`tare_findings::confidence`).
const LIMIT: f64 = 2.5;

type Draw = fn(&mut Draws) -> f64;

const SHAPES: [(&str, Draw); 4] = [
    ("normal", Draws::normal),
    ("t3", |draws| draws.normal() / ((0..3).map(|_| draws.normal().powi(2)).sum::<f64>() / 3.0).sqrt()),
    ("lognormal 0.5", |draws| (0.5 * draws.normal()).exp()),
    ("uniform", |draws| 3.46 * draws.uniform()),
];

/// A study: conditions, trials of each, metrics, and the spread of values that are rounded to integers.
struct Study {
    conditions: usize,
    n: usize,
    queries: usize,
    rounded_sd: Option<f64>,
    /// Standard deviation of blocks, in those of a trial.
    of_blocks: f64,
}

impl Study {
    fn run(&self, draws: &mut Draws, own: Draw) -> Vec<TrialRecord> {
        let Self { conditions, n, queries, rounded_sd, of_blocks } = *self;
        let moved: Vec<f64> = (0..n).map(|_| of_blocks * draws.normal()).collect();
        let value = |draws: &mut Draws, block: usize| {
            let own = own(draws) + moved[block];
            rounded_sd.map_or(1000.0 + 10.0 * own, |sd| (1000.0 + sd * own).round())
        };
        let places = (0..n).flat_map(|block| (0..conditions).map(move |condition| (block, condition)));
        let one = |(number, (block, condition)): (usize, (usize, usize))| {
            let mut record = trial(number, block, &format!("placement=p{condition}"), value(draws, block), false);
            if queries > 1 {
                let query = |query: usize| (format!("query_s_q{query}"), value(draws, block));
                record.samples[0].metrics = (1..=queries).map(query).collect::<BTreeMap<_, _>>();
            }
            record
        };
        places.enumerate().map(one).collect()
    }

    /// Whether modes are found in any metric of any condition, or in all conditions together.
    fn sees(&self, draws: &mut Draws, own: Draw) -> bool {
        let found = summarize(&results("effect", self.run(draws, own)));
        let of_one = found.conditions.iter().flat_map(|c| &c.metrics).any(|metric| !metric.modes.is_empty());
        of_one || found.modes_tested.iter().any(|tested| !tested.together.is_empty())
    }
}

#[test]
fn one_mode_is_hardly_ever_taken_for_several() {
    let alike = |conditions, n, queries| Study { conditions, n, queries, rounded_sd: None, of_blocks: 0.0 };
    let rounded = |sd: f64| Study { rounded_sd: Some(sd), ..alike(4, 20, 1) };
    let few_rounded = |conditions, n, sd: f64| Study { rounded_sd: Some(sd), ..alike(conditions, n, 1) };
    let in_blocks = |conditions, n, of_blocks| Study { of_blocks, ..alike(conditions, n, 1) };
    let studies = [
        ("4 conditions", alike(4, 12, 1), 1),
        ("48 conditions", alike(48, 10, 1), 4),
        ("7 conditions, 22 queries", alike(7, 10, 22), 10),
        ("rounded, sd 0.6 of the last digit", rounded(0.6), 1),
        ("rounded, sd 0.3 of the last digit", rounded(0.3), 1),
        ("rounded, sd 1.5 of the last digit", rounded(1.5), 1),
        // With the same noise in all conditions, modes were seen in all of the first.
        ("4 conditions of 5, all values equal", few_rounded(4, 5, 0.0), 1),
        ("4 conditions of 10, rounded, sd 0.15", few_rounded(4, 10, 0.15), 1),
        ("16 conditions of 5, rounded, sd 0.3", few_rounded(16, 5, 0.3), 2),
        // With their effects in the residuals, they were in 31 and 53%.
        ("8 conditions in 3 blocks of 4 sd", in_blocks(8, 3, 4.0), 1),
        ("24 conditions in 8 blocks of 10 sd", in_blocks(24, 8, 10.0), 4),
    ];
    let mut rows = Rows::default();
    for (number, (name, study, part)) in studies.iter().enumerate() {
        for (shape, own) in SHAPES.into_iter().take(requested().map_or(1, |_| SHAPES.len())) {
            let mut draws = Draws::new(20_261_200 + number as u64);
            let rate = Rate::count(requested().unwrap_or(3).div_ceil(*part), |_| study.sees(&mut draws, own));
            rows.add(&format!("modes: {name}, {shape}"), Limit::AtMost(LIMIT), rate);
        }
    }
    rows.judge();
}

#[test]
fn two_modes_far_apart_are_seen() {
    fn apart<const SD: u32>(draws: &mut Draws) -> f64 {
        draws.normal() + if draws.coin() { f64::from(SD) } else { 0.0 }
    }
    let distances: [(u32, Draw); 4] = [(3, apart::<3>), (4, apart::<4>), (5, apart::<5>), (10, apart::<10>)];
    let mut rows = Rows::default();
    for conditions in [1, 8] {
        // `benches/truth` prints the rates for smaller distances.
        for (sd, own) in distances.into_iter().filter(|(sd, _)| *sd == 10 || requested().is_some()) {
            for n in [12, 20, 40] {
                let study = Study { conditions, n, queries: 1, rounded_sd: None, of_blocks: 0.0 };
                let mut draws = Draws::new(20_261_300 + n as u64);
                let studies = requested().map_or(5, |requested| requested / 4);
                let rate = Rate::count(studies, |_| study.sees(&mut draws, own));
                // 24K and 37K are a dozen standard deviations apart.
                let limit = if sd < 10 { Limit::None } else { Limit::AtLeast(60.0) };
                rows.add(&format!("modes {sd} sd apart are seen: {conditions} conditions, {n} trials"), limit, rate);
            }
        }
    }
    rows.judge();
}
