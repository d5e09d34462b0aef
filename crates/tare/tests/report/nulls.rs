//! Made-up studies in which nothing is different: how often the program says something all the same, over everything
//! that one study says. `TARE_NULL_STUDIES` says how many of each kind; `benches/nulls` runs the whole.

use crate::fake::Noise;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tare::analysis::compare::{Gate, Options, Side, compare};
use tare::analysis::summarize;
use tare_results::levels_of;
use tare_results::schema::*;
use tare_results::{Results, Source};

/// Studies of each kind in the test suite: enough to see a rate that is several times too high.
const FEW: usize = 9;
/// Spread between trials, as a fraction.
const COV: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Normal,
    T3,
    LogNormal,
    Bimodal,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Drift {
    None,
    Blocks,
    Ar(f64),
    Linear,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    /// Two factors of two levels.
    Factors,
    /// One factor of six levels.
    Choices,
    /// Threads 1 to 8.
    Ladder,
}

const SHAPES: [Shape; 4] = [Shape::Normal, Shape::T3, Shape::LogNormal, Shape::Bimodal];
const DRIFTS: [Drift; 5] = [Drift::None, Drift::Blocks, Drift::Ar(0.5), Drift::Ar(0.8), Drift::Linear];
const LAYOUTS: [Layout; 3] = [Layout::Factors, Layout::Choices, Layout::Ladder];

impl Shape {
    fn draw(self, rng: &mut Noise) -> f64 {
        let z = rng.bell();
        match self {
            Self::Normal => z,
            Self::T3 => z / ((0..3).map(|_| rng.bell().powi(2)).sum::<f64>() / 3.0).sqrt(),
            Self::LogNormal => 2.0 * ((0.5 * z).exp() - 1.13),
            Self::Bimodal => (if rng.bell() < 0.0 { 4.0 } else { 0.0 }) + z,
        }
    }
}

/// What neighbours share, in standard deviations, trial by trial.
fn drifting(rng: &mut Noise, drift: Drift, trials: usize, conditions: usize) -> Vec<f64> {
    let blocks: Vec<f64> = (0..trials.div_ceil(conditions)).map(|_| 2.0 * rng.bell()).collect();
    let mut state = rng.bell();
    (0..trials)
        .map(|i| match drift {
            Drift::None => 0.0,
            Drift::Blocks => blocks[i / conditions],
            Drift::Ar(rho) => {
                state = rho * state + (1.0 - rho * rho).sqrt() * rng.bell();
                2.0 * state
            }
            Drift::Linear => 4.0 * i as f64 / trials as f64,
        })
        .collect()
}

fn names(layout: Layout) -> Vec<String> {
    match layout {
        Layout::Factors => {
            ["off", "on"].iter().flat_map(|a| ["off", "on"].map(|b| format!("ahi={a} aslr={b}"))).collect()
        }
        Layout::Choices => (0..6).map(|i| format!("placement=p{i}")).collect(),
        Layout::Ladder => [1, 2, 4, 8].iter().map(|n| format!("threads={n}")).collect(),
    }
}

/// One run in which every condition is the same.
fn study(rng: &mut Noise, shape: Shape, drift: Drift, layout: Layout, n: usize) -> Results {
    let names = names(layout);
    let order = tare_stats::order::randomized_blocks(names.len(), n, rng.bell().to_bits());
    let schedule: Vec<(usize, usize)> =
        order.iter().enumerate().flat_map(|(block, order)| order.iter().map(move |c| (block, *c))).collect();
    let shared = drifting(rng, drift, schedule.len(), names.len());
    let beside: Vec<Vec<f64>> = (0..4).map(|_| drifting(rng, drift, schedule.len(), names.len())).collect();
    let mut trials = Vec::new();
    for (trial, (block, condition)) in schedule.iter().enumerate() {
        let planned = PlannedTrial { trial, block: *block, condition: names[*condition].clone() };
        let mut record = TrialRecord::new(&planned, 1, levels_of(&names[*condition]), String::new());
        let tps = 1000.0 * (COV * (shape.draw(rng) + shared[trial])).exp();
        let covariates: BTreeMap<String, f64> = ["major_faults", "throttle_events", "swap_pages", "steal_fraction"]
            .iter()
            .zip(&beside)
            .map(|(name, drift)| ((*name).to_owned(), 100.0 + drift[trial] + rng.bell()))
            .collect();
        record.samples = vec![SampleRecord {
            sample: 0,
            started_at: String::new(),
            elapsed_s: 1.0,
            metrics: BTreeMap::from([("tps".to_owned(), tps)]),
            tps_each_second: Vec::new(),
            covariates,
            threads: Vec::new(),
        }];
        trials.push(record);
    }
    let plan = serde_json::json!({
        "schema": SCHEMA, "study": "null", "seed": 1, "conditions": [], "trials": [], "samples": 1, "estimated_s": 1.0
    });
    Results {
        path: PathBuf::from("null"),
        source: Source::Directory,
        study: "null".into(),
        plan: Some(serde_json::from_value(plan).unwrap()),
        environment: None,
        study_toml: None,
        trials,
        captures: BTreeMap::new(),
        machines: BTreeMap::new(),
        warnings: Vec::new(),
        damaged: Default::default(),
    }
}

