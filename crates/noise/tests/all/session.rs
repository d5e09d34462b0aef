//! Tests of applying and restoring settings on a fake machine.

use crate::common::{Machine, kill, level};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tare_noise::{Availability, HostLock, Journal, NoiseError, Outcome, Session, Setting, System};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

/// For each setting that has something to restore: a level that differs from the fake machine's, a file, and the
/// content that the file must have then.
const CHANGES: [(Setting, &str, &str, &str); 14] = [
    (Setting::NumaBalancing, "off", "/proc/sys/kernel/numa_balancing", "0\n"),
    (Setting::NumaBalancing, "tiering", "/proc/sys/kernel/numa_balancing", "2\n"),
    (Setting::NumaDemotion, "on", "/sys/kernel/mm/numa/demotion_enabled", "true\n"),
    (Setting::Thp, "never", "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
    (
        Setting::ThpDefrag,
        "defer+madvise",
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "always defer [defer+madvise] madvise never\n",
    ),
    (Setting::Swappiness, "1", SWAPPINESS, "1\n"),
    (Setting::AslrSystem, "0", "/proc/sys/kernel/randomize_va_space", "0\n"),
    (Setting::PerfEventParanoid, "-1", "/proc/sys/kernel/perf_event_paranoid", "-1\n"),
    (Setting::IntelPstate, "passive", "/sys/devices/system/cpu/intel_pstate/status", "passive\n"),
    (Setting::Governor, "performance", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
    (Setting::Turbo, "off", "/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    (Setting::Smt, "off", "/sys/devices/system/cpu/smt/control", "off\n"),
    (Setting::IrqAffinity, "cpus:2-3", "/proc/irq/24/smp_affinity_list", "0-1\n"),
    (Setting::CpuShield, "cpus:2-3", "/sys/fs/cgroup/tare.shield/cpuset.cpus.partition", "root\n"),
];

#[test]
fn every_setting_is_applied_verified_and_restored() {
    for (setting, text, path, expected) in CHANGES {
        let machine = Machine::new();
        let before = machine.tree();
        let (mut session, report) = machine.begin();
        assert!(report.is_empty());
        let applied = session.apply(&level(setting, text)).unwrap();
        assert!(applied.written.iter().any(|p| p == path), "{setting}: {applied:?}");
        assert_eq!(machine.file(path), expected, "{setting}");
        level(setting, text).verify(&machine.system()).unwrap();
        assert_eq!(fs::metadata(machine.journal()).unwrap().permissions().mode() & 0o777, 0o600);
        drop(session);
        assert_eq!(machine.tree(), before, "{setting} after the session");
        assert!(!Journal::pending(&machine.state()));
    }
}

#[test]
fn all_settings_together_survive_a_kill() {
    let (machine, before, mut session) = Machine::begun();
    for (setting, text, ..) in CHANGES {
        session.apply(&level(setting, text)).unwrap();
    }
    kill(session, &machine);
    assert_ne!(machine.tree(), before);
    assert!(Journal::pending(&machine.state()));

    let (session, report) = machine.begin();
    assert_eq!(machine.tree(), before);
    assert_eq!(report.failed().count(), 0, "{report:?}");
    assert!(report.files.iter().filter(|f| f.outcome == Outcome::Restored).count() >= CHANGES.len());
    drop(session);
    assert!(machine.recover().unwrap().is_empty(), "restoring twice is restoring once");
}

#[test]
fn a_level_that_is_there_already_writes_nothing() {
    let machine = Machine::new();
    let (mut session, _) = machine.begin();
    for setting in Setting::ALL {
        let text = match setting {
            Setting::Governor => continue,  // its two domains differ
            Setting::Frequency => continue, // `800-3600` is no level
            Setting::IrqAffinity | Setting::CpuShield => "off".to_owned(),
            _ => setting.read(&machine.system()).unwrap(),
        };
        assert!(session.apply(&level(setting, &text)).unwrap().written.is_empty(), "{setting}");
    }
    assert!(!machine.state().exists(), "no journal, not even its folder");
}

#[test]
fn the_first_original_stays_the_original() {
    let (machine, before, mut session) = Machine::begun();
    for text in ["10", "20", "60", "20", "30"] {
        session.apply(&level(Setting::Swappiness, text)).unwrap();
        assert_eq!(machine.file(SWAPPINESS).trim(), text);
    }
    let journal = fs::read_to_string(machine.journal()).unwrap();
    let lines: Vec<_> = journal.lines().filter(|l| !l.is_empty()).collect();
    assert_eq!(lines.len(), 3, "one for each value of ours: {journal}");
    assert!(lines.iter().all(|l| l.contains(r#""original":"60\n""#)), "{journal}");
    kill(session, &machine);
    machine.recover().unwrap();
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_line_torn_by_a_full_disk_does_not_swallow_the_next() {
    let (machine, before, mut session) = Machine::begun();
    session.apply(&level(Setting::Swappiness, "10")).unwrap();
    let mut torn = fs::read(machine.journal()).unwrap();
    torn.extend(br#"{"v":1,"boot":"1111"#);
    fs::write(machine.journal(), torn).unwrap();
    session.apply(&level(Setting::AslrSystem, "0")).unwrap();
    kill(session, &machine);
    let report = machine.recover().unwrap();
    assert_eq!((report.torn_lines, report.files.len()), (1, 2), "{report:?}");
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_value_changed_by_someone_else_is_reported_and_left_alone() {
    let machine = Machine::new();
    let (mut session, _) = machine.begin();
    session.apply(&level(Setting::Swappiness, "10")).unwrap();
    session.apply(&level(Setting::Thp, "always")).unwrap();
    machine.put(SWAPPINESS, "33\n");

    let error = session.apply(&level(Setting::Swappiness, "20")).unwrap_err();
    assert!(matches!(error, NoiseError::ChangedMeanwhile { .. }), "{error}");
    assert_eq!(machine.file(SWAPPINESS), "33\n");

    let report = session.restore().unwrap();
    let changed: Vec<_> = report.changed_by_other().collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].path, SWAPPINESS);
    assert_eq!(changed[0].outcome, Outcome::ChangedByOther { found: "33".into(), original: "60".into() });
    assert_eq!(machine.file(SWAPPINESS), "33\n");
    assert_eq!(machine.file("/sys/kernel/mm/transparent_hugepage/enabled"), "always [madvise] never\n");
    assert!(session.restore().unwrap().is_empty(), "reported once");
}

#[test]
fn another_boot_drops_its_entries() {
    let machine = Machine::new();
    let (mut session, _) = machine.begin();
    session.apply(&level(Setting::Swappiness, "10")).unwrap();
    kill(session, &machine);
    // The new boot has its own default, and an administrator may have written the same value as we did.
    machine.put("/proc/sys/kernel/random/boot_id", "another\n");
    let report = machine.recover().unwrap();
    assert_eq!(report.files.iter().map(|f| &f.outcome).collect::<Vec<_>>(), [&Outcome::OtherBoot]);
    assert_eq!(machine.file(SWAPPINESS), "10\n");
    assert!(machine.recover().unwrap().is_empty());
}

#[test]
fn nothing_is_written_without_a_journal() {
    let machine = Machine::new();
    let before = machine.tree();
    let state = Path::new("/proc/version/state");
    let (mut session, _) = Session::begin(machine.system(), state, machine.lock()).unwrap();
    let error = session.apply(&level(Setting::Swappiness, "10")).unwrap_err();
    assert!(matches!(error, NoiseError::Files(_)), "{error}");
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_file_that_cannot_be_put_back_stays_in_the_journal() {
    let (machine, before, mut session) = Machine::begun();
    session.apply(&level(Setting::Swappiness, "10")).unwrap();
    session.apply(&level(Setting::AslrSystem, "0")).unwrap();
    // Writes use a temporary file of this name; a folder in its place makes them fail even for root.
    let obstacle = machine.system().path("/proc/sys/vm/swappiness.next");
    fs::create_dir(&obstacle).unwrap();
    let report = session.close().unwrap();
    assert_eq!(report.failed().map(|f| f.path.as_str()).collect::<Vec<_>>(), [SWAPPINESS]);
    assert!(matches!(session.apply(&level(Setting::Thp, "never")), Err(NoiseError::Closed)));
    drop(session);
    assert!(Journal::pending(&machine.state()));
    fs::remove_dir(obstacle).unwrap();
    machine.recover().unwrap();
    assert_eq!(machine.tree(), before);
}

#[test]
fn an_error_half_way_is_undone() {
    let machine = Machine::new();
    machine.put("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");
    let before = machine.tree();
    let obstacle = machine.system().path("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor.next");
    fs::create_dir(&obstacle).unwrap();
    let (mut session, _) = machine.begin();
    let error = session.apply(&level(Setting::Governor, "performance")).unwrap_err();
    assert!(matches!(error, NoiseError::Files(_) | NoiseError::Write { .. }), "{error}");
    assert_ne!(machine.tree(), before, "the first domain was written");
    drop(session);
    assert_eq!(machine.tree(), before);
}

#[test]
fn changes_that_the_kernel_makes_as_a_side_effect_are_restored() {
    let machine = Machine::new();
    machine.put("/sys/devices/system/cpu/cpu3/online", "0\n");
    let before = machine.tree();
    let (mut session, _) = machine.begin();
    session.apply(&level(Setting::Smt, "off")).unwrap();
    // As a kernel does: the siblings 1 and 3 go offline, and with "on" all come online.
    machine.put("/sys/devices/system/cpu/cpu1/online", "0\n");
    machine.put("/sys/devices/system/cpu/cpu3/online", "1\n");
    session.apply(&level(Setting::Smt, "on")).unwrap();
    session.apply(&level(Setting::Smt, "off")).unwrap();
    let journal = fs::read_to_string(machine.journal()).unwrap();
    assert_eq!(journal.matches("cpu3/online").count(), 1, "recorded once: {journal}");
    drop(session);
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_group_that_another_program_made_stays() {
    let machine = Machine::new();
    machine.put("/sys/fs/cgroup/tare.shield/cpuset.cpus", "3\n");
    let before = machine.tree();
    let (mut session, _) = machine.begin();
    let error = session.apply(&level(Setting::CpuShield, "cpus:2")).unwrap_err();
    assert!(matches!(error, NoiseError::Write { action: "create", .. }), "{error}");
    drop(session);
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_controller_that_is_handed_down_is_taken_back() {
    let (machine, before, mut session) = Machine::begun();
    let path = "/sys/fs/cgroup/cgroup.subtree_control";
    session.hand_down("memory", path).unwrap();
    assert!(!machine.state().exists(), "it was on already");
    session.hand_down("cpuset", path).unwrap();
    assert_eq!(machine.file(path), "cpu io memory pids cpuset\n");
    kill(session, &machine);
    machine.recover().unwrap().check().unwrap();
    assert_eq!(machine.tree(), before);
}

#[test]
fn interrupts_that_refuse_are_recorded() {
    let machine = Machine::new();
    let before = machine.tree();
    let obstacle = machine.system().path("/proc/irq/25/smp_affinity_list.next");
    fs::create_dir(&obstacle).unwrap();
    let (mut session, _) = machine.begin();
    let avoid = level(Setting::IrqAffinity, "cpus:2-3");
    let applied = session.apply(&avoid).unwrap();
    assert_eq!(applied.refused.iter().map(|(p, _)| p.as_str()).collect::<Vec<_>>(), ["/proc/irq/25/smp_affinity_list"]);
    assert_eq!(avoid.verify(&machine.system()).unwrap(), ["/proc/irq/25/smp_affinity_list"]);
    assert_eq!(machine.file("/proc/irq/26/smp_affinity_list"), "0\n", "was elsewhere already");
    session.apply(&level(Setting::IrqAffinity, "off")).unwrap();
    assert_eq!(machine.tree(), before);
}

#[test]
fn the_shield_takes_processes_and_leaves_nothing() {
    let (machine, before, mut session) = Machine::begun();
    assert!(session.enter_shield(1).is_err(), "no shield yet");
    let applied = session.apply(&level(Setting::CpuShield, "cpus:3")).unwrap();
    assert_eq!(applied.written[0], "/sys/fs/cgroup/cgroup.subtree_control", "without it, the group has no such files");
    assert_eq!(machine.file("/sys/fs/cgroup/cgroup.subtree_control"), "cpu io memory pids cpuset\n");
    session.enter_shield(4711).unwrap();
    assert_eq!(machine.file("/sys/fs/cgroup/tare.shield/cgroup.procs"), "4711\n");
    session.apply(&level(Setting::CpuShield, "cpus:2")).unwrap();
    assert_eq!(Setting::CpuShield.read(&machine.system()).unwrap(), "cpus:2");
    machine.put(
        "/sys/fs/cgroup/tare.shield/cpuset.cpus.partition",
        "root invalid (Cpu list in cpuset.cpus not exclusive)\n",
    );
    let error = level(Setting::CpuShield, "cpus:2").verify(&machine.system()).unwrap_err();
    assert!(error.to_string().contains("not exclusive"), "{error}");
    drop(session);
    let mut after = machine.tree();
    after.insert(machine.system().path("/sys/fs/cgroup/cgroup.procs"), String::new());
    assert_eq!(after, before);
}

#[test]
fn idle_states_are_held_and_pages_dropped() {
    let machine = Machine::new();
    let (mut session, _) = machine.begin();
    assert_eq!(Setting::CStates.read(&machine.system()).unwrap(), "on");
    session.apply(&level(Setting::CStates, "off")).unwrap();
    assert_eq!(Setting::CStates.read(&machine.system()).unwrap(), "off");
    session.apply(&level(Setting::PageCache, "drop")).unwrap();
    assert_eq!(machine.file("/proc/sys/vm/drop_caches"), "3\n");
    assert!(!machine.state().exists(), "nothing to restore, so no journal");
}

#[test]
fn the_deepest_idle_state_may_be_chosen() {
    let machine = Machine::new();
    let (mut session, _) = machine.begin();
    session.apply(&level(Setting::CStates, "C1")).unwrap();
    assert_eq!(fs::read(machine.system().path("/dev/cpu_dma_latency")).unwrap(), 2i32.to_ne_bytes());
    assert_eq!(Setting::CStates.read(&machine.system()).unwrap(), "C1");
    session.apply(&level(Setting::CStates, "C6")).unwrap();
    assert_eq!(Setting::CStates.read(&machine.system()).unwrap(), "C6");
    for (state, reason) in [("C9", "it has C1, C6, POLL"), ("POLL", "c_states = off")] {
        let error = session.apply(&level(Setting::CStates, state)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    // Another program requests a shorter latency: the level is no longer the requested one.
    fs::write(machine.system().path("/dev/cpu_dma_latency"), 1i32.to_ne_bytes()).unwrap();
    assert!(level(Setting::CStates, "C6").verify(&machine.system()).is_err());
}

#[test]
fn a_frequency_is_held_and_its_bounds_are_put_back() {
    let machine = Machine::new();
    let (low, high) = ("scaling_min_freq", "scaling_max_freq");
    let file = |policy: u32, name: &str| format!("/sys/devices/system/cpu/cpufreq/policy{policy}/{name}");
    machine.put(&file(2, high), "2000000\n");
    let before = machine.tree();
    for (text, read, khz) in [("2400", "2400", "2400000\n"), ("lowest", "800", "800000\n")] {
        let (mut session, _) = machine.begin();
        let applied = session.apply(&level(Setting::Frequency, text)).unwrap();
        for policy in [0, 2] {
            assert_eq!((machine.file(&file(policy, low)), machine.file(&file(policy, high))), (khz.into(), khz.into()));
        }
        assert_eq!(Setting::Frequency.read(&machine.system()).unwrap(), read);
        // A lower bound is never above the upper one, neither when setting nor when restoring.
        if text == "2400" {
            let of_2: Vec<&String> = applied.written.iter().filter(|path| path.contains("policy2")).collect();
            assert_eq!(of_2, [&file(2, high), &file(2, low)]);
            let of_0: Vec<&String> = applied.written.iter().filter(|path| path.contains("policy0")).collect();
            assert_eq!(of_0, [&file(0, low), &file(0, high)]);
        }
        let report = session.close().unwrap();
        assert_eq!(report.failed().count(), 0);
        assert_eq!(machine.tree(), before, "{text}");
    }
    let Availability::NotAvailable { reason } = level(Setting::Frequency, "5000").availability(&machine.system())
    else {
        panic!("there is no such frequency");
    };
    assert!(reason.contains("they have 800 to 3600"), "{reason}");
    // A driver with a table supports only the frequencies in it.
    for policy in [0, 2] {
        machine.put(&file(policy, "scaling_available_frequencies"), "3600000 2394000 800000\n");
    }
    let available = |text: &str| level(Setting::Frequency, text).availability(&machine.system());
    assert_eq!(available("2394"), Availability::Available);
    assert!(matches!(available("2400"), Availability::NotAvailable { .. }));
}

#[test]
fn a_setting_that_does_not_take_effect_is_an_error() {
    let machine = Machine::new();
    machine.remove("/dev/cpu_dma_latency");
    // Accepts every write and keeps nothing.
    std::os::unix::fs::symlink("/dev/null", machine.system().path("/dev/cpu_dma_latency")).unwrap();
    let (mut session, _) = machine.begin();
    assert!(session.apply(&level(Setting::CStates, "off")).is_err());
}

#[test]
fn a_setting_that_the_machine_lacks_is_reported_with_a_reason() {
    let machine = Machine::new();
    for path in [
        "/proc/sys/kernel/numa_balancing",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "/sys/devices/system/cpu/cpufreq/policy2/scaling_governor",
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
        "/sys/devices/system/cpu/intel_pstate/status",
        "/sys/fs/cgroup/cgroup.controllers",
    ] {
        machine.remove(path);
    }
    machine.put("/sys/devices/system/cpu/smt/control", "notsupported\n");
    machine.put("/sys/devices/system/cpu/cpuidle/current_driver", "none\n");
    let (mut session, _) = machine.begin();
    for (setting, text, reason) in [
        (Setting::NumaBalancing, "off", "this kernel has no automatic NUMA balancing"),
        (Setting::Governor, "performance", "no CPU frequency control"),
        (Setting::Turbo, "off", "no turbo switch"),
        (Setting::IntelPstate, "passive", "no intel_pstate driver"),
        (Setting::Smt, "on", "no SMT"),
        (Setting::CStates, "off", "chooses no idle states"),
        (Setting::CpuShield, "cpus:1", "cgroup v1"),
        (Setting::IrqAffinity, "cpus:0-3", "no online CPU would be left"),
    ] {
        let Availability::NotAvailable { reason: found } = level(setting, text).availability(&machine.system()) else {
            panic!("{setting} {text} should not be available");
        };
        assert!(found.contains(reason), "{setting}: {found}");
        let error = session.apply(&level(setting, text)).unwrap_err().to_string();
        assert!(error.contains(setting.name()) && error.contains(reason), "{error}");
    }
    assert_eq!(level(Setting::Smt, "off").availability(&machine.system()), Availability::Available);
    let machine = Machine::new();
    let Availability::NotAvailable { reason } = level(Setting::Governor, "ondemand").availability(&machine.system())
    else {
        panic!("ondemand is not offered");
    };
    assert!(reason.contains("performance, powersave"), "{reason}");
}

#[test]
fn a_journal_that_cannot_be_trusted_is_not_believed() {
    let line = |v: u32, path: &str| {
        format!(
            r#"{{"v":{v},"boot":"11111111-2222-3333-4444-555555555555","setting":"swappiness","undo":{{"file":{{"path":"{path}","format":"plain","original":"99\n","wrote":"60"}}}}}}"#
        ) + "\n"
    };
    let machine = Machine::new();
    fs::create_dir(machine.state()).unwrap();
    let write = |text: &str, mode: u32| {
        let _ = fs::remove_file(machine.journal());
        fs::write(machine.journal(), text).unwrap();
        fs::set_permissions(machine.journal(), fs::Permissions::from_mode(mode)).unwrap();
    };
    write(&line(1, SWAPPINESS), 0o622);
    assert!(matches!(machine.recover(), Err(NoiseError::Files(_))), "others may write it");
    write(&line(2, SWAPPINESS), 0o600);
    assert!(machine.recover().unwrap_err().to_string().contains("newer version"));
    for path in ["/etc/victim", "/sys/../etc/victim"] {
        machine.put("/etc/victim", "60\n");
        write(&line(1, path), 0o600);
        assert_eq!(machine.recover().unwrap().failed().count(), 1);
        assert_eq!(machine.file("/etc/victim"), "60\n");
    }
    assert_eq!(machine.file(SWAPPINESS), "60\n");
    // The same line in a file with the right permissions is used.
    write(&line(1, SWAPPINESS), 0o600);
    machine.recover().unwrap();
    assert_eq!(machine.file(SWAPPINESS), "99\n");
    fs::write(machine.dir.path().join("elsewhere"), line(1, SWAPPINESS)).unwrap();
    std::os::unix::fs::symlink(machine.dir.path().join("elsewhere"), machine.journal()).unwrap();
    assert!(matches!(machine.recover(), Err(NoiseError::Files(_))), "a link is not followed");
}

#[test]
fn an_unwritable_tree_changes_nothing() {
    // Below a file nothing can be read or written, even by root.
    let lock_dir = tempfile::tempdir().unwrap();
    let system = System::at("/proc/version");
    let (mut session, _) =
        Session::begin(system.clone(), lock_dir.path(), HostLock::acquire(lock_dir.path()).unwrap()).unwrap();
    for setting in [Setting::Swappiness, Setting::Thp, Setting::Smt] {
        let text = if setting == Setting::Swappiness {
            "1"
        } else if setting == Setting::Thp {
            "never"
        } else {
            "off"
        };
        assert!(matches!(session.apply(&level(setting, text)), Err(NoiseError::NotAvailable { .. })));
        assert!(setting.read(&system).is_err());
    }
}
