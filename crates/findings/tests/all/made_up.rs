//! Synthetic results for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_findings::compare::Side;
use tare_findings::why::{Why, why};
use tare_results::captures::{Captures, ProfileFile, SymbolShare};
use tare_results::schema::{Levels, PlannedTrial, SCHEMA, SampleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_results::server_cost::{Operation, Quantity, ServerCost};
use tare_results::{Results, levels_of};

/// A trial of one sample with this throughput.
pub fn trial(trial: usize, block: usize, condition: &str, tps: f64, disturbed: bool) -> TrialRecord {
    let planned = PlannedTrial { trial, block, condition: condition.to_owned(), lifetime: None };
    let levels: Levels = levels_of(condition);
    let mut record = TrialRecord::new(&planned, 1, levels, String::new());
    record.reason = disturbed.then(|| "stress (77) took 76% of CPU 2".to_owned());
    record.samples = vec![SampleRecord {
        elapsed_s: 1.0,
        metrics: BTreeMap::from([("tps".to_owned(), tps)]),
        ..SampleRecord::default()
    }];
    record
}

/// Results of trials that ran in blocks, of a study with this question.
pub fn results(question: &str, trials: Vec<TrialRecord>) -> Results {
    let plan = serde_json::json!({
        "schema": SCHEMA, "study": "made-up", "seed": 1, "conditions": [], "trials": [], "samples": 1, "estimated_s": 1.0
    });
    Results {
        path: PathBuf::from("made-up"),
        study: "made-up".into(),
        plan: Some(serde_json::from_value(plan).unwrap()),
        study_toml: Some(format!("name = \"made-up\"\nquestion = \"{question}\"\n").into()),
        trials,
        ..Results::default()
    }
}

/// One trial of A and one of B in each block. `made` returns the record and captures of a trial from its block, its
/// side (0 or 1) and the name of the side.
pub fn of_two_sides(
    blocks: usize,
    mut made: impl FnMut(usize, usize, &'static str) -> (TrialRecord, Captures),
) -> Results {
    let (mut trials, mut captured) = (Vec::new(), BTreeMap::new());
    for number in 0..2 * blocks {
        let (record, captures) = made(number / 2, number % 2, ["side=a", "side=b"][number % 2]);
        captured.insert((record.trial, 1), captures);
        trials.push(record);
    }
    Results { captures: captured, ..results("best", trials) }
}

pub fn differ(results: &Results) -> Why {
    let [a, b] = ["side=a", "side=b"].map(|name| Side { results, condition: Some(name) });
    why(a, b).unwrap()
}

/// The thread of a pair that used this many seconds of CPU time.
pub fn worked(class: ThreadClass, user_s: f64) -> ThreadRecord {
    ThreadRecord { class, pair: Some(0), pid: 1, tid: 1, user_s, ..ThreadRecord::default() }
}

/// The profile of a trial whose server took `cpu_us` microseconds of CPU time per transaction, by function.
pub fn profile(record: &mut TrialRecord, cpu_us: f64, functions: &[(&str, f64)]) -> ProfileFile {
    let cost = ServerCost::of(Quantity::Cpu).unwrap();
    record.samples[0].metrics.insert(cost.metric(Operation::Transaction).name().to_owned(), cpu_us);
    let symbols = functions.iter().map(|(symbol, us)| SymbolShare {
        symbol: (*symbol).to_owned(),
        self_fraction: us / cpu_us,
        total_fraction: us / cpu_us,
    });
    ProfileFile {
        schema: SCHEMA,
        event: "cpu-clock".to_owned(),
        frequency_hz: 999,
        scope: "pus".to_owned(),
        call_graph: "fp".to_owned(),
        kernel: true,
        samples: 10_000,
        symbols: symbols.collect(),
    }
}
