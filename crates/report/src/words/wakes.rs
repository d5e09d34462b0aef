//! Phrases for the threads that connection threads sleep for.

use tare_findings::waits::WakesSummary;
use tare_results::waits::Doing;
use tare_text::percent;

pub(crate) fn doing(doing: Doing) -> &'static str {
    match doing {
        Doing::Ran => "ran",
        Doing::WaitedForCpu => "waited for a CPU",
        Doing::Asleep => "slept: for a time, for a device, or the waker was not seen",
    }
}

/// Maximum callers named in a table.
const CALLERS: usize = 6;

/// The callers of the function that sleeps, the nearest first; successive functions without a name count once.
pub(crate) fn callers(chain: &str) -> String {
    let mut names: Vec<&str> = chain.rsplit(';').collect();
    names.dedup();
    names.truncate(CALLERS);
    names.join(" < ")
}

/// The share of time asleep, and which threads ended the sleeps.
pub(crate) fn about(found: &WakesSummary) -> String {
    let by = found.woken_by.iter().take(3).map(|(who, share)| format!("{who} {}", percent(*share)));
    let by: Vec<String> = by.collect();
    let cut = if found.cut { "; only the beginning of the sample was read" } else { "" };
    format!("asleep and woken {} of the time, woken by: {}{cut}", percent(found.slept_fraction), by.join(", "))
}
