//! The HTML report.

use crate::report::commands::tare;
use crate::report::fake;
use std::fs;
use tare_findings::compare::Side;
use tare_findings::why::{SUSPECTS_SHOWN, why};

fn report_of(study: &fake::Study) -> String {
    let results = fake::results(study);
    let text = tare_report::html::render(&results, &tare_findings::summarize(&results));
    // For inspection in a browser.
    if let Ok(out) = std::env::var("TARE_TEST_REPORTS") {
        fs::write(std::path::Path::new(&out).join(format!("{}.html", study.name)), &text).unwrap();
    }
    text
}

#[test]
fn every_foreign_string_in_the_report_is_escaped() {
    const EVIL: &str = "<script>alert(1)</script>\"'&";
    let dir = fake::dir(&fake::bimodal());
    // In every string of the records, so that the names of conditions still match.
    for file in ["plan.json", "environment.json", "trials.jsonl"] {
        let path = dir.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = if file == "trials.jsonl" {
            text.lines().map(|line| poison(serde_json::from_str(line).unwrap(), EVIL).to_string() + "\n").collect()
        } else {
            vec![poison(serde_json::from_str(&text).unwrap(), EVIL).to_string()]
        };
        fs::write(path, lines.concat()).unwrap();
    }
    fs::write(dir.path().join("study.toml"), EVIL).unwrap();
    let text = fake::page(dir.path());
    assert_eq!(text.matches("<script").count(), 1, "an unescaped string at {:?}", text.find("<script"));
    assert!(text.matches("&lt;script&gt;").count() > 50);
    // In attributes too: no quote of a foreign string may end one.
    assert!(!text.contains("</script>\"'"), "an unescaped quote");
}

/// Appends `evil` to every string, and to every key of maps with foreign names.
fn poison(value: serde_json::Value, evil: &str) -> serde_json::Value {
    use serde_json::Value;
    const KEPT: [&str; 6] = ["started_at", "outcome", "role", "origin", "machine", "allowed_cpus"];
    const NAMED: [&str; 4] = ["levels", "settings", "metrics", "covariates"];
    match value {
        Value::String(text) => Value::String(text + evil),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| poison(item, evil)).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| match value {
                    kept if KEPT.contains(&key.as_str()) => (key, kept),
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        let named = named.into_iter().map(|(name, value)| (name + evil, poison(value, evil)));
                        (key, Value::Object(named.collect()))
                    }
                    value => (key, poison(value, evil)),
                })
                .collect(),
        ),
        other => other,
    }
}

#[test]
fn a_report_of_a_thousand_trials_is_smaller_than_a_megabyte() {
    let mut study = fake::eight();
    study.name = "thousand";
    study.trials = 125;
    let text = report_of(&study);
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    assert!(text.len() > 100_000, "the trials are missing: {} bytes", text.len());
}

#[test]
fn disturbed_trials_that_count_are_drawn_as_hollow_dots() {
    let dir = fake::dir(&fake::eight());
    fake::disturb(dir.path(), &|trial| trial < 7, 1.0);
    // Two queries next to throughput, each with a row of dots per condition.
    fake::each_record(dir.path(), |record| {
        for sample in record["samples"].as_array_mut().unwrap() {
            for (query, seconds) in [("query_s_q1", 0.1), ("query_s_q2", 0.2)] {
                sample["metrics"][query] = seconds.into();
            }
        }
    });
    let text = fake::page(dir.path());
    let section = |id: &str| {
        let after = text.split(&format!("<section id=\"{id}\"")).nth(1).unwrap();
        after.split("</section>").next().unwrap().to_owned()
    };
    // Twice, because there is a second version for small screens.
    assert_eq!(section("trials").matches("class=\"trial disturbed m").count(), 2 * 7);
    assert_eq!(section("order").matches(" disturbed\"").count(), 2 * 7);
    assert_eq!(section("queries").matches("class=\"disturbed m").count(), 2 * 3 * 7);
    for id in ["trials", "order", "queries"] {
        assert!(section(id).contains("A hollow dot is a trial that was disturbed"), "{id}");
    }
}

#[test]
fn a_report_can_be_made_from_a_csv_file_and_from_no_trials() {
    let results = fake::csv("a,0,0,tps,10\na,1,0,tps,11\nb,0,0,tps,12\n");
    let text = tare_report::html::render(&results, &tare_findings::summarize(&results));
    assert!(text.contains("order in the file") && text.contains("does not describe the machine"));
    let mut study = fake::bimodal();
    study.missing = 30;
    assert!(report_of(&fake::Study { name: "nothing", ..study }).contains("No trial has been recorded"));
}

