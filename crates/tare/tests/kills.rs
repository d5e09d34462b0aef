//! kill -9 of whole runs that change machine settings: the next start finds, and puts back, what was there before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../../noise/tests/common/mod.rs"]
mod noise_common;
mod support;

use noise_common::HARMLESS;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use support::World;
use tare_noise::{HostLock, Journal, Setting, System, fake, recover};

const KILLS: u32 = 100;

/// What only a folder that plays a machine can be asked for everywhere.
const MORE: [(Setting, [&str; 2]); 5] = [
    (Setting::Governor, ["performance", "powersave"]),
    (Setting::Turbo, ["off", "on"]),
    (Setting::Smt, ["off", "on"]),
    (Setting::IrqAffinity, ["cpus:2", "off"]),
    (Setting::CpuShield, ["cpus:2", "cpus:3"]),
];

/// Two conditions that differ in every setting, so that each trial changes them all.
fn study(settings: &[(Setting, [&str; 2])]) -> String {
    let mut text = String::from(
        "name = \"killed\"\n[workload]\nrows = 20\n[sampling]\ntrials = 4\nwarmup_s = 0\nsample_s = 0.05\n",
    );
    for level in 0..2 {
        text.push_str("[[conditions]]\n");
        for (setting, levels) in settings {
            text.push_str(&format!("{} = \"{}\"\n", setting.name(), levels[level]));
        }
    }
    text
}

/// Random moments: a multiplicative generator is random enough for that.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
        println!("seed {seed}");
        Self(u64::from(seed) | 1)
    }

    fn below(&mut self, limit: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        limit.mul_f64((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// A world whose programs see `root` as the machine and keep their journal in `state`.
struct Killed {
    world: World,
    study: String,
    root: PathBuf,
    state: PathBuf,
    number: u32,
}

impl Killed {
    fn tare(&self, args: &[&str]) -> Command {
        let mut command = self.world.tare(args);
        command.env("TARE_STATE_DIR", &self.state).stdout(Stdio::null()).stderr(Stdio::piped());
        if self.root != Path::new("/") {
            command.env("TARE_SYSTEM_ROOT", &self.root);
        }
        command
    }

    fn succeeds(&self, args: &[&str]) {
        let output = self.tare(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", support::text(&output.stderr));
    }

    /// Starts or resumes a run and kills it after `wait`: alone, when its trial still puts things back, or with
    /// everything that it started, when nothing does. Says whether anything was left to put back.
    fn run_and_kill(&mut self, wait: Duration, everything: bool) -> bool {
        let out = format!("results-{}", self.number);
        let planned = self.world.path(&out).join("plan.json").is_file();
        let args = if planned { ["run", "--resume", &out] } else { ["run", &self.study, &format!("--out={out}")] };
        let mut run = self.tare(&args).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(wait);
        if let Some(status) = run.try_wait().unwrap() {
            assert!(status.success(), "{args:?}: {status}\n{:?}", support::trials(&self.world.path(&out)));
            self.number += 1;
        }
        if everything {
            for pid in self.world.processes() {
                let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL); // it may have ended
            }
        }
        run.kill().unwrap();
        run.wait().unwrap();
        let planned = self.world.path(&out).join("plan.json").is_file();
        if !planned {
            // Killed before there was a plan: a half-made directory is not resumed.
            let _ = std::fs::remove_dir_all(self.world.path(&out));
        }
        Journal::pending(&self.state)
    }

    /// The next start: `tare restore`, or a run. No record blames a trial for the kill.
    fn next_start(&self, kill: u32) {
        if kill.is_multiple_of(2) {
            self.succeeds(&["restore"]);
        } else {
            self.succeeds(&["run", &self.study, "--set", "sampling.trials=1", "--out", &format!("next-{kill}")]);
            std::fs::remove_dir_all(self.world.path(&format!("next-{kill}"))).unwrap();
        }
        for results in (0..=self.number).map(|number| self.world.path(&format!("results-{number}"))) {
            let failed: Vec<_> =
                support::trials(&results).into_iter().filter(|record| record["outcome"] == "failed").collect();
            assert!(failed.is_empty(), "a kill is no failure of a trial: {failed:?}");
        }
        assert!(!Journal::pending(&self.state));
    }

    /// Kills again and again; after every next start what `found` finds is as before.
    fn again_and_again<T: PartialEq + std::fmt::Debug>(mut self, found: impl Fn() -> T) {
        let before = found();
        self.succeeds(&["run", &self.study, "--out", "whole"]);
        assert_eq!(found(), before, "a run that nobody killed");
        let records = support::trials(&self.world.path("whole"));
        assert!(records.iter().all(|r| r["settings"].as_array().unwrap().len() >= 4), "{records:?}");
        let (mut moments, mut left) = (Moments::new(), 0);
        for kill in 0..KILLS {
            let wait = moments.below(Duration::from_millis(900));
            left += u32::from(self.run_and_kill(wait, !kill.is_multiple_of(4)));
            self.next_start(kill);
            assert_eq!(found(), before, "kill {kill} after {wait:?}");
        }
        println!("{left} of {KILLS} kills left something to put back");
        assert!(left >= KILLS / 5, "only {left} of {KILLS} kills hit a run at work: this test proves little");
        self.world.directory.close().unwrap();
    }
}

/// The machine's files without its list of processes: a group that goes leaves its own to the group above.
fn settings_of(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = noise_common::tree(root);
    files.retain(|path, _| path.extension().is_none_or(|e| e != "procs"));
    files
}

#[test]
fn a_hundred_kills_on_a_folder_that_plays_a_machine() {
    let world = World::new();
    let root = world.path("machine");
    fake::create(&root).unwrap();
    let study = world.study(&study(&[&HARMLESS[..], &MORE[..]].concat()));
    let killed = Killed { study, state: world.path("state"), root: root.clone(), number: 0, world };
    killed.again_and_again(|| settings_of(&root));
}

#[test]
fn a_hundred_kills_on_this_machine() {
    let system = System::real();
    // Root inside a container may lack the right as well.
    let may = system.may_write("/proc/sys/vm/swappiness").is_ok();
    let present: Vec<_> = HARMLESS.into_iter().filter(|(setting, _)| setting.read(&system).is_ok()).collect();
    assert!(present.len() >= 4, "a kernel without {HARMLESS:?}?");
    let found = || -> Vec<_> { HARMLESS.iter().map(|(setting, _)| setting.read(&System::real()).ok()).collect() };
    let before = found();
    let world = World::new();
    let study = world.study(&study(&present));
    if !may {
        let (_, err) = world.exits(3, &["run", &study, "--out", "results"]);
        assert!(err.contains("needs root"), "{err}");
        assert_eq!(found(), before);
        return;
    }
    // The journal is kept where the next run of this test finds it, should this one be killed.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kills-real");
    std::fs::create_dir_all(&state).unwrap();
    let _machine = noise_common::host_lock();
    recover(&system, &state, &HostLock::acquire(&state).unwrap()).unwrap();
    let before = found();
    let killed = Killed { study, state: state.clone(), root: PathBuf::from("/"), number: 0, world };
    killed.again_and_again(found);
    assert_eq!(found(), before);
    std::fs::remove_dir_all(state).unwrap();
}
