//! Builds by loads, from a CSV file: relative throughput, verdicts, and the cost of an operation.

use crate::report::fake::{self, Fake, Study};
use crate::support::{World, json};
use tare_findings::relative::RelativeTable;

/// Two builds by three loads, five trials each: inserts are 10% slower with the new build, the others are equal.
fn written(world: &World, factor: &str) -> String {
    of_loads(world, factor, &[("insert", 0.9), ("point_select", 1.0), ("own", 1.0)])
}

/// Two builds by loads, five trials each, with the gain of the new build for each load.
fn of_loads(world: &World, factor: &str, loads: &[(&str, f64)]) -> String {
    let mut lines = String::from("condition,trial,sample,metric,value,block\n");
    let mut trial = 0;
    for block in 0..5 {
        for (load, gain) in loads {
            for build in ["old", "new"] {
                let noise = 1.0 + 0.002 * f64::from((trial * 7) % 5 - 2);
                let slower = if build == "new" { *gain } else { 1.0 };
                for (metric, value) in
                    [("tps", 1000.0 * slower * noise), ("server_cpu_us_per_transaction", 20.0 / slower)]
                {
                    lines.push_str(&format!("{factor}={build} workload={load},{trial},0,{metric},{value},{block}\n"));
                }
                trial += 1;
            }
        }
    }
    let path = world.path("v.csv").display().to_string();
    std::fs::write(&path, lines).unwrap();
    path
}

