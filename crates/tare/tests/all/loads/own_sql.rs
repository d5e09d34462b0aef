//! The user's own statements in every dialect (MySQL has MariaDB's): schema and rows, latency and rows per statement,
//! errors by class.

use crate::engines::support::run_on;
use crate::support::{World, json, one_line, trials};
use tare_engine::{Engine, Mariadb, Postgresql, Sqlite};

const FILE: &str = "errors = \"count\"\n\
    [data]\nschema = \"CREATE TABLE accounts (id INTEGER NOT NULL PRIMARY KEY, owner VARCHAR(20), balance INTEGER NOT NULL); \
    CREATE TABLE log (id INTEGER NOT NULL PRIMARY KEY)\"\n\
    files = [\"more.sql\"]\ncsv = { accounts = \"accounts.csv\" }\nafter = \"CREATE INDEX by_owner ON accounts (owner)\"\n\
    [parameters]\nid = { range = [1, 50] }\nother = { range = [1, 50], distribution = \"zipfian\" }\n\
    sum = { list = [1, 2, 3] }\nowner = { list = [\"ann\", \"b;o'b\"] }\n\
    [[transaction]]\nname = \"transfer\"\nweight = 2\nstatements = [\
    \"UPDATE accounts SET balance = balance - :sum WHERE id = :id\", \
    \"UPDATE accounts SET balance = balance + :sum WHERE id = :other\"]\n\
    [[transaction]]\nname = \"look\"\nweight = 7\nstatements = [\"SELECT id, balance FROM accounts WHERE owner = :owner\"]\n\
    [[transaction]]\nname = \"note\"\nweight = 1\nstatements = [\"INSERT INTO log (id) VALUES (:id)\"]\n";

/// `duplicate` is the engine's error code for a duplicate key.
fn runs_on(engine: &dyn Engine, duplicate: &str) {
    let world = World::new();
    std::fs::create_dir(world.path("mine")).unwrap();
    std::fs::write(world.path("mine/mix.toml"), FILE).unwrap();
    std::fs::write(world.path("mine/more.sql"), "-- one; more\nCREATE TABLE other (a INTEGER);\n").unwrap();
    let rows: String = (1..=50).map(|id| format!("{id},{},100\n", ["ann", "b;o'b", ""][id % 3])).collect();
    std::fs::write(world.path("mine/accounts.csv"), format!("id,owner,balance\n{rows}")).unwrap();
    let study = "name = \"own\"\n[workload]\nname = \"sql\"\nfile = \"mine/mix.toml\"\nthreads = 2\n\
                 [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0.2\nsample_s = 0.8\n";
    for record in run_on(&world, engine, 0, study) {
        assert_eq!(record["outcome"], "ok", "{}: {record}", engine.name());
        let sample = &record["samples"][0];
        let covariate = |name: &str| sample["covariates"][name].as_f64().unwrap_or_else(|| panic!("{name}: {sample}"));
        // 17 of the 50 belong to ann, 17 to the other owner; each read finds all of them.
        let rows = covariate("statement_rows_look_1") / covariate("statement_executions_look_1");
        assert!((16.0..=17.0).contains(&rows), "{}: {rows}", engine.name());
        let all = covariate("statement_executions_transfer_1") + covariate("statement_executions_look_1");
        let share = covariate("statement_executions_transfer_1") / all;
        assert!((0.1..0.4).contains(&share), "2 of 9: {share}");
        // The log has room for 50 numbers and is full soon; the engine's error code for that is counted.
        assert!(covariate(&format!("statement_errors_{duplicate}")) > 0.0, "{}: {sample}", engine.name());
        for metric in ["tps", "latency_ms_p99_of_look_1", "latency_ms_mean_of_transfer_2"] {
            assert!(sample["metrics"][metric].as_f64().unwrap() > 0.0, "{metric}: {sample}");
        }
    }
    let (shown, _) = world.exits(0, &["show", "results"]);
    let note = "transactions ended in an error and were not run again, most in base: ";
    assert!(shown.contains(note) && shown.contains(&format!("% ({duplicate}); throughput")), "{shown}");
    // The run keeps the content of the file, so that it can resume after the file has changed.
    let kept = std::fs::read_to_string(world.path("results/study.toml")).unwrap();
    assert!(kept.contains("balance + :sum") && kept.contains("data_directory"), "{kept}");
    world.assert_clean();
}

