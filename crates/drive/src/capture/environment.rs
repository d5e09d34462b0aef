//! Description of the machine and its settings: only read, never changed. A missing file is not an error.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use tare_results::events;
use tare_results::schema::{Environment, SCHEMA};
use tare_topology::Machine;

/// Files whose content explains differences between machines and between days.
const SETTINGS: &[&str] = &[
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/cmdline",
    "/proc/loadavg",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/fs/cgroup/cpu.max",
];

/// Variables of the environment that change how servers, clients or this program work. Servers inherit some of them.
const VARIABLES: &[&str] =
    &["LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "MALLOC_CONF", "MALLOC_ARENA_MAX", "ASAN_OPTIONS"];

/// Describes this machine, and records the command line of this process, which repeats the run.
pub fn environment(machine: &Machine) -> Environment {
    // Invalid UTF-8 is replaced: the command is only displayed.
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let uname = rustix::system::uname();
    let mut settings = settings();
    settings.extend(facts(&uname.version().to_string_lossy()));
    settings.extend(variables(|name| std::env::var_os(name)));
    Environment {
        schema: SCHEMA,
        tare_version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        kernel: format!("{} {}", uname.release().to_string_lossy(), uname.version().to_string_lossy()),
        cpu_model: cpu_model(machine),
        hypervisor: hypervisor(),
        os: os_name(),
        settings,
        machine: machine.clone(),
    }
}

fn settings() -> BTreeMap<String, String> {
    SETTINGS
        .iter()
        .filter_map(|path| Some(((*path).to_owned(), fs::read_to_string(path).ok()?.trim().to_owned())))
        .collect()
}

/// Those that are set, by name.
fn variables(value: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = (String, String)> {
    VARIABLES.iter().filter_map(move |name| Some(((*name).to_owned(), value(name)?.to_string_lossy().into_owned())))
}

/// x86 kernels print `model name`; Arm kernels print numbers of core designs, which are mapped to names.
fn cpu_model(machine: &Machine) -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(k, _)| k.trim() == key)
            .map(|(_, v)| v.trim().to_owned())
    };
    value("model name")
        .or_else(|| machine.core_designs())
        .or_else(|| Some(format!("ARM implementer {} part {}", value("CPU implementer")?, value("CPU part")?)))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn hypervisor() -> Option<String> {
    let flagged = fs::read_to_string("/proc/cpuinfo").is_ok_and(|t| t.contains(" hypervisor"));
    let named = fs::read_to_string("/sys/hypervisor/type").ok().map(|t| t.trim().to_owned());
    let vendor = fs::read_to_string("/sys/class/dmi/id/sys_vendor").ok().map(|t| t.trim().to_owned());
    named.or_else(|| flagged.then(|| vendor.filter(|v| !v.is_empty()).unwrap_or_else(|| "virtual machine".into())))
}

fn os_name() -> String {
    fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
            Some(line.trim_matches('"').to_owned())
        })
        .unwrap_or_else(|| "Linux".into())
}

/// Files with one value each, in addition to the settings that a study can change.
const FILES: &[&str] = &[
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/nr_overcommit_hugepages",
    "/sys/kernel/realtime",
    "/sys/devices/system/cpu/cpu0/microcode/version",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/board_name",
    "/sys/class/dmi/id/bios_vendor",
    "/sys/class/dmi/id/bios_version",
    "/sys/class/dmi/id/bios_date",
    "/sys/firmware/devicetree/base/model",
];
/// Directories in which every file holds one value: CPU vulnerabilities, and the weights of NUMA nodes.
const FOLDERS: &[&str] = &["/sys/devices/system/cpu/vulnerabilities", "/sys/kernel/mm/mempolicy/weighted_interleave"];
/// One directory per huge page size.
const POOLS: &str = "/sys/kernel/mm/hugepages";

/// Event sources (PMUs) of the kernel, one directory each.
const EVENT_SOURCES: &str = "/sys/bus/event_source/devices";
/// Present where resctrl can monitor and partition caches and memory bandwidth.
const RESCTRL: &str = "/sys/fs/resctrl/info";

/// All facts that this kernel reports, by path, or by a name such as `preemption`. `version` is uname's.
fn facts(version: &str) -> BTreeMap<String, String> {
    facts_under(Path::new("/"), version)
}

