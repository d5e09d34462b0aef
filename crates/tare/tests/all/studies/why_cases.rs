//! The table of planted causes (benches/why): one line each, what `tare why` named first and how large, and twenty
//! comparisons of two alike, of which none may name anything.

use crate::support::{World, json};
use serde_json::Value;

/// A cause that a study plants between two of its conditions.
struct Case {
    /// What is planted, in words.
    planted: &'static str,
    /// The engine, the lines below `[workload]`, and further lines of the study.
    engine: &'static str,
    workload: &'static str,
    more: &'static str,
    /// Beginnings of the names of the two conditions.
    sides: [&'static str; 2],
    /// Kinds of suspects that are the planted one.
    kinds: &'static [&'static str],
    /// Microseconds a transaction that were planted, where they are known.
    us: Option<f64>,
}

const POINT: &str = "name = \"point_select\"\nrows = 1000";
const UPDATE: &str = "name = \"update_non_index\"\nrows = 1000\nthreads = 1";
const HOT: &str = "name = \"update_non_index\"\ntables = 1\nthreads = 16";
const ROWS: &str = "[factors]\nrows = [20000, 2]";
const HOT_SIDES: [&str; 2] = ["rows=20000", "rows=2"];
const NOT_DURABLE: &str = "[engine.options]\ninnodb_flush_log_at_trx_commit = \"0\"\n[factors]\nrows = [20000, 2]";

/// A planted option of the embedded engine, of so many microseconds.
const fn embedded(
    planted: &'static str,
    more: &'static str,
    sides: [&'static str; 2],
    kinds: &'static [&'static str],
    us: f64,
) -> Case {
    Case { planted, engine: "sqlite", workload: UPDATE, more, sides, kinds, us: Some(us) }
}

const CASES: [Case; 18] = [
    embedded(
        "SQLite: 100 us more in one function of the server",
        "[factors.option]\ntare_planted_work_us = [0, 100]",
        ["option.tare_planted_work_us=0", "option.tare_planted_work_us=100"],
        &["server_work"],
        100.0,
    ),
    embedded(
        "SQLite: 300 us more in one function of the server",
        "[factors.option]\ntare_planted_work_us = [0, 300]",
        ["option.tare_planted_work_us=0", "option.tare_planted_work_us=300"],
        &["server_work"],
        300.0,
    ),
    embedded(
        "SQLite: 200 us more in calls of the kernel",
        "[factors.option]\ntare_planted_kernel_us = [0, 200]",
        ["option.tare_planted_kernel_us=0", "option.tare_planted_kernel_us=200"],
        &["kernel_time"],
        200.0,
    ),
    embedded(
        "SQLite: a client that works 200 us longer",
        "[factors.option]\ntare_planted_client_us = [0, 200]",
        ["option.tare_planted_client_us=0", "option.tare_planted_client_us=200"],
        &["client_bound"],
        200.0,
    ),
    embedded(
        "SQLite: a sleep of 3000 us at commit",
        "[factors.option]\ntare_planted_commit_us = [0, 3000]",
        ["option.tare_planted_commit_us=0", "option.tare_planted_commit_us=3000"],
        &["pauses"],
        3000.0,
    ),
    Case {
        planted: "SQLite: a lock held for 2000 us by one statement in 4",
        engine: "sqlite",
        workload: "name = \"point_select\"\nrows = 1000\nthreads = 8",
        more: "[factors.option]\ntare_planted_mutex_us = [0, 2000]",
        sides: ["option.tare_planted_mutex_us=0", "option.tare_planted_mutex_us=2000"],
        kinds: &["global_lock"],
        us: Some(7.0 * 500.0),
    },
    Case {
        planted: "SQLite: 4 writers at its one lock, against 1",
        engine: "sqlite",
        workload: "name = \"update_non_index\"\nrows = 1000",
        more: "[factors]\nthreads = [1, 4]",
        sides: ["threads=1", "threads=4"],
        kinds: &["global_lock"],
        us: None,
    },
    Case {
        planted: "SQLite: flushed at every commit (synchronous=FULL)",
        engine: "sqlite",
        workload: UPDATE,
        more: "[factors.option]\nsynchronous = [\"OFF\", \"FULL\"]",
        sides: ["option.synchronous=OFF", "option.synchronous=FULL"],
        kinds: &["commit"],
        us: None,
    },
    Case {
        planted: "SQLite: 16 threads on this machine's CPUs, against 1",
        engine: "sqlite",
        workload: POINT,
        more: "[factors]\nthreads = [1, 16]",
        sides: ["threads=1", "threads=16"],
        kinds: &["cpu_shortage"],
        us: None,
    },
    Case {
        planted: "SQLite: client and server on two PUs, against one",
        engine: "sqlite",
        workload: POINT,
        more: "[factors]\nplacement = [\"same-pu\", \"same-cache\"]\n[placements.same-pu]\nclient = \"all\"\n\
               server = \"all\"\nbind = \"thread\"\npairing = \"same-pu\"\n[placements.same-cache]\nclient = \"all\"\n\
               server = \"all\"\nbind = \"thread\"\npairing = \"same-cache\"",
        sides: ["placement=same-pu", "placement=same-cache"],
        kinds: &["wake_ups"],
        us: None,
    },
    Case {
        planted: "MariaDB: a hot row",
        engine: "mariadb",
        workload: HOT,
        more: NOT_DURABLE,
        sides: HOT_SIDES,
        kinds: &["row_lock"],
        us: None,
    },
    Case {
        planted: "MariaDB: the log flushed at every commit",
        engine: "mariadb",
        workload: UPDATE,
        more: "[factors.option]\ninnodb_flush_log_at_trx_commit = [\"0\", \"1\"]",
        sides: ["option.innodb_flush_log_at_trx_commit=0", "option.innodb_flush_log_at_trx_commit=1"],
        kinds: &["commit"],
        us: None,
    },
    Case {
        planted: "MariaDB: 16 threads on this machine's CPUs, against 1",
        engine: "mariadb",
        workload: POINT,
        more: "[factors]\nthreads = [1, 16]",
        sides: ["threads=1", "threads=16"],
        kinds: &["cpu_shortage"],
        us: None,
    },
    Case {
        planted: "MySQL: a hot row",
        engine: "mysql",
        workload: HOT,
        more: NOT_DURABLE,
        sides: HOT_SIDES,
        kinds: &["row_lock"],
        us: None,
    },
    Case {
        planted: "MySQL: the log flushed at every commit",
        engine: "mysql",
        workload: UPDATE,
        more: "[factors.option]\ninnodb_flush_log_at_trx_commit = [\"0\", \"1\"]",
        sides: ["option.innodb_flush_log_at_trx_commit=0", "option.innodb_flush_log_at_trx_commit=1"],
        kinds: &["commit"],
        us: None,
    },
    Case {
        planted: "PostgreSQL: a hot row",
        engine: "postgresql",
        workload: HOT,
        more: ROWS,
        sides: HOT_SIDES,
        kinds: &["row_lock"],
        us: None,
    },
    Case {
        planted: "PostgreSQL: synchronous_commit",
        engine: "postgresql",
        workload: UPDATE,
        more: "[factors.option]\nsynchronous_commit = [\"off\", \"on\"]",
        sides: ["option.synchronous_commit=off", "option.synchronous_commit=on"],
        kinds: &["commit"],
        us: None,
    },
    Case {
        planted: "PostgreSQL: commit_delay of 4000 us",
        engine: "postgresql",
        workload: UPDATE,
        more: "[engine.options]\ncommit_siblings = \"0\"\n[factors.option]\ncommit_delay = [\"0\", \"4000\"]",
        sides: ["option.commit_delay=0", "option.commit_delay=4000"],
        kinds: &["pauses"],
        us: Some(4000.0),
    },
];

