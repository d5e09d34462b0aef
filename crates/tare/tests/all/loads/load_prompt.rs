//! `tare load` used by someone who knows sysbench: option names, lines, histogram, placement, results directory.

use crate::support::{ControlGroup, World, json, server_beside, trials};
use tare_engine::{Server, Sqlite};

/// A world with a running server and its socket.
struct Prompt {
    world: World,
    server: Box<dyn Server>,
    socket: String,
}

impl Prompt {
    fn new() -> Self {
        let world = World::new();
        let server = server_beside(&world, &Sqlite);
        let socket = server.address().to_string();
        Self { world, server, socket }
    }

    /// Standard output and standard error of a load that exits with `code`.
    fn load(&self, code: i32, words: &[&str]) -> (String, String) {
        let to = ["--engine", "sqlite", "--socket", &self.socket];
        let all = [&["load"], words, &to].concat();
        self.world.exits(code, &all)
    }
}

#[test]
fn a_load_accepts_sysbench_options_and_prints_its_lines_histogram_and_placement() {
    let prompt = Prompt::new();
    let tables = ["--tables=2", "--table_size=1000"];
    prompt.load(0, &[&["oltp_read_write", "prepare"][..], &tables].concat());
    let (_, err) = prompt.load(4, &[&["oltp_read_write", "prepare"][..], &tables].concat());
    assert!(err.contains("the same with --cleanup instead of --prepare"), "{err}");
    let (_, err) = prompt.load(2, &["read_only", "--tables=2", "--table_size=500"]);
    assert!(err.contains("has 1000 rows") && err.contains("give the same --tables and --rows"), "{err}");
    let options = [
        "--threads=2",
        "--time=2.5",
        "--warmup=0",
        "--percentile=99",
        "--histogram",
        "--rand-type=special",
        "--db-ps-mode=disable",
    ];
    let (out, err) = prompt.load(0, &[&["oltp_read_write", "run"][..], &tables, &options].concat());
    let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("[ ")).collect();
    assert_eq!(lines.len(), 2, "{err}");
    for (line, second) in lines.iter().zip(1..) {
        assert!(
            line.starts_with(&format!("[ {second}s ] thds: 2 tps: ")) && line.contains(" lat (ms,99%): "),
            "{line}"
        );
        // 14 reads, 4 writes and 2 others per transaction.
        let (_, rates) = line.split_once("(r/w/o: ").unwrap();
        let rates: Vec<f64> = rates.split_once(')').unwrap().0.split('/').map(|rate| rate.parse().unwrap()).collect();
        assert!(rates[0] > rates[1] && rates[1] > rates[2] && rates[2] > 0.0, "{line}");
    }
    assert!(!err.contains("ids are drawn") && !err.contains("of warm-up"), "both were said: {err}");
    assert!(out.contains("------------- distribution ------------- count"), "{out}");
    for client in 0..2 {
        let line = out.lines().find(|line| line.starts_with(&format!("client {client} "))).expect(&out);
        assert!(line.contains("CPUs allowed ") && line.contains("; served by ") && line.contains(", seen "), "{line}");
    }
    let (_, err) = prompt.load(0, &[&["read_only"][..], &tables, &["--time=1", "--report-interval=0"]].concat());
    let first = err.lines().next().unwrap();
    assert!(first.contains("ids are drawn uniformly (sysbench: special)"), "{first}");
    assert!(first.contains("1 s of warm-up is left out (sysbench: none)"), "never longer than it measures: {first}");
    assert!(!err.contains("[ 1s ]"), "{err}");
    prompt.load(0, &[&["oltp_read_write", "cleanup"][..], &tables].concat());
    prompt.load(2, &[&["oltp_read_write"][..], &tables].concat());
}

