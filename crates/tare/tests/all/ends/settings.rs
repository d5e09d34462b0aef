//! Whoever ends a trial restores its machine settings before anything else is measured.

use crate::support::{World, send, text, words_of};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tare_noise::{HostLock, Journal, Setting, System, fake, recover};

const STUDY: &str = r#"
name = "left-behind"
[workload]
rows = 20
rate = "400 to 800 in 2 steps"
[sampling]
trials = 3
attempts = 2
warmup_s = 0
sample_s = 0.3
[[conditions]]
swappiness = "as-found"
[[conditions]]
swappiness = "7"
"#;

/// A run whose trials change a setting of the machine in `root`.
struct Tuned {
    world: World,
    study: String,
    root: PathBuf,
    state: PathBuf,
}

impl Tuned {
    fn on_a_folder() -> Self {
        let world = World::new();
        let root = world.path("machine");
        fake::create(&root).unwrap();
        Self { study: world.study(STUDY), state: world.path("state"), root, world }
    }

    fn system(&self) -> System {
        if self.root == Path::new("/") { System::real() } else { System::at(&self.root) }
    }

    fn swappiness(&self) -> String {
        Setting::Swappiness.read(&self.system()).unwrap()
    }

    fn tare(&self, args: &[&str]) -> Command {
        let mut command = self.world.tare(args);
        command.env("TARE_STATE_DIR", &self.state).stdout(Stdio::null());
        if self.root != Path::new("/") {
            command.env("TARE_SYSTEM_ROOT", &self.root);
        }
        command
    }

    fn start(&self, sets: &[&str]) -> Child {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["run", &self.study, "--out", "results"].into_iter().chain(sets).collect();
        self.tare(&args).stderr(std::fs::File::create(self.world.path("err")).unwrap()).spawn().unwrap()
    }

    /// Process, number and condition of the current trial; `None` while only data is prepared.
    fn at_work(&self) -> Option<(u32, usize, String)> {
        let plan = std::fs::read_to_string(self.world.path("results/plan.json")).ok()?;
        let plan: serde_json::Value = serde_json::from_str(&plan).ok()?;
        self.world.processes().into_iter().find_map(|pid| {
            let words = words_of(pid);
            let after = |name: &str| words.iter().position(|w| w == name).and_then(|at| words.get(at + 1));
            if words.get(1)? != "trial" || after("--attempt")? == "0" {
                return None;
            }
            let number: usize = after("--trial")?.parse().ok()?;
            let trials = plan["trials"].as_array()?;
            let condition = trials.iter().find(|t| t["trial"] == number)?["condition"].as_str()?;
            Some((pid, number, condition.to_owned()))
        })
    }

