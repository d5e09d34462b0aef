//! The capture `waits`: what the threads of real servers sleep in.

use super::captures::document;
use crate::support::{World, json, trials};
use serde_json::Value;

fn study(engine: &str, workload: &str, more: &str) -> String {
    format!(
        "name = \"waits\"\n[engine]\nname = \"{engine}\"\n{more}\n[workload]\n{workload}\n[capture]\nwaits = \"on\"\n\
         [sampling]\ntrials = 1\nwarmup_s = 0.2\nsample_s = 0.8\n"
    )
}

/// Runs a study of one condition; returns its waits and their text output.
fn captured(world: &World, text: &str) -> (Value, String) {
    let study = world.study(text);
    let (_, err) = world.exits(0, &["run", &study, "--out", "results"]);
    let results = world.path("results");
    let record = trials(&results).pop().unwrap();
    assert_eq!(record["outcome"].as_str().map(|outcome| outcome != "failed"), Some(true), "{record}\n{err}");
    let waits = document(&results, &record, "waits");
    let sum = share(&waits, "connections", |_| true);
    assert!((sum - 1.0).abs() < 1e-6, "{sum}: {waits}");
    let wall = std::fs::read_to_string(results.join(record["captures"]["waits.wall"].as_str().unwrap())).unwrap();
    let sleeps = 1.0 - time(&waits, "connections", &["ran", "waited_for_cpu"]);
    assert!(wall.contains("ran") && wall.contains("asleep;") == (sleeps > 1e-6), "{wall}");
    let (shown, _) = world.exits(0, &["show", "results"]);
    assert!(shown.contains("threads that serve connections spend time on"), "{shown}");
    let page = std::fs::read_to_string(results.join("report.html")).unwrap();
    assert!(page.contains("class=\"waits ") && page.contains("threads that serve connections"), "no flame graph");
    world.assert_clean();
    (waits, shown)
}

/// The fraction of the time of a class of threads in the matching parts.
fn share(waits: &Value, class: &str, of: impl Fn(&Value) -> bool) -> f64 {
    let parts = waits[class]["parts"].as_array().unwrap().iter().filter(|part| of(part));
    parts.map(|part| part["fraction"].as_f64().unwrap()).sum()
}

fn time(waits: &Value, class: &str, names: &[&str]) -> f64 {
    share(waits, class, |part| names.contains(&part["time"].as_str().unwrap()))
}

#[test]
fn on_a_hot_row_connections_sleep_on_futexes_and_background_threads_are_separate() {
    let world = World::new();
    let workload = "name = \"update_non_index\"\nrows = 2\nthreads = 8";
    let durable = "[engine.options]\ninnodb_flush_log_at_trx_commit = 0";
    let (waits, shown) = captured(&world, &study("mariadb", workload, durable));
    assert_eq!(waits["connections"]["threads"], 8, "{waits}");
    // Of the time asleep: on a busy machine connections wait for a CPU, and less for each other.
    let on_futexes = |waits: &Value| {
        let asleep = 1.0 - time(waits, "connections", &["ran", "waited_for_cpu"]);
        time(waits, "connections", &["own_futex", "shared_futex"]) / asleep
    };
    let futex = on_futexes(&waits);
    let (apart, _) =
        captured(&World::sharing(), &study("mariadb", &workload.replace("rows = 2", "rows = 1000"), durable));
    let without = on_futexes(&apart);
    assert!(futex > 0.04 && futex > 1.5 * without, "{futex} and {without} without a hot row: {waits} {apart}");
    // Each connection waits for its row on a condition variable of its own, as the C library does.
    let of_its_own = |part: &Value| part["time"] == "own_futex" && part["operation"] == "wait_bitset";
    let on_any = time(&waits, "connections", &["own_futex", "shared_futex"]);
    assert!(share(&waits, "connections", of_its_own) > 0.4 * on_any, "{waits}");
    // Callers are known, because MariaDB has frame pointers, although the C library's system call wrapper saves none.
    let (read, whole) = (waits["stacks"]["read"].as_f64().unwrap(), waits["stacks"]["whole"].as_f64().unwrap());
    assert!(read > 100.0 && whole > 0.9 * read, "{whole} of {read} chains are whole: {}", waits["stacks"]);
    let calls = waits["stacks"]["callers"].as_array().unwrap().iter().map(|one| one["chain"].as_str().unwrap());
    assert!(calls.clone().any(|chain| chain.contains(";mysql_execute_command;")), "{}", waits["stacks"]);
    // MariaDB's other threads sleep almost all the time, and are not counted as connections.
    assert!(waits["background"]["threads"].as_u64().unwrap() >= 3, "{waits}");
    assert!(time(&waits, "background", &["ran", "waited_for_cpu"]) < 0.5, "{waits}");
    assert!(shown.contains("slept on a futex (condition or semaphore) of its own"), "{shown}");
}

