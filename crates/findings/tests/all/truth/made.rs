//! Synthetic studies in which nothing differs, and studies with one difference: trials of several distributions, with
//! several kinds of drift, in the layouts for each question of a study.

use crate::draws::Draws;
use crate::made_up::results;
use std::collections::BTreeMap;
use tare_results::schema::{PlannedTrial, RanOn, SampleRecord, TrialRecord};
use tare_results::{Results, levels_of};

const QUERIES: usize = 7;
/// Spread between trials, as a fraction.
const COV: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Normal,
    T3,
    LogNormal,
    Bimodal,
    /// Three of ten trials in a second mode, a hundred standard deviations away.
    FarModes,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drift {
    None,
    Blocks,
    Ar(f64),
    Linear,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layout {
    /// Two factors of two levels.
    Factors,
    /// One factor of six levels.
    Choices,
    /// Threads 1 to 8.
    Ladder,
    /// Two factors of two levels, seven queries.
    Queries,
    /// Two options under four loads, each of which is answered separately.
    Loads,
    /// Four ladders over nodes.
    Grid,
    /// Threads 1 and 2, which are no ladder.
    Rungs,
    /// One condition.
    Alone,
}

pub const SHAPES: [Shape; 5] = [Shape::Normal, Shape::T3, Shape::LogNormal, Shape::Bimodal, Shape::FarModes];
pub const DRIFTS: [Drift; 5] = [Drift::None, Drift::Blocks, Drift::Ar(0.5), Drift::Ar(0.8), Drift::Linear];
/// The layouts with a single metric.
pub const LAYOUTS: [Layout; 3] = [Layout::Factors, Layout::Choices, Layout::Ladder];

impl Shape {
    pub fn draw(self, rng: &mut Draws) -> f64 {
        let z = rng.normal();
        match self {
            Self::Normal => z,
            Self::T3 => z / ((0..3).map(|_| rng.normal().powi(2)).sum::<f64>() / 3.0).sqrt(),
            Self::LogNormal => 2.0 * ((0.5 * z).exp() - 1.13),
            Self::Bimodal => (if rng.normal() < 0.0 { 4.0 } else { 0.0 }) + z,
            Self::FarModes => (if rng.normal() < -0.5244 { 100.0 } else { 0.0 }) + z,
        }
    }
}

/// The drift shared by neighbouring trials, in standard deviations, trial by trial.
fn drifting(rng: &mut Draws, drift: Drift, trials: usize, conditions: usize) -> Vec<f64> {
    let blocks: Vec<f64> = (0..trials.div_ceil(conditions)).map(|_| 2.0 * rng.normal()).collect();
    let mut state = rng.normal();
    (0..trials)
        .map(|i| match drift {
            Drift::None => 0.0,
            Drift::Blocks => blocks[i / conditions],
            Drift::Ar(rho) => {
                state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
                2.0 * state
            }
            Drift::Linear => 4.0 * i as f64 / trials as f64,
        })
        .collect()
}

pub fn names(layout: Layout) -> Vec<String> {
    match layout {
        Layout::Factors | Layout::Queries => {
            ["off", "on"].iter().flat_map(|a| ["off", "on"].map(|b| format!("ahi={a} aslr={b}"))).collect()
        }
        Layout::Choices => (0..6).map(|i| format!("placement=p{i}")).collect(),
        Layout::Ladder => [1, 2, 4, 8].iter().map(|n| format!("threads={n}")).collect(),
        Layout::Grid => (0..12)
            .map(|i| {
                let (nodes, distribution) = ([1, 2, 4][i % 3], ["uniform", "zipfian"][i / 3 % 2]);
                format!("distribution={distribution} nodes={nodes} threads={}", [8, 64][i / 6])
            })
            .collect(),
        Layout::Rungs => [1, 2].iter().map(|n| format!("threads={n}")).collect(),
        Layout::Alone => vec!["placement=p0".to_owned()],
        Layout::Loads => ["point_select", "read_only", "write_only", "update_index"]
            .iter()
            .flat_map(|load| ["off", "on"].map(|ahi| format!("workload={load} ahi={ahi}")))
            .collect(),
    }
}

/// The difference that a study contains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    Nothing,
    /// One level changes the mean, by three standard deviations.
    Mean,
    /// One level makes trials vary four times as much.
    Spread,
    /// A covariate correlates with the residuals, at about 0.9.
    Cause,
    /// The last rung of a ladder gives less, by three standard deviations.
    Less,
}