#[test]
fn one_file_of_statements_runs_on_sqlite_and_mariadb() {
    runs_on(&Sqlite, "1555");
    runs_on(&Mariadb, "1062");
}

#[test]
fn one_file_of_statements_runs_on_postgresql() {
    runs_on(&Postgresql, "23505");
}

/// The range of rows that a statement of the microbenchmarks returns or changes on tables of 2000 rows: ranges at the
/// end of the table have fewer rows, and lists of random keys contain keys without a row or with several rows.
fn published_rows(statement: &str) -> (f64, f64) {
    match statement {
        "random_points_10_1" => (9.5, 10.0),
        // All loads run at the same time here: rows that another load has just deleted are missing for a moment.
        "hot_points_1"
        | "points_covered_pk_1"
        | "points_notcovered_pk_1"
        | "random_points_100_1"
        | "update_inlist_1" => (95.0, 100.0),
        "random_points_1000_1" => (750.0, 830.0),
        "range_covered_pk_1" | "range_notcovered_pk_1" => (85.0, 101.0),
        // k is concentrated around the middle, as sysbench draws it: some keys have many rows, most have few.
        "points_covered_si_1" | "points_notcovered_si_1" | "select_random_points_1" => (0.1, 2000.0),
        "range_covered_si_1" | "range_notcovered_si_1" => (1.0, 2000.0),
        "scan_1" => (0.0, 0.0),
        // 0.75 of 1000, because a range begins anywhere and ends with the table.
        "read_only_simple_2" | "read_only_order_2" => (600.0, 900.0),
        "read_only_10_2" | "read_only_10_4" | "read_write_10_2" | "read_write_10_4" => (8.5, 10.0),
        "read_only_100_2" | "read_only_100_4" | "read_write_100_2" | "read_write_100_4" => (80.0, 100.0),
        "read_only_10000_2" | "read_only_10000_4" => (500.0, 1500.0),
        // DISTINCT: other loads give many rows the same value.
        "read_only_distinct_2" => (50.0, 900.0),
        "read_only_10_5" | "read_write_10_5" => (1.0, 10.0),
        "read_only_100_5" | "read_write_100_5" => (10.0, 100.0),
        "read_only_10000_5" => (100.0, 1500.0),
        // Deleted rows are not found again.
        "delete_1" => (0.0, 1.0),
        // InnoDB counts changed rows, the others matched rows.
        "update_same_1" => (0.0, 1.0),
        // Row 1 of one of the two tables may be deleted early.
        "update_one_1" => (0.4, 1.0),
        // One row, which another load may just have deleted.
        _ => (0.95, 1.0),
    }
}

/// Whether the published rows are a mean, and not the most that one execution can return.
fn is_range_from_anywhere(statement: &str) -> bool {
    let wide =
        ["read_only_simple_", "read_only_order_", "read_only_distinct_", "read_only_10000_", "random_points_1000_"];
    wide.iter().any(|begin| statement.starts_with(begin))
}

/// All microbenchmarks at the same time, so that a server is started only once; each for a moment.
fn microbenchmarks_run_on(engine: &dyn Engine) {
    // A busy machine may need longer until each was drawn.
    let ran = [3, 12, 48].into_iter().any(|sample_s| microbenchmarks_have_published_rows(engine, sample_s) == 34);
    assert!(ran, "{}: not all of them ran", engine.name());
}

