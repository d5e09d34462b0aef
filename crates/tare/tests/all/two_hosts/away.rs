//! A study that is started where its clients are and run where its servers are: placed and proved on both, results
//! brought here, and nothing left on either after kills.

use crate::support::{World, json, names, text, trials};
use crate::two_hosts::apart::Hosts;
use crate::two_hosts::delay::ADDRESSES;
use crate::two_hosts::far::{Sshd, may_log_in, no_way, program, wait_until};
use crate::two_hosts::kills::{is_far, lines_of, parent_of, random_moments, settings_of, started, undisturbed};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tare_noise::{Journal, fake};

/// How often where nobody says it.
const KILLS: u32 = 7;

/// A study whose servers are in the other world.
fn study(world: &World, ssh: &[String], there: &[(&str, PathBuf)], more: &str) -> String {
    world.study(&format!(
        "name = \"away\"\n[server]\nhost = \"127.0.0.1\"\nssh = {}\nprogram = {}\n\
         [client]\nserver_address = \"127.0.0.1\"\n[engine]\ntransport = \"tcp\"\n\
         [workload]\nname = \"point_select\"\nrows = 50\nthreads = 2\n{more}",
        serde_json::json!(ssh),
        serde_json::json!(program(world, there))
    ))
}

const PLACED: &str = "[placement]\nclient = \"pu:1\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
    [sampling]\ntrials = 2\nwarmup_s = 0.1\nsample_s = 0.5\nattempts = 1\n";

#[test]
fn a_study_is_run_where_its_servers_are_and_its_results_come_here() {
    let world = World::new();
    let study = study(&world, &no_way(), &[], PLACED);
    let (plan, _) = world.exits(0, &["run", &study, "--dry-run", "--json"]);
    let placement = &json(&plan)["conditions"][0]["placement"];
    assert_eq!(*placement, json(r#"{"client":[[1],[1]],"server":[[0],[0]]}"#), "{plan}");
    assert!(names(&world.path("far-state").join("served")).is_empty(), "a plan leaves nothing there");
    let (out, err) = world.exits(0, &["run", &study, "--out", "results"]);
    assert!(out.contains("tps") && err.contains("results: results"), "{out}\n{err}");
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 2, "{records:?}");
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        assert_eq!(record["client_host"]["asked"], here, "{record}");
        let threads = record["samples"][0]["threads"].as_array().unwrap();
        for (role, cpu) in [("client", "1"), ("server", "0")] {
            let of_role: Vec<_> = threads.iter().filter(|thread| thread["role"] == role).collect();
            assert_eq!(of_role.len(), 2, "{record}");
            assert!(of_role.iter().all(|thread| thread["allowed_cpus"] == cpu), "{record}");
        }
        let covariates = record["samples"][0]["covariates"].as_object().unwrap();
        for name in ["foreign_cpu_fraction", "client_host_foreign_cpu_fraction"] {
            assert!(covariates.contains_key(name), "{name}: {record}");
        }
    }
    // Servers had their data there, and what was kept there is here.
    assert!(!names(&world.path("far-cache")).is_empty() && names(&world.path("cache")).is_empty());
    assert!(names(&world.path("far-state").join("served")).is_empty(), "what was brought here is not kept there");
    let files = names(&world.path("results"));
    for name in ["study.toml", "plan.json", "environment.json", "report.html", "logs"] {
        assert!(files.contains(&name.to_owned()), "{name}: {files:?}");
    }
    assert!(!files.contains(&"server-host.json".to_owned()), "{files:?}");
    assert!(!names(&world.path("results").join("logs")).is_empty());
    world.exits(0, &["show", "results"]);
    world.assert_clean();
}

