//! kill -9 of runs that change machine settings, of their trials and servers, and of everything: the next start must
//! find and restore the original settings, and every trial must run under its own settings.
//!
//! Moments are random; `crash_points` tests every point between two steps. `TARE_TEST_KILLS` is the number of kills;
//! with more than the default, trials that hang past their timeout are tested too.

use super::killed::{MORE, Place, settings_of, study};
use crate::noise_common::HARMLESS;
use crate::support::{Moments, World, send, words_of};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tare_noise::{HostLock, Journal, System, fake, recover};

const KILLS: u32 = 100;

/// Short trials, of which many may fail; a trial that hangs is given up soon.
const SAMPLING: &str = "trials = 4\nsample_s = 0.1\ntrial_timeout_s = 3";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// The run: its trial still restores settings.
    Run,
    /// The run and everything that it started: nothing restores settings.
    All,
    /// The trial: the run restores settings and goes on.
    Trial,
    /// The server: the trial fails and restores settings.
    Server,
    /// The trial is stopped by SIGSTOP, so that its timeout ends with a kill after the grace time.
    Hung,
}

/// A place where runs are killed, and the current run.
struct Kills {
    place: Place,
    /// The number of the current results directory; `run` works on it.
    number: u32,
    run: Option<Child>,
    /// Trials and servers that were killed: each may fail one attempt.
    blamed: usize,
}

impl Kills {
    fn new(place: Place) -> Self {
        Self { place, number: 0, run: None, blamed: 0 }
    }

    fn results(&self) -> PathBuf {
        self.place.world.path(&format!("results-{}", self.number))
    }

    /// Makes sure that a run is active: started, resumed, or a new one after the last has ended.
    fn at_work(&mut self) {
        if let Some(run) = &mut self.run {
            let Some(status) = run.try_wait().unwrap() else { return };
            assert!(status.success(), "{status}\n{:?}", crate::support::trials(&self.results()));
            self.place.whole(&self.results(), self.blamed);
            self.run = None;
            self.number += 1;
            self.blamed = 0;
        }
        let out = format!("results-{}", self.number);
        let planned = self.results().join("plan.json").is_file();
        let args =
            if planned { ["run", "--resume", &out] } else { ["run", &self.place.study, &format!("--out={out}")] };
        self.run = Some(self.place.tare(&args).stderr(Stdio::null()).spawn().unwrap());
    }

    /// The trial that measures, and its server, if they exist.
    fn trial_and_server(&self) -> (Option<u32>, Option<u32>) {
        let mut found = (None, None);
        for pid in self.place.world.processes() {
            let words = words_of(pid);
            match words.get(1).map(String::as_str) {
                Some("trial") if !words.windows(2).any(|two| two == ["--attempt", "0"]) => found.0 = Some(pid),
                Some("sqlite-server") => found.1 = Some(pid),
                _ => {}
            }
        }
        if found.0.is_some() { found } else { (None, None) }
    }