#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub shape: Shape,
    pub drift: Drift,
    pub layout: Layout,
    /// Trials of each condition.
    pub n: usize,
    pub truth: Truth,
}

const COVARIATES: [&str; 4] = ["major_faults", "throttle_events", "swap_pages", "steal_fraction"];

/// One run. With [`Truth::Nothing`] every condition is the same. `question` is in the words of a study file.
pub fn study(rng: &mut Draws, kind: Kind, question: Option<&str>) -> Results {
    let names = names(kind.layout);
    let order = tare_stats::order::randomized_blocks(names.len(), kind.n, rng.normal().to_bits());
    let schedule: Vec<(usize, usize)> =
        order.iter().enumerate().flat_map(|(block, order)| order.iter().map(move |c| (block, *c))).collect();
    let shared = drifting(rng, kind.drift, schedule.len(), names.len());
    let covariates: Vec<Vec<f64>> = (0..4).map(|_| drifting(rng, kind.drift, schedule.len(), names.len())).collect();
    let last = names.len() - 1;
    let mut trials = Vec::new();
    for (trial, (block, condition)) in schedule.iter().enumerate() {
        let planned = PlannedTrial { trial, block: *block, condition: names[*condition].clone(), lifetime: None };
        let mut record = TrialRecord::new(&planned, 1, levels_of(&names[*condition]), String::new());
        let mut own = kind.shape.draw(rng);
        let mut recorded: Vec<f64> = covariates.iter().map(|drift| 100.0 + drift[trial] + rng.normal()).collect();
        match kind.truth {
            Truth::Mean if names[*condition].contains("aslr=on") => own += 3.0,
            Truth::Spread if names[*condition].contains("aslr=on") => own *= 4.0,
            Truth::Cause => recorded[0] = 100.0 + own + shared[trial] + 0.5 * rng.normal(),
            Truth::Less if *condition == last => own -= 3.0,
            _ => {}
        }
        let value = |own: f64| 1000.0 * (COV * (own + shared[trial])).exp();
        let metrics = match kind.layout {
            Layout::Queries => (1..=QUERIES).map(|q| (format!("query_s_q{q}"), value(kind.shape.draw(rng)))).collect(),
            _ => BTreeMap::from([("tps".to_owned(), value(own))]),
        };
        record.samples = vec![SampleRecord {
            elapsed_s: 1.0,
            metrics,
            covariates: COVARIATES.iter().zip(recorded).map(|(name, value)| ((*name).to_owned(), value)).collect(),
            ..SampleRecord::default()
        }];
        trials.push(record);
    }
    let made = results("", trials);
    Results { study_toml: question.map(|words| format!("question = {words:?}").into()), ..made }
}

/// One study whose blocks take turns on machines with these levels, each of which drifts by itself.
pub fn on_machines(rng: &mut Draws, kind: Kind, levels: &[f64]) -> Results {
    let conditions = names(kind.layout).len();
    let mut trials = Vec::new();
    for (machine, level) in levels.iter().enumerate() {
        for mut record in study(rng, kind, None).trials {
            let place = record.trial % conditions;
            record.block = record.block * levels.len() + machine;
            record.trial = record.block * conditions + place;
            record.ran_on = Some(RanOn { host: format!("node{machine}"), boot_id: None });
            record.samples[0].metrics.values_mut().for_each(|value| *value *= level);
            trials.push(record);
        }
    }
    trials.sort_by_key(|record| record.trial);
    results("", trials)
}
