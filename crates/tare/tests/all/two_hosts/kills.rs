//! kill -9 of the connection and of each side, while settings are changed and at random moments: no process and no
//! changed setting may be left on either host. `TARE_TEST_KILLS` is the number of random kills.

use crate::ends::killed::settings_of;
use crate::support::{Moments, World, parent_of, send, text, wait_until, with_variable, words_of};
use crate::two_hosts::far::{Sshd, may_log_in, program, section};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tare_noise::{Journal, fake};

/// Default number of random kills.
const KILLS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// The ssh process on this host.
    Ssh,
    /// sshd's process of this connection on the other host.
    Session,
    /// The clients' half, on the other host.
    Agent,
    /// The server's half, on this host.
    Trial,
    Run,
    Here,
}

const EACH: [Whom; 6] = [Whom::Ssh, Whom::Session, Whom::Agent, Whom::Trial, Whom::Run, Whom::Here];

/// Both hosts, each with a fake machine.
struct Hosts {
    world: World,
    sshd: Sshd,
    study: String,
}

/// Files of a fake machine.
type Settings = BTreeMap<PathBuf, String>;

/// Numbers of kills, each with a random moment in a run that takes `took`; `TARE_TEST_KILLS` sets how many.
fn random_moments(kills: u32, took: Duration) -> impl ExactSizeIterator<Item = (u32, Duration)> {
    let kills = std::env::var("TARE_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(kills);
    let mut moments = Moments::new();
    (0..kills).map(move |kill| (kill, took.mul_f64(0.1) + moments.below(took.mul_f64(0.85))))
}

/// Runs a study with the fake machine of this host.
fn started(world: &World, study: &str, out: &str) -> Child {
    let mut run = world.tare(&["run", study, "--out", out]);
    run.env("TARE_SYSTEM_ROOT", world.path("machine")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Duration of the run without a kill.
fn undisturbed(world: &World, study: &str) -> Duration {
    let start = Instant::now();
    assert!(started(world, study, "undisturbed").wait().unwrap().success());
    start.elapsed()
}

impl Hosts {
    fn new() -> Self {
        let world = World::new();
        for root in ["machine", "far-machine"] {
            fake::create(&world.path(root)).unwrap();
        }
        let sshd = Sshd::start(&world, "127.0.0.1", &[]);
        let program = program(&world, &[("TARE_SYSTEM_ROOT", world.path("far-machine"))]);
        let client = section("127.0.0.1", &sshd.ssh, &program, None);
        let study = world.study(&format!(
            "name = \"killed\"\n[engine]\ntransport = \"tcp\"\n[workload]\nname = \"point_select\"\nrows = 20\n\
             threads = 2\nrate = 200\n{client}[machine]\nthp = \"never\"\nswappiness = 1\ngovernor = \"performance\"\n\
             [sampling]\ntrials = 1\nwarmup_s = 0.1\nsample_s = 0.4\nattempts = 3\n"
        ));
        Self { world, sshd, study }
    }

    /// Processes of this test on the other host.
    fn there(&self) -> Vec<u32> {
        with_variable(&format!("TARE_STATE_DIR={}", self.world.path("far-state").display()))
    }

    /// Processes of this test on this host, without sshd.
    fn here(&self) -> Vec<u32> {
        let there = self.there();
        let sshd = self.sshd.child.0.id();
        let is_sshd = |pid: u32| pid == sshd || parent_of(pid) == Some(sshd);
        self.world.processes().into_iter().filter(|pid| !is_sshd(*pid) && !there.contains(pid)).collect()
    }

    fn agent(&self) -> Option<u32> {
        self.there().into_iter().find(|pid| words_of(*pid).iter().any(|word| word == "client-agent"))
    }

    fn victims(&self, whom: Whom, run: u32) -> Vec<u32> {
        let with = |word: &str| {
            let has = |pid: &u32| words_of(*pid).iter().any(|found| found.ends_with(word));
            self.here().into_iter().filter(has).collect::<Vec<_>>()
        };
        match whom {
            Whom::Ssh => with("client-agent"),
            Whom::Session => self.agent().and_then(parent_of).filter(|pid| *pid > 1).into_iter().collect(),
            Whom::Agent => self.agent().into_iter().collect(),
            Whom::Trial => with("trial"),
            Whom::Run => vec![run],
            Whom::Here => self.here(),
        }
    }

    /// Kills the victims and waits for the consequences: on neither host may a process or a changed setting be left.
    fn kill(&self, whom: Whom, victims: Vec<u32>, mut run: Child, before: &[Settings; 2], what: &str) -> u32 {
        let world = &self.world;
        let hits = victims.into_iter().map(|pid| u32::from(send(pid, Signal::KILL))).sum();
        wait_until("the run's end", 90, || run.try_wait().unwrap().is_some());
        if matches!(whom, Whom::Run | Whom::Here) {
            // No process is left on this host, so the next start restores the settings.
            wait_until("the trial's end", 60, || self.here().is_empty());
            let restored = world.tare(&["restore"]).env("TARE_SYSTEM_ROOT", world.path("machine")).output().unwrap();
            assert!(restored.status.success(), "{}", text(&restored.stderr));
        }
        wait_until(&format!("no process left, {what}"), 30, || self.here().is_empty() && self.there().is_empty());
        assert_eq!(self.found(), *before, "{what}");
        for state in ["state", "far-state"] {
            assert!(!Journal::pending(&world.path(state)), "{state}, {what}");
        }
        hits
    }

    fn found(&self) -> [Settings; 2] {
        ["machine", "far-machine"].map(|root| settings_of(&self.world.path(root)))
    }
}

#[test]
fn killing_any_process_while_settings_are_changed_leaves_nothing_on_either_host() {
    if !may_log_in() {
        println!("not tried: this user may not log in");
        return;
    }
    let hosts = Hosts::new();
    let before = hosts.found();
    for whom in EACH {
        let run = started(&hosts.world, &hosts.study, &format!("results-{whom:?}"));
        let mut victims = Vec::new();
        wait_until(&format!("settings changed on both, and {whom:?}"), 60, || {
            victims = hosts.victims(whom, run.id());
            let found = hosts.found();
            !victims.is_empty() && found[0] != before[0] && found[1] != before[1]
        });
        let hits = hosts.kill(whom, victims, run, &before, &format!("{whom:?}"));
        assert!(hits > 0, "{whom:?} ended by itself");
    }
}

#[test]
#[ignore = "random moments: make kills"]
fn random_kills_of_either_side_leave_nothing_on_either_host() {
    if !may_log_in() {
        println!("not tried: this user may not log in");
        return;
    }
    let hosts = Hosts::new();
    let world = &hosts.world;
    let before = hosts.found();
    let moments = random_moments(KILLS, undisturbed(world, &hosts.study));
    let kills = moments.len() as u32;
    let (mut hits, mut changed) = (BTreeMap::<Whom, u32>::new(), 0);
    for (kill, wait) in moments {
        let out = format!("results-{kill}");
        let mut run = started(world, &hosts.study, &out);
        std::thread::sleep(wait);
        let whom = EACH[kill as usize % EACH.len()];
        let mut victims = hosts.victims(whom, run.id());
        // Between two targets there is none: then the next one, as soon as it exists.
        while victims.is_empty() && run.try_wait().unwrap().is_none() {
            victims = hosts.victims(whom, run.id());
        }
        changed += u32::from(hosts.found() != before);
        let what = format!("kill {kill} of {whom:?} after {wait:?}");
        let hit = hosts.kill(whom, victims, run, &before, &what);
        *hits.entry(whom).or_default() += hit;
    }
    println!("{kills} kills, {changed} of them while settings were changed: {hits:?}");
    assert!(hits.len() >= EACH.len().min(kills as usize) - 2, "{hits:?}: this test proves little");
    assert!(changed > 0);
}
