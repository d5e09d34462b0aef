//! Results made up of trials.

use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_results::schema::{Levels, PlannedTrial, SCHEMA, SampleRecord, TrialRecord};
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
        study_toml: Some(format!("name = \"made-up\"\nquestion = \"{question}\"\n")),
        trials,
        ..Results::default()
    }
}
