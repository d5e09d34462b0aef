//! A run that changes every setting is killed at every crash point, alone or with all its processes; then the next
//! start is killed at each of its own. Afterwards settings must be as before, and every trial recorded once.

use super::killed::{MORE, Place, settings_of};
use crate::crashes::{Counts, Log, OF_GROUPS, OF_SETTINGS, OF_WHOLE_WRITES, Whom, check_counts, halves};
use crate::noise_common::HARMLESS;
use crate::support::{World, names, send, trials};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tare_noise::{Journal, fake};

const SAMPLING: &str = "trials = 1\nsample_s = 0.05";

/// Crash points of a run in addition to those of settings, groups and whole writes.
const OF_RUNS: [&str; 10] = [
    "directory of a server: made",
    "directory of a server: removed",
    "log: the older one is removed",
    "record: before it is appended",
    "record: appended, not synced",
    "record: the first, its folder not synced",
    "record: synced",
    "results: before their directory is made",
    "results: their directory is made",
    "results: before the plan",
];

/// Points after which only a sync, or the creation of a file without a name, comes before the next point.
const BEFORE_SYNCS: [&str; 5] = [
    "journal: entries written, not synced",
    "record: appended, not synced",
    "whole write: before it",
    "whole write: written, not synced",
    "whole write: renamed, folder not synced",
];

/// A place in which runs crash; the data is prepared once.
struct Crashes {
    place: Place,
    log: Log,
    before: BTreeMap<PathBuf, String>,
    /// Process and label of every point of a run without a crash.
    points: Vec<(u32, String)>,
}

impl Crashes {
    fn new() -> Self {
        let world = World::new();
        let root = world.path("machine");
        fake::create(&root).unwrap();
        let (before, state) = (settings_of(&root), world.path("state"));
        let log = Log::new(world.path("crash.log"));
        let place = Place::new(world, &[&HARMLESS[..], &MORE[..]].concat(), SAMPLING, root, state);
        let mut crashes = Self { place, log, before, points: Vec::new() };
        // The first of the two runs prepares the data.
        for _ in 0..2 {
            let mut run = crashes.fresh();
            crashes.log.count(&mut run);
            assert!(run.status().unwrap().success());
        }
        crashes.points = crashes.log.reached();
        let met = |known: &&str| crashes.points.iter().any(|(_, label)| label == known);
        let known = [&OF_SETTINGS[..], &OF_GROUPS, &OF_WHOLE_WRITES, &OF_RUNS].concat();
        let missed: Vec<&str> = known.into_iter().filter(|known| !met(known)).collect();
        assert!(missed.is_empty(), "a run without a crash does not meet {missed:?}");
        crashes.check("no crash", 0);
        crashes
    }

    fn results(&self) -> PathBuf {
        self.place.world.path("results")
    }

    fn tare(&self, args: &[&str]) -> Command {
        let mut command = self.place.tare(args);
        command.stderr(Stdio::null());
        command
    }

    /// A new run that keeps only the data: with other remains it would pass fewer points.
    fn fresh(&self) -> Command {
        let _ = std::fs::remove_dir_all(self.results());
        let _ = std::fs::remove_dir_all(&self.place.state);
        let cache = self.place.world.path("cache");
        for name in names(&cache).into_iter().filter(|name| name.starts_with("work-")) {
            let _ = std::fs::remove_dir_all(cache.join(name));
        }
        self.tare(&["run", &self.place.study, "--out", "results"])
    }

    /// A command that resumes a crashed run; a run without a plan starts again.
    fn resumed(&self) -> Command {
        if self.results().join("plan.json").is_file() {
            return self.tare(&["run", "--resume", "results"]);
        }
        let _ = std::fs::remove_dir_all(self.results());
        self.tare(&["run", &self.place.study, "--out", "results"])
    }

