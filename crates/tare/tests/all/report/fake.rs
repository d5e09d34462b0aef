//! Generated results with known content, written like those of `tare run`.

use crate::draws::Draws;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tare_results::schema::*;
use tempfile::TempDir;

pub struct Fake {
    /// The name of the condition, as `factor=level` words.
    pub name: &'static str,
    /// Centres of tps that trials take in turn: two make the condition bimodal.
    pub tps: Vec<f64>,
    /// Relative noise between trials.
    pub between: f64,
    /// CPUs of client 0, server 0, client 1, server 1 for each centre.
    pub cpus: Vec<[usize; 4]>,
}

pub struct Study {
    pub name: &'static str,
    pub conditions: Vec<Fake>,
    pub trials: usize,
    pub samples: usize,
    /// (trial of the schedule, outcome, reason): written as a first attempt, followed by a good second one.
    pub bad: Vec<(usize, Outcome, &'static str)>,
    /// Trials left out at the end of the schedule, as after Ctrl-C.
    pub missing: usize,
}

/// Two client threads on the article's machine: chance gives two modes, pairing removes them.
pub fn bimodal() -> Study {
    Study {
        name: "mind-your-core",
        conditions: vec![
            Fake {
                name: "placement=float",
                tps: vec![24_400.0, 37_200.0],
                between: 0.012,
                cpus: vec![[0, 16, 12, 4], [0, 4, 12, 16]],
            },
            Fake { name: "placement=same-pu", tps: vec![66_000.0], between: 0.021, cpus: vec![[0, 0, 12, 12]] },
            Fake { name: "placement=other-node", tps: vec![13_000.0], between: 0.018, cpus: vec![[0, 12, 1, 13]] },
        ],
        trials: 10,
        samples: 3,
        bad: vec![
            (4, Outcome::Failed, "server died: signal 11; last log line: <b>[ERROR] InnoDB & friends</b>"),
            (11, Outcome::Disturbed, "steal time was 4.1% of the sample, over the limit of 1%"),
        ],
        missing: 0,
    }
}

/// The stability article's 2^3 design with 8 conditions.
pub fn eight() -> Study {
    let names = [
        "ahi=off aslr=off preload=off",
        "ahi=off aslr=off preload=on",
        "ahi=off aslr=on preload=off",
        "ahi=off aslr=on preload=on",
        "ahi=on aslr=off preload=off",
        "ahi=on aslr=off preload=on",
        "ahi=on aslr=on preload=off",
        "ahi=on aslr=on preload=on",
    ];
    let conditions = names
        .into_iter()
        .map(|name| Fake {
            name,
            tps: vec![20_000.0 * if name.contains("ahi=on") { 1.1 } else { 1.0 }],
            between: if name.contains("aslr=on") { 0.03 } else { 0.005 },
            cpus: vec![[0, 4, 2, 6]],
        })
        .collect();
    Study { name: "single-thread-stability", conditions, trials: 10, samples: 4, bad: Vec::new(), missing: 0 }
}

/// A study in a directory of its own.
pub fn dir(study: &Study) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(study, dir.path());
    dir
}

pub fn results(study: &Study) -> tare_results::Results {
    tare_results::open(dir(study).path()).unwrap()
}