/// What was claimed of a study without differences.
#[derive(Debug, Default, Clone, Copy)]
struct Claims {
    headline: usize,
    cause: usize,
    source: usize,
    retrograde: usize,
    gate: usize,
    gate_apart: usize,
    any: usize,
    studies: usize,
}

impl Claims {
    fn add(&mut self, results: &Results, other: &Results, names: &[String]) {
        let summary = summarize(results);
        let text = &summary.answer.text;
        let headline = summary.answer.tested && (text.contains(" moved ") || text.contains("stops helping"));
        let cause = !summary.residual_causes.is_empty()
            || summary.conditions.iter().flat_map(|c| &c.metrics).any(|metric| metric.mode_cause.is_some());
        let source = summary.spread_sources.is_some_and(|s| s.ranking.iter().any(|source| source.shown));
        let retrograde = summary.scaling.iter().any(|law| law.retrograde);
        let gated = |a: (&Results, &str), b: (&Results, &str)| {
            let side = |(results, condition)| Side { results, condition: Some(condition) };
            let options = Options { fail_if_slower: Some(0.0), ..Options::default() };
            compare(side(a), side(b), &options).unwrap().gate == Some(Gate::Failed)
        };
        let gate = gated((results, &names[0]), (results, &names[1]));
        let apart = gated((results, &names[0]), (other, &names[0]));
        self.headline += usize::from(headline);
        self.cause += usize::from(cause);
        self.source += usize::from(source);
        self.retrograde += usize::from(retrograde);
        self.gate += usize::from(gate);
        self.gate_apart += usize::from(apart);
        self.any += usize::from(headline || cause || source || retrograde || gate);
        self.studies += 1;
    }

    fn percents(&self) -> [f64; 7] {
        [self.headline, self.cause, self.source, self.retrograde, self.gate, self.gate_apart, self.any]
            .map(|count| 100.0 * count as f64 / self.studies.max(1) as f64)
    }

    fn merge(&mut self, other: &Self) {
        self.headline += other.headline;
        self.cause += other.cause;
        self.source += other.source;
        self.retrograde += other.retrograde;
        self.gate += other.gate;
        self.gate_apart += other.gate_apart;
        self.any += other.any;
        self.studies += other.studies;
    }
}

#[test]
fn nothing_is_claimed_of_studies_without_differences() {
    let asked = std::env::var("TARE_NULL_STUDIES").ok().and_then(|text| text.parse().ok());
    let each = asked.unwrap_or(FEW);
    let mut rng = Noise::new(20_261_121);
    let mut all = Claims::default();
    println!(
        "| trials | shape | drift | headline | cause | source | retrograde | gate | gate of two runs | any but the last |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for n in [3, 5, 10] {
        for shape in SHAPES {
            for drift in DRIFTS {
                let mut claims = Claims::default();
                for i in 0..each {
                    let layout = LAYOUTS[i % LAYOUTS.len()];
                    let results = study(&mut rng, shape, drift, layout, n);
                    let other = study(&mut rng, shape, drift, layout, n);
                    claims.add(&results, &other, &names(layout));
                }
                let shown = claims.percents().map(|p| format!("{p:.1}")).join(" | ");
                println!("| {n} | {shape:?} | {drift:?} | {shown} |");
                all.merge(&claims);
                // A single kind of few studies varies much; a rate several times too high shows all the same.
                let [headline, cause, source, retrograde, gate, ..] = claims.percents();
                for (what, rate) in [
                    ("headline", headline),
                    ("cause", cause),
                    ("source", source),
                    ("retrograde", retrograde),
                    ("gate", gate),
                ] {
                    let limit = 6.0 + 400.0 * (0.06 * 0.94 / claims.studies as f64).sqrt();
                    assert!(rate <= limit, "{n} {shape:?} {drift:?}: {what} in {rate}%");
                }
            }
        }
    }
    println!("| all | | | {} |", all.percents().map(|p| format!("{p:.1}")).join(" | "));
    let [headline, cause, source, retrograde, gate, ..] = all.percents();
    for (what, rate) in
        [("headline", headline), ("cause", cause), ("source", source), ("retrograde", retrograde), ("gate", gate)]
    {
        assert!(rate <= 6.0, "{what} in {rate}% of all");
    }
}