/// Comparisons of two alike.
const ALIKE: usize = 20;

fn study(case: &Case) -> String {
    let status = if case.engine == "sqlite" { "" } else { "status = \"on\"\n" };
    format!(
        "name = \"planted\"\n[engine]\nname = \"{}\"\n[workload]\n{}\n[capture]\nwaits = \"on\"\nlocks = \"on\"\n{status}\
         [sampling]\ntrials = 5\nattempts = 1\nwarmup_s = 0.2\nsample_s = 0.6\n{}\n",
        case.engine, case.workload, case.more
    )
}

fn why(world: &World, study: &str, sides: [&str; 2]) -> Value {
    let study = world.study(study);
    world.exits(0, &["run", &study, "--out", "results"]);
    let side = |name: &str| format!("{}:{name}", world.path("results").display());
    let (out, _) = world.exits(0, &["why", &side(sides[0]), &side(sides[1]), "--json"]);
    json(&out)
}

/// Named alone by an environment variable, else all.
fn asked(case: &Case) -> bool {
    std::env::var("TARE_WHY_CASES").map_or(true, |word| case.planted.to_lowercase().contains(&word.to_lowercase()))
}

#[test]
#[ignore = "half an hour of real servers: benches/why"]
fn every_planted_cause_is_named_first_and_nothing_between_two_alike() {
    let mut wrong = Vec::new();
    println!("{:<56} {:<14} {:<8} {:>12} {:>10}", "planted", "named first", "verdict", "planted us", "found us");
    for case in CASES.iter().filter(|case| asked(case)) {
        let found = why(&World::new(), &study(case), case.sides);
        let first = &found["causes"][0];
        let kind = first["kind"].as_str().unwrap_or("nothing");
        let right = case.kinds.contains(&kind);
        let us = case.us.map_or("-".to_owned(), |us| format!("{us:.0}"));
        let size = first["us"].as_f64().map_or("-".to_owned(), |us| format!("{us:.0}"));
        let mark = if right { "" } else { "  not the planted one" };
        let verdict = first["verdict"].as_str().unwrap_or("-");
        println!("{:<56} {kind:<14} {verdict:<8} {us:>12} {size:>10}{mark}", case.planted);
        if !right {
            wrong.push(format!("{}: {:#}", case.planted, found["causes"]));
        }
    }
    let alike = std::env::var("TARE_WHY_CASES").map_or(ALIKE, |word| if word == "alike" { ALIKE } else { 0 });
    let mut named = 0;
    for _ in 0..alike {
        let case = Case { workload: UPDATE, more: "[factors]\nside = [\"a\", \"b\"]", ..CASES[0] };
        let found = why(&World::new(), &study(&case), ["side=a", "side=b"]);
        let shown = |list: &Value| list.as_array().is_some_and(|all| all.iter().any(|one| one["verdict"] == "shown"));
        named += usize::from(shown(&found["causes"]));
    }
    println!("two alike: {named} of {alike} comparisons name a cause");
    assert!(wrong.is_empty() && named == 0, "{wrong:#?}");
}