#[test]
fn every_output_contains_the_table_of_builds_by_loads() {
    for factor in ["build", "option.x"] {
        let world = World::new();
        let values = written(&world, factor);
        let found = json(&world.exits(0, &["show", &values, "--json"]).0);
        let table = &found["relative"];
        assert_eq!(
            (&table["factor"], &table["columns"]),
            (&factor.into(), &serde_json::json!(["old", "new"])),
            "{found}"
        );
        let rows = table["rows"].as_array().unwrap();
        let groups: Vec<&str> = rows.iter().map(|row| row["group"].as_str().unwrap()).collect();
        assert_eq!(groups, ["point", "write", "other"]);
        let verdicts: Vec<&str> = rows.iter().map(|row| row["cells"][1]["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["inconclusive", "slower", "inconclusive"]);
        let insert = &rows[1]["cells"];
        assert_eq!(insert[0]["ratio"], 1.0);
        assert!((insert[1]["ratio"].as_f64().unwrap() - 0.9).abs() < 0.01, "{insert}");
        assert!((insert[1]["cost"]["cpu_us"].as_f64().unwrap() - 22.22).abs() < 0.01, "{insert}");
        let text = world.exits(0, &["show", &values]).0;
        assert!(
            text.contains("effects are geometric means")
                && text.contains("cpu us/o")
                && text.contains("0.90 (")
                && !text.contains("no difference shown"),
            "{text}"
        );
        // The table of the answer follows the headline and precedes the individual conditions.
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("cpu us/o") < at("±"), "{text}");
        let rows = world.exits(0, &["export", &values, "--format", "csv", "--table", "relative"]).0;
        assert_eq!(rows.lines().count(), 7, "{rows}");
        assert!(rows.lines().any(|row| row.contains("write,0.9") && row.contains("slower")), "{rows}");
        world.exits(0, &["report", &values, "--output", "page.html"]);
        let page = std::fs::read_to_string(world.path("page.html")).unwrap();
        assert!(page.contains("Relative throughput, load by load") && page.contains("▼ 0.90"));
    }
}

#[test]
fn for_many_loads_the_answer_counts_the_moved_ones_and_each_group_has_its_mean() {
    let world = World::new();
    let names = ["insert", "delete", "update_index", "write_only", "point_select", "select_random_points", "own"];
    let gains = [0.8, 0.9, 0.9, 0.9, 1.0, 1.2, 1.0];
    let loads: Vec<(&str, f64)> = names.into_iter().zip(gains).collect();
    let values = of_loads(&world, "build", &loads);
    let found = json(&world.exits(0, &["show", &values, "--json"]).0);
    let text = found["answer"]["text"].as_str().unwrap();
    let expected = "build moved throughput on 5 of 7 loads: 4 lower, most 0.80x on insert; 1 higher, most 1.20x on \
                    select_random_points.";
    assert_eq!(text, expected);
    let groups = found["relative"]["groups"].as_array().unwrap();
    let [write] = groups.as_slice() else { panic!("groups of fewer than three loads have no row: {groups:?}") };
    assert_eq!((&write["group"], &write["column"], &write["loads"]), (&"write".into(), &"new".into(), &4.into()));
    let close = |key: &str, expected: f64| (write[key].as_f64().unwrap() / expected - 1.0).abs() < 0.01;
    assert!(close("mean", (0.8 * 0.9f64.powi(3)).powf(0.25)) && close("least", 0.8) && close("most", 0.9), "{write}");
    let shown = world.exits(0, &["show", &values]).0;
    assert!(shown.contains("by groups of loads: geometric mean, least and most"), "{shown}");
    world.exits(0, &["report", &values, "--output", "page.html"]);
    assert!(std::fs::read_to_string(world.path("page.html")).unwrap().contains("Groups of loads"));
}

/// As after Ctrl-C in the first block, some loads lack a build.
#[test]
fn a_load_without_the_base_has_no_ratios_to_another_build() {
    let world = World::new();
    let measured = |loads: &[(&str, [&str; 2])]| {
        let mut lines = String::from("condition,trial,sample,metric,value\n");
        for (trial, (load, build)) in loads.iter().flat_map(|(load, of)| of.map(|build| (load, build))).enumerate() {
            let tps = if build == "a" { 1000.0 } else { 900.0 };
            for again in 0..3 {
                let (trial, tps) = (3 * trial + again, tps + again as f64);
                lines += &format!("build={build} workload={load},{trial},0,tps,{tps}\n");
            }
        }
        std::fs::write(world.path("v.csv"), lines).unwrap();
        json(&world.exits(0, &["show", "v.csv", "--json"]).0)["relative"].clone()
    };
    let of_base = ["a", "b"];
    for first in [("delete", of_base), ("update_index", of_base)] {
        let table = measured(&[first, ("point_select", of_base), ("insert", ["b", "c"])]);
        assert_eq!(table["columns"], serde_json::json!(["a", "b"]), "{table}");
        let rows = table["rows"].as_array().unwrap();
        assert!(rows.len() == 2 && rows.iter().all(|row| row["levels"]["workload"] != "insert"), "{table}");
        assert!(rows.iter().all(|row| row["cells"][0]["ratio"] == 1.0 && row["cells"][1]["ratio"] != 1.0), "{table}");
    }
}

/// The base is the first build of the plan, with trials or without.
#[test]
fn a_build_takes_the_place_of_no_planned_base() {
    let names = [
        "build=a workload=insert",
        "build=a workload=delete",
        "build=b workload=insert",
        "build=b workload=delete",
        "build=c workload=insert",
        "build=c workload=delete",
    ];
    let condition = |name| Fake { name, tps: vec![1000.0], between: 0.002, cpus: vec![[0, 4, 2, 6]] };
    let conditions = names.map(condition).into();
    let study = Study { name: "builds", conditions, trials: 3, samples: 1, bad: vec![], missing: 0 };
    let dir = fake::dir(&study);
    let columns = || {
        let results = tare_results::open(dir.path()).unwrap();
        RelativeTable::of(&tare_findings::summarize(&results)).map(|table| table.columns)
    };
    assert_eq!(columns().unwrap(), ["a", "b", "c"]);
    let records = dir.path().join("trials.jsonl");
    let text = std::fs::read_to_string(&records).unwrap();
    let others: String =
        text.lines().filter(|line| !line.contains("build=a ")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&records, others).unwrap();
    assert_eq!(columns(), None);
}

/// Eight costs per row are split into tables that fit, each with load and build.
#[test]
fn costs_of_builds_fit_a_terminal_of_80_columns() {
    let world = World::new();
    let mut lines = String::from("condition,trial,sample,metric,value,block\n");
    let costs = ["server_cpu_us", "server_switches", "storage_reads", "storage_writes", "storage_flushes"];
    let bytes = ["server_read_bytes", "server_written_bytes"];
    for (trial, (load, build)) in
        ["insert", "select_random_points"].iter().flat_map(|load| [(load, "10.11.5"), (load, "11.4.5")]).enumerate()
    {
        for again in 0..5 {
            let row = format!("build={build} workload={load},{},0", 5 * trial + again);
            lines += &format!("{row},tps,{},{again}\n", 1000 + trial + again);
            for cost in costs.iter().chain(&bytes) {
                lines += &format!("{row},{cost}_per_transaction,{},{again}\n", 123_456.78 + trial as f64);
            }
        }
    }
    std::fs::write(world.path("v.csv"), lines).unwrap();
    let out = world.tare(&["show", "v.csv"]).env("COLUMNS", "80").output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let costs = text.split_once("what an operation costs the server\n").unwrap().1.split("\n\n").take(2);
    let tables: Vec<&str> = costs.collect();
    assert!(tables.iter().all(|table| table.starts_with("load ") && table.lines().count() >= 5), "{text}");
    let too_wide = tables.iter().flat_map(|table| table.lines()).find(|line| line.chars().count() > 80);
    assert_eq!(too_wide, None, "{text}");
    let heads = format!("{} {}", tables[0].lines().next().unwrap(), tables[1].lines().next().unwrap());
    assert!(heads.contains("cpu") && heads.contains("flushes/o"), "{text}");
}

#[test]
fn loads_without_a_compared_factor_are_not_compared_with_each_other() {
    let world = World::new();
    let mut lines = String::from("condition,trial,sample,metric,value\n");
    for (trial, (load, tps)) in [("scan", 12.0), ("point", 45_000.0), ("insert", 9_000.0)].into_iter().enumerate() {
        for again in 0..3 {
            lines += &format!("transaction={load},{},0,tps,{}\n", 3 * trial + again, tps * (1.0 + 0.01 * again as f64));
        }
    }
    std::fs::write(world.path("v.csv"), lines).unwrap();
    let answer = json(&world.exits(0, &["show", "v.csv", "--json"]).0)["answer"].clone();
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("3 loads were measured, with no builds or options to compare: throughput 12.1"), "{text}");
    assert!(text.ends_with(" (scan) to 45.5 k/s (point).") && answer["tested"] == false, "{text}");
    assert!(answer["details"].to_string().contains("--binary"), "{answer}");
}
