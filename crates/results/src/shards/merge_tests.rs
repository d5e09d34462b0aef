//! Tests of merges: which parts are accepted, and which are refused.

use super::merge;
use crate::captures::FOLDED;
use crate::error::{DirectoryError, ReadError};
use crate::limits::{MOST_RECORDS, MOST_TRIALS};
use crate::schema::{Outcome, Plan, PlannedCondition, PlannedTrial, RanOn, SCHEMA, TrialRecord};
use crate::store::{append_trial, pretty, write_plan};
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use tare_files::{FilesError, Folder, Trust};

fn planned(trial: usize) -> PlannedTrial {
    PlannedTrial { trial, block: trial, condition: "base".into(), lifetime: None }
}

fn plan(trials: &[usize]) -> Plan {
    let condition = PlannedCondition { name: "base".into(), realizable: true, ..PlannedCondition::default() };
    Plan {
        schema: SCHEMA,
        study: "merged".into(),
        seed: 1,
        conditions: vec![condition],
        trials: trials.iter().copied().map(planned).collect(),
        samples: 1,
        estimated_s: 1.0,
        ..Plan::default()
    }
}

/// A results directory of a plan, with a good record and a log of some of its trials.
fn part(path: PathBuf, plan: &Plan, trials: &[usize]) -> PathBuf {
    let folder = Folder::open_or_create(&path, Trust::Anyone).unwrap();
    folder.write("study.toml", b"name = \"merged\"\n").unwrap();
    write_plan(&folder, plan).unwrap();
    for trial in trials {
        let record = TrialRecord::new(&planned(*trial), 1, BTreeMap::new(), crate::now());
        append_trial(&folder, &TrialRecord { outcome: Outcome::Ok, ..record }).unwrap();
        folder.make_sub("logs").unwrap().new_log(&format!("trial-{trial:05}-1.log")).unwrap();
    }
    path
}

fn scratch() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, move |name: &str| path.join(name))
}

fn merged(folders: &[&Path], out: &Path) -> Result<usize, DirectoryError> {
    merge(&folders.iter().map(|path| path.to_path_buf()).collect::<Vec<_>>(), out).map(|merged| merged.records)
}

#[test]
fn records_of_a_newer_schema_are_refused() {
    let (_folder, at) = scratch();
    let one = part(at("one"), &plan(&[0, 1]), &[0, 1]);
    let records = std::fs::read_to_string(one.join("trials.jsonl")).unwrap();
    let newer = records.replacen(&format!("\"schema\":{SCHEMA}"), "\"schema\":99", 1);
    std::fs::write(one.join("trials.jsonl"), newer).unwrap();
    let error = merged(&[&one], &at("out")).unwrap_err();
    assert!(matches!(error, DirectoryError::Read(ReadError::NewerSchema { found: 99, .. })), "{error}");
    assert!(!at("out").exists());
}

#[test]
fn the_name_of_a_machine_makes_no_file_outside_of_the_merged_results() {
    let (folder, at) = scratch();
    let environment = serde_json::json!({
        "schema": SCHEMA, "tare_version": "", "command": "", "kernel": "", "cpu_model": "", "hypervisor": null,
        "os": "", "settings": {}, "machine": tare_topology::Machine::synthetic("core:1 pu:1").unwrap()
    });
    for (number, host) in ["good-1.host", "../../evil", "..", "a/b", "x\n::error::y", ""].into_iter().enumerate() {
        let one = part(at(&format!("one-{number}")), &plan(&[0]), &[]);
        let place = Folder::open(&one, Trust::Anyone).unwrap().unwrap();
        let ran_on = Some(RanOn { host: host.to_owned(), boot_id: None });
        let record = TrialRecord::new(&planned(0), 1, BTreeMap::new(), crate::now());
        append_trial(&place, &TrialRecord { outcome: Outcome::Ok, ran_on, ..record }).unwrap();
        place.write("environment.json", pretty(&environment).as_bytes()).unwrap();
        let out = at(&format!("out-{number}"));
        assert_eq!(merged(&[&one], &out).unwrap(), 1, "{host:?}");
        let environments = std::fs::read_dir(out.join("environments")).unwrap().count();
        assert_eq!(environments, usize::from(number == 0), "{host:?}");
    }
    assert!(!folder.path().join("evil.json").exists());
}

