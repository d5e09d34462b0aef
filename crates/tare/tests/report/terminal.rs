//! The terminal tables and the JSON, word for word.

use crate::fake;
use tare::analysis::compare::{Options, Side, compare};
use tare::analysis::summarize;
use tare::report::terminal::{self, Style};
use tare_results::open;

const PLAIN: Style = Style { colour: false };

fn shown(study: &fake::Study) -> String {
    let dir = tempfile::tempdir().unwrap();
    fake::write(study, dir.path());
    let results = open(dir.path()).unwrap();
    let text = terminal::show(&results, &summarize(&results), PLAIN);
    assert_narrow(&text);
    text
}

fn assert_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    assert!(!text.contains('\u{1b}'), "colour without being asked");
}

#[test]
fn two_modes_on_a_terminal() {
    insta::assert_snapshot!(shown(&fake::bimodal()));
}

#[test]
fn eight_conditions_on_a_terminal() {
    insta::assert_snapshot!(shown(&fake::eight()));
}

#[test]
fn the_json_of_show() {
    let dir = tempfile::tempdir().unwrap();
    let mut study = fake::bimodal();
    study.trials = 6;
    fake::write(&study, dir.path());
    let results = open(dir.path()).unwrap();
    let mut json = serde_json::to_value(summarize(&results)).unwrap();
    // One metric says all of the shape.
    for condition in json["conditions"].as_array_mut().unwrap() {
        condition["metrics"].as_array_mut().unwrap().truncate(1);
    }
    round(&mut json);
    insta::assert_json_snapshot!(json);
}

/// Four significant digits: the last bits of a fit may differ between processors.
fn round(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Array(items) => items.iter_mut().for_each(round),
        serde_json::Value::Object(items) => items.values_mut().for_each(round),
        serde_json::Value::Number(number) if number.is_f64() => {
            *json = serde_json::json!(format!("{:.3e}", number.as_f64().unwrap()).parse::<f64>().unwrap());
        }
        _ => {}
    }
}

#[test]
fn a_comparison_on_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    fake::write(&fake::bimodal(), dir.path());
    let results = open(dir.path()).unwrap();
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { min_effect: 0.01, fail_if_slower: Some(0.05), judged: Vec::new() };
    let found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let text = terminal::comparison(&found, &options, PLAIN);
    assert_narrow(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn long_names_and_escape_sequences_stay_within_the_table() {
    let mut study = fake::eight();
    study.conditions.truncate(2);
    study.conditions[0].name =
        "client=node:0.core:0-1.pu:0+node:1.core:0-1.pu:0 server=node:1.core:2-5 numa_balancing=on aslr=off";
    study.conditions[1].name = "\u{1b}[31mred=\u{1b}[0m";
    shown(&study);
}
