//! Every mistake in a study is reported with its place, what was expected there, and the nearest valid name.

use super::document::Source;
use super::parse::{Overrides, parse};

/// Line, column and debug output of the error.
fn refused(text: &str, sets: &[&str]) -> (usize, usize, String) {
    let overrides = Overrides { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Overrides::default() };
    let error = parse(Source { origin: "study.toml", text }, &overrides).map(|_| ()).unwrap_err();
    (error.line, error.column, format!("{error:?}"))
}

#[test]
fn a_mistake_of_a_study_has_its_line_and_column() {
    for (text, line, column, expected) in [
        ("[sampling]\nwarmup = 3\n", 3, 1, "warmup_s"),
        ("[sampling]\nwarmup_s = \"10s\"\n", 3, 12, "seconds"),
        ("[engine]\nname = \"mariabd\"\n", 3, 8, "mariadb"),
        ("[workload]\nthreads = 0\n", 3, 11, "whole number from 1"),
        ("[placement]\nclient = \"nod:1\"\n", 3, 10, "node"),
        ("[workload]\nrows = 1\nrows = 2\n", 4, 1, "duplicate key: `rows`"),
        ("[placments.a]\n", 2, 2, "placements"),
        ("[placement.float]\n", 2, 12, "placements.float"),
        ("[factors]\nthread = [1, 2]\n", 3, 11, "threads"),
        ("[factors]\nthreads = [1, \"many\"]\n", 3, 15, "whole number"),
        ("[factors]\nthreads = [1, \"1\"]\n", 3, 15, "each level once"),
        ("[placements.pairs]\n[factors]\nplacement = [\"pears\"]\n", 4, 14, "pairs"),
        ("[machine]\nnuma_balancing = \"sometimes\"\n", 3, 18, "on, off or tiering"),
        ("[factors]\nbuild = [\"mariia\"]\n[builds.maria]\nname = \"mariadb\"\n", 3, 10, "maria"),
        ("[builds.a]\nbinery = \"/x\"\n", 3, 1, "binary"),
        ("[builds.a]\nname = \"orakel\"\n", 3, 8, "mariadb"),
        ("[workload]\nobjective = \"latency_ms_p98 <= 5\"\n", 3, 13, "did you mean"),
        ("[workload]\nobjective = 5\n", 3, 13, "a latency, <= and milliseconds"),
        ("[workload]\nobjective = \"p99 <= 5\"\nrate = 10\n", 3, 1, "either rate, or objective"),
        ("[workload]\nrate = 10\n[factors]\nobjective = [\"p99 <= 5\"]\n", 5, 14, "either rate, or objective"),
        ("[workload]\nname = \"command\"\ncommand = \"client {sockt}\"\n", 4, 11, "did you mean {socket}?"),
        ("[workload]\nname = \"command\"\ncommand = \"client 'x\"\n", 4, 11, "every quote closed"),
        ("[workload]\nname = \"command\"\nmetrics = \"sysbnch\"\n", 4, 11, "sysbench, pgbench, hammerdb"),
    ] {
        let (found_line, found_column, error) = refused(&format!("name = \"x\"\n{text}"), &[]);
        assert_eq!((found_line, found_column), (line, column), "{text}: {error}");
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_value_that_a_key_does_not_take_is_refused_with_those_that_it_takes() {
    const DBT3: &str = "[workload]\nname = \"dbt3\"\n";
    const MICRO: &str = "[workload]\nname = \"sql\"\nbuiltin = \"microbenchmarks\"\n";
    const STEPS: &str = "[workload]\nname = \"sql\"\nbuiltin = \"insert-benchmark\"\nthreads = 3\n";
    for (study, set, expected) in [
        ("", "process.aslr=layout:0", "layout:N"),
        ("", "process.allocator=mimalloc", "path of a library"),
        ("", "process.environment_bytes=3", "131072"),
        ("", "process.memory_limit_bytes=1M", "a size of 16 MiB or more"),
        ("", "sampling.foreign_cpu_limit=5", "fraction from 0 to 1"),
        ("", "placement.bind=threads", "set, thread"),
        (DBT3, "workload.scale=0", "a scale factor above 0"),
        (DBT3, "workload.scale=301", "at most 300"),
        (DBT3, "workload.scale=0.001", "the same supplier twice"),
        (DBT3, "workload.queries=23", "queries 1 to 22"),
        (DBT3, "workload.queries=", "queries 1 to 22"),
        (DBT3, "workload.query_timeout_s=0", "above 0"),
        (DBT3, "workload.threads=2", "1 thread with dbt3"),
        (DBT3, "factors.threads=1,2", "1 thread with dbt3"),
        (DBT3, "workload.preload=maybe", "on, off"),
        (DBT3, "workload.order=backwards", "numeric, random, alone"),
        (DBT3, "workload.rows=10", "rows"),
        (MICRO, "workload.rows=199", "at least 200 rows (workload.rows), not 199"),
        (STEPS, "workload.threads=4", "\"workload.threads = 4\""),
        (STEPS, "workload.rows=10", "\"keys of the study do not fit together\""),
        (STEPS, "workload.rate=100", "\"keys of the study do not fit together\""),
        (STEPS, "sampling.samples=2", "\"sampling.samples = 2\""),
        (STEPS, "sampling.probe=spin", "\"sampling.probe = spin\""),
        ("[workload]\nname = \"sysbench\"\n", "workload.distribution=zipfian:1.1", "--rand-zipfian-exp"),
        // Another load takes each.
        ("", "workload.rate=2e9", "\"workload.rate = 2e9\""),
        ("[workload]\nname = \"pgbench\"\n", "workload.rate=100 to 200", "\"workload.rate = 100 to 200\""),
    ] {
        let (.., error) = refused(&format!("name = \"x\"\n{study}"), &[set]);
        assert!(error.contains(expected), "{set}: {error}");
    }
}
