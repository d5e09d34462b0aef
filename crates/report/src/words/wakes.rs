//! Words for who keeps the threads that serve connections asleep.

use tare_findings::figures::percent;
use tare_findings::wakes::WakesSummary;
use tare_results::waits::Doing;

/// What a thread did while others waited for it.
pub(crate) fn doing(doing: Doing) -> &'static str {
    match doing {
        Doing::Ran => "ran",
        Doing::WaitedForCpu => "waited for a CPU",
        Doing::Asleep => "slept: for a time, for a device, or for who was not seen",
    }
}

/// Callers that a table names.
const CALLERS: usize = 6;

/// Who called what is slept in, the nearest first; what has no name once, however deep it is.
pub(crate) fn callers(chain: &str) -> String {
    let mut names: Vec<&str> = chain.rsplit(';').collect();
    names.dedup();
    names.truncate(CALLERS);
    names.join(" < ")
}

/// How much of the time it is, and who ended the sleeps.
pub(crate) fn about(found: &WakesSummary) -> String {
    let by = found.woken_by.iter().take(3).map(|(who, share)| format!("{who} {}", percent(*share)));
    let by: Vec<String> = by.collect();
    let cut = if found.cut { "; only the beginning of the sample was read" } else { "" };
    format!("asleep and woken {} of the time, woken by: {}{cut}", percent(found.slept_fraction), by.join(", "))
}
