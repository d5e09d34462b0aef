//! Shards under real schedulers: Slurm with two nodes on this machine, GNU parallel over ssh.

use crate::support::{World, json, names, parent_of, text, trials, wait_until, with_variable};
use crate::two_hosts::far::{Sshd, free_port, installed, may_log_in};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

/// Eighteen trials: six blocks of three conditions.
const STUDY: &str = r#"
name = "array"
[workload]
name = "read_only"
rows = 200
[sampling]
trials = 6
warmup_s = 0
sample_s = 0.2
foreign_cpu_limit = "off"
steal_limit = "off"
[factors]
point_selects = [5, 10, 15]
"#;

/// The slurmstepd that started a process and that would report its end.
fn step_of(pid: u32) -> Option<u32> {
    let parent = parent_of(pid)?;
    std::fs::read_to_string(format!("/proc/{parent}/comm")).ok()?.starts_with("slurmstepd").then_some(parent)
}

fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// A cluster of two nodes, both on this machine.
struct Cluster<'a> {
    world: &'a World,
    daemons: Vec<(&'static str, Child)>,
}

impl<'a> Cluster<'a> {
    fn start(world: &'a World) -> Self {
        let key = world.path("munge.key");
        let random: Vec<u8> = (0..1024).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        std::fs::write(&key, random).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o400)).unwrap();
        std::fs::set_permissions(world.directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["spool", "control"] {
            std::fs::create_dir(world.path(name)).unwrap();
        }
        std::fs::write(world.path("slurm.conf"), configuration(world)).unwrap();
        let mut cluster = Self { world, daemons: Vec::new() };
        let at = |option: &str, name: &str| format!("--{option}={}", world.path(name).display());
        let munge = [
            at("key-file", "munge.key"),
            at("socket", "munge.socket"),
            at("pid-file", "munge.pid"),
            at("log-file", "munge.log"),
            at("seed-file", "munge.seed"),
            "--foreground".into(),
            "--force".into(),
        ];
        cluster.daemon("munged", "munge", &munge);
        wait_until("munged answers", 20, || world.path("munge.socket").exists());
        cluster.daemon("slurmctld", "slurm-wlm", &["-D".into()]);
        for node in ["n1", "n2"] {
            cluster.daemon("slurmd", "slurm-wlm", &["-D".into(), "-N".into(), node.into()]);
        }
        wait_until("two idle nodes", 60, || cluster.slurm("sinfo", &["-h", "-t", "idle", "-o", "%D"]).trim() == "2");
        cluster
    }

    fn daemon(&mut self, name: &'static str, package: &str, args: &[String]) {
        let log = std::fs::File::create(self.world.path(&format!("{name}-{}.out", self.daemons.len()))).unwrap();
        let child = Command::new(installed(name, package))
            .args(args)
            .env("SLURM_CONF", self.world.path("slurm.conf"))
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.daemons.push((name, child));
    }

    /// The standard output of one of Slurm's commands.
    fn slurm(&self, command: &str, args: &[&str]) -> String {
        let mut command = Command::new(installed(command, "slurm-wlm"));
        let ended = command.args(args).env("SLURM_CONF", self.world.path("slurm.conf")).output().unwrap();
        text(&ended.stdout)
    }

    /// Simulates a power failure of a node: kills slurmd and everything that it started.
    fn node_dies(&mut self, node: &str, daemon: usize) {
        // Slurm's own processes first, so that none of them can report an end.
        kill(self.daemons[daemon].1.id());
        let started = with_variable(&format!("SLURMD_NODENAME={node}"));
        started.iter().filter_map(|pid| step_of(*pid)).for_each(kill);
        started.into_iter().for_each(kill);
        let _ = self.daemons[daemon].1.wait();
        // slurmctld would detect this by itself after SlurmdTimeout.
        self.slurm("scontrol", &["update", &format!("nodename={node}"), "state=down", "reason=died"]);
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        for (_, daemon) in self.daemons.iter_mut().rev() {
            kill(daemon.id());
            let _ = daemon.wait();
        }
        self.world.processes().into_iter().for_each(kill);
    }
}

fn configuration(world: &World) -> String {
    let host = tare_noise::host_name();
    let short = host.split('.').next().unwrap_or(&host);
    let user = Command::new("id").arg("-un").output().unwrap();
    let (user, top) = (text(&user.stdout), world.directory.path().display());
    let (control, first, second) = (free_port(), free_port(), free_port());
    format!(
        "ClusterName=tare\nSlurmctldHost={short}(127.0.0.1)\nSlurmUser={user}SlurmdUser={user}\
         AuthType=auth/munge\nAuthInfo=socket={top}/munge.socket\nSlurmctldPort={control}\n\
         CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
         StateSaveLocation={top}/control\nSlurmdSpoolDir={top}/spool/%n\nSlurmctldPidFile={top}/control.pid\n\
         SlurmdPidFile={top}/%n.pid\nSlurmctldLogFile={top}/control.log\nSlurmdLogFile={top}/%n.log\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
         SelectType=select/cons_tres\nSchedulerType=sched/backfill\nReturnToService=2\nSlurmdTimeout=30\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
         NodeName=n1 NodeHostname={short} NodeAddr=127.0.0.1 Port={first} CPUs=1 State=UNKNOWN\n\
         NodeName=n2 NodeHostname={short} NodeAddr=127.0.0.1 Port={second} CPUs=1 State=UNKNOWN\n\
         PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n"
    )
}