#[test]
fn the_json_of_a_load_contains_its_figures_histogram_and_threads() {
    let prompt = Prompt::new();
    prompt.load(0, &["insert", "--rows", "500", "--prepare"]);
    for workload in ["insert", "insert", "delete", "delete"] {
        if workload == "delete" {
            // A table with more rows than --rows is a different table.
            prompt.load(2, &["delete", "--rows", "500", "--time", "1s"]);
            prompt.load(0, &["insert", "--cleanup"]);
            prompt.load(0, &["insert", "--rows", "500", "--prepare"]);
        }
        let (out, err) = prompt.load(
            0,
            &[
                workload,
                "--rows",
                "500",
                "--threads",
                "2",
                "--time",
                "500ms",
                "--warmup",
                "0s",
                "--histogram",
                "--json",
            ],
        );
        let document = json(&out);
        // Other tests run at the same time.
        assert_eq!(err.lines().find(|line| !line.starts_with("this measurement was disturbed: ")), None);
        assert!(document["tps"].as_f64().unwrap() > 0.0 && document["reconnects"] == 0, "{document}");
        let counted: u64 =
            document["histogram"].as_array().unwrap().iter().map(|bucket| bucket[1].as_u64().unwrap()).sum();
        assert_eq!(counted, document["transactions"].as_u64().unwrap());
        let threads = document["threads"].as_array().unwrap();
        let pairs =
            |role: &str| threads.iter().filter(|thread| thread["role"] == role && thread["pair"].is_u64()).count();
        assert_eq!((pairs("client"), pairs("server")), (2, 2), "{document}");
    }
    // Exactly as many additional rows as requested events.
    prompt.load(0, &["insert", "--cleanup"]);
    prompt.load(0, &["insert", "--rows", "500", "--prepare"]);
    let (_, err) = prompt.load(0, &["insert", "--rows", "500", "--threads", "4", "--events=321"]);
    assert!(!err.contains("warm-up"), "{err}");
    let mut session = prompt.server.connect().unwrap();
    assert_eq!(session.query("SELECT COUNT(*) FROM sbtest1").unwrap(), [[Some("821".to_owned())]]);
    prompt.load(0, &["insert", "--cleanup"]);
    prompt.load(0, &["insert", "--rows", "600", "--prepare"]);
    // Fewer rows than were prepared: a workload that reads whole tables reports it.
    let (_, err) = prompt.load(2, &["read_only", "--rows", "500"]);
    assert!(err.contains("table sbtest1 has ") && err.contains("--prepare"), "{err}");
    prompt.load(0, &["bulk_insert", "--threads", "2", "--cleanup"]);
    let (_, err) = prompt.load(4, &["bulk_insert", "--threads", "2", "--time", "200ms", "--json"]);
    assert!(err.contains("one table per client"), "{err}");
    prompt.load(0, &["bulk_insert", "--threads", "2", "--prepare"]);
    let mut rows = || -> u64 {
        let counts =
            ["sbtest1", "sbtest2"].map(|table| session.query(&format!("SELECT COUNT(*) FROM {table}")).unwrap());
        counts.iter().map(|count| count[0][0].as_ref().unwrap().parse::<u64>().unwrap()).sum()
    };
    for _ in 0..2 {
        let before = rows();
        let (out, _) =
            prompt.load(0, &["bulk_insert", "--threads", "2", "--time", "500ms", "--warmup", "0s", "--json"]);
        let (document, written) = (json(&out), rows() - before);
        // A statement has thousands of rows. The last ones end after the sample, or are never sent.
        let transactions = document["transactions"].as_u64().unwrap();
        assert!(100 * transactions > written, "a row is a transaction, {written} were written: {document}");
    }
    let (_, err) = prompt.load(2, &["select_random_points", "--tables", "2"]);
    assert!(err.contains("reads only sbtest1"), "{err}");
}

#[test]
fn a_results_directory_of_a_load_can_be_shown_and_compared_like_that_of_a_run() {
    let prompt = Prompt::new();
    prompt.load(0, &["read_only", "--rows", "1000", "--prepare"]);
    let times = ["--rows", "1000", "--time", "300ms", "--warmup", "100ms", "--repeat", "3"];
    let quiet = ["--set", "sampling.steal_limit=off", "--set", "sampling.foreign_cpu_limit=off"];
    for (out, more) in [("before", &["--skip-trx"][..]), ("after", &["--point-selects", "2"])] {
        prompt.load(0, &[&["read_only", "--out", out][..], &times, &quiet, more].concat());
        let records = trials(&prompt.world.path(out));
        assert_eq!(records.len(), 3);
        for record in &records {
            assert_eq!(
                (&record["outcome"], &record["samples"][0]["threads"][0]["role"]),
                (&"ok".into(), &"client".into())
            );
        }
        assert!(prompt.world.path(out).join("report.html").exists());
        let (shown, _) = prompt.world.exits(0, &["show", out]);
        assert!(shown.contains("tps"), "{shown}");
    }
    let study = std::fs::read_to_string(prompt.world.path("before/study.toml")).unwrap();
    assert!(study.contains("skip_trx = true") && study.contains(&prompt.socket), "{study}");
    let (compared, _) = prompt.world.exits(0, &["compare", "before", "after"]);
    assert!(compared.contains("tps"), "{compared}");
    // A results directory is never overwritten, and --repeat needs --out.
    prompt.load(2, &[&["read_only", "--out", "before"][..], &times].concat());
    prompt.load(2, &["read_only", "--repeat", "3"]);
}

