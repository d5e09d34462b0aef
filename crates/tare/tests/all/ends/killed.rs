//! Shared by tests that kill runs: two conditions that differ in every setting, and the checks afterwards.

use crate::support::{World, text, trials};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tare_noise::{Setting, System};

/// Settings that are available everywhere only on a fake machine.
pub const MORE: [(Setting, [&str; 2]); 6] = [
    (Setting::IntelPstate, ["passive", "off"]),
    (Setting::Governor, ["performance", "powersave"]),
    (Setting::Turbo, ["off", "on"]),
    (Setting::Smt, ["off", "on"]),
    (Setting::IrqAffinity, ["cpus:2", "off"]),
    (Setting::CpuShield, ["cpus:2", "cpus:3"]),
];

/// Two conditions that differ in every setting, so that each trial changes all of them. The load does not matter: few
/// transactions leave the CPUs to other tests, and a rate that changes cannot fail a trial.
pub fn study(settings: &[(Setting, [&str; 2])], sampling: &str) -> String {
    let mut text = format!(
        "name = \"killed\"\n[workload]\nrows = 20\nrate = \"400 to 800 in 2 steps\"\n[sampling]\nattempts = 50\n\
         warmup_s = 0\nsteal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n{sampling}\n"
    );
    for level in 0..2 {
        text.push_str("[[conditions]]\n");
        for (setting, levels) in settings {
            text.push_str(&format!("{} = \"{}\"\n", setting.name(), levels[level]));
        }
    }
    text
}

/// A world whose programs use `root` as the machine and keep their journal in `state`.
pub struct Place {
    pub world: World,
    pub study: String,
    pub root: PathBuf,
    pub state: PathBuf,
    original: BTreeMap<&'static str, String>,
}

impl Place {
    /// `sampling` is the content of the study's `[sampling]`.
    pub fn new(world: World, changed: &[(Setting, [&str; 2])], sampling: &str, root: PathBuf, state: PathBuf) -> Self {
        let system = if root == Path::new("/") { System::real() } else { System::at(&root) };
        let original = changed.iter().map(|(s, _)| (s.name(), s.read(&system).unwrap())).collect();
        Self { study: world.study(&study(changed, sampling)), world, root, state, original }
    }

    pub fn tare(&self, args: &[&str]) -> Command {
        let mut command = self.world.tare(args);
        command.env("TARE_STATE_DIR", &self.state).stdout(Stdio::null()).stderr(Stdio::piped());
        if self.root != Path::new("/") {
            command.env("TARE_SYSTEM_ROOT", &self.root);
        }
        command
    }

    pub fn succeeds(&self, args: &[&str]) {
        let output = self.tare(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }

    /// Every record so far ran under its own settings, found the original values, and at most `blamed` records failed.
    pub fn records(&self, results: &Path, blamed: usize) -> Vec<serde_json::Value> {
        let records = trials(results);
        for record in &records {
            let ok = record["outcome"] == "ok";
            let settings = record["settings"].as_array().unwrap();
            for (name, original) in &self.original {
                let Some(setting) = settings.iter().find(|setting| setting["factor"] == **name) else {
                    assert!(!ok, "{name} is not in {record}");
                    continue;
                };
                assert_eq!(setting["found"], **original, "{name}: what an earlier trial left: {record}");
                let (level, read) = (setting["level"].as_str().unwrap(), setting["verified"].as_str().unwrap());
                let there = match (*name, level) {
                    // With "off" interrupts stay where they were; kept away from CPU 2 they are on the other CPUs.
                    ("irq_affinity", "off") => original,
                    ("irq_affinity", "cpus:2") => "cpus:0-1,3",
                    _ => level,
                };
                assert!(read.starts_with(&format!("reads back {there}")), "{name}: {record}");
                assert_eq!(record["levels"][*name], setting["level"], "{record}");
            }
        }
        // On a busy machine so short a sample may see no transaction: this is not a consequence of a kill.
        let starved = |record: &&serde_json::Value| {
            record["reason"].as_str().is_some_and(|reason| reason.starts_with("no transaction was finished"))
        };
        let failed = records.iter().filter(|record| record["outcome"] != "ok" && !starved(record)).count();
        assert!(failed <= blamed, "{failed} failed, {} trials and servers killed: {records:?}", blamed);
        records
    }

    /// Checks that a run that ended by itself has a result of every trial once, and no gap in its attempts.
    pub fn whole(&self, results: &Path, blamed: usize) {
        let records = self.records(results, blamed);
        let plan: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(results.join("plan.json")).unwrap()).unwrap();
        for planned in plan["trials"].as_array().unwrap() {
            let of: Vec<_> = records.iter().filter(|record| record["trial"] == planned["trial"]).collect();
            let attempts: Vec<u64> = of.iter().map(|record| record["attempt"].as_u64().unwrap()).collect();
            assert_eq!(attempts, (1..=of.len() as u64).collect::<Vec<_>>(), "{records:?}");
            assert_eq!(of.iter().filter(|record| record["outcome"] == "ok").count(), 1, "{planned}: {records:?}");
        }
    }
}

/// The machine's files without lists of processes: a group that is removed returns its processes to its parent.
pub fn settings_of(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = crate::noise_common::tree(root);
    files.retain(|path, _| path.extension().is_none_or(|e| e != "procs"));
    files
}
