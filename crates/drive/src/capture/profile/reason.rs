//! Why there is no profile, and the command that changes it.

use std::io;
use tare_engine::Unavailable;

const INSTALL: &str = "sudo apt-get install linux-perf (Debian), sudo apt-get install linux-tools-generic (Ubuntu)";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// perf could not be started.
pub(super) fn not_started(error: &io::Error) -> Unavailable {
    Unavailable(match error.kind() {
        io::ErrorKind::NotFound => format!("perf is not installed: {INSTALL}"),
        _ => format!("perf cannot be started: {error}"),
    })
}

pub(in super::super) fn refused(said: &str, why: &str) -> Unavailable {
    let lower = said.to_lowercase();
    if ["perf_event_paranoid", "permission", "not permitted", "access to performance"].iter().any(|w| lower.contains(w))
    {
        let now = std::fs::read_to_string(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
        return Unavailable(format!(
            "perf is not permitted: kernel.perf_event_paranoid is {now}; allow it with: \
             sudo sysctl kernel.perf_event_paranoid=1 (a container may need CAP_PERFMON as well)"
        ));
    }
    if lower.contains("not found for the running kernel") || lower.contains("linux-tools-") {
        return Unavailable(format!("perf is installed for another kernel only: {INSTALL}"));
    }
    if lower.contains("unknown option") || lower.contains("usage: perf record") {
        return Unavailable("perf is too old: 5.10 or newer knows --control".to_owned());
    }
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    Unavailable(format!("perf did not record, {why}: {}", lines.join(" ")))
}

pub(super) fn no_kernel() -> String {
    let now = std::fs::read_to_string(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
    format!(
        "the profile is without the kernel: kernel.perf_event_paranoid is {now}; allow it with: \
         sudo sysctl kernel.perf_event_paranoid=1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_what_changes_it() {
        let absent = not_started(&io::Error::from(io::ErrorKind::NotFound)).to_string();
        assert!(absent.contains("apt-get install linux-perf"), "{absent}");
        let paranoid = "Error:\nAccess to performance monitoring and observability operations is limited.\n\
                        Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open";
        let refused_words = refused(paranoid, "it ended at once").to_string();
        assert!(refused_words.contains("sysctl kernel.perf_event_paranoid=1"), "{refused_words}");
        let old = refused("Error: unknown option `control'\n\n Usage: perf record", "it ended at once").to_string();
        assert!(old.contains("5.10"), "{old}");
        let other = refused("WARNING: perf not found for the running kernel 6.1.0\n", "x").to_string();
        assert!(other.contains("another kernel"), "{other}");
        let rest = refused("\n  something else\n", "it ended at once").to_string();
        assert_eq!(rest, "perf did not record, it ended at once: something else");
    }
}