/// Every one of `all` trials has one good record in the merged results, with the planned condition.
fn assert_whole(world: &World, merged: &str, all: u64) {
    let plan = json(&std::fs::read_to_string(world.path("shards/plan.json")).unwrap());
    let good: Vec<_> = trials(&world.path(merged)).into_iter().filter(|record| record["outcome"] == "ok").collect();
    let numbers: BTreeSet<u64> = good.iter().map(|record| record["trial"].as_u64().unwrap()).collect();
    assert_eq!((good.len() as u64, numbers), (all, (0..all).collect()));
    for record in good {
        let planned = &plan["trials"][record["trial"].as_u64().unwrap() as usize];
        assert_eq!((&planned["condition"], &planned["block"]), (&record["condition"], &record["block"]));
    }
}

#[test]
fn a_slurm_array_survives_the_death_of_a_node() {
    let world = World::new();
    let study = world.study(STUDY);
    let mut cluster = Cluster::start(&world);
    let slurm = ["slurm", &study, "--nodes", "2", "--out", "shards", "--partition", "main", "--cpus-per-task", "1"];
    let submitted =
        world.tare(&[&slurm[..], &["--submit"]].concat()).env("SLURM_CONF", world.path("slurm.conf")).output().unwrap();
    assert!(submitted.status.success(), "{}", text(&submitted.stderr));
    assert!(text(&submitted.stdout).contains("Submitted batch job"), "{}", text(&submitted.stdout));

    let part = || names(&world.path("shards/shard-0000")).into_iter().find(|name| !name.starts_with('.'));
    let done = || part().map_or(0, |part| trials(&world.path("shards/shard-0000").join(part)).len());
    let logs = || -> String {
        let shards = names(&world.path("shards")).into_iter().filter(|name| name.starts_with("slurm-"));
        let files = shards.map(|name| format!("shards/{name}")).chain(["control.log".to_owned()]);
        files.map(|file| std::fs::read_to_string(world.path(&file)).unwrap_or_default()).collect()
    };
    wait_until("some trials of the first shard", 90, || done() >= 3);
    let node = cluster.slurm("squeue", &["-h", "-r", "-o", "%K %N"]);
    let node = node.lines().find_map(|line| line.strip_prefix("0 ")).unwrap_or("").trim().to_owned();
    assert!(["n1", "n2"].contains(&node.as_str()), "{node:?}");
    cluster.node_dies(&node, if node == "n1" { 2 } else { 3 });

    // Slurm itself queues the task again; the delay that it adds is skipped.
    let mut last = String::new();
    wait_until("the array's end", 120, || {
        last = cluster.slurm("squeue", &["-h", "-r", "-o", "%i %T %r"]);
        for waiting in last.lines().filter(|line| line.contains("BeginTime")) {
            let job = waiting.split(' ').next().unwrap_or("");
            cluster.slurm("scontrol", &["update", &format!("jobid={job}"), "StartTime=now"]);
        }
        last.trim().is_empty()
    });
    let (_, err) = world.exits(0, &["merge", "shards", "--out", "merged"]);
    assert!(!err.contains("no usable result"), "{err}\n{last}\n{}", logs());
    assert_whole(&world, "merged", 18);
    drop(cluster);
    world.assert_clean();
}

#[test]
fn gnu_parallel_runs_shards_over_ssh() {
    let world = World::new();
    let study = world.study(&STUDY.replace("trials = 6", "trials = 2"));
    world.exits(0, &["shard", &study, "--into", "2", "--out", "shards"]);
    let top = world.directory.path().display().to_string();
    let variables: String =
        ["TARE_STATE_DIR=state", "TARE_CACHE_DIR=cache", "TARE_LOCK_DIR=lock", "XDG_RUNTIME_DIR=run"]
            .iter()
            .map(|pair| pair.replace('=', &format!("={top}/")) + " ")
            .collect();
    let line = format!("env {variables} {} run --shard {top}/shards {{}}", env!("CARGO_BIN_EXE_tare"));
    let mut parallel = Command::new(installed("parallel", "parallel"));
    parallel.args(["--will-cite", "--jobs", "1"]).env("HOME", world.directory.path());
    // Without a login shell, the same jobs run without ssh.
    let sshd = may_log_in().then(|| Sshd::start(&world, "127.0.0.1", &[]));
    if let Some(sshd) = &sshd {
        parallel.args(["--ssh", &sshd.ssh.join(" "), "--sshlogin", "1/127.0.0.1"]);
    }
    let ended = parallel.args([&line, ":::", "0", "1"]).output().unwrap();
    drop(sshd);
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
    world.exits(0, &["merge", "shards", "--out", "merged"]);
    assert_whole(&world, "merged", 6);
}
