//! Fuzzes texts that users write: study files, locations, settings, CSV files.

use crate::fuzz::harness::{fuzz, inputs, texts};
use crate::fuzz::results_files::summarised;
use tare_drive::workload::program::parse::{Logged, Parser};
use tare_drive::workload::sql::{BUILTIN_NAMES, Script, SqlSettings, of_scripts};
use tare_study::language::builtin::BUILTIN;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};

#[test]
fn fuzzed_study_files_cause_no_panic_and_accepted_ones_are_read_back() {
    let corpus: Vec<Vec<u8>> = BUILTIN.iter().map(|study| study.text.as_bytes().to_vec()).collect();
    let machine = tare_topology::Machine::synthetic("package:2 node:1 core:4 pu:2").unwrap();
    fuzz("study files", &corpus, 2 * inputs(), |input| {
        let text = String::from_utf8_lossy(input);
        for quick in [false, true] {
            let overrides = Overrides { quick, ..Overrides::default() };
            let Ok(study) = parse(Source { origin: "fuzzed", text: &text }, &overrides) else { continue };
            // A study that was accepted must be planned, written and read back.
            let _ = tare_study::plan::resolve::resolve(&study, &machine, tare_study::plan::resolve::Where::Described);
            let written = tare_study::language::write::to_toml(&study);
            let again = parse(Source { origin: "written", text: &written }, &Overrides::default());
            assert!(again.is_ok(), "{}\n{written}", again.unwrap_err());
        }
    });
}

#[test]
fn fuzzed_locations_cpu_sets_and_settings_cause_no_panic() {
    let corpus = texts(&[
        "node:1.core:0-1.pu:0",
        "node:1.core:0-1.pu:0+cpus:4-11,16",
        "all",
        "float",
        "cpus:0-3,8",
        "0-3,8,12-15",
        "package:0.pu:all",
        "bind:0,1",
        "interleave:0-3",
        "weighted-interleave:0-3",
        "preferred:1",
        "local",
        "cpus:2-3",
        "on",
        "defer+madvise",
        "aslr=on ahi=off",
    ]);
    fuzz("locations, sets and settings", &corpus, 8 * inputs(), |input| {
        let text = String::from_utf8_lossy(input);
        let _ = text.parse::<tare_topology::Location>();
        let _ = text.parse::<tare_cpuset::CpuSet>();
        let _ = text.parse::<tare_topology::MemoryPolicy>();
        let _ = tare_results::levels_of(&text);
        let _ = tare_text::Value::of_word(&text).seconds();
        for setting in tare_noise::Setting::ALL {
            let _ = setting.level(&text);
        }
    });
}

#[test]
fn fuzzed_statement_files_cause_no_panic() {
    let builtin = BUILTIN_NAMES.map(|name| {
        let mut settings = SqlSettings::default();
        settings.set_builtin(name).unwrap();
        settings.text().unwrap().as_bytes().to_vec()
    });
    fuzz("files of statements", &builtin, inputs(), |input| {
        let _ = SqlSettings::default().set_text(&String::from_utf8_lossy(input));
    });
}

#[test]
fn fuzzed_pgbench_scripts_cause_no_panic() {
    let corpus = texts(&[
        "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
         UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\nEND;\n",
        "SELECT ';' /* a; */ -- b;\n; /*! c */; SELECT $$ d; $$, $e$ f; $e$;\n",
    ]);
    let defined = [("scale".to_owned(), 3)].into();
    fuzz("scripts of pgbench", &corpus, 4 * inputs(), |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        let script = |file: &str| Script { file: file.to_owned(), text: text.clone(), weight: 2 };
        if let Ok(made) = of_scripts(&[script("a.sql"), script("a.sql")], &defined) {
            let _ = SqlSettings::default().set_text(&made.text);
        }
    });
}

/// Output of other programs: reports, interval lines, pgbench's transaction log.
#[test]
fn fuzzed_program_outputs_yield_only_finite_figures() {
    let corpus = texts(&[
        "[ 1s ] thds: 2 tps: 110.50 qps: 2211.0 (r/w/o: 1.0/0.0/2.0) lat (ms,95%): 9.0 err/s: 0.00 reconn/s: 0.00\n\
         Latency histogram (values are in milliseconds)\n  1.000 |**** 90\n  2.000 |* 10\n \nSQL statistics:\n\
         transactions: 100 (49.95 per sec.)\n queries: 1600 (799.20 per sec.)\n ignored errors: 3 (1.50 per sec.)\n\
         reconnects: 1 (0.50 per sec.)\nLatency (ms):\n min: 0.5\n avg: 1.10\n max: 7.25\n",
        "progress: 2.0 s, 2451.5 tps, lat 1.630 ms stddev 0.521, 0 failed\n\
         number of transactions actually processed: 4879\nnumber of failed transactions: 2 (0.041%)\n\
         latency average = 0.820 ms\ntps = 2441.5 (without initial connection time)\n",
        "0 1 1630 0 1700000000 500000\n1 2 failed 0 1700000001 250000\n",
        "Vuser 1:TEST RESULT : System achieved 8123 NOPM from 18771 MySQL TPM\n{\"a\": [{\"rate\": \"12.5\"}]}\n",
    ]);
    let all = "sysbench pgbench hammerdb json /a/0/rate as rate_per_s regex 'avg: *([-+.0-9a-z]+)' as own_ms";
    let parsers = Parser::list(all).unwrap();
    fuzz("outputs of programs", &corpus, 4 * inputs(), |input| {
        let text = String::from_utf8_lossy(input);
        let figures = parsers.iter().filter_map(|parser| parser.read(&text)).flat_map(|report| report.metrics);
        assert!(figures.into_iter().all(|(_, value)| value.is_finite()));
        let mut logged = Logged::default();
        for line in text.lines() {
            let intervals = parsers.iter().filter_map(|parser| parser.interval(line));
            assert!(intervals.into_iter().all(|interval| interval.tps.is_finite()));
            logged.line(line);
        }
        let _ = logged.report(2.0);
    });
}

#[test]
fn fuzzed_csv_files_cause_no_panic() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.csv");
    let corpus = texts(&[
        "condition,trial,sample,metric,value\naslr=on,0,0,tps,10.5\naslr=on,0,1,tps,11\naslr=off,1,0,tps,9e2\n",
        "metric,condition,trial,sample,value\n\"latency_ms_p99\",\"a b\",1,0,1.25e-3\n",
        "condition,trial,sample,metric,value\nthreads=1,0,0,tps,1\nthreads=2,0,0,tps,2\nthreads=4,0,0,tps,3\n\
         threads=1,1,0,tps,1.1\nthreads=2,1,0,tps,2.1\nthreads=4,1,0,tps,3.1\n",
    ]);
    fuzz("CSV files", &corpus, 2 * inputs(), |input| {
        std::fs::write(&path, input).unwrap();
        summarised(&path);
    });
}