#[test]
fn what_ended_there_before_its_results_came_is_brought_here_by_resume() {
    let world = World::new();
    let ssh = no_way();
    let study = study(&world, &ssh, &[], PLACED);
    world.exits(0, &["run", &study, "--out", "results"]);
    // As it is when the connection is lost after the last trial: everything there, and here the place.
    let results = world.path("results");
    let there = world.path("far-state").join("served/ended/results");
    std::fs::remove_file(results.join("report.html")).unwrap();
    std::fs::create_dir_all(there.parent().unwrap()).unwrap();
    let status = Command::new("cp").arg("-a").args([&results, &there]).status().unwrap();
    assert!(status.success());
    std::fs::remove_file(results.join("trials.jsonl")).unwrap();
    let clients = [env!("CARGO_BIN_EXE_tare")];
    let place = serde_json::json!({
        "host": "127.0.0.1", "ssh": ssh, "program": program(&world, &[]), "clients": clients, "folder": "ended"
    });
    std::fs::write(results.join("server-host.json"), place.to_string()).unwrap();
    world.exits(0, &["run", "--resume", "results"]);
    assert_eq!(trials(&results).len(), 2);
    assert!(results.join("report.html").exists());
    assert!(!results.join("server-host.json").exists(), "nothing is left to go on with");
    assert!(names(&world.path("far-state").join("served")).is_empty());
    world.assert_clean();
}

#[test]
fn a_real_server_of_another_host_listens_where_ssh_came() {
    let Some(hosts) = Hosts::new(Duration::ZERO) else { return };
    let study = format!(
        "name = \"away\"\n[engine]\nname = \"mariadb\"\ntransport = \"tcp\"\n\
         [workload]\nname = \"point_select\"\nrows = 50\nthreads = 2\n{PLACED}"
    );
    let ended = hosts.run_away("away", &study).output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let records = trials(&hosts.world.path("away"));
    assert_eq!(records.len(), 2, "{records:?}");
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        // The other host has a name of its own, and the clients are on this one.
        assert_eq!(record["ran_on"]["host"], format!("far-{}", std::process::id()), "{record}");
        assert_ne!(record["client_host"]["host"], record["ran_on"]["host"], "{record}");
    }
    let study = std::fs::read_to_string(hosts.world.path("away").join("study.toml")).unwrap();
    assert!(study.contains(&format!("server_address = \"{}\"", ADDRESSES[1])), "{study}");
    hosts.assert_clean();
}

#[test]
fn what_cannot_be_run_on_another_host_is_said() {
    let world = World::new();
    let path = study(&world, &no_way(), &[], PLACED);
    for (code, set, words) in [
        (2, "client.host=elsewhere", "leave out client.host"),
        (3, "engine.transport=socket", "set engine.transport = \"tcp\""),
        (3, "placement.server=pu:4000", "pu:4000"),
        (3, "placement.client=pu:4000", "on "),
        (3, "server.program=/nonexistent/tare", "server.host 127.0.0.1 did not answer"),
        (3, "server.ssh=/nonexistent/ssh", "cannot be reached: /nonexistent/ssh"),
    ] {
        let (_, err) = world.exits(code, &["run", &path, "--set", set, "--out", "none"]);
        assert!(err.contains(words), "{set}: {err}");
        assert!(!world.path("none").exists(), "{set}");
        assert!(names(&world.path("far-state").join("served")).is_empty(), "{set}");
    }
    let (_, err) = world.exits(3, &["shard", &path, "--into", "1", "--out", "shards"]);
    assert!(err.contains("only tare run goes to server.host"), "{err}");
    world.assert_clean();
}

/// Whom a kill -9 hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// The program that holds the connection here.
    Ssh,
    /// sshd's process of this connection there.
    Session,
    /// Who runs the study there for this host.
    Agent,
    /// The run there.
    Run,
    /// Its trial.
    Trial,
    /// The clients' half, here.
    Clients,
    /// What the user started here.
    User,
}

const EACH: [Whom; 7] = [Whom::Ssh, Whom::Session, Whom::Agent, Whom::Run, Whom::Trial, Whom::Clients, Whom::User];

/// Both hosts, each with a folder that plays its machine.
struct Pair {
    world: World,
    sshd: Sshd,
    study: String,
}

impl Pair {
    fn new() -> Self {
        let world = World::new();
        for root in ["machine", "far-machine"] {
            fake::create(&world.path(root)).unwrap();
        }
        let sshd = Sshd::start(&world, "127.0.0.1", &[]);
        let more = "[machine]\nthp = \"never\"\nswappiness = 1\ngovernor = \"performance\"\n\
                    [sampling]\ntrials = 2\nwarmup_s = 0.1\nsample_s = 0.4\nattempts = 3\n";
        let study = study(&world, &sshd.ssh, &[("TARE_SYSTEM_ROOT", world.path("far-machine"))], more);
        Self { world, sshd, study }
    }