/// Returns how many of them ran.
fn microbenchmarks_have_published_rows(engine: &dyn Engine, sample_s: u32) -> usize {
    let world = World::new();
    let study = format!(
        "name = \"micro\"\n[workload]\nname = \"sql\"\nbuiltin = \"microbenchmarks\"\nrows = 2000\ntables = 2\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = {sample_s}\n"
    );
    let record = run_on(&world, engine, 0, &study).remove(0);
    let covariates = record["samples"][0]["covariates"].as_object().unwrap();
    let run = covariates.keys().filter_map(|name| name.strip_prefix("statement_executions_"));
    let (mut loads, mut others) = (std::collections::BTreeSet::new(), Vec::new());
    for statement in run {
        let of = |what: &str| covariates[&format!("statement_{what}_{statement}")].as_f64().unwrap();
        let rows = of("rows") / of("executions");
        let (least, most) = published_rows(statement);
        // A small number of executions allows a deviation; a constant number of rows does not.
        let room = if least == most { 0.0 } else { 0.5 * most / of("executions").sqrt() };
        // Where a range begins anywhere, a single execution returns up to twice the mean.
        let above = if is_range_from_anywhere(statement) { room } else { 0.0 };
        let fits = rows >= least - room && rows <= most + above;
        if !fits {
            others.push(format!("{statement} has {rows} rows in {} executions", of("executions")));
        }
        loads.insert(statement.rsplit_once('_').unwrap().0.to_owned());
    }
    assert!(others.is_empty(), "{}: {others:#?}", engine.name());
    let errors: Vec<_> = covariates.keys().filter(|name| name.starts_with("statement_errors_")).collect();
    assert!(errors.is_empty(), "{}: {errors:?}", engine.name());
    loads.len()
}

#[test]
fn microbenchmarks_touch_the_published_rows_on_sqlite_and_mariadb() {
    microbenchmarks_run_on(&Sqlite);
    microbenchmarks_run_on(&Mariadb);
}

#[test]
fn microbenchmarks_touch_the_published_rows_on_postgresql() {
    microbenchmarks_run_on(&Postgresql);
}

/// Every step of the insert benchmark, with two clients on 5000 rows.
fn insert_benchmark_runs_on(engine: &dyn Engine) {
    let world = World::new();
    let study = "name = \"inserts\"\n[workload]\nname = \"sql\"\nbuiltin = \"insert-benchmark\"\nrows = 5000\n\
                 threads = 6\n[sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 0.3\n";
    let record = run_on(&world, engine, 0, study).remove(0);
    let sample = &record["samples"][0];
    let of = |what: &str, part: &str| sample["covariates"][format!("statement_{what}_{part}")].as_f64().unwrap();
    // Exactly the requested rows are written, and deleted rows existed: no duplicate key, no missing row.
    for (part, transactions, rows) in [
        ("l_i0_insert", 50.0, 5000.0),
        ("l_x_index", 3.0, 0.0),
        ("l_i1_insert", 8.0, 400.0),
        ("l_i1_delete", 8.0, 400.0),
        ("l_i2_insert", 20.0, 100.0),
        ("l_i2_delete", 20.0, 100.0),
    ] {
        assert_eq!(of("executions", part), transactions, "{} {part}", engine.name());
        assert!(of("rows", part) == rows || part == "l_x_index", "{} {part}: {}", engine.name(), of("rows", part));
    }
    let metric = |name: String| sample["metrics"][&name].as_f64().unwrap_or_else(|| panic!("{name}: {sample}"));
    let mut written = 0.0;
    for step in ["qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"] {
        let found = of("rows", &format!("{step}_query")) / of("executions", &format!("{step}_query"));
        // While a query searches a row, the row may be deleted, or may be counted but not yet written.
        assert!((9.0..=10.0).contains(&found), "{} {step}: {found}", engine.name());
        assert!(metric(format!("queries_per_s_of_{step}_query")) > 0.0);
        let writes = ["insert", "delete"].map(|role| of("executions", &format!("{step}_{role}")));
        // Two clients, 50 rows at once; one write may be due at the start, and one may have begun before.
        let elapsed_s = of("executions", &format!("{step}_query")) / metric(format!("queries_per_s_of_{step}_query"));
        let rows_per_s: f64 = step[2..].parse().unwrap();
        let most = 2.0 * (2.0 + rows_per_s / 50.0 * elapsed_s);
        assert!(writes.iter().all(|done| *done <= most), "{step}: {writes:?} in {elapsed_s} s");
        written += writes.iter().sum::<f64>();
    }
    // In a short step on a busy machine there may be no write.
    assert!(written > 0.0, "{}: {sample}", engine.name());
    assert!(metric("elapsed_s_of_l_x".to_owned()) > 0.0);
    let shown = world.exits(0, &["show", "results"]).0;
    assert!(one_line(&shown).contains("10 steps, in "), "{shown}");
    let table = shown.lines().skip_while(|line| !line.starts_with("steps (means over trials"));
    let steps: Vec<&str> = table.filter_map(|line| line.split_whitespace().next()).collect();
    let at = |step: &str| steps.iter().position(|word| *word == step).unwrap_or_else(|| panic!("{step}: {shown}"));
    assert!(at("l_i0") < at("l_x") && at("l_x") < at("l_i1") && at("qr1000") < at("qp1000"), "{shown}");
    let page = std::fs::read_to_string(world.path("results/report.html")).unwrap();
    let section = page.split_once("<section id=\"steps\"").unwrap().1.split_once("</section>").unwrap().0;
    assert_eq!(section.matches("<tr>").count(), 1 + 10, "a head, and 10 steps of one condition: {section}");
    assert!(section.contains(">longest ms<") && section.contains(">l_x<"), "{section}");
    world.assert_clean();
}

