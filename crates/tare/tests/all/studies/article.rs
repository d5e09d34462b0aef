//! `--article` uses what the articles published: every value is listed here with its source.

use crate::support::{World, json};
use serde_json::Value;

/// A key in every condition's settings, its value, and its source.
type Row = (&'static str, &'static str, &'static str);

const CONF_A: &str = "mysqlonarm/benchmark-suites 73feeb1e, sysbench/conf/96tx1.5m_cpubound.cnf";
const A: &[Row] = &[
    ("engine.name", "mysql", "article A"),
    ("workload.name", "point_select", "article A"),
    ("workload.threads", "2", "article A"),
    ("workload.distribution", "uniform", "article A: range-type=uniform"),
    ("workload.tables", "96", CONF_A),
    ("workload.rows", "1500000", CONF_A),
    ("workload.warmup_workload", "read_only", "warmup.sh"),
    ("workload.warmup_threads", "24", "warmup.sh on 24 vCPUs"),
    ("workload.warmup_limit_s", "120", "workload.vm.sh: warmuptime"),
    ("placement.memory", "default", "the pool alone is interleaved"),
    ("engine.options.innodb_buffer_pool_size", "36G", "article A: BP: 36G"),
    ("engine.options.innodb_buffer_pool_instances", "8", CONF_A),
    ("engine.options.innodb_numa_interleave", "1", "article A; the configuration at 3d76a326"),
    ("engine.options.innodb_log_file_size", "4G", CONF_A),
    ("engine.options.innodb_log_files_in_group", "2", CONF_A),
    ("engine.options.innodb_log_buffer_size", "64M", CONF_A),
    ("engine.options.innodb_io_capacity", "12000", CONF_A),
    ("engine.options.innodb_io_capacity_max", "16000", CONF_A),
    ("engine.options.innodb_adaptive_hash_index", "0", CONF_A),
    ("engine.options.innodb_read_io_threads", "8", CONF_A),
    ("engine.options.innodb_write_io_threads", "8", CONF_A),
    ("engine.options.innodb_purge_threads", "4", CONF_A),
    ("engine.options.innodb_page_cleaners", "4", CONF_A),
    ("engine.options.innodb_lru_scan_depth", "2048", CONF_A),
    ("engine.options.innodb_max_dirty_pages_pct", "90", CONF_A),
    ("engine.options.innodb_max_dirty_pages_pct_lwm", "10", CONF_A),
    ("engine.options.innodb_flush_method", "O_DIRECT", CONF_A),
    ("engine.options.innodb_flush_neighbors", "0", CONF_A),
    ("engine.options.innodb_buffer_pool_dump_at_shutdown", "0", CONF_A),
    ("engine.options.innodb_buffer_pool_load_at_startup", "0", CONF_A),
    ("engine.options.binlog_format", "ROW", CONF_A),
    ("engine.options.binlog_row_image", "MINIMAL", CONF_A),
    ("engine.options.max_prepared_stmt_count", "1000000", CONF_A),
    ("engine.options.max_connections", "4096", CONF_A),
    ("engine.options.back_log", "6000", CONF_A),
    ("engine.options.table_open_cache", "100000", CONF_A),
    ("engine.options.table_open_cache_instances", "64", CONF_A),
    ("engine.options.innodb_open_files", "4000", CONF_A),
    ("engine.options.join_buffer_size", "256K", CONF_A),
    ("engine.options.sort_buffer_size", "256K", CONF_A),
];

const B: &[Row] = &[
    ("engine.name", "mysql", "article B: MySQL 8.0.0"),
    ("engine.options.innodb_buffer_pool_size", "4G", "article B: for scale factor 1"),
    ("engine.options.innodb_numa_interleave", "0", "the default of MySQL 8.0.0"),
    ("workload.name", "dbt3", "article B"),
    ("workload.scale", "1", "article B"),
    ("workload.queries", "all", "article B"),
    ("workload.indexes", "dbt3", "article B: DBT-3"),
    ("workload.warmup_runs", "10", "article B: 20 runs, the last 10 count"),
    ("placement.server", "package:0", "article B: bound to a single CPU (package)"),
    ("placement.client", "float", "article B: a bound client is one of its no-effect trials"),
    ("machine.turbo", "off", "article B: Turbo Boost is disabled"),
    ("machine.governor", "performance", "article B: I have chosen the performance governor"),
];

const C: &[Row] = &[
    ("workload.name", "counters", "article C"),
    ("workload.rounds", "10000", "article C: 10K rounds"),
    ("workload.counter_blocks", "100", "article C"),
    ("workload.counters_per_block", "10", "article C"),
    ("workload.data_blocks", "1000000", "article C: 1m data-blocks"),
    ("workload.data_work", "on", "article C"),
    ("workload.generator", "faithful", "the article's program: rand()"),
    ("workload.steps", "16", "the article's program: k_round_amplifier"),
    ("workload.padding", "64", "the article's program: shards of 64 bytes"),
    ("workload.memory_scope", "payload", "the article's script: the argument numa"),
];

const CONF_D: &str = "mysqlonarm/benchmark-suites 11ee7620, mysql-sbench/conf/mdb.cnf/100tx3m_106_cpubound.cnf";
const D: &[Row] = &[
    ("engine.name", "mariadb", "article D"),
    ("workload.tables", "100", "workload.bms.sh: TABLES"),
    ("workload.rows", "3000000", "workload.bms.sh: TABLE_SIZE"),
    ("workload.warmup_workload", "read_only", "warmup.sh"),
    ("workload.warmup_threads", "128", "workload.bms.sh: servercore"),
    ("workload.warmup_limit_s", "120", "workload.bms.sh: warmuptime"),
    ("placement.client_pus_per_node", "4", "workload.bms.sh: 4 sysbench cores, 28 server cores"),
    ("placement.client_pus", "first", "workload.bms.sh: BENCHCORE 0,1,2,3"),
    ("capture.locks", "off", "performance_schema has a price in measured samples"),
    ("engine.options.innodb_buffer_pool_size", "80G", CONF_D),
    ("engine.options.innodb_log_file_size", "20G", CONF_D),
    ("engine.options.innodb_log_buffer_size", "64M", CONF_D),
    ("engine.options.innodb_io_capacity", "12000", CONF_D),
    ("engine.options.innodb_io_capacity_max", "24000", CONF_D),
    ("engine.options.innodb_read_io_threads", "16", CONF_D),
    ("engine.options.innodb_write_io_threads", "16", CONF_D),
    ("engine.options.innodb_purge_threads", "8", CONF_D),
    ("engine.options.innodb_page_cleaners", "8", CONF_D),
    ("engine.options.innodb_lru_scan_depth", "16384", CONF_D),
    ("engine.options.innodb_max_dirty_pages_pct", "90", CONF_D),
    ("engine.options.innodb_max_dirty_pages_pct_lwm", "10", CONF_D),
    ("engine.options.innodb_flush_method", "O_DIRECT", CONF_D),
    ("engine.options.innodb_flush_neighbors", "0", CONF_D),
    ("engine.options.innodb_adaptive_hash_index", "0", CONF_D),
    ("engine.options.innodb_numa_interleave", "1", CONF_D),
    ("engine.options.innodb_fast_shutdown", "0", CONF_D),
    ("engine.options.innodb_buffer_pool_dump_at_shutdown", "0", CONF_D),
    ("engine.options.innodb_buffer_pool_load_at_startup", "0", CONF_D),
    ("engine.options.log_bin", "1", CONF_D),
    ("engine.options.sync_binlog", "1", CONF_D),
    ("engine.options.binlog_format", "ROW", CONF_D),
    ("engine.options.binlog_row_image", "MINIMAL", CONF_D),
    ("engine.options.max_prepared_stmt_count", "1000000", CONF_D),
    ("engine.options.max_connections", "4096", CONF_D),
    ("engine.options.back_log", "6000", CONF_D),
    ("engine.options.table_open_cache", "1000", CONF_D),
    ("engine.options.table_open_cache_instances", "64", CONF_D),
    ("engine.options.innodb_open_files", "512", CONF_D),
    ("engine.options.join_buffer_size", "256K", CONF_D),
    ("engine.options.sort_buffer_size", "256K", CONF_D),
];

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(on) => (if *on { "on" } else { "off" }).to_owned(),
        Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0) => {
            number.as_f64().unwrap().to_string()
        }
        other => other.to_string(),
    }
}