#[test]
fn a_flushing_commit_is_reported_as_flushing_the_log() {
    let world = World::sharing();
    let durable = "[engine.options]\ninnodb_flush_log_at_trx_commit = 1";
    let (waits, _) =
        captured(&world, &study("mariadb", "name = \"update_non_index\"\nrows = 1000\nthreads = 2", durable));
    let log = |part: &Value| part["time"] == "flush" && part["on"] == "ib_logfile0";
    // The duration of a flush depends on the disk.
    assert!(share(&waits, "connections", log) > 0.002, "{waits}");
}

#[test]
fn point_selects_of_the_embedded_engine_mostly_run_or_wait_for_a_cpu() {
    let world = World::new();
    let (waits, _) = captured(&world, &study("sqlite", "name = \"point_select\"\nrows = 1000\nthreads = 1", ""));
    let awake = time(&waits, "connections", &["ran", "waited_for_cpu"]);
    assert!(awake > time(&waits, "connections", &["own_futex", "shared_futex", "flush", "pause"]), "{waits}");
    assert!(awake + time(&waits, "connections", &["client"]) > 0.7, "{waits}");
}

#[test]
fn processes_that_serve_connections_are_captured_like_threads() {
    let world = World::new();
    let workload = "name = \"update_non_index\"\nrows = 1\nthreads = 4";
    let study = study("postgresql", workload, "").replace("waits = \"on\"", "waits = \"on\"\nlocks = \"on\"");
    let (waits, _) = captured(&world, &study);
    assert_eq!(waits["connections"]["threads"], 4, "{waits}");
    // The server reports the same: most connections wait for the transaction that holds the row.
    let record = trials(&world.path("results")).pop().unwrap();
    let reported = document(&world.path("results"), &record, "locks");
    let rows = reported["waits"].as_array().unwrap().iter().filter(|wait| wait["kind"] == "row");
    assert!(rows.map(|wait| wait["wait_fraction"].as_f64().unwrap()).sum::<f64>() > 0.1, "{reported}");
    assert!(waits["background"]["threads"].as_u64().unwrap() >= 3, "the checkpointer and the others: {waits}");
    // A wait for a row ends with a signal of another process, not on the client's socket.
    assert!(time(&waits, "connections", &["wake_up", "own_futex", "shared_futex"]) > 0.2, "{waits}");
}

/// Four threads of the embedded engine and, in the second condition, a lock that a thread holds while it sleeps.
/// Returns the record, the output of `tare why`, and the difference of the conditions.
fn with_a_planted_mutex(world: &World, captures: &str) -> (Value, String, Value) {
    let study = world.study(&format!(
        "name = \"callers\"\n[engine]\nname = \"sqlite\"\n[workload]\nname = \"point_select\"\nrows = 100\nthreads = 4\n\
         [capture]\n{captures}\n[sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0.1\n\
         sample_s = 0.4\n\
         [factors.option]\ntare_planted_mutex_us = [0, 2000]\n",
    ));
    world.exits(0, &["run", &study, "--out", "results"]);
    let [a, b] = [0, 2000].map(|us| format!("results:option.tare_planted_mutex_us={us}"));
    let mut records = trials(&world.path("results")).into_iter();
    let record = records.rfind(|record| record["condition"] == "option.tare_planted_mutex_us=2000").unwrap();
    let (shown, _) = world.exits(0, &["why", &b]);
    let (compared, _) = world.exits(0, &["why", &a, &b, "--folded", "folded", "--json"]);
    world.assert_clean();
    (record, shown, json(&compared))
}