#[test]
fn the_insert_benchmark_writes_and_deletes_what_its_steps_say_on_sqlite_and_mariadb() {
    insert_benchmark_runs_on(&Sqlite);
    insert_benchmark_runs_on(&Mariadb);
}

#[test]
fn the_insert_benchmark_writes_and_deletes_what_its_steps_say_on_postgresql() {
    insert_benchmark_runs_on(&Postgresql);
}

#[test]
fn the_insert_benchmark_needs_a_thread_count_that_is_a_multiple_of_3() {
    let world = World::new();
    let study =
        world.study("name = \"inserts\"\n[workload]\nname = \"sql\"\nbuiltin = \"insert-benchmark\"\nthreads = 4\n");
    let (_, err) = world.exits(2, &["run", "--dry-run", &study]);
    assert!(err.contains("a multiple of 3"), "{err}");
}

/// A unique violation is caused by the statements: their author decides whether it counts as an error, on every engine.
fn a_duplicate_fails_the_trial_on(engine: &dyn Engine, code: &str) {
    let world = World::new();
    let file = "[data]\nschema = \"CREATE TABLE log (id INTEGER NOT NULL PRIMARY KEY)\"\n\
        [parameters]\nid = { range = [1, 50] }\n\
        [[transaction]]\nname = \"note\"\nstatements = [\"INSERT INTO log (id) VALUES (:id)\"]\n";
    std::fs::write(world.path("mix.toml"), file).unwrap();
    let study = "name = \"own\"\n[workload]\nname = \"sql\"\nfile = \"mix.toml\"\n[sampling]\ntrials = 1\n\
                 attempts = 1\nwarmup_s = 0\nsample_s = 0.5\n";
    let record = run_on(&world, engine, 4, study).remove(0);
    let reason = record["reason"].as_str().unwrap();
    assert!(reason.contains("note_1: INSERT") && reason.contains(code), "{}: {record}", engine.name());
}

#[test]
fn a_duplicate_key_in_user_statements_fails_the_trial_on_postgresql_and_mariadb() {
    a_duplicate_fails_the_trial_on(&Mariadb, "1062");
    a_duplicate_fails_the_trial_on(&Postgresql, "SQLSTATE 23505");
}