    /// Waits until a trial has changed the setting, and sends a signal to its process.
    fn strike(&self, found: &str, signal: Signal) -> usize {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < deadline, "no trial changed the setting within 60 s: {}", self.err());
            if let Some((pid, number, condition)) = self.at_work()
                && condition.ends_with("=7")
                && self.swappiness() != found
            {
                // A stopped trial cannot restore the setting between the check and the signal.
                if send(pid, Signal::STOP) && self.swappiness() != found {
                    assert!(send(pid, signal));
                    return number;
                }
                send(pid, Signal::CONT);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Watches a run to its end; returns the values that were in effect during trials of the plain condition.
    fn watch(&self, run: &mut Child) -> BTreeMap<String, u32> {
        let mut seen = BTreeMap::new();
        while run.try_wait().unwrap().is_none() {
            if let Some((pid, _, condition)) = self.at_work()
                && condition.ends_with("=as-found")
                // Its server runs, so the trial has begun.
                && self.world.processes().len() > 2
            {
                let value = self.swappiness();
                if Path::new(&format!("/proc/{pid}")).exists() && self.at_work().is_some_and(|now| now.0 == pid) {
                    *seen.entry(value).or_default() += 1;
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        seen
    }

    fn err(&self) -> String {
        std::fs::read_to_string(self.world.path("err")).unwrap()
    }

    fn later_trials_run_as_found_after(&self, signal: Signal, sets: &[&str]) {
        let found = self.swappiness();
        assert_ne!(found, "7");
        let mut run = self.start(sets);
        let struck = self.strike(&found, signal);
        let seen = self.watch(&mut run);
        assert_eq!(seen.keys().collect::<Vec<_>>(), [&found], "what trials that change nothing ran under: {seen:?}");
        assert_eq!(run.wait().unwrap().code(), Some(0), "{}", self.err());
        assert_eq!(self.swappiness(), found);
        assert!(!Journal::pending(&self.state));
        let records = crate::support::trials(&self.world.path("results"));
        let failed: Vec<_> = records.iter().filter(|r| r["outcome"] == "failed").collect();
        assert!(failed.len() == 1 && failed[0]["trial"] == struck, "{failed:?}");
        self.world.assert_clean();
    }
}

#[test]
fn a_killed_trial_leaves_the_original_settings_to_the_next_trial() {
    Tuned::on_a_folder().later_trials_run_as_found_after(Signal::KILL, &[]);
}

#[test]
fn a_state_directory_around_results_keeps_every_setting_and_one_inside_is_refused() {
    let around = |place: &str| {
        let tuned = Tuned::on_a_folder();
        Tuned { state: tuned.world.path(place), ..tuned }
    };
    around("").later_trials_run_as_found_after(Signal::KILL, &[]);
    let inside = around("results/state");
    let found = inside.swappiness();
    let mut run = inside.start(&[]);
    let code = run.wait().unwrap().code();
    let refused = ["is not empty", "contains tare's own state"].iter().all(|words| inside.err().contains(words));
    assert!(code == Some(2) && refused, "{code:?}: {}", inside.err());
    assert!(inside.swappiness() == found && !Journal::pending(&inside.state));
}

#[test]
fn a_trial_that_hangs_past_its_timeout_leaves_the_original_settings_to_the_next() {
    let tuned = Tuned::on_a_folder();
    let began = Instant::now();
    tuned.later_trials_run_as_found_after(Signal::STOP, &["sampling.trial_timeout_s=8"]);
    // A stopped trial does not handle signals, so the run does not wait the 20 s for it to restore settings.
    assert!(began.elapsed() < Duration::from_secs(27), "{:?}", began.elapsed());
}

#[test]
fn an_interrupted_run_whose_trial_hangs_restores_the_original_settings() {
    let tuned = Tuned::on_a_folder();
    let found = tuned.swappiness();
    let mut run = tuned.start(&[]);
    tuned.strike(&found, Signal::STOP);
    send(run.id(), Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130), "{}", tuned.err());
    assert_eq!(tuned.swappiness(), found);
    assert!(!Journal::pending(&tuned.state));
    tuned.world.assert_clean();
}

#[test]
fn settings_are_restored_although_other_leftovers_cannot_be_removed() {
    let tuned = Tuned::on_a_folder();
    let found = tuned.swappiness();
    let mut run = tuned.start(&[]);
    tuned.strike(&found, Signal::STOP);
    // Stopped first: a process that sees another one die would start to clean up.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in tuned.world.processes() {
            send(pid, signal);
        }
    }
    run.wait().unwrap();
    assert_ne!(tuned.swappiness(), found, "nothing to restore: this test proves nothing");
    // Where no more file can be created, not even the one of a lock.
    let script = r#"mkdir full && mount -t tmpfs -o mode=700,nr_inodes=20 none full || exit 77
        cp -p state/journal.jsonl full && for file in $(seq 20); do touch full/$file; done 2>/dev/null
        [ ! -e full/20 ] && TARE_STATE_DIR=$PWD/full exec "$0" "$@""#;
    let mut full = tuned.world.behind(&["unshare", "-rm", "sh", "-c", script], &["restore"]);
    let full = full.env("TARE_SYSTEM_ROOT", &tuned.root).output().expect("unshare");
    if full.status.code() != Some(77) {
        assert_eq!(tuned.swappiness(), found, "{}", text(&full.stderr));
        std::fs::write(tuned.root.join("proc/sys/vm/swappiness"), "7\n").unwrap();
    }
    // Half-made data whose lock cannot be opened, even by root.
    let folders = ["cache/x.partial", "cache/x.lock"].map(|folder| tuned.world.path(folder));
    folders.iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    let restore = tuned.tare(&["restore"]).output().unwrap();
    let err = text(&restore.stderr);
    assert!(restore.status.code() == Some(3) && err.contains("x.lock"), "{err}");
    assert_eq!(tuned.swappiness(), found);
    std::fs::remove_dir(&folders[1]).unwrap();
    assert!(tuned.tare(&["restore"]).status().unwrap().success());
    tuned.world.assert_clean();
}

#[test]
fn a_killed_trial_leaves_this_machine_with_its_original_settings() {
    if System::real().may_write("/proc/sys/vm/swappiness").is_err() {
        println!("not root: no setting of this machine can be left behind");
        return;
    }
    // The journal is kept where the next run of this test finds it if this one is killed.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("settings-real");
    let _machine = crate::noise_common::host_lock();
    let world = World::new();
    recover(&System::real(), &state, &HostLock::acquire(&world.path("lock")).unwrap()).unwrap();
    let tuned = Tuned { study: world.study(STUDY), root: PathBuf::from("/"), state, world };
    tuned.later_trials_run_as_found_after(Signal::KILL, &[]);
}