/// Checks that apply to both methods of finding callers; returns the largest chain that waits for the lock.
fn in_the_planted_mutex(world: &World, callers: &Value, slept: f64, shown: &str, compared: &Value) -> String {
    let callers = callers.as_array().unwrap();
    let sum = |all: &mut dyn Iterator<Item = &Value>| all.map(|one| one["fraction"].as_f64().unwrap()).sum::<f64>();
    let all = sum(&mut callers.iter());
    assert!(all > 0.8 * slept && all < 1.0, "{all} of {slept}: {callers:?}");
    // One thread sleeps while it holds the lock, and the others wait for the lock: all are in this function. How long
    // they sleep until their clients send a request depends on the load of the machine.
    let is_in = |one: &&Value, name: &str| one["chain"].as_str().unwrap().contains(name);
    let in_lock = sum(&mut callers.iter().filter(|one| is_in(one, "tare_planted_mutex")));
    let for_clients = sum(&mut callers.iter().filter(|one| is_in(one, "wait_readable")));
    assert!(in_lock > 0.7 * (all - for_clients), "{callers:?}");
    assert!(shown.contains("callers of the functions") && shown.contains("tare_planted_mutex"), "{shown}");
    // Two trials per side are tested, too few to show anything.
    assert!(compared["difference"]["sleeps_tested"].as_u64() > Some(1), "{compared}");
    // The sleeping half of the flame graph: A has no such lock.
    let folded = std::fs::read_to_string(world.path("folded")).unwrap();
    let in_lock = |line: &&str| line.starts_with("asleep;") && line.contains("tare_planted_mutex");
    let of_side = |place: usize| -> f64 {
        let numbers =
            folded.lines().filter(in_lock).filter_map(|line| line.rsplit(' ').nth(place)?.parse::<f64>().ok());
        numbers.sum()
    };
    assert!(of_side(0) > 1e6 && of_side(0) > 10.0 * of_side(1), "nanoseconds a transaction: {folded}");
    // Either the holder or the waiting threads may sleep longer.
    let mut chains = callers.iter().map(|one| one["chain"].as_str().unwrap());
    chains.find(|chain| chain.contains("tare_planted_mutex;") && chain.contains("lock_contended")).unwrap().to_owned()
}

/// With stacks that any user may read, and with perf's tracepoints if permitted: the same chain waits for the lock.
#[test]
fn who_called_a_sleeping_function_is_reported_with_and_without_root() {
    let world = World::new();
    let (record, shown, compared) = with_a_planted_mutex(&world, "waits = \"on\"");
    let waits = document(&world.path("results"), &record, "waits");
    let stacks = &waits["stacks"];
    let (read, whole) = (stacks["read"].as_u64().unwrap(), stacks["whole"].as_u64().unwrap());
    assert!(read > 0 && whole * 10 > read * 9, "{whole} of {read} chains are whole: {waits}");
    let slept = 1.0 - time(&waits, "connections", &["ran", "waited_for_cpu"]);
    let by_stacks = in_the_planted_mutex(&world, &stacks["callers"], slept, &shown, &compared);
    // The lock has no symbol of its own: its caller identifies it.
    let lock = |part: &Value| part["time"] == "shared_futex" && part["caller"].is_string();
    let futexes = time(&waits, "connections", &["own_futex", "shared_futex"]);
    assert!(share(&waits, "connections", lock) > 0.5 * futexes && futexes > 0.0, "{waits}");

    let world = World::new();
    let (record, shown, compared) = with_a_planted_mutex(&world, "wakes = \"on\"\nwaits = \"on\"");
    let waits = document(&world.path("results"), &record, "waits");
    if record["captures_missing"]["wakes"].is_string() {
        assert!(waits["stacks"].is_object(), "{waits}");
        return;
    }
    assert!(record["captures_missing"]["wakes.callers"].is_null(), "{record}");
    assert!(waits["stacks"].is_null(), "callers are recorded already: {waits}");
    let wakes = document(&world.path("results"), &record, "wakes");
    let slept = wakes["slept_fraction"].as_f64().unwrap();
    let by_tracepoints = in_the_planted_mutex(&world, &wakes["callers"], slept, &shown, &compared);
    assert_eq!(by_stacks, by_tracepoints);
}
