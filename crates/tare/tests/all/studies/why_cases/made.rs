//! Runs the program for a case, each run with a time limit.

use super::cases::{Case, Other};
use crate::support::{World, json};
use serde_json::Value;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of one run of a case in seconds, unless TARE_WHY_LIMIT_S is set.
const LIMIT_S: u64 = 600;
/// A library whose flushes take 5 ms longer.
const SHIM: &str = "#define _GNU_SOURCE\n#include <unistd.h>\n#include <sys/syscall.h>\n\
    int fdatasync(int fd) { usleep(5000); return syscall(SYS_fdatasync, fd); }\n\
    int fsync(int fd) { usleep(5000); return syscall(SYS_fsync, fd); }\n";
/// Trials of each condition.
const TRIALS: u32 = 8;
/// The directory of CPU control groups, version 1.
const CPU_GROUPS: &str = "/sys/fs/cgroup/cpu";

pub fn study(engine: &str, workload: &str, more: &str, trials: u32) -> String {
    let status = if engine == "sqlite" { "" } else { "status = \"on\"\n" };
    format!(
        "name = \"planted\"\n[engine]\nname = \"{engine}\"\n[workload]\n{workload}\n[capture]\nwaits = \"on\"\n\
         locks = \"on\"\n{status}[sampling]\ntrials = {trials}\nattempts = 1\nwarmup_s = 0.2\nsample_s = 0.6\n\
         foreign_cpu_limit = \"off\"\nsteal_limit = \"off\"\n{more}\n"
    )
}

/// The output of `tare why` for the case, or why there is none.
pub fn why(world: &World, case: &Case) -> Result<Value, String> {
    let mut text = study(case.engine, case.workload, case.more, TRIALS);
    match case.other {
        Other::NoLocks => text = text.replace("locks = \"on\"\n", ""),
        // Many periods of the quota in a sample, so that samples are alike.
        Other::Quota => text = text.replace("sample_s = 0.6", "sample_s = 2.4"),
        _ => {}
    }
    let sides = match case.other {
        Other::None | Other::NoLocks | Other::SlowFile => {
            if let Other::SlowFile = case.other {
                slow_file(world)?;
            }
            run(world, &text, "results", None)?;
            case.sides.map(|side| format!("results:{side}"))
        }
        Other::Quota => {
            run(world, &text, "a", None)?;
            let group = Group::of_half_a_cpu()?;
            run(world, &text, "b", Some(&group))?;
            ["a", "b"].map(str::to_owned)
        }
        Other::Statements(files) => {
            for (name, statements) in ["a", "b"].into_iter().zip(files) {
                std::fs::write(world.path("mix.toml"), statements).map_err(|e| e.to_string())?;
                run(world, &text, name, None)?;
            }
            ["a", "b"].map(str::to_owned)
        }
    };
    let out = output(world, &["why", &sides[0], &sides[1], "--json"], None)?;
    Ok(json(&out))
}

/// Runs a study with an output directory in the world, in a control group if one is given.
pub fn run(world: &World, study: &str, out: &str, group: Option<&Group>) -> Result<(), String> {
    let study = world.study(study);
    output(world, &["run", &study, "--out", out, "--yes"], group).map(drop)
}

/// The output of the program, which is ended at its time limit.
fn output(world: &World, args: &[&str], group: Option<&Group>) -> Result<String, String> {
    let file = |name: &str| File::create(world.path(name)).map_err(|e| e.to_string());
    let mut command = world.tare(args);
    command.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    if let Some(group) = group {
        // Its children are in the same group.
        std::fs::write(Path::new(&group.0).join("cgroup.procs"), child.id().to_string()).map_err(|e| e.to_string())?;
    }
    let limit_s = std::env::var("TARE_WHY_LIMIT_S").ok().and_then(|text| text.parse().ok()).unwrap_or(LIMIT_S);
    let deadline = Instant::now() + Duration::from_secs(limit_s);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        if Instant::now() > deadline {
            // Like Ctrl-C, so that its servers end with it.
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            let _ = child.wait();
            let so_far = std::fs::read_to_string(world.path("err")).unwrap_or_default();
            let last = so_far.lines().last().unwrap_or("nothing was said");
            return Err(format!("not done in {limit_s} s, the last line: {last} (TARE_WHY_LIMIT_S)"));
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap_or_default();
    if status.success() { Ok(read("out")) } else { Err(last_lines(&read("err"))) }
}

/// The last lines, which contain the error.
fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(4)..].join(" / ")
}

/// A control group whose processes have half a CPU together; removed on drop.
pub struct Group(String);

impl Group {
    fn of_half_a_cpu() -> Result<Self, String> {
        let folder = format!("{CPU_GROUPS}/tare-why-{}", std::process::id());
        let write = |name: &str, text: &str| std::fs::write(format!("{folder}/{name}"), text);
        std::fs::create_dir(&folder)
            .and_then(|()| write("cpu.cfs_period_us", "100000"))
            .and_then(|()| write("cpu.cfs_quota_us", "50000"))
            .map_err(|e| format!("no control group here: {folder}: {e}"))?;
        Ok(Self(folder))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// MariaDB's program in the world with slower flushes, in a tree with everything that it needs.
fn slow_file(world: &World) -> Result<(), String> {
    let write = |name: &str, text: &str| std::fs::write(world.path(name), text).map_err(|e| e.to_string());
    write("shim.c", SHIM)?;
    let (library, source) = (world.path("shim.so"), world.path("shim.c"));
    let made = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err("no C compiler here".to_owned());
    }
    for folder in ["slow/bin", "slow/sbin"] {
        std::fs::create_dir_all(world.path(folder)).map_err(|e| e.to_string())?;
    }
    for part in ["bin/mariadb-install-db", "bin/my_print_defaults", "bin/resolveip", "share", "lib"] {
        let from = Path::new("/usr").join(part);
        std::os::unix::fs::symlink(&from, world.path("slow").join(part)).map_err(|e| e.to_string())?;
    }
    let program = "/usr/sbin/mariadbd";
    write("slow/sbin/mariadbd", &format!("#!/bin/sh\nLD_PRELOAD={} exec {program} \"$@\"\n", library.display()))?;
    std::fs::set_permissions(world.path("slow/sbin/mariadbd"), Permissions::from_mode(0o755)).map_err(|e| e.to_string())
}