    /// Runs `command` until the point with this number; returns the killed process, or `None` without such a point.
    fn crash(&self, mut command: Command, at: usize, whom: Whom) -> Option<Crash> {
        self.log.crash(&mut command, at, whom);
        let mut run = command.spawn().unwrap();
        let id = run.id();
        if whom == Whom::All {
            self.power_cut(&mut run, at);
        }
        let status = run.wait().unwrap();
        let mut reached = self.log.reached();
        if reached.len() < at {
            assert!(status.success(), "{status} after {} points", reached.len());
            return None;
        }
        let (pid, label) = reached.swap_remove(at - 1);
        let is_run = pid == id || whom == Whom::All;
        assert_eq!(status.signal(), is_run.then_some(9), "point {at}, {label}: {status}");
        // A run whose preparation is killed ends; a run whose trial is killed goes on.
        let is_preparation = status.code() == Some(3) && trials(&self.results()).is_empty();
        assert!(is_run || is_preparation || status.success(), "point {at}, {label}: {status}");
        Some(Crash { label, began_trials: reached.iter().any(|(other, _)| *other != id), is_run })
    }

    /// Waits until the process at this point has stopped, and kills it last, so that the others reach no next point.
    fn power_cut(&self, run: &mut Child, at: usize) {
        let stopped = loop {
            if let Some((pid, _)) = self.log.reached().get(at - 1)
                && state_of(*pid) == Some('T')
            {
                break *pid;
            }
            if run.try_wait().unwrap().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let living = |pid: &u32| *pid != stopped && state_of(*pid).is_some_and(|state| state != 'Z');
            let others: Vec<u32> = self.place.world.processes().into_iter().filter(living).collect();
            if others.is_empty() {
                break;
            }
            assert_ne!(stopped, run.id(), "{others:?} live next to the run alone");
            assert!(Instant::now() < deadline, "{others:?} do not die");
            for pid in others {
                send(pid, Signal::KILL);
            }
        }
        send(stopped, Signal::KILL);
        while Path::new(&format!("/proc/{stopped}")).exists() && run.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Checks what must hold after every next start.
    fn check(&self, what: &str, blamed: usize) {
        assert_eq!(settings_of(&self.place.root), self.before, "{what}");
        assert!(!Journal::pending(&self.place.state), "{what}");
        self.place.world.assert_clean();
        self.place.records(&self.results(), blamed);
    }

    /// Crashes a run whose points up to this one equal those of the run without a crash: otherwise one point would be
    /// met twice and another never. On a busy machine a sample may see no transaction, and its trial is then repeated.
    fn crash_as_counted(&self, at: usize, whom: Whom) -> Option<Crash> {
        let labels =
            |points: &[(u32, String)]| points.iter().take(at).map(|(_, label)| label.clone()).collect::<Vec<_>>();
        for _ in 0..5 {
            let crash = self.crash(self.fresh(), at, whom);
            if labels(&self.log.reached()) == labels(&self.points) {
                return crash;
            }
            assert!(self.tare(&["restore"]).status().unwrap().success());
        }
        panic!("{:?} and not {:?}", labels(&self.log.reached()), labels(&self.points));
    }

    /// A trial that hangs after its record was written is given up, and this record is its only one.
    fn hangs_after_its_record(&self) {
        let is_record = |(_, label): &(u32, String)| label == "record: synced";
        let at = self.points.iter().position(is_record).unwrap();
        for _ in 0..5 {
            let mut run = self.fresh();
            run.args(["--set", "sampling.trial_timeout_s=8"]);
            self.log.crash(&mut run, at + 1, Whom::All);
            assert!(run.status().unwrap().success());
            self.place.whole(&self.results(), 0);
            self.check("a trial hung after its record", 0);
            if self.log.reached().get(at).is_some_and(is_record) {
                return;
            }
        }
        panic!("point {at} is never a record");
    }

    /// Whether nothing happens before the next point: between the point after a change of a setting or of the journal
    /// and the one before the next change. (`tare-noise`, where a crash takes a hundredth of the time, tests all.)
    fn is_as_the_next(&self, at: usize) -> bool {
        let [Some((pid, label)), Some((next_pid, next))] = [at - 1, at].map(|index| self.points.get(index)) else {
            return false;
        };
        let behind = ["setting: written", "journal: entries synced", "group: made", "group: removed"];
        let before = ["setting: before it is written", "journal: before entries", "group: before"];
        pid == next_pid && behind.contains(&label.as_str()) && before.iter().any(|begin| next.starts_with(begin))
    }

    /// Whether this point belongs to the settings of a trial in which another crash is tested. All trials change
    /// settings by the same code: one process dies in the first, all die in the last, which has a record before it.
    fn is_of_another_trial(&self, at: usize, whom: Whom) -> bool {
        let mut recorded = self.points.iter().filter(|(_, label)| label.starts_with("record")).map(|(pid, _)| *pid);
        let other = if whom == Whom::One { recorded.next_back() } else { recorded.next() };
        let of_settings = ["setting", "journal", "group"];
        self.points
            .get(at - 1)
            .is_some_and(|(pid, label)| Some(*pid) == other && of_settings.iter().any(|begin| label.starts_with(begin)))
    }

    /// Whether a kill here leaves what one at a later point leaves, since only a sync or a file without a name is
    /// between them, and this label was tested.
    fn is_tested_sync(&self, at: usize, counts: &Counts) -> bool {
        let label = self.points.get(at - 1).map(|(_, label)| label.as_str());
        label.is_some_and(|label| BEFORE_SYNCS.contains(&label) && counts.contains_key(label))
    }

    /// Whether only the run itself lives at this point, so that killing all processes is the same.
    fn is_of_the_run_alone(&self, at: usize) -> bool {
        self.points.get(at - 1).is_some_and(|(pid, _)| *pid == self.points[0].0)
    }

    /// Tests every point of a run whose number modulo `of` is `rest`.
    fn every(&self, whom: Whom, rest: usize, of: usize) -> Counts {
        let (mut counts, mut met, mut left) = (Counts::new(), 0, 0);
        for at in (1..).filter(|at| at % of == rest) {
            let is_the_same = self.is_as_the_next(at) || self.is_tested_sync(at, &counts);
            let met_by_all = whom == Whom::One && self.is_of_the_run_alone(at);
            if is_the_same || met_by_all || self.is_of_another_trial(at, whom) {
                continue;
            }
            let Some(crash) = self.crash_as_counted(at, whom) else { break };
            met += 1;
            let what = format!("point {at} of {whom:?}, {}", crash.label);
            let blamed = usize::from(!crash.is_run);
            if met % 2 == 0 {
                assert!(self.tare(&["restore"]).status().unwrap().success(), "{what}");
            } else {
                assert!(self.resumed().status().unwrap().success(), "{what}");
                self.place.whole(&self.results(), blamed);
            }
            self.check(&what, blamed);
            left += halves(&self.results()).len() + halves(&self.place.state).len();
            *counts.entry(crash.label).or_default() += 1;
        }
        self.place.whole(&self.results(), 0);
        println!("{left} halves of whole writes left");
        counts
    }
}

/// The process that was killed.
struct Crash {
    label: String,
    began_trials: bool,
    is_run: bool,
}

/// The state letter of proc_pid_stat(5).
fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn settings_and_records_survive_one_process_dying_at_every_crash_point() {
    let crashes = Crashes::new();
    crashes.hangs_after_its_record();
    let counts = crashes.every(Whom::One, 0, 1);
    check_counts("one process", &counts, &[]);
}

#[test]
fn settings_and_records_survive_all_processes_dying_at_every_other_crash_point() {
    let counts = Crashes::new().every(Whom::All, 0, 2);
    check_counts("every process, even points", &counts, &[]);
}

#[test]
fn settings_and_records_survive_all_processes_dying_at_the_remaining_crash_points() {
    let counts = Crashes::new().every(Whom::All, 1, 2);
    check_counts("every process, odd points", &counts, &[]);
}

#[test]
fn a_run_that_dies_at_any_point_of_preparing_its_data_leaves_nothing_that_the_next_one_uses() {
    let world = World::new();
    let study = world.study(
        "name = \"fresh\"\n[workload]\nrows = 20\n[sampling]\ntrials = 1\nwarmup_s = 0\nsample_s = 0.1\n\
         steal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n",
    );
    let log = Log::new(world.path("crash.log"));
    let run = || {
        let _ = std::fs::remove_dir_all(world.path("results"));
        let mut run = world.tare(&["run", &study, "--out", "results"]);
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run
    };
    let prepares = |label: &str| ["prepared data", "rename", "directory"].iter().any(|begin| label.starts_with(begin));
    let half = "prepared data: made, without a key";
    let (mut counts, mut half_made) = (Counts::new(), None);
    // First without any data, then with what a killed preparation left, which the next start removes.
    for _ in 0..2 {
        let begin = || {
            let _ = std::fs::remove_dir_all(world.path("cache"));
            let mut killed = run();
            if let Some(at) = half_made {
                log.crash(&mut killed, at, Whom::One);
                assert!(!killed.status().unwrap().success());
            }
            run()
        };
        let mut whole = begin();
        log.count(&mut whole);
        assert!(whole.status().unwrap().success());
        let points = log.reached();
        for (at, (_, label)) in (1..).zip(&points) {
            if !prepares(label) || counts.contains_key(label) {
                continue;
            }
            let mut killed = begin();
            log.crash(&mut killed, at, Whom::One);
            assert!(!killed.status().unwrap().success(), "{label}");
            assert_eq!(log.reached().get(at - 1).map(|(_, reached)| reached), Some(label));
            assert!(run().status().unwrap().success(), "after {label}");
            let partial = names(&world.path("cache")).into_iter().filter(|name| name.ends_with(".partial"));
            assert_eq!(partial.collect::<Vec<_>>(), Vec::<String>::new(), "after {label}");
            world.assert_clean();
            counts.insert(label.clone(), 1);
        }
        half_made = points.iter().position(|(_, label)| label == half).map(|index| index + 1);
    }
    check_counts("preparing data", &counts, &["rename: before it", half, "prepared data: removed"]);
}

#[test]
fn settings_are_restored_after_the_next_start_dies_at_every_crash_point() {
    let crashes = Crashes::new();
    let world = &crashes.place.world;
    // At this point the last trial has changed every setting except the one that it has just journalled.
    let full = crashes.points.iter().rposition(|(_, label)| label == "journal: entries synced").unwrap() + 1;
    crashes.crash_as_counted(full, Whom::All).unwrap();
    let kept = ["machine", "state", "results", "run", "cache"];
    let copy = |from: &str, to: &str| {
        for name in kept {
            let _ = std::fs::remove_dir_all(world.path(&format!("{to}{name}")));
            let copied = Command::new("cp")
                .arg("-a")
                .args([world.path(&format!("{from}{name}")), world.path(&format!("{to}{name}"))])
                .status();
            assert!(copied.unwrap().success());
        }
    };
    copy("", "kept-");
    for resumes in [false, true] {
        let mut counts = Counts::new();
        for at in 1.. {
            copy("kept-", "");
            let start = if resumes { crashes.resumed() } else { crashes.tare(&["restore"]) };
            let Some(crash) = crashes.crash(start, at, Whom::All) else { break };
            // From here on it is a run like any other.
            if crash.began_trials {
                break;
            }
            let what = format!("point {full} of the run, {at} of the next start, {}", crash.label);
            assert!(crashes.tare(&["restore"]).status().unwrap().success(), "{what}");
            crashes.check(&what, 0);
            *counts.entry(crash.label).or_default() += 1;
        }
        let what = if resumes { "a resume" } else { "tare restore" };
        check_counts(&format!("{what} that dies"), &counts, &["setting: before it is written", "setting: written"]);
    }
    assert!(crashes.resumed().status().unwrap().success());
    crashes.check("at last", 0);
    crashes.place.whole(&crashes.results(), 0);
}