#[test]
fn tpcc_tables_are_made_driven_checked_and_dropped_but_foreign_tables_are_kept() {
    let prompt = Prompt::new();
    let tpcc = |code, words: &[&str]| prompt.load(code, &[&["tpcc"][..], words].concat());
    let sql = |sql: &str| prompt.server.connect().unwrap().run(sql).unwrap();
    let small = ["--scale", "0.01", "--warehouses", "2"];
    let with = |words: &[&'static str]| [words, &small].concat();
    let (_, err) = tpcc(2, &with(&["run"]));
    assert!(err.contains("table warehouse cannot be read") && err.contains("prepare --warehouses 2 --scale"), "{err}");
    tpcc(0, &with(&["prepare"]));
    let (_, err) = tpcc(4, &with(&["prepare"]));
    assert!(err.contains("tare load tpcc cleanup"), "{err}");
    let (out, err) = tpcc(0, &with(&["--threads", "2", "--time", "2.2", "--warmup", "1"]));
    let nopm = |line: &str| line.split_once(" nopm: ").unwrap().1.split(' ').next().unwrap().parse::<f64>().unwrap();
    let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("[ ") && !line.ends_with("(warm-up)")).collect();
    assert!(lines.len() == 2 && lines[0].starts_with("[ 1s ] thds: 2 nopm: "), "{err}");
    let of_run = out.lines().next().unwrap().split("   ").last().unwrap().split(' ').next().unwrap();
    let (mean, of_run) = (lines.iter().map(|line| nopm(line)).sum::<f64>() / 2.0, of_run.parse::<f64>().unwrap());
    assert!(mean > 0.0 && (0.7..1.4).contains(&(mean / of_run)), "{err}{out}");
    assert!(err.starts_with("tpcc: not an official TPC-C result") && out.contains("! not an official"), "{err}{out}");
    let words = ["run", "--json", "--events", "100", "--time", "0", "--threads", "3"];
    assert_eq!(json(&tpcc(0, &with(&words)).0)["transactions"], 100);
    let document = json(&tpcc(0, &with(&["run", "--json", "--time", "1", "--warmup", "0"])).0);
    let of_kinds = document["of_kinds"].as_object().unwrap().values();
    let sum: u64 = of_kinds.map(|kind| kind["transactions"].as_u64().unwrap()).sum();
    let all = document["transactions"].as_u64().unwrap();
    // A transaction that is active at the end may be counted in only one of them.
    assert!(sum.abs_diff(all) <= 1 && document["nopm"].as_f64().unwrap() > 0.0, "{document}");

    let (out, _) = tpcc(0, &with(&["check"]));
    assert_eq!(out.lines().filter(|line| line.contains(" holds ")).count(), 12, "{out}");
    sql("UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 5");
    let (out, err) = tpcc(4, &with(&["check"]));
    let broken: Vec<&str> = out.lines().filter(|line| line.contains("DOES NOT HOLD")).collect();
    assert!(
        broken.len() == 1
            && broken[0].starts_with("3.3.2.11 ")
            && err.contains("1 of the 12 consistency conditions did not hold"),
        "{out}{err}"
    );
    assert!(broken[0].contains("warehouse 2, district 3: "), "{out}");
    tpcc(2, &["check", "--scale", "0.01"]);

    // A foreign table of the same name prevents the removal of all tables.
    sql("ALTER TABLE history RENAME TO mine");
    sql("CREATE TABLE history (what VARCHAR(10))");
    let (_, err) = tpcc(4, &["cleanup"]);
    assert!(
        err.contains("table history does not have TPC-C's columns") && err.contains("name another database"),
        "{err}"
    );
    sql("DROP TABLE history");
    sql("ALTER TABLE mine RENAME TO history");
    assert!(tpcc(0, &["cleanup"]).1.contains("dropped 9 tables"));
    assert!(tpcc(0, &["cleanup"]).1.contains("no table to drop"));
}

