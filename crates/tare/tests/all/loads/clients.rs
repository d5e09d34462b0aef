//! sysbench and pgbench, unmodified, on real servers: their threads and the server threads or processes of their
//! connections are found, bound, paired and verified, and what cannot be paired is refused.

use crate::engines::support::{PATIENCE, Place, binary_of, prepared, run_on};
use crate::support::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use tare_cpuset::ThreadRef;
use tare_drive::sut::{Connections, SystemUnderTest};
use tare_engine::{Engine, Mariadb, Mysql, Postgresql, Sqlite, file_sha1};

/// On every engine, the threads found from outside must be those that server and client report themselves.
#[test]
fn threads_found_by_their_sockets_are_the_ones_that_communicate() {
    for engine in [&Mariadb as &dyn Engine, &Mysql, &Postgresql, &Sqlite] {
        let place = Place::new();
        let binary = binary_of(engine);
        let data = prepared(engine, &place, binary.as_deref());
        let mut server = engine.start(&place.start_request(&data, binary.as_deref())).unwrap();
        let (stop, barrier, truth) = (AtomicBool::new(false), Barrier::new(5), Mutex::new(BTreeSet::new()));
        let found = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut session = server.connect().unwrap();
                    let serving = session.server_thread().unwrap().unwrap();
                    truth.lock().unwrap().insert((ThreadRef::of_this_thread(), serving));
                    barrier.wait();
                    while !stop.load(Ordering::Relaxed) {
                        session.query("SELECT COUNT(*) FROM t").unwrap();
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                });
            }
            barrier.wait();
            let mut connections = Connections::default();
            let own = [std::process::id().cast_signed()];
            let deadline = std::time::Instant::now() + PATIENCE;
            while !connections.is_complete(4) && std::time::Instant::now() < deadline {
                connections.look(&own, &SystemUnderTest::started(server.as_ref()).processes());
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            (0..10).for_each(|_| connections.look(&own, &SystemUnderTest::started(server.as_ref()).processes()));
            stop.store(true, Ordering::Relaxed);
            connections.pairs(4)
        });
        let found = found.unwrap_or_else(|e| panic!("{}: {e}", engine.name()));
        let found: BTreeSet<_> = found.into_iter().map(|pair| (pair.client, pair.serving.unwrap())).collect();
        assert_eq!(found, *truth.lock().unwrap(), "{}", engine.name());
        server.stop(PATIENCE).unwrap();
    }
}

/// At a rate that leaves the CPUs to other tests, with time to find and bind all threads on a busy machine.
fn study(workload: &str, threads: usize) -> String {
    format!(
        "name = \"clients\"\n[workload]\n{workload}\nthreads = {threads}\nrate = 400\n\
         [placement]\nclient = \"all\"\nserver = \"all\"\nbind = \"thread\"\npairing = \"same-pu\"\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 3\nsample_s = 3\n"
    )
}

/// The only trial has results and four pairs, each on one PU and verified.
fn pairs_are_proved(records: &[Value]) {
    let [record] = records else { panic!("{records:?}") };
    assert_eq!(record["outcome"], "ok", "{record}");
    let sample = &record["samples"][0];
    for metric in ["tps", "latency_ms_mean", "latency_ms_p99", "server_cpu_us_per_transaction"] {
        assert!(sample["metrics"][metric].as_f64().unwrap() > 0.0, "{metric}: {sample}");
    }
    // One line per second; on a busy machine pairs are found late, and the rest of the sample has fewer lines.
    let (lines, watched_s) = (sample["tps_each_second"].as_array().unwrap().len(), &sample["covariates"]["elapsed_s"]);
    assert!(lines as f64 >= (watched_s.as_f64().unwrap() - 2.0).ceil(), "{sample}");
    let threads = sample["threads"].as_array().unwrap();
    for pair in 0..4 {
        let of = |class: &str| {
            let found: Vec<_> = threads.iter().filter(|t| t["pair"] == pair && t["role"] == class).collect();
            let [one] = found[..] else { panic!("{class} {pair}: {threads:#?}") };
            assert!(!one["seen_cpus"].as_object().unwrap().is_empty(), "{one}");
            let switches = ["voluntary_switches", "involuntary_switches"].map(|kind| one[kind].as_f64().unwrap());
            (one["allowed_cpus"].as_str().unwrap().to_owned(), switches.iter().sum::<f64>())
        };
        let ((client, requested), (server, answered)) = (of("client"), of("server"));
        assert_eq!((client.as_str(), server.parse::<u32>().is_ok()), (server.as_str(), true));
        // The threads of a pair switch about equally often; how often depends on the load of the machine.
        assert!(
            (requested - answered).abs() < 50.0 + 0.6 * requested.max(answered),
            "{requested} {answered}: {threads:#?}"
        );
    }
}

/// In a sample of one second, sysbench prints no line; MariaDB's sample has some.
fn sysbench_pairs(engine: &dyn Engine, sample_s: u32) {
    let world = World::new();
    let load =
        "name = \"sysbench\"\nscript = \"oltp_point_select\"\nrows = 1000\ntables = 2\ndistribution = \"uniform\"";
    let study = study(load, 4).replace("sample_s = 3", &format!("sample_s = {sample_s}"));
    pairs_are_proved(&run_on(&world, engine, 0, &study));
    world.assert_clean();
}

#[test]
fn each_thread_of_sysbench_is_paired_on_mariadb() {
    sysbench_pairs(&Mariadb, 3);
}

#[test]
fn each_thread_of_sysbench_is_paired_on_mysql() {
    sysbench_pairs(&Mysql, 1);
}

#[test]
fn each_thread_of_sysbench_is_paired_on_postgresql() {
    sysbench_pairs(&Postgresql, 1);
}

#[test]
fn each_thread_of_pgbench_is_paired_and_threads_with_two_connections_are_refused() {
    let world = World::new();
    let records = run_on(&world, &Postgresql, 0, &study("name = \"pgbench\"\nscript = \"select-only\"", 4));
    pairs_are_proved(&records);
    // Debian's pgbench is a script that executes a versioned program, which is the program of the process.
    let program = Postgresql.binary(None).unwrap().path.with_file_name("pgbench");
    let sha1 = file_sha1(&mut std::fs::File::open(program).unwrap()).unwrap();
    assert!(records[0]["client_programs"].as_array().unwrap().contains(&sha1.into()), "{}", records[0]);
    std::fs::remove_dir_all(world.path("results")).unwrap();
    let records = run_on(&world, &Postgresql, 4, &study("name = \"pgbench\"\njobs = 2", 8));
    let reason = records[0]["reason"].as_str().unwrap();
    assert!(reason.contains("drives 4 connections") && reason.contains("bind = \"set\""), "{reason}");
    // Bound as a set, they are measured and observed.
    std::fs::remove_dir_all(world.path("results")).unwrap();
    let set = study("name = \"pgbench\"\njobs = 2", 8).replace("bind = \"thread\"\npairing = \"same-pu\"\n", "");
    let set = set.replace("sample_s = 3", "sample_s = 1");
    let records = run_on(&world, &Postgresql, 0, &set);
    let threads = records[0]["samples"][0]["threads"].as_array().unwrap();
    let count = |class: &str| threads.iter().filter(|t| t["role"] == class).count();
    assert_eq!((count("server"), count("client")), (8, 2), "{threads:#?}");
    world.assert_clean();
}