/// The results of a CSV file with these rows.
pub fn csv(rows: &str) -> tare_results::Results {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made-up.csv");
    fs::write(&path, format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
    tare_results::open(&path).unwrap()
}

pub fn page(dir: &Path) -> String {
    let results = tare_results::open(dir).unwrap();
    tare_report::html::render(&results, &tare_findings::summarize(&results))
}

pub fn write(study: &Study, dir: &Path) -> usize {
    let mut noise = Draws::new(7);
    let mut schedule = Vec::new();
    for block in 0..study.trials {
        for index in 0..study.conditions.len() {
            let condition = &study.conditions[(index + block) % study.conditions.len()];
            schedule.push((block, condition));
        }
    }
    let planned = schedule
        .iter()
        .enumerate()
        .map(|(trial, (block, fake))| PlannedTrial {
            trial,
            block: *block,
            condition: fake.name.into(),
            lifetime: None,
        })
        .collect();
    let plan = Plan {
        schema: SCHEMA,
        study: study.name.into(),
        seed: 42,
        conditions: planned_conditions(study),
        trials: planned,
        samples: study.samples,
        estimated_s: 60.0 * schedule.len() as f64,
        ..Plan::default()
    };
    let mut lines = Vec::new();
    let run = schedule.len() - study.missing;
    for (trial, (block, fake)) in schedule.iter().enumerate().take(run) {
        let mut attempt = 1;
        if let Some((_, outcome, reason)) = study.bad.iter().find(|(bad, ..)| *bad == trial) {
            let mut record = record(study, fake, trial, *block, attempt, &mut noise);
            record.outcome = *outcome;
            record.reason = Some((*reason).into());
            if *outcome == Outcome::Failed {
                record.samples.clear();
            }
            lines.push(record);
            attempt = 2;
        }
        lines.push(record(study, fake, trial, *block, attempt, &mut noise));
    }
    fs::write(dir.join("plan.json"), serde_json::to_string_pretty(&plan).unwrap()).unwrap();
    fs::write(dir.join("environment.json"), serde_json::to_string_pretty(&environment(study)).unwrap()).unwrap();
    fs::write(dir.join("study.toml"), format!("name = \"{}\"\nengine = \"mariadb\"\n", study.name)).unwrap();
    let text: String = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
    fs::write(dir.join("trials.jsonl"), text).unwrap();
    lines.len()
}

fn levels(name: &str) -> Levels {
    tare_results::levels_of(name)
}

fn planned_conditions(study: &Study) -> Vec<PlannedCondition> {
    let mut conditions: Vec<PlannedCondition> = study
        .conditions
        .iter()
        .map(|fake| PlannedCondition {
            name: fake.name.into(),
            levels: levels(fake.name),
            realizable: true,
            ..PlannedCondition::default()
        })
        .collect();
    if study.name == "mind-your-core" {
        conditions.push(PlannedCondition {
            name: "placement=smt-sibling".into(),
            levels: levels("placement=smt-sibling"),
            reason: Some("core 0 has one PU; smt-sibling needs two".into()),
            ..PlannedCondition::default()
        });
    }
    conditions
}

fn record(study: &Study, fake: &Fake, trial: usize, block: usize, attempt: u32, noise: &mut Draws) -> TrialRecord {
    // The mode of a trial looks random but is fixed.
    let mode = (trial * 7 + trial / 3) % fake.tps.len();
    let centre = fake.tps[mode] * (1.0 + fake.between * noise.normal());
    let start_s = trial * 65 + (attempt as usize - 1) * 20;
    let started_at = |offset: usize| {
        let s = start_s + offset;
        format!("2026-11-20T{:02}:{:02}:{:02}Z", 9 + s / 3600, s / 60 % 60, s % 60)
    };
    let samples = (0..study.samples)
        .map(|sample| {
            let tps = centre * (1.0 + 0.004 * noise.normal());
            SampleRecord {
                sample,
                started_at: started_at(2 + sample * 10),
                elapsed_s: 10.0,
                metrics: match study.name {
                    "insert-benchmark" => metrics_of_steps(tps),
                    _ => metrics(tps, noise),
                },
                covariates: BTreeMap::from([("steal_fraction".into(), 0.0004 * (1.0 + 0.3 * noise.normal()).abs())]),
                threads: threads(fake.cpus[mode], noise),
                ..SampleRecord::default()
            }
        })
        .collect();
    TrialRecord {
        schema: SCHEMA,
        trial,
        attempt,
        block,
        condition: fake.name.into(),
        levels: levels(fake.name),
        started_at: started_at(0),
        elapsed_s: 10.0 * study.samples as f64 + 6.0,
        settings: vec![AppliedSetting {
            factor: "numa_balancing".into(),
            level: "off".into(),
            found: Some("1".into()),
            verified: "0 in /proc/sys/kernel/numa_balancing".into(),
        }],
        server_version: Some("11.8.3-MariaDB".into()),
        server_program: Some("5eed".into()),
        samples,
        ..TrialRecord::default()
    }
}

/// Of the first and the last steps of the insert benchmark.
fn metrics_of_steps(tps: f64) -> BTreeMap<String, f64> {
    let of = |name: &str, value: f64| (name.to_owned(), value);
    BTreeMap::from([
        of("begin_s_of_l_i0", 0.0),
        of("begin_s_of_l_x", 9.0),
        of("begin_s_of_l_i1", 12.0),
        of("begin_s_of_qp1000", 30.0),
        of("rows_per_s_of_l_i0_insert", 5.0 * tps),
        of("elapsed_s_of_l_x", 60_000.0 / tps),
        of("rows_per_s_of_l_i1_insert", tps),
        of("rows_per_s_of_l_i1_delete", tps),
        of("queries_per_s_of_qp1000_query", tps / 2.0),
    ])
}

fn metrics(tps: f64, noise: &mut Draws) -> BTreeMap<String, f64> {
    let mean = 2000.0 / tps;
    let mut latency = |factor: f64| mean * factor * (1.0 + 0.01 * noise.normal());
    BTreeMap::from([
        ("tps".into(), tps),
        ("qps".into(), tps),
        ("latency_ms_min".into(), latency(0.6)),
        ("latency_ms_mean".into(), mean),
        ("latency_ms_p50".into(), latency(0.95)),
        ("latency_ms_p90".into(), latency(1.3)),
        ("latency_ms_p95".into(), latency(1.5)),
        ("latency_ms_p99".into(), latency(2.4)),
        ("latency_ms_p99_9".into(), latency(6.0)),
        ("latency_ms_max".into(), latency(40.0)),
    ])
}

fn threads(cpus: [usize; 4], noise: &mut Draws) -> Vec<ThreadRecord> {
    let thread =
        |class: ThreadClass, pair: Option<usize>, name: &str, cpu: usize, tid: u32, noise: &mut Draws| ThreadRecord {
            class,
            pid: 1,
            pair,
            tid,
            name: name.into(),
            allowed_cpus: if class == ThreadClass::Background {
                "0-23".parse().unwrap()
            } else {
                [cpu as u32].into_iter().collect()
            },
            seen_cpus: if class == ThreadClass::Background {
                BTreeMap::from([(5, 3), (17, 2)])
            } else {
                BTreeMap::from([(cpu, 100)])
            },
            migrations: if class == ThreadClass::Background { 3 } else { 0 },
            voluntary_switches: (240_000.0 * (1.0 + 0.01 * noise.normal())) as u64,
            involuntary_switches: (120.0 * (1.0 + 0.2 * noise.normal())) as u64,
            user_s: 3.1,
            system_s: 4.2,
            ..ThreadRecord::default()
        };
    vec![
        thread(ThreadClass::Client, Some(0), "tare-client-0", cpus[0], 1001, noise),
        thread(ThreadClass::Connection, Some(0), "mariadbd", cpus[1], 2001, noise),
        thread(ThreadClass::Client, Some(1), "tare-client-1", cpus[2], 1002, noise),
        thread(ThreadClass::Connection, Some(1), "mariadbd", cpus[3], 2002, noise),
        thread(ThreadClass::Background, None, "ib_log_writer", 5, 2050, noise),
    ]
}

fn environment(study: &Study) -> Environment {
    Environment {
        schema: SCHEMA,
        tare_version: "0.1.0".into(),
        command: format!("tare run {} --engine mariadb --out results", study.name),
        kernel: "6.12.48+deb13-amd64 #1 SMP PREEMPT_DYNAMIC".into(),
        cpu_model: "Example CPU 6126 @ 2.60GHz".into(),
        hypervisor: Some("KVM".into()),
        os: "Debian GNU/Linux 13 (trixie)".into(),
        settings: BTreeMap::from([
            ("/proc/sys/kernel/numa_balancing".into(), "1".into()),
            ("/proc/sys/kernel/randomize_va_space".into(), "2".into()),
            ("transparent_hugepage".into(), "always [madvise] never".into()),
        ]),
        machine: machine(),
    }
}

fn machine() -> tare_topology::Machine {
    tare_topology::Machine::synthetic("package:2 node:1 l3:1 core:6 pu:2").unwrap()
}

/// Scales the throughput of the trials that `hit` chooses and marks them as counted although disturbed.
pub fn disturb(dir: &Path, hit: &dyn Fn(u64) -> bool, scale: f64) {
    each_record(dir, |record| {
        if hit(record["trial"].as_u64().unwrap()) {
            record["reason"] = "counted although disturbed, for no attempt is left: stress (77) took 76%".into();
            for sample in record["samples"].as_array_mut().unwrap() {
                if let Some(tps) = sample["metrics"]["tps"].as_f64() {
                    sample["metrics"]["tps"] = (tps * scale).into();
                }
            }
        }
    });
}

pub fn each_record(dir: &Path, mut change: impl FnMut(&mut serde_json::Value)) {
    let path = dir.join("trials.jsonl");
    let changed = |line: &str| {
        let mut record = serde_json::from_str(line).unwrap();
        change(&mut record);
        format!("{record}\n")
    };
    let text: String = fs::read_to_string(&path).unwrap().lines().map(changed).collect();
    fs::write(path, text).unwrap();
}