#[test]
fn machine_drawings_show_clients_and_servers_and_tables_have_headers() {
    let text = report_of(&fake::bimodal());
    // Two modes of the floating condition, and one drawing for each of the others.
    assert_eq!(text.matches("<svg class=\"machine\"").count(), 4);
    assert!(
        text.matches("<circle class=\"client\"").count() >= 8 && text.matches("<rect class=\"server\"").count() >= 8
    );
    assert_eq!(text.matches("<path class=\"pair\"").count(), 8);
    assert_eq!(
        text.matches("<svg").count() - text.matches("aria-hidden=\"true\"").count(),
        text.matches("role=\"img\"").count()
    );
    assert_eq!(text.matches("role=\"img\"").count(), text.matches("<desc>").count());
    assert_eq!(text.matches("<table>").count(), text.matches("<thead>").count());
}

#[test]
fn the_report_explains_the_difference_between_the_fastest_and_slowest_condition() {
    let results = fake::results(&fake::bimodal());
    let side = |name| Side { results: &results, condition: Some(name) };
    let found = why(side("placement=same-pu"), side("placement=other-node")).unwrap();
    let text = report_of(&fake::bimodal());
    let time = text.split("<section id=\"time\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(found.difference.shown && time.contains(&tare_report::words::why::why(&found)), "{time}");
    let chosen = "A is placement=same-pu, the fastest of the 3 conditions with 2 clients, B placement=other-node, the \
                  slowest. B takes ";
    assert!(time.contains(chosen), "{time}");
    assert!(time.contains("From A (placement=same-pu) to B (placement=other-node), µs per transaction"), "{time}");
    assert!(time.contains("parts overlap: both sides worked at the same time"), "{time}");
    let suspects = time.matches("of the difference)").count();
    assert_eq!(suspects, found.causes.len().min(SUSPECTS_SHOWN), "{time}");
    assert!(suspects > 0, "{:?}", found.causes);
}

#[test]
fn the_report_does_not_explain_conditions_without_a_shown_difference() {
    let mut study = fake::bimodal();
    study.conditions.truncate(1);
    study.conditions.push(fake::Fake { name: "placement=again", ..fake::bimodal().conditions.remove(0) });
    let text = report_of(&study);
    let time = text.split("<section id=\"time\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(time.contains("placement=again") && !time.contains("From A"), "{time}");
}

#[test]
fn the_report_loads_nothing_from_outside() {
    for study in [fake::bimodal(), fake::eight()] {
        let text = report_of(&study);
        assert!(!text.contains("http://") && !text.contains("https://"), "a network address");
        assert_eq!(text.matches("<script>").count(), 1, "the page's own script");
        for tag in ["<script ", "src=", "<link", "<img", "<iframe", "@import", "url("] {
            assert!(!text.contains(tag), "{tag} in the report");
        }
    }
}

#[test]
fn the_report_of_a_paired_comparison_begins_with_the_verdict_on_its_metric() {
    let side = |name, tps: f64, cpus| fake::Fake { name, tps: vec![tps], between: 0.01, cpus: vec![cpus] };
    let conditions =
        vec![side("side=a build=old", 20_000.0, [0, 0, 2, 2]), side("side=b build=new", 16_000.0, [0, 0, 2, 2])];
    let study = fake::Study { name: "ab", conditions, trials: 10, samples: 1, bad: Vec::new(), missing: 0 };
    let dir = fake::dir(&study);
    let file = dir.path().join("plan.json");
    let mut plan: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    plan["settle"] = serde_json::json!({
        "a": "side=a build=old", "b": "side=b build=new", "metric": "latency_ms_p99", "minimum_effect": 0.02,
        "alpha": 0.05, "rule": "looks", "by_time": false, "budget_s": null, "seed": 3, "sessions": 1,
        "begun": [{"first_block": 0, "boot_id": "one"}],
    });
    fs::write(&file, plan.to_string()).unwrap();
    let text = fake::page(dir.path());
    let heading = text.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
    assert!(heading.contains("after 10 pairs"), "{heading}");
    let first = text.split("<section id=\"").nth(1).unwrap();
    assert!(first.starts_with("pairs\"") && first.contains("B/A of latency_ms_p99"), "{first:.300}");
    assert!(text.contains("Over all trials, without pairing: "), "{text:.3000}");
    let (code, markdown, _) = tare(&["export", dir.path().to_str().unwrap(), "--format", "markdown"]);
    let answer = markdown.split("**").nth(1).unwrap();
    assert!(code == 0 && heading.contains(&answer.replace('\\', "")), "{answer}, not {heading}");
}