fn facts_under(root: &Path, version: &str) -> BTreeMap<String, String> {
    let at = |path: &str| root.join(path.trim_start_matches('/'));
    let value = |path: &str| {
        let bytes = fs::read(at(path)).ok()?;
        // Strings of a device tree end with a zero byte.
        let text = String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned();
        (!text.is_empty()).then_some(text)
    };
    let names = |folder: &str| {
        let entries = fs::read_dir(at(folder)).into_iter().flatten().filter_map(Result::ok);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
    };
    let inside = FOLDERS.iter().flat_map(|folder| names(folder));
    let pools = names(POOLS).into_iter().map(|pool| format!("{pool}/nr_hugepages"));
    let paths = FILES.iter().map(|path| (*path).to_owned()).chain(inside).chain(pools);
    let mut facts: BTreeMap<String, String> = paths.filter_map(|path| Some((path.clone(), value(&path)?))).collect();
    // Where the kernel has no file for the microcode version, /proc/cpuinfo may state it.
    let microcode = "/sys/devices/system/cpu/cpu0/microcode/version";
    let reported = value("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("microcode"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    if let Some(reported) = reported.filter(|_| !facts.contains_key(microcode)) {
        facts.insert("microcode".to_owned(), reported);
    }
    let sources = fs::read_dir(at(EVENT_SOURCES)).into_iter().flatten().filter_map(Result::ok);
    let mut sources: Vec<String> = sources.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    sources.sort();
    if !sources.is_empty() {
        facts.insert(events::EVENT_SOURCES.to_owned(), sources.join(" "));
        let resctrl = if at(RESCTRL).exists() { events::MOUNTED } else { "not mounted" };
        facts.insert(events::RESCTRL.to_owned(), resctrl.to_owned());
    }
    let switch = value("/sys/kernel/debug/sched/preempt");
    let requested = value("/proc/cmdline").unwrap_or_default();
    facts.insert("preemption".to_owned(), preemption(version, switch.as_deref(), &requested));
    facts
}

/// The kernel's preemption mode: from its switch, which only root may read; otherwise from the build options, together
/// with `preempt=` of the kernel command line.
fn preemption(version: &str, switch: Option<&str>, cmdline: &str) -> String {
    let chosen = switch.and_then(|text| text.split_once('(')?.1.split_once(')')).map(|(word, _)| word.to_owned());
    if let Some(chosen) = chosen {
        return chosen;
    }
    let built = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"];
    let built = built.into_iter().find(|word| version.split_whitespace().any(|found| found == *word));
    let requested = cmdline.split_whitespace().find(|word| word.starts_with("preempt="));
    match (built, requested) {
        (Some(built), Some(requested)) => format!("{built}, {requested}"),
        (Some(built), None) => built.to_owned(),
        (None, _) => "none or voluntary".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preemption_mode_comes_from_the_switch_or_the_build_and_command_line() {
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.1";
        assert_eq!(preemption(dynamic, Some("none voluntary (full)"), ""), "full");
        assert_eq!(preemption(dynamic, None, "quiet preempt=voluntary"), "PREEMPT_DYNAMIC, preempt=voluntary");
        assert_eq!(preemption(dynamic, None, "quiet"), "PREEMPT_DYNAMIC");
        assert_eq!(preemption("#1 SMP PREEMPT_RT Debian", None, ""), "PREEMPT_RT");
        assert_eq!(preemption("#1 SMP Debian", None, "preempt=full"), "none or voluntary");
    }

    #[test]
    fn variables_that_change_how_programs_work_are_recorded() {
        let of = |name: &str| (name != "LD_PRELOAD").then(|| OsString::from(format!("of {name}")));
        let found: BTreeMap<String, String> = variables(of).collect();
        assert_eq!(found.len(), VARIABLES.len() - 1);
        assert_eq!(found.get("LD_LIBRARY_PATH").map(String::as_str), Some("of LD_LIBRARY_PATH"));
    }

    #[test]
    fn firmware_microcode_mitigations_and_huge_pages_are_recorded() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("sys/class/dmi/id/bios_version", "1.2\n"),
            ("sys/class/dmi/id/bios_date", " \n"),
            ("sys/firmware/devicetree/base/model", "Board X\0"),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
            ("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "12\n"),
            ("sys/kernel/mm/mempolicy/weighted_interleave/node0", "2\n"),
            ("sys/bus/event_source/devices/software/type", "1\n"),
            ("sys/bus/event_source/devices/cpu/type", "4\n"),
            ("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0x2b0\n"),
        ];
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = facts_under(root.path(), "#1 SMP PREEMPT");
        let of = |path: &str| found.get(path).map(String::as_str);
        assert_eq!(of("/sys/class/dmi/id/bios_version"), Some("1.2"));
        assert_eq!(of("/sys/class/dmi/id/bios_date"), None);
        assert_eq!(of("/sys/firmware/devicetree/base/model"), Some("Board X"));
        assert_eq!(of("/sys/devices/system/cpu/vulnerabilities/spectre_v2"), Some("Mitigation: Retpolines"));
        assert_eq!(of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), Some("12"));
        assert_eq!(of("/sys/kernel/mm/mempolicy/weighted_interleave/node0"), Some("2"));
        assert_eq!((of("event_sources"), of("resctrl")), (Some("cpu software"), Some("not mounted")));
        assert_eq!((of("microcode"), of("preemption")), (Some("0x2b0"), Some("PREEMPT")));
        assert_eq!(found.len(), 10);
    }
}
