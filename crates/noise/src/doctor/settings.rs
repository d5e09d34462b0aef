//! Findings about machine-wide settings.

use super::finding::{Finding, Severity};
use crate::setting::{Setting, frequency_policies};
use crate::system::System;

/// Findings about all settings that persist.
pub(crate) fn findings(system: &System) -> Vec<Finding> {
    let nodes = system.names("/sys/devices/system/node").iter().filter(|n| is_numbered(n, "node")).count();
    let mut all: Vec<Finding> = vec![
        setting(
            system,
            Setting::NumaBalancing,
            "off",
            if nodes > 1 { Severity::Warning } else { Severity::Note },
            "the kernel unmaps pages to see who uses them, and moves pages and threads between nodes during a run",
        ),
        thp(system),
        setting(
            system,
            Setting::Governor,
            "performance",
            Severity::Warning,
            "the frequency follows the load: short measurements run slower, and the same work takes different times",
        ),
        setting(
            system,
            Setting::Turbo,
            "off",
            Severity::Warning,
            "the frequency depends on how many cores work and on the temperature, so on what ran before",
        ),
        setting(
            system,
            Setting::Smt,
            "off",
            Severity::Note,
            "a thread shares its core's units and caches with whatever runs on the sibling; a placement on whole cores avoids it too",
        ),
        setting(
            system,
            Setting::CStates,
            "off",
            Severity::Note,
            "a CPU that wakes from a deep idle state takes up to some 100 us, so latency depends on the pauses between requests",
        ),
        aslr(system),
        frequency(system),
        clocksource(system),
    ];
    all.extend(virtualised(system));
    all
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|digits| digits.parse::<u32>().is_ok())
}

/// A finding about a setting that should have the level `wanted`.
fn setting(system: &System, setting: Setting, wanted: &str, severity: Severity, cost: &str) -> Finding {
    let name = setting.name();
    let level = setting.level(wanted).ok();
    let lacking = level.as_ref().and_then(|l| l.lacking(system));
    match (setting.read(system), lacking) {
        (Ok(found), _) if found == wanted => Finding::new(name, found, Severity::Good, ""),
        // It is available, or only a permission is missing: the advice says how to set it.
        (Ok(found), _) if level.as_ref().is_some_and(|l| l.is_here(system)) => {
            Finding::new(name, found, severity, cost)
                .command(level.and_then(|l| l.command(system)))
                .study(system, setting, wanted)
        }
        // Without idle states, the level that could be read is a request that has no effect.
        (Ok(_), Some(reason)) if setting == Setting::CStates => {
            Finding::new(name, reason.to_string(), Severity::Note, cost)
        }
        (Ok(found), Some(reason)) => Finding::new(name, format!("{found}; {reason}"), Severity::Note, cost),
        (_, Some(reason)) => {
            Finding::new(name, reason.to_string(), Severity::Note, "it can be neither set nor read here")
        }
        (Ok(found), None) => Finding::new(name, found, Severity::Note, cost),
        (Err(error), None) => Finding::new(name, error.to_string(), Severity::Note, "it cannot be read here"),
    }
}

fn thp(system: &System) -> Finding {
    let cost =
        "huge pages are made and split in the background and in page faults, at moments that differ from run to run";
    match Setting::Thp.read(system).as_deref() {
        // Only programs that request huge pages get them.
        Ok("madvise") => Finding::new("thp", "madvise", Severity::Good, ""),
        _ => setting(system, Setting::Thp, "never", Severity::Warning, cost),
    }
}

fn aslr(system: &System) -> Finding {
    let cost = "each server start gets another memory layout, which alone can move a run by several percent; \
                one fixed layout is one sample, so compare over many starts or over a fixed set of layouts";
    match Setting::AslrSystem.read(system) {
        // ASLR of the server's process can be set without privileges; the machine-wide setting stays unchanged.
        Ok(found) if found != "0" => {
            let finding = Finding::new("aslr", format!("randomize_va_space {found}"), Severity::Note, cost);
            Finding { study: Some("aslr = \"off\"".to_owned()), ..finding }
        }
        Ok(_) => Finding::new(
            "aslr",
            "off on the whole machine",
            Severity::Note,
            "steady, but only one layout, and less protection for every program",
        )
        .command(Some("sudo sysctl kernel.randomize_va_space=2".to_owned())),
        Err(error) => Finding::new("aslr", error.to_string(), Severity::Note, "it cannot be read here"),
    }
}