#[test]
fn a_sysbench_driver_name_is_accepted_only_for_its_own_engines() {
    let world = World::new();
    let to = |words: &[&'static str]| [&["load"][..], words, &["--socket", "no-such-socket"]].concat();
    let (_, err) = world.exits(3, &to(&["read_only", "--db-driver=pgsql"]));
    assert!(err.contains("no-such-socket"), "{err}");
    world.exits(3, &to(&["read_only", "--engine=mysql", "--db-driver=mysql"]));
    let (_, err) = world.exits(2, &to(&["tpcc", "--engine=mysql", "--db_driver=pgsql"]));
    assert!(err.contains("contradicts --engine mysql") && err.contains("--engine postgresql"), "{err}");
}

#[test]
fn a_client_short_of_cpu_is_reported_as_the_limit_and_an_idle_one_is_not() {
    let prompt = Prompt::new();
    prompt.load(0, &["point_select", "--rows", "1000", "--prepare"]);
    let words = ["--rows", "1000", "--time", "2s", "--warmup", "0s", "--json"];
    let (out, _) = prompt.load(0, &[&["point_select", "--rate", "20"][..], &words].concat());
    assert_eq!(json(&out)["client_limit"], serde_json::Value::Null, "{out}");
    // Usually only root can make one; unit tests cover the counters themselves.
    let one = [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "5000")];
    let Some(group) = ControlGroup::new("cpu", &one, &[("cpu.max", "5000 50000")]) else { return };
    let line = [&["load", "point_select", "--engine", "sqlite", "--socket", &prompt.socket][..], &words].concat();
    let output = prompt.world.behind(&group.enter(), &line).output().unwrap();
    let out = crate::support::text(&output.stdout);
    assert!(output.status.success(), "{}", crate::support::text(&output.stderr));
    let why = json(&out)["client_limit"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("the CPU quota of its control group"), "{out}");
}

#[test]
fn a_changing_rate_reports_and_records_the_requested_and_achieved_rate_of_each_step() {
    let prompt = Prompt::new();
    prompt.load(0, &["point_select", "--rows", "1000", "--prepare"]);
    let steps = "100 to 500 in 3 steps";
    let words = ["point_select", "--rows", "1000", "--time", "1500ms", "--warmup", "100ms", "--rate"];
    let with = |rate: &'static str, more: &[&'static str]| [&words[..], &[rate], more].concat();
    let (out, _) = prompt.load(0, &with(steps, &["--json"]));
    let slices = json(&out)["slices"].as_array().unwrap().clone();
    let of = |key: &str| slices.iter().map(|slice| slice[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("rate").iter().map(|rate| rate.round()).collect::<Vec<_>>(), [100.0, 300.0, 500.0]);
    // Five standard deviations above a Poisson process: a constant rate would exceed that in the first step. A machine
    // that is held up may complete any smaller number.
    for (requested, done) in of("rate").iter().zip(of("tps")) {
        assert!((done - requested) * 0.5 < 5.0 * (requested * 0.5).sqrt(), "{out}");
    }
    assert!(of("tps").iter().sum::<f64>() > 0.0, "{out}");
    prompt.load(0, &with(steps, &["--out", "steps"]));
    let trial = &trials(&prompt.world.path("steps"))[0];
    let metrics = &trial["samples"][0]["metrics"];
    for slice in ["slice_01", "slice_02", "slice_03"] {
        assert!(metrics[format!("latency_ms_p99_of_{slice}")].is_f64(), "{trial}");
        for figure in ["asked", "done"] {
            assert!(trial["samples"][0]["covariates"][format!("{slice}_{figure}_per_s")].is_f64(), "{trial}");
        }
    }
    let (out, _) = prompt.load(0, &with("500 to 100 in 1 wave", &[]));
    assert!(out.lines().any(|line| line.contains("requested/s")), "{out}");
    let (_, err) = prompt.load(2, &with("100 to 0", &[]));
    assert!(err.contains("100 to 2000 in 20 steps"), "{err}");
}