    /// Kills the target and returns whether anything was hit.
    fn kill(&mut self, whom: Whom) -> bool {
        match whom {
            Whom::Run | Whom::All => {
                if whom == Whom::All {
                    self.place.world.processes().into_iter().for_each(|pid| {
                        send(pid, Signal::KILL);
                    });
                }
                let mut run = self.run.take().unwrap();
                run.kill().unwrap();
                run.wait().unwrap();
                // On a busy machine a killed process takes time to die, and its data is left alone until then.
                let deadline = Instant::now() + Duration::from_secs(10);
                while whom == Whom::All && !self.place.world.processes().is_empty() && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(5));
                }
                if !self.results().join("plan.json").is_file() {
                    // Killed before there was a plan: an incomplete directory cannot be resumed.
                    let _ = std::fs::remove_dir_all(self.results());
                }
                Journal::pending(&self.place.state)
            }
            Whom::Trial | Whom::Server | Whom::Hung => {
                let (trial, server) = self.trial_and_server();
                let victim = if whom == Whom::Server { server } else { trial };
                let signal = if whom == Whom::Hung { Signal::STOP } else { Signal::KILL };
                let hit = victim.is_some_and(|pid| send(pid, signal));
                self.blamed += usize::from(hit);
                if hit && whom == Whom::Hung {
                    // Waits until the run has given the trial up.
                    let gone = || !Path::new(&format!("/proc/{}", victim.unwrap())).exists();
                    let deadline = Instant::now() + Duration::from_secs(90);
                    while !gone() {
                        assert!(Instant::now() < deadline, "a trial that hangs is waited for");
                        std::thread::sleep(Duration::from_millis(50));
                    }
                }
                hit
            }
        }
    }

    /// The next start after a kill of the run: `tare restore`, or a run.
    fn next_start(&self, kill: u32) {
        if kill.is_multiple_of(2) {
            self.place.succeeds(&["restore"]);
        } else {
            self.place.succeeds(&[
                "run",
                &self.place.study,
                "--set",
                "sampling.trials=1",
                "--out",
                &format!("next-{kill}"),
            ]);
            std::fs::remove_dir_all(self.place.world.path(&format!("next-{kill}"))).unwrap();
        }
        assert!(!Journal::pending(&self.place.state));
        self.place.world.assert_clean();
        self.place.records(&self.results(), self.blamed);
    }

    /// The longest time between two kills: several trials long, even on a busy machine, so that trials do end.
    fn longest_wait(&self) -> Duration {
        let began = Instant::now();
        self.place.succeeds(&["run", &self.place.study, "--set", "sampling.trials=1", "--out", "undisturbed"]);
        let took = began.elapsed();
        // The data is removed, so that preparations are killed too.
        std::fs::remove_dir_all(self.place.world.path("cache")).unwrap();
        took.max(Duration::from_millis(500))
    }

    /// Kills repeatedly; after every next start, `found` must return the same as before.
    fn again_and_again<T: PartialEq + std::fmt::Debug>(mut self, found: impl Fn() -> T) {
        let kills = std::env::var("TARE_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
        let before = found();
        let longest = self.longest_wait();
        let (mut moments, mut hits) = (Moments::new(), BTreeMap::<String, u32>::new());
        let mut kill = 0;
        while kill < kills {
            self.at_work();
            let wait = moments.below(longest);
            std::thread::sleep(wait);
            let whom = match kill % 8 {
                0 | 4 => Whom::Run,
                2 => Whom::All,
                // Each takes almost half a minute.
                7 if kills > KILLS && kill % 64 == 7 => Whom::Hung,
                1 | 5 | 7 => Whom::Trial,
                3 => Whom::Server,
                _ => Whom::All,
            };
            let hit = self.kill(whom);
            let goes_on = matches!(whom, Whom::Trial | Whom::Server | Whom::Hung);
            // Between two trials there is no process to kill.
            if goes_on && !hit {
                continue;
            }
            *hits.entry(format!("{whom:?}")).or_default() += u32::from(hit);
            if !goes_on {
                self.next_start(kill);
                assert_eq!(found(), before, "kill {kill} of {whom:?} after {wait:?}");
            }
            kill += 1;
        }
        while self.run.as_mut().is_some_and(|run| run.try_wait().unwrap().is_none()) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.at_work();
        self.kill(Whom::All);
        self.next_start(0);
        assert_eq!(found(), before);
        println!("{kills} kills, with something to put back or to go on with: {hits:?}");
        assert!(hits.values().sum::<u32>() >= kills / 3, "{hits:?}: this test proves little");
        assert!(hits.len() >= 4, "{hits:?}");
        self.place.world.directory.close().unwrap();
    }
}

#[test]
#[ignore = "minutes of random moments: make kills"]
fn settings_of_a_simulated_machine_are_restored_after_random_kills() {
    let world = World::new();
    let root = world.path("machine");
    fake::create(&root).unwrap();
    let state = world.path("state");
    let killed = Kills::new(Place::new(world, &[&HARMLESS[..], &MORE[..]].concat(), SAMPLING, root.clone(), state));
    killed.again_and_again(|| settings_of(&root));
}

#[test]
#[ignore = "minutes of random moments: make kills"]
fn settings_of_this_machine_are_restored_after_random_kills() {
    let system = System::real();
    // Root inside a container may lack the permission as well.
    let may = system.may_write("/proc/sys/vm/swappiness").is_ok();
    let present: Vec<_> = HARMLESS.into_iter().filter(|(setting, _)| setting.read(&system).is_ok()).collect();
    assert!(present.len() >= 4, "a kernel without {HARMLESS:?}?");
    let found = || -> Vec<_> { HARMLESS.iter().map(|(setting, _)| setting.read(&System::real()).ok()).collect() };
    let before = found();
    let world = World::new();
    let study = world.study(&study(&present, SAMPLING));
    if !may {
        let (_, err) = world.exits(3, &["run", &study, "--out", "results"]);
        assert!(err.contains("needs root"), "{err}");
        assert_eq!(found(), before);
        return;
    }
    // The journal is kept where the next run of this test finds it if this one is killed.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kills-real");
    std::fs::create_dir_all(&state).unwrap();
    let _machine = crate::noise_common::host_lock();
    recover(&system, &state, &HostLock::acquire(&state).unwrap()).unwrap();
    let before = found();
    let killed = Kills::new(Place::new(world, &present, SAMPLING, PathBuf::from("/"), state.clone()));
    killed.again_and_again(found);
    assert_eq!(found(), before);
    std::fs::remove_dir_all(state).unwrap();
}