    /// Everything of this test but the server of ssh.
    fn all(&self) -> Vec<u32> {
        let sshd = self.sshd.child.id();
        let is_sshd = |pid: u32| pid == sshd || parent_of(pid) == Some(sshd);
        self.world.processes().into_iter().filter(|pid| !is_sshd(*pid)).collect()
    }

    fn victim(&self, whom: Whom, user: u32) -> Option<u32> {
        // Processes there do not all have this world on their command lines.
        let every = || names(Path::new("/proc")).into_iter().filter_map(|name| name.parse::<u32>().ok());
        let there = |word: &str| {
            every().find(|pid| is_far(&self.world, *pid) && lines_of(*pid).get(1).is_some_and(|w| w == word))
        };
        match whom {
            Whom::Ssh => every().find(|pid| {
                parent_of(*pid) == Some(user) && lines_of(*pid).iter().any(|word| word.ends_with("server-agent"))
            }),
            Whom::Session => there("server-agent").and_then(parent_of).filter(|pid| *pid > 1),
            Whom::Agent => there("server-agent"),
            Whom::Run => there("run"),
            Whom::Trial => there("trial"),
            Whom::Clients => every().find(|pid| {
                parent_of(*pid) == Some(user) && lines_of(*pid).get(1).is_some_and(|w| w == "client-agent")
            }),
            Whom::User => Some(user),
        }
    }
}

#[test]
#[ignore = "random moments: make kills"]
fn kills_of_a_study_that_is_run_elsewhere_leave_nothing_on_either_host() {
    if !may_log_in() {
        println!("not tried: this user may not log in");
        return;
    }
    let hosts = Pair::new();
    let world = &hosts.world;
    let found = || ["machine", "far-machine"].map(|root| settings_of(&world.path(root)));
    let before = found();
    let moments = random_moments(KILLS, undisturbed(world, &hosts.study));
    let kills = moments.len() as u32;
    let (mut hits, mut changed) = (BTreeMap::<Whom, u32>::new(), 0);
    let mut to_go_on = None;
    for (kill, wait) in moments {
        let out = format!("results-{kill}");
        let mut run = started(world, &hosts.study, &out);
        std::thread::sleep(wait);
        let whom = EACH[kill as usize % EACH.len()];
        let mut victim = hosts.victim(whom, run.id());
        // Between two of them there is none: then the next one, as soon as it is there.
        while victim.is_none() && run.try_wait().unwrap().is_none() {
            victim = hosts.victim(whom, run.id());
        }
        changed += u32::from(found() != before);
        if let Some(pid) = victim {
            let hit = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).is_ok();
            *hits.entry(whom).or_default() += u32::from(hit);
        }
        wait_until("the end of what was started", 120, || run.try_wait().unwrap().is_some());
        let what = format!("kill {kill} of {whom:?} after {wait:?}");
        let is_there = || names(Path::new("/proc")).iter().any(|name| name.parse().is_ok_and(|pid| is_far(world, pid)));
        wait_until(&format!("no process left, {what}"), 60, || hosts.all().is_empty() && !is_there());
        assert_eq!(found(), before, "{what}");
        for state in ["state", "far-state"] {
            assert!(!Journal::pending(&world.path(state)), "{state}, {what}");
        }
        if world.path(&out).join("server-host.json").exists() {
            to_go_on = Some(out);
        }
    }
    println!("{kills} kills, {changed} of them while settings were changed: {hits:?}");
    assert!(hits.len() >= EACH.len().min(kills as usize) - 2, "{hits:?}: this test proves little");
    assert!(changed > 0);
    let out = to_go_on.expect("some run was cut off in the middle");
    let resumed =
        world.tare(&["run", "--resume", &out]).env("TARE_SYSTEM_ROOT", world.path("machine")).output().unwrap();
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let ok: Vec<_> = trials(&world.path(&out)).into_iter().filter(|record| record["outcome"] == "ok").collect();
    assert_eq!(ok.len(), 2, "{ok:?}");
    assert!(!world.path(&out).join("server-host.json").exists());
}