#[test]
fn a_sample_in_which_no_transaction_ends_fails_its_trial() {
    let world = World::new();
    let slow =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT count(*) FROM n";
    std::fs::write(world.path("mix.toml"), format!("[[transaction]]\nname = \"slow\"\nstatements = [\"{slow}\"]\n"))
        .unwrap();
    let study = world.study(
        "name = \"own\"\n[workload]\nname = \"sql\"\nfile = \"mix.toml\"\n[sampling]\ntrials = 1\nattempts = 1\n\
         warmup_s = 0\nsample_s = 0.05\n",
    );
    let (_, err) = world.exits(4, &["run", &study, "--out", "r"]);
    let reason = trials(&world.path("r"))[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("no transaction was finished"), "{reason}\n{err}");
}

#[test]
fn a_mistake_in_a_statement_file_is_reported_and_nothing_starts() {
    let world = World::new();
    let study = world.study("name = \"own\"\n[workload]\nname = \"sql\"\nfile = \"mix.toml\"\n");
    let wrong = |text: &str, words: &[&str]| {
        std::fs::write(world.path("mix.toml"), text).unwrap();
        let (_, err) = world.exits(2, &["run", &study, "--out", "r"]);
        assert!(err.contains("study.toml:4:") && words.iter().all(|word| err.contains(word)), "{err}");
        assert!(!world.path("r").exists());
    };
    wrong(&FILE.replace("weight = 2", "wieght = 2"), &["mix.toml", "line", "wieght"]);
    wrong(&FILE.replace(":sum WHERE id = :id", ":sun WHERE id = :id"), &["transaction transfer, statement 1", ":sum?"]);
    std::fs::remove_file(world.path("mix.toml")).unwrap();
    let (_, err) = world.exits(2, &["run", &study, "--out", "r"]);
    assert!(err.contains("a file of statements in place of ") && err.contains("mix.toml: No such file"), "{err}");
    // Neither a pipe nor an endless device may block: --dry-run is for untrusted studies too.
    let pipe = world.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    for file in [pipe.to_str().unwrap(), "/dev/zero"] {
        let study = world.study(&format!("name = \"own\"\n[workload]\nname = \"sql\"\nfile = \"{file}\"\n"));
        let load = ["load", "--engine", "sqlite", "--file", file];
        for words in [&["run", &study, "--dry-run"][..], &load, &[&load[..], &["--file", file]].concat()] {
            let (_, err) = world.exits(2, words);
            assert!(err.contains("is not a regular file"), "{words:?} {err}");
        }
    }
}

#[test]
fn a_statement_file_is_found_next_to_the_study_that_names_it() {
    let world = World::new();
    std::fs::create_dir(world.path("sub")).unwrap();
    std::fs::write(world.path("sub/mix.toml"), "[[transaction]]\nname = \"one\"\nstatements = [\"SELECT 1\"]\n")
        .unwrap();
    let (key, factor) = ("file = \"mix.toml\"\n", "[factors]\nfile = [\"mix.toml\"]\n");
    for file in [key, factor] {
        let text = format!("name = \"own\"\n[workload]\nname = \"sql\"\n{file}");
        std::fs::write(world.path("sub/study.toml"), text).unwrap();
        world.exits(0, &["run", "sub/study.toml", "--dry-run"]);
    }
    let sides = ["ab", "--engine", "sqlite", "--a", "aslr=on", "--b", "aslr=off", "--dry-run", "--json", "--load"];
    let (out, _) = world.exits(0, &[&sides[..], &["sub/mix.toml"]].concat());
    assert_eq!(json(&out)["conditions"][0]["settings"]["workload.name"], "sql", "{out}");
    let (_, err) = world.exits(2, &[&sides[..], &["mine.sql"]].concat());
    assert!(err.contains("a file of statements, NAME.toml"), "{err}");
    // A path on the command line is relative to the working directory.
    world.exits(0, &["run", "sub/study.toml", "--dry-run", "--set", "factors.file=sub/mix.toml"]);
}