#[test]
fn results_merged_from_private_results_are_private() {
    use std::fs::{Permissions, create_dir, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let (folder, at) = scratch();
    let one = part(at("one"), &plan(&[0]), &[0]);
    create_dir(at("out")).unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    for (source, before, after) in [(0o755, 0o755, 0o755), (0o700, 0o755, 0o700), (0o700, 0o750, 0o700)] {
        set_permissions(&one, Permissions::from_mode(source)).unwrap();
        set_permissions(at("out"), Permissions::from_mode(before)).unwrap();
        merged(&[&one], &at("out")).unwrap();
        assert_eq!(metadata(at("out")).unwrap().permissions().mode() & 0o777, after, "{before:o} of {source:o}");
    }
}

#[test]
fn a_sparse_log_of_a_part_takes_no_more_disk_when_it_is_merged() {
    let (_folder, at) = scratch();
    let one = part(at("one"), &plan(&[0]), &[0]);
    let name = "logs/trial-00000-1.log";
    let log = std::fs::OpenOptions::new().write(true).open(one.join(name)).unwrap();
    let (length, middle) = (256 << 20, 100 << 20);
    log.set_len(length).unwrap();
    log.write_all_at(b"in the middle", middle).unwrap();
    merged(&[&one], &at("out")).unwrap();
    let copy = std::fs::File::open(at("out").join(name)).unwrap();
    let found = copy.metadata().unwrap();
    assert_eq!(found.len(), length);
    let used = found.blocks() * 512;
    assert!(used < 8 << 20, "{used} bytes");
    let mut text = [0; 13];
    copy.read_exact_at(&mut text, middle).unwrap();
    assert_eq!(&text, b"in the middle");
}

#[test]
fn the_servers_settings_come_along_and_a_link_of_their_name_does_not() {
    let (_folder, at) = scratch();
    let all = plan(&[0, 1]);
    let (one, other) = (part(at("one"), &all, &[0]), part(at("other"), &all, &[1]));
    for (part, name) in [(&one, "settings-1.json"), (&other, "settings-2.json")] {
        std::fs::create_dir(part.join("captures")).unwrap();
        std::fs::write(part.join("captures").join(name), name).unwrap();
    }
    std::os::unix::fs::symlink("/etc/hostname", other.join("captures/settings-3.json")).unwrap();
    assert_eq!(merged(&[&one, &other], &at("out")).unwrap(), 2);
    let read = |name: &str| std::fs::read_to_string(at("out").join("captures").join(name)).ok();
    assert_eq!(["1", "2", "3"].map(|n| read(&format!("settings-{n}.json")).is_some()), [true, true, false]);
    assert_eq!(read("settings-1.json").as_deref(), Some("settings-1.json"));
}

#[test]
fn a_plan_of_another_study_or_schedule_is_refused() {
    let (_folder, at) = scratch();
    let one = part(at("one"), &plan(&[0, 1]), &[0]);
    let all = plan(&[0, 1, 2]);
    let other_study = Plan { study: "other".into(), ..all.clone() };
    let mut other_condition = all.clone();
    other_condition.conditions[0].name = "other".into();
    let mut other_block = all.clone();
    other_block.trials[1].block = 7;
    for (name, plan) in [("study", other_study), ("condition", other_condition), ("block", other_block)] {
        let other = part(at(name), &plan, &[2]);
        let error = merged(&[&one, &other], &at("out")).unwrap_err();
        let read = matches!(&error, DirectoryError::Read(ReadError::OtherStudy { path, .. }) if *path == other);
        assert!(read, "{name}: {error}");
    }
    // A study cut into shards has its whole schedule: parts cannot add trials.
    let cut = part(at("cut"), &plan(&[0, 1]), &[]);
    std::fs::write(cut.join("shards.json"), pretty(&serde_json::json!({ "schema": SCHEMA, "shards": 1 }))).unwrap();
    part(cut.join("shard-0000/host"), &all, &[2]);
    let error = merged(&[&cut], &at("out")).unwrap_err();
    assert!(matches!(error, DirectoryError::Read(ReadError::OtherStudy { .. })), "{error}");
    assert!(!at("out").exists());
}

#[test]
fn records_beyond_the_schedule_displace_no_block_and_have_a_limit() {
    let (_folder, at) = scratch();
    let (one, two) = (part(at("one"), &plan(&[0, 1]), &[0, 1]), part(at("two"), &plan(&[0, 1]), &[]));
    let line = |trial: usize| {
        let record = TrialRecord::new(&PlannedTrial { block: 0, ..planned(trial) }, 1, BTreeMap::new(), crate::now());
        TrialRecord { outcome: Outcome::Ok, ..record }
    };
    let place = Folder::open_or_create(&two, Trust::Anyone).unwrap();
    (7..10).for_each(|trial| append_trial(&place, &line(trial)).unwrap());
    assert_eq!(merged(&[&one, &two], &at("out")).unwrap(), 2);
    // A part, and all parts together, may have as many records as can be read back.
    let many = |trial: &dyn Fn(usize) -> usize, records: usize| {
        let line = |number| {
            let trial = trial(number);
            format!("{{\"schema\":{SCHEMA},\"trial\":{trial},\"attempt\":1,\"block\":9,\"outcome\":\"ok\"}}\n")
        };
        (0..records).map(line).collect::<String>()
    };
    for (first, second) in [
        (many(&|_| 7, MOST_RECORDS + 1), String::new()),
        (many(&|number| number, MOST_RECORDS / 2 + 1), many(&|number| number, MOST_RECORDS / 2)),
    ] {
        std::fs::write(one.join("trials.jsonl"), first).unwrap();
        std::fs::write(two.join("trials.jsonl"), second).unwrap();
        let error = merged(&[&one, &two], &at("more")).unwrap_err();
        assert!(matches!(error, DirectoryError::Read(ReadError::TooMany { what: "records", .. })), "{error}");
    }
    assert!(!at("more").exists());
}

#[test]
fn records_that_are_not_analysed_make_no_part_the_owner_of_a_block() {
    let (_folder, at) = scratch();
    let append = |part: &Path, condition: &str, outcomes: &[Outcome]| {
        let folder = Folder::open(part, Trust::Anyone).unwrap().unwrap();
        for outcome in outcomes {
            let planned = PlannedTrial { condition: condition.into(), ..planned(0) };
            let record = TrialRecord::new(&planned, 1, BTreeMap::new(), crate::now());
            append_trial(&folder, &TrialRecord { outcome: *outcome, ..record }).unwrap();
        }
    };
    let [twice, other, right] = ["twice", "other", "right"].map(|name| part(at(name), &plan(&[0]), &[]));
    append(&twice, "base", &[Outcome::Failed, Outcome::Ok]);
    append(&other, "another", &[Outcome::Ok]);
    append(&right, "base", &[Outcome::Ok]);
    for wrong in [&twice, &other] {
        let folders = [wrong.clone(), right.clone()];
        let merged = merge(&folders, &at("out").join(wrong.file_name().unwrap())).unwrap();
        assert_eq!((merged.records, merged.missing, merged.aside), (1, 0, 0), "{wrong:?}");
        let alone = merge(&folders[..1], &at("alone").join(wrong.file_name().unwrap())).unwrap();
        assert_eq!(alone.missing, 1, "{wrong:?}");
    }
}

#[test]
fn many_parts_of_a_long_schedule_take_no_longer_than_their_own_trials() {
    let (_folder, at) = scratch();
    let trials: Vec<usize> = (0..MOST_TRIALS).collect();
    let mut folders = vec![part(at("long"), &plan(&trials), &[0])];
    folders.extend((0..300).map(|number| part(at(&format!("part-{number}")), &plan(&[number]), &[number])));
    let named: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let began = std::time::Instant::now();
    assert_eq!(merged(&named, &at("out")).unwrap(), 300);
    let took = began.elapsed();
    println!("merged in {took:?}");
    assert!(took.as_secs() < 30, "{took:?}");
    // All parts together have no more trials than a plan that can be read.
    let more = part(at("more"), &plan(&[MOST_TRIALS]), &[MOST_TRIALS]);
    let error = merged(&[&folders[0], &more], &at("none")).unwrap_err();
    assert!(matches!(error, DirectoryError::Read(ReadError::TooMany { what: "trials", .. })), "{error}");
}

#[test]
fn trials_that_an_earlier_merge_has_and_no_part_any_more_are_kept() {
    let (_folder, at) = scratch();
    let (one, two) = (part(at("one"), &plan(&[0, 2]), &[0, 2]), part(at("two"), &plan(&[1]), &[1]));
    // Logs are copied even if the schedule has gaps.
    assert_eq!(merged(&[&one], &at("alone")).unwrap(), 2);
    assert!(at("alone/logs/trial-00002-1.log").exists());
    let out = at("out");
    std::fs::create_dir(&out).unwrap();
    assert_eq!(merged(&[&one, &two], &out).unwrap(), 3);
    let before = std::fs::read(out.join("trials.jsonl")).unwrap();
    let error = merged(&[&one], &out).unwrap_err();
    assert!(matches!(error, DirectoryError::WouldLose { trials: 1, .. }), "{error}");
    assert_eq!(std::fs::read(out.join("trials.jsonl")).unwrap(), before);
    assert_eq!(merged(&[&two, &one], &out).unwrap(), 3);
}

#[test]
fn parts_and_captures_are_found_by_the_handle_of_their_folder() {
    let (_folder, at) = scratch();
    let cut = |name: &str, chain: &str| {
        let cut = part(at(name), &plan(&[0]), &[]);
        std::fs::write(cut.join("shards.json"), pretty(&serde_json::json!({ "schema": SCHEMA, "shards": 1 }))).unwrap();
        let folder = part(cut.join("shard-0000/host"), &plan(&[0]), &[]);
        std::fs::write(folder.join(FOLDED), chain).unwrap();
        let record = TrialRecord::new(&planned(0), 1, BTreeMap::new(), crate::now());
        let captures = BTreeMap::from([(FOLDED.to_owned(), FOLDED.to_owned())]);
        let record = TrialRecord { outcome: Outcome::Ok, captures, ..record };
        append_trial(&Folder::open(&folder, Trust::Anyone).unwrap().unwrap(), &record).unwrap();
        cut
    };
    let (ours, theirs) = (cut("ours", "ours 1\n"), cut("theirs", "theirs 1\n"));
    std::fs::remove_file(theirs.join("shard-0000/host/trials.jsonl")).unwrap();
    let open = Folder::open(&ours, Trust::Anyone).unwrap().unwrap();
    std::fs::rename(&ours, at("moved")).unwrap();
    std::os::unix::fs::symlink(&theirs, &ours).unwrap();
    let results = crate::open_folder(&open).unwrap();
    assert_eq!(results.trials.len(), 1);
    drop(open);
    assert_eq!(results.captures[&(0, 1)].folded(&results.trials[0], FOLDED).as_deref(), Some("ours 1\n"));
}

#[test]
fn a_part_with_records_and_without_a_plan_is_named() {
    let (_folder, at) = scratch();
    let cut = part(at("cut"), &plan(&[0, 1]), &[]);
    std::fs::write(cut.join("shards.json"), pretty(&serde_json::json!({ "schema": SCHEMA, "shards": 1 }))).unwrap();
    part(cut.join("shard-0000/one"), &plan(&[0, 1]), &[0]);
    let two = part(cut.join("shard-0000/two"), &plan(&[0, 1]), &[1]);
    std::fs::remove_file(two.join("plan.json")).unwrap();
    let named = |error| matches!(error, DirectoryError::Read(ReadError::NoPlan { path }) if path == two);
    assert!(named(merged(&[&cut], &at("out")).unwrap_err()));
    assert!(named(crate::open(&cut).unwrap_err().into()));
    // As a machine leaves it that died before it wrote its plan.
    std::fs::write(two.join("trials.jsonl"), "").unwrap();
    assert_eq!(merged(&[&cut], &at("out")).unwrap(), 1);
}

#[test]
fn a_link_in_the_place_of_a_part_is_named() {
    let (_folder, at) = scratch();
    let cut = part(at("cut"), &plan(&[0, 1]), &[]);
    std::fs::write(cut.join("shards.json"), pretty(&serde_json::json!({ "schema": SCHEMA, "shards": 1 }))).unwrap();
    part(cut.join("shard-0000/one"), &plan(&[0, 1]), &[0]);
    part(at("elsewhere"), &plan(&[0, 1]), &[1]);
    let link = cut.join("shard-0000/two");
    std::os::unix::fs::symlink(at("elsewhere"), &link).unwrap();
    let named = |error| matches!(error, DirectoryError::Read(ReadError::File(FilesError::Link(path))) if path == link);
    assert!(named(merged(&[&cut], &at("out")).unwrap_err()));
    assert!(named(crate::open(&cut).unwrap_err().into()));
}

#[test]
fn more_shards_than_blocks_are_refused() {
    let (_folder, at) = scratch();
    let cut = part(at("cut"), &plan(&[0, 1]), &[]);
    for (shards, fits) in [(2, true), (3, false), (u64::MAX, false)] {
        let document = serde_json::json!({ "schema": SCHEMA, "shards": shards });
        std::fs::write(cut.join("shards.json"), pretty(&document)).unwrap();
        let opened = crate::open(&cut);
        assert_eq!(opened.is_ok(), fits, "{shards}");
        assert!(fits || matches!(opened, Err(ReadError::TooMany { what: "shards", limit: 2, .. })), "{shards}");
    }
}
