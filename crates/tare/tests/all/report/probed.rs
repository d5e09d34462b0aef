//! Comparisons that are adjusted by a probe of the machine.

use crate::draws::Draws;
use crate::report::commands::{path, tare};
use crate::report::fake;
use crate::support::json;
use std::fs;
use std::path::Path;

/// Makes `dir` a study of one condition whose study file requests adjustment by the probe chain; its throughput is
/// `scale` times 10,000 and follows the probe, apart from `noise`.
fn probed(dir: &Path, scale: f64, seed: u64, extra_study: &str) {
    let mut study = fake::bimodal();
    study.conditions.drain(..1);
    study.conditions.truncate(1);
    study.bad.clear();
    fake::write(&study, dir);
    fs::write(dir.join("study.toml"), format!("name = \"probed\"\n[sampling]\nprobe = \"chain\"\n{extra_study}"))
        .unwrap();
    let mut noise = Draws::new(seed);
    fake::each_record(dir, |record| {
        let machine = 1.0 + 0.1 * noise.normal();
        let own = 1.0 + 0.01 * noise.normal();
        for sample in record["samples"].as_array_mut().unwrap() {
            sample["metrics"]["tps"] = (10_000.0 * scale * own / machine).into();
            sample["covariates"]["probe_chain_ns"] = (90.0 * machine).into();
            sample["covariates"]["probe_spin_ns"] = (30.0 + noise.normal()).into();
        }
    });
}

#[test]
fn adjustment_by_a_predefined_probe_decides_what_the_plain_interval_cannot() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    probed(a.path(), 1.0, 3, "");
    probed(b.path(), 0.94, 4, "");
    let options = ["--metric", "tps", "--fail-if-slower", "2", "--json"];
    let (code, out, _) = tare(&[["compare", path(a.path()), path(b.path())].as_slice(), &options].concat());
    let compared = json(&out);
    let metric = &compared["metrics"][0];
    assert!(metric["ci_low"].as_f64().unwrap() < 0.94 && metric["ci_high"].as_f64().unwrap() > 0.98, "{metric}");
    let adjusted = &metric["adjusted"];
    assert_eq!(adjusted["by"], "chain");
    assert!(adjusted["ci_low"].as_f64().unwrap() > 0.91 && adjusted["ci_high"].as_f64().unwrap() < 0.98, "{adjusted}");
    assert_eq!((code, metric["verdict"].as_str()), (1, Some("slower")), "{metric}");
    let (_, out, _) = tare(&["compare", path(a.path()), path(b.path())]);
    assert!(out.contains("by chain") && out.starts_with("A and B are identical"), "{out}");
    // With another client program, the sides are no longer the same.
    let records = fs::read_to_string(b.path().join("trials.jsonl")).unwrap();
    let others = records.replace("\"server_program\":", "\"client_programs\":[\"c1\"],\"server_program\":");
    fs::write(b.path().join("trials.jsonl"), &others).unwrap();
    let (_, out, _) = tare(&["compare", path(a.path()), path(b.path())]);
    assert!(!out.contains("are identical"), "{out}");
    // A trial may see only the file of a client or only the program that it became.
    for (seen, differs) in [("[\"c0\",\"c1\"]", false), ("[\"c0\"]", true)] {
        fs::write(b.path().join("trials.jsonl"), others.replacen("[\"c1\"]", seen, 1)).unwrap();
        let (_, out, _) = tare(&["show", path(b.path())]);
        assert_eq!(out.contains("ran on more than one client program"), differs, "{seen}: {out}");
    }
    let (_, out, _) = tare(&["show", path(a.path())]);
    assert!(out.contains("what each probe leaves") && out.contains("mean at the same chain"), "{out}");
    let (_, out, _) = tare(&["show", path(a.path()), "--json"]);
    let shown = json(&out);
    let weighed = &shown["conditions"][0]["metrics"][0]["probes"];
    assert_eq!((weighed[0]["probe"].as_str(), weighed[1]["probe"].as_str()), (Some("chain"), Some("spin")));
    assert!(weighed[0]["left"].as_f64().unwrap() < 0.3 && weighed[1]["left"].as_f64().unwrap() > 0.6, "{weighed}");
    assert!(weighed[0]["ci_low"].is_number() && weighed[1]["ci_low"].is_null(), "{weighed}");
    tare(&["report", path(a.path())]);
    let page = fs::read_to_string(a.path().join("report.html")).unwrap();
    assert!(page.contains("Probes") && page.contains("left by chain"));
}

#[test]
fn nothing_is_adjusted_by_a_probe_that_the_compared_setting_can_move() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    probed(a.path(), 1.0, 3, "[placement]\nserver = \"pu:0\"\n");
    probed(b.path(), 0.94, 4, "[placement]\nserver = \"pu:1\"\n");
    let (_, out, _) = tare(&["compare", path(a.path()), path(b.path()), "--metric", "tps", "--json"]);
    let json = json(&out);
    assert!(json["metrics"][0].get("adjusted").is_none(), "{json}");
    let notes = json["notes"].to_string();
    assert!(notes.contains("nothing is adjusted by the probe chain") && notes.contains("placement.server"), "{notes}");
    assert!(json.get("identical").is_none());
}
