//! Builds by loads, from a CSV file: relative throughput, what is decided, what an operation costs.

use crate::support::{World, json};

/// Two builds by three loads, five trials each: inserts are 10% slower with the new one, nothing else differs.
fn written(world: &World, factor: &str) -> String {
    let mut lines = String::from("condition,trial,sample,metric,value,block\n");
    let mut trial = 0;
    for block in 0..5 {
        for load in ["insert", "point_select", "own"] {
            for build in ["old", "new"] {
                let noise = 1.0 + 0.002 * f64::from((trial * 7) % 5 - 2);
                let slower = if (load, build) == ("insert", "new") { 0.9 } else { 1.0 };
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
fn builds_by_loads_are_one_table_in_every_output() {
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
        // The answer's table comes next: above it is the headline, below it are the conditions one by one.
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