/// The plan of an article's study on its machine; every condition must contain the rows.
fn plan(study: &str, machine: &str, rows: &[Row]) -> Value {
    let args = ["run", study, "--article", "--dry-run", "--json", "--topology", machine];
    let document = json(&World::new().exits(0, &args).0);
    for condition in document["conditions"].as_array().unwrap() {
        for (key, value, source) in rows {
            let found = words(&condition["settings"][key]);
            assert_eq!(found, *value, "{study}: {key} of {}; {source}", condition["name"]);
        }
    }
    document
}

fn gigabytes(document: &Value, need: &str) -> f64 {
    document["needs"][need].as_f64().unwrap() / 1e9
}

#[test]
fn the_plan_of_article_a_is_its_vcpu_grid_with_34_gb_of_data() {
    let document = plan("mind-your-core", "package:2 node:1 core:6 pu:2", A);
    // Synthetic PUs have the numbers of the article's vCPUs: two per core, node by node.
    let places: Vec<(String, String)> = document["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["placement"]["client"].to_string(), c["placement"]["server"].to_string()))
        .collect();
    let clients = ["[[0,1]]", "[[0,2]]", "[[0]]", "[[12,13]]", "[[12,14]]", "[[12]]"];
    let servers = ["[[4,5,6,7,8,9,10,11]]", "[[4,6]]", "[[4,5]]"];
    let grid = clients.iter().flat_map(|client| servers.map(|server| (*client, server)));
    let balanced = [
        ("[[0,1,12,13]]", "[[2,3,4,5,6,7,8,9,10,11,14,15,16,17,18,19,20,21,22,23]]"),
        ("[[0,12]]", "[[4,16]]"),
        ("[[0,12]]", "[[4,16]]"),
        ("[[0]]", "[[4,16]]"),
        ("[[12]]", "[[4,16]]"),
        ("[[0]]", "[[16]]"),
        ("[[0],[12]]", "[[4],[16]]"),
    ];
    let expected: Vec<(String, String)> =
        grid.chain(balanced).map(|(client, server)| (client.to_owned(), server.to_owned())).collect();
    assert_eq!(places, expected);
    assert_eq!(document["trials"], 25 * 9, "N = 9");
    assert!((33.0..36.0).contains(&gigabytes(&document, "data_bytes")), "34G, says the article");
    assert!((34.0..40.0).contains(&gigabytes(&document, "memory_bytes")));
    assert!((80.0..95.0).contains(&gigabytes(&document, "disk_bytes")), "twice with 8 GB of redo log");
    // 9 runs of 10 + 60 s per condition take 4.4 h without overhead.
    assert!((5.0..24.0).contains(&(document["estimated_s"].as_f64().unwrap() / 3600.0)));
}

#[test]
fn the_plan_of_article_b_has_eight_conditions_of_ten_trials() {
    let document = plan("single-thread-stability", "package:2 node:1 core:8 pu:2", B);
    assert_eq!(document["trials"], 8 * 10);
    assert_eq!(document["samples"], 8 * 10 * 10);
    let all: Vec<u64> = (0..16).collect();
    for condition in document["conditions"].as_array().unwrap() {
        assert_eq!(condition["placement"]["server"], serde_json::json!([all]));
        assert_eq!(condition["placement"]["client"], serde_json::json!([]));
    }
    // Settings that the article tried without effect, at the same size: only these differ from the base.
    let document = plan("no-effect-list", "package:2 node:1 core:8 pu:2", &B[..8]);
    let base = &document["conditions"][0];
    let places = (&base["placement"]["server"], &base["placement"]["client"]);
    assert_eq!(places, (&serde_json::json!([all]), &serde_json::json!([])), "{base}");
    assert_eq!(base["settings"]["engine.options.innodb_adaptive_hash_index"], "OFF", "{base}");
}

#[test]
fn every_study_of_article_b_has_a_plan_on_a_machine_without_its_settings() {
    let world = World::new();
    std::fs::create_dir(world.path("bare")).unwrap();
    for study in ["single-thread-stability", "no-effect-list", "query-21"] {
        let fits = ["--set", "workload.scale=0.01", "--set", "engine.options.innodb_buffer_pool_size=256M"];
        let words = [&["run", study, "--article", "--dry-run", "--json", "--engine", "mariadb"], &fits[..]].concat();
        let output = world.tare(&words).env("TARE_SYSTEM_ROOT", world.path("bare")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{study}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_plan_of_article_c_has_eight_strategies_on_16_gb_of_blocks() {
    let document = plan("global-counters", "package:2 node:1 core:6 pu:2", C);
    assert_eq!(document["trials"], 8 * 9);
    assert!((16.0..32.0).contains(&gigabytes(&document, "memory_bytes")), "{}", document["needs"]);
    assert_eq!(document["needs"]["disk_bytes"], 0);
}

#[test]
fn the_plan_of_article_d_gives_clients_four_logical_cpus_of_each_node() {
    let document = plan("numa-scaling", "node:4 core:32 pu:1", D);
    assert_eq!(document["trials"], 5 * 2 * 3 * 11 * 4);
    let conditions = document["conditions"].as_array().unwrap();
    let four = conditions.iter().find(|c| c["levels"]["nodes"] == "4").unwrap();
    let pus = |from: u64, until: u64| (0..4).flat_map(|node| 32 * node + from..32 * node + until).collect::<Vec<u64>>();
    assert_eq!(four["placement"]["client"], serde_json::json!([pus(0, 4)]));
    assert_eq!(four["placement"]["server"], serde_json::json!([pus(4, 32)]));
    assert_eq!(four["placement"]["memory"], "interleave:0-3");
    assert!((68.0..82.0).contains(&gigabytes(&document, "data_bytes")), "about 80 GB with what InnoDB leaves free");
}

#[test]
fn a_study_that_exceeds_memory_or_disk_is_refused_before_it_begins() {
    let world = World::new();
    // The description limits the memory of the machine.
    let machine = "package:2 node:1(memory=4294967296) core:6 pu:2";
    let (_, err) = world.exits(3, &["run", "mind-your-core", "--article", "--dry-run", "--topology", machine]);
    assert!(err.contains("of memory, and there are 8.6 GB"), "{err}");
    let huge = ["--set", "workload.tables=10000", "--set", "workload.rows=2000000000"];
    let (_, err) = world.exits(3, &[&["run", "first-look", "--out", "never"], &huge[..]].concat());
    assert!(err.contains("of disk") || err.contains("of memory"), "{err}");
    assert!(!world.path("never").exists());
    let (_, err) = world.exits(2, &["run", "luck", "--article", "--dry-run"]);
    assert!(err.contains("[article]"), "{err}");
}

#[test]
fn settings_that_the_machine_lacks_are_omitted_with_the_reason_if_allowed() {
    let world = World::new();
    // A machine without any setting.
    std::fs::create_dir(world.path("bare")).unwrap();
    let plan = |where_possible: &str| {
        let set = format!("machine.where_possible={where_possible}");
        let mut tare =
            world.tare(&["run", "first-look", "--dry-run", "--json", "--set", "machine.turbo=off", "--set", &set]);
        let output = tare.env("TARE_SYSTEM_ROOT", world.path("bare")).output().unwrap();
        (output.status.code(), json(&String::from_utf8_lossy(&output.stdout)))
    };
    let (code, document) = plan("on");
    assert_eq!(code, Some(0), "{document}");
    assert!(document["notes"].to_string().contains("turbo=off left out: "), "{document}");
    assert!(document["conditions"].as_array().unwrap().iter().any(|condition| condition["realizable"] == true));
    assert_eq!(plan("off").0, Some(3));
}
