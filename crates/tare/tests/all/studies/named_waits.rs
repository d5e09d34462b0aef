//! Parts of a transaction's time that real servers name: sleeps that statements ask for, and the work of a pool of
//! threads.

use crate::support::{World, one_line};
use tare_findings::time::{Part, TrialTime};
use tare_results::Results;

/// Runs a study of one trial with this engine and load.
fn ran(world: &World, engine: &str, load: &str) -> Results {
    let study = world.study(&format!(
        "name = \"named-waits\"\n[engine]\n{engine}\n[workload]\n{load}\n[capture]\nwaits = \"on\"\nlocks = \"on\"\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0.1\nsample_s = 0.8\n"
    ));
    world.exits(0, &["run", &study, "--out", "results"]);
    tare_results::open(&world.path("results")).unwrap()
}

/// The keys by which the load touches more, as planned.
fn sizes(results: &Results) -> Vec<(String, u64)> {
    let planned = &results.plan.as_ref().unwrap().conditions[0];
    planned.sizes.clone().unwrap().into_iter().collect()
}

/// The share of a transaction's time in each part, with this statement as the load.
fn shares<const N: usize>(world: &World, engine: &str, statement: &str, parts: [Part; N]) -> [f64; N] {
    let file = format!("[[transaction]]\nname = \"one\"\nstatements = [\"{statement}\"]\n");
    std::fs::write(world.path("mix.toml"), file).unwrap();
    let results = ran(world, engine, "name = \"sql\"\nfile = \"mix.toml\"\nthreads = 2");
    assert_eq!(sizes(&results), [], "it names no table of sysbench");
    let trial = results.trials.last().unwrap();
    let found = TrialTime::of(trial, results.captures.get(&(trial.trial, trial.attempt))).unwrap();
    println!("{engine} {statement}: {:?}", found.parts);
    parts.map(|part| found.part(&part) / found.us)
}

#[test]
fn a_sleep_that_a_statement_asks_for_is_named_on_mariadb() {
    let [share] = shares(&World::sharing(), "name = \"mariadb\"", "SELECT SLEEP(0.02)", [Part::StatementSleep]);
    assert!(share > 0.5, "{share}");
}

#[test]
fn a_sleep_that_a_statement_asks_for_is_named_on_postgresql() {
    let [share] = shares(&World::sharing(), "name = \"postgresql\"", "SELECT pg_sleep(0.02)", [Part::StatementSleep]);
    assert!(share > 0.5, "{share}");
}

/// Writes to files in a directory with the attribute S end when the device has them. How long that takes depends on the
/// device, and which files the server waits for does not.
#[test]
fn a_sort_that_memory_does_not_hold_waits_for_temporary_files() {
    let statement = "SELECT seq FROM seq_1_to_3000 ORDER BY seq % 7919";
    let with = |sort_buffer: &str| {
        let world = World::sharing();
        std::fs::create_dir_all(world.path("run")).unwrap();
        let set = world.command("chattr").args(["+S", "run"]).status();
        let engine = format!("name = \"mariadb\"\n[engine.options]\nsort_buffer_size = \"{sort_buffer}\"");
        let is_set = set.is_ok_and(|status| status.success());
        is_set.then(|| shares(&world, &engine, statement, [Part::TemporaryFiles, Part::Io]))
    };
    let (Some([temporary, others]), Some([in_memory, _])) = (with("8K"), with("2M")) else {
        println!("not tried: chattr cannot make the files of a directory synchronous here");
        return;
    };
    assert!(temporary > others && in_memory == 0.0, "{temporary} {others}, in memory {in_memory}");
}

/// Of a pool no thread belongs to a connection: all threads together are the server's part.
#[test]
fn the_threads_of_a_pool_have_the_servers_part_together() {
    let world = World::sharing();
    let engine = "name = \"mariadb\"\n[engine.options]\nthread_handling = \"pool-of-threads\"";
    let results = ran(&world, engine, "name = \"read_only\"\nrows = 1000\nthreads = 4");
    let trial = results.trials.last().unwrap();
    let found = TrialTime::of(trial, results.captures.get(&(trial.trial, trial.attempt))).unwrap();
    assert_eq!(sizes(&results), [("workload.rows".to_owned(), 1000), ("workload.tables".to_owned(), 1)]);
    assert_eq!(trial.server.as_ref().unwrap().thread_pool, Some(true), "as the engine says");
    let server = found.part(&Part::ServerUser) + found.part(&Part::ServerSystem);
    // On a busy machine most of the time may be that of other programs.
    let counted = trial.samples[0].metrics["server_cpu_us_per_transaction"];
    assert!(found.has_pool && (server / counted - 1.0).abs() < 0.2, "{server} {counted} {found:?}");
    assert!((found.parts.values().sum::<f64>() / found.us - 1.0).abs() < 1e-6, "{found:?}");
    let (out, _) = world.exits(0, &["why", "results"]);
    assert!(
        one_line(&out).contains("has a pool of threads, of which none belongs to one connection: its parts"),
        "{out}"
    );
}