fn frequency(system: &System) -> Finding {
    let mut bounds: Vec<(u64, u64)> = Vec::new();
    for policy in frequency_policies(system) {
        let khz = |name: &str| system.read_optional(&format!("{policy}/{name}"))?.trim().parse::<u64>().ok();
        if let (Some(low), Some(high)) = (khz("scaling_min_freq"), khz("scaling_max_freq")) {
            bounds.push((low, high));
        }
    }
    let low = bounds.iter().map(|b| b.0).min();
    let high = bounds.iter().map(|b| b.1).max();
    match (low, high) {
        (Some(low), Some(high)) => {
            let value = format!("{:.2} to {:.2} GHz allowed", low as f64 / 1e6, high as f64 / 1e6);
            let wide = low < high;
            let severity = if wide { Severity::Note } else { Severity::Good };
            let command = format!("sudo cpupower frequency-set --min {high}kHz --max {high}kHz");
            Finding::new("frequency", value, severity, "the same work takes as much longer as the frequency is lower")
                .command(Some(command))
        }
        _ => Finding::new(
            "frequency",
            "not visible",
            Severity::Note,
            "the hypervisor or the firmware chooses it, and this machine does not show which runs it slowed down",
        ),
    }
}

fn clocksource(system: &System) -> Finding {
    let path = "/sys/devices/system/clocksource/clocksource0";
    let found = system.read_optional(&format!("{path}/current_clocksource")).unwrap_or_default().trim().to_owned();
    // These clocks are read without a system call.
    let fast = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];
    let available = system.read_optional(&format!("{path}/available_clocksource")).unwrap_or_default();
    let better = available.split_whitespace().find(|c| fast.contains(c));
    let bad = !found.is_empty() && !fast.contains(&found.as_str());
    let value = if found.is_empty() { "not visible".to_owned() } else { found };
    Finding::check("clocksource", value, bad, "every reading of the time is a system call or a slow device access")
        .command(better.map(|c| format!("echo {c} | sudo tee {path}/current_clocksource")))
}

fn virtualised(system: &System) -> Option<Finding> {
    let cpuinfo = system.read_optional("/proc/cpuinfo")?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    flags.split_whitespace().any(|flag| flag == "hypervisor").then(|| {
        Finding::new(
            "virtual_machine",
            "yes",
            Severity::Note,
            "other guests share the caches, memory and CPUs of the host; compare only what ran interleaved in one run",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn advice_on_a_fake_machine() {
        let dir = tempfile::tempdir().unwrap();
        fake::create(dir.path()).unwrap();
        let system = System::at(dir.path());
        let all = findings(&system);
        let of = |name: &str| all.iter().find(|f| f.name == name).unwrap();

        assert_eq!(of("numa_balancing").command.as_deref(), Some("sudo sysctl kernel.numa_balancing=0"));
        assert_eq!(of("numa_balancing").study.as_deref(), Some("numa_balancing = \"off\""));
        assert_eq!(of("numa_balancing").severity, Severity::Note, "one node only");
        assert_eq!((of("thp").severity, of("thp").command.as_ref()), (Severity::Good, None));
        assert_eq!(of("governor").value, "performance+powersave");
        assert_eq!(
            of("governor").command.as_deref(),
            Some("echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor")
        );
        assert_eq!(
            of("turbo").command.as_deref(),
            Some("echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo")
        );
        assert_eq!(of("c_states").study.as_deref(), Some("c_states = \"off\""));
        assert_eq!(of("frequency").value, "0.80 to 3.60 GHz allowed");
        assert_eq!(of("clocksource").severity, Severity::Good);
        assert!(all.iter().all(|f| (f.severity == Severity::Good) == f.cost.is_empty()), "{all:#?}");
    }

    #[test]
    fn a_machine_that_chooses_no_idle_states_has_no_level_of_them() {
        let dir = tempfile::tempdir().unwrap();
        fake::create(dir.path()).unwrap();
        let put = |path: &str, text: &str| fake::put(dir.path(), path, text).unwrap();
        put("sys/devices/system/cpu/cpuidle/current_driver", "none\n");
        let all = findings(&System::at(dir.path()));
        let found = &all.iter().find(|finding| finding.name == "c_states").unwrap().value;
        assert!(found.starts_with("this kernel chooses no idle states"), "{found}");
    }

    #[test]
    fn an_empty_machine_is_described_too() {
        let dir = tempfile::tempdir().unwrap();
        let all = findings(&System::at(dir.path()));
        assert!(all.iter().all(|f| !f.value.is_empty() && f.command.is_none()), "{all:#?}");
    }
}
