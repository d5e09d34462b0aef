//! What threads wait for: phrases for where a server's threads spend time, for the threads that connection threads
//! sleep for, and for the cache lines that cores take from each other.

use crate::figures::{figure, times};
use tare_findings::captures::{CaptureSummary, Unnamed};
use tare_findings::lines::{LineSummary, LineUse, LinesSummary};
use tare_findings::summary::Summary;
use tare_findings::waits::{TimeSummary, WaitsSummary, WakesSummary};
use tare_results::cache_lines::Sharing;
use tare_results::unit::Unit;
use tare_results::waits::{Doing, FutexOperation, TimeUse};
use tare_text::{ending, list, percent};

/// Smallest share of the connections' time that is worth a sentence.
const LEAST: f64 = 0.05;
/// Maximum characters of a function in a row; the end of the name is kept.
const CALLER: usize = 40;

/// What the threads did, for a row of a table.
pub(crate) fn what(part: &TimeSummary) -> String {
    let words = of_time(part);
    let on = part.on.as_ref().map_or(String::new(), |on| format!(": {on}"));
    let caller = part.caller.as_ref().map_or(String::new(), |caller| format!(", called by {}", ending(caller, CALLER)));
    format!("{words}{on}{caller}")
}

fn of_time(part: &TimeSummary) -> String {
    let condition = part.operation == Some(FutexOperation::WaitBitset);
    match part.time {
        TimeUse::Ran => "ran".to_owned(),
        TimeUse::WaitedForCpu => "waited for a CPU".to_owned(),
        TimeUse::SharedFutex => {
            let kind = if condition { "a futex (condition or semaphore)" } else { "a futex" };
            format!("slept on {kind} that {} threads share", part.threads)
        }
        TimeUse::OwnFutex if condition => "slept on a futex (condition or semaphore) of its own".to_owned(),
        TimeUse::OwnFutex => "slept on a futex of its own".to_owned(),
        TimeUse::Client => "waited for the client".to_owned(),
        TimeUse::WakeUp => "waited for a signal of another process".to_owned(),
        TimeUse::Read => "read a file".to_owned(),
        TimeUse::Write => "wrote a file".to_owned(),
        TimeUse::Flush => "flushed a file (fsync)".to_owned(),
        TimeUse::SubmittedIo => "waited for submitted I/O".to_owned(),
        TimeUse::Semaphore => "slept on a System V semaphore".to_owned(),
        TimeUse::FileLock => "waited for a lock of a file".to_owned(),
        TimeUse::Pause => "paused (nanosleep)".to_owned(),
        TimeUse::PageFault => "slept in a page fault".to_owned(),
        TimeUse::Other => "slept in another call".to_owned(),
    }
}

/// `0.152 ms` per transaction, summed over all connections.
pub(crate) fn per_transaction(part: &TimeSummary) -> Option<String> {
    Some(figure(part.per_transaction_ms? / 1000.0, Unit::S))
}

/// The cost of the capture, and the figures to compare it with.
pub(crate) fn cost(capture: &CaptureSummary, waits: &WaitsSummary) -> String {
    let throughput = capture.tps_ratio.map_or(String::new(), |ratio| {
        format!("; throughput in that sample was {} of the measured one, with all captures", times(ratio))
    });
    let sampled = waits.connections.running_samples_fraction.filter(|_| waits.connections.exact);
    let sampled = sampled.map_or(String::new(), |share| {
        format!("; by the samples alone, connection threads ran or waited for a CPU {} of the time", percent(share))
    });
    let stacks = waits.stacks.as_ref().map_or(String::new(), |stacks| {
        format!("; of {} stacks read, {} are complete", stacks.read, percent(stacks.whole_fraction))
    });
    format!(
        "{:.0} observations per second took {} of one CPU{throughput}{sampled}{stacks}",
        waits.looks_per_s,
        percent(waits.looking_cpu_fraction)
    )
}

/// On the condition whose connection threads sleep most, other than for their clients.
pub(super) fn slept_in_most(summary: &Summary) -> Option<String> {
    let with = summary.captures.iter().filter_map(|capture| Some((capture, capture.waits.as_ref()?)));
    let (capture, waits) = with.max_by(|a, b| a.1.own_waits().total_cmp(&b.1.own_waits()))?;
    let largest = waits.connections.parts.iter().find(|part| part.time.is_wait())?;
    let asleep = waits.own_waits();
    if asleep < LEAST {
        return None;
    }
    let each = per_transaction(largest).map_or(String::new(), |time| format!(", {time} per transaction"));
    let share = |time: TimeUse| {
        let parts = waits.connections.parts.iter().filter(|part| part.time == time);
        percent(parts.map(|part| part.fraction).sum())
    };
    Some(format!(
        "In {}, threads that serve connections ran {} of the time, waited {} for a CPU and {} for their clients, and slept \
         {} for other reasons; the largest: {} ({}{each}).",
        capture.condition,
        share(TimeUse::Ran),
        share(TimeUse::WaitedForCpu),
        share(TimeUse::Client),
        percent(asleep),
        what(largest),
        percent(largest.fraction),
    ))
}

/// The profile with the largest share of functions without names, and the command that explains how to get them.
pub(super) fn unnamed(summary: &Summary) -> Option<String> {
    let with = summary.captures.iter().filter_map(|capture| Some((capture, capture.unnamed.as_ref()?)));
    let all = with.clone().count();
    let (capture, unnamed) = with.max_by(|a, b| a.1.fraction.total_cmp(&b.1.fraction))?;
    let more = if all > 1 { format!(" (the most of {all} conditions)") } else { String::new() };
    Some(unnamed_of(unnamed, &format!("the profile of {}{more}", capture.condition)))
}

/// The same for one profile, with its name.
pub(super) fn unnamed_of(unnamed: &Unnamed, profile: &str) -> String {
    if unnamed.kernel {
        let share = percent(unnamed.fraction);
        return format!(
            "{share} of {profile} are kernel functions without a name: ordinary users can read their addresses only \
             after `sudo sysctl kernel.kptr_restrict=0`"
        );
    }
    format!(
        "{} of {profile} are functions without a name, most of them of {}: `tare setup symbols` shows how to get the \
         names",
        percent(unnamed.fraction),
        unnamed.object
    )
}

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
pub(crate) fn waking_callers(chain: &str) -> String {
    let mut names: Vec<&str> = chain.rsplit(';').collect();
    names.dedup();
    names.truncate(CALLERS);
    names.join(" < ")
}

/// The share of time asleep, and which threads ended the sleeps.
pub(crate) fn woken(found: &WakesSummary) -> String {
    let by = found.woken_by.iter().take(3).map(|(who, share)| format!("{who} {}", percent(*share)));
    let by: Vec<String> = by.collect();
    let cut = if found.cut { "; only the beginning of the sample was read" } else { "" };
    format!("asleep and woken {} of the time, woken by: {}{cut}", percent(found.slept_fraction), by.join(", "))
}

/// How often any line was found in another core's cache.
pub(crate) fn shared_lines(found: &LinesSummary) -> String {
    let counts = found.counts;
    let cut = if found.cut { "; only the beginning of a sample was read" } else { "" };
    let share = percent(counts.found() as f64 / counts.loads.max(1) as f64);
    format!(
        "{} of {} sampled loads ({share}) found their line in another core's cache, {} of them on another node{cut}",
        counts.found(),
        counts.loads,
        counts.found_remote
    )
}

/// The first line in one sentence; `None` if no line was found in another cache.
pub(crate) fn first_line(found: &LinesSummary) -> Option<String> {
    let line = found.lines.first()?;
    let by = |what: &str, uses: &[LineUse]| {
        let first = uses.first()?;
        Some(format!("{what} by {} on node {}", first.function, first.node))
    };
    let parts = [by("written", &line.written_by), by("read", &line.read_by)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let who = if parts.is_empty() { String::new() } else { format!(" is {}", list(&parts)) };
    Some(format!(
        "Line {}{who}: {} of {} sampled loads found it in another core's cache; {}.",
        line.name,
        line.counts.found(),
        line.counts.loads,
        sharing(line)
    ))
}

pub(crate) fn sharing(line: &LineSummary) -> &'static str {
    match line.sharing {
        Sharing::SameWord => "threads share the same bytes of it",
        Sharing::OtherWords => "threads use different parts of it (false sharing)",
        Sharing::Unknown => "no write by another thread was sampled",
    }
}

/// The functions that use a line, with the byte of the line and the node.
pub(crate) fn uses_of_line(uses: &[LineUse]) -> String {
    let one = |use_: &LineUse| format!("{} (byte {}, node {})", use_.function, use_.offset, use_.node);
    uses.iter().map(one).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_of_the_kernel_need_a_permission_and_those_of_a_program_its_symbols() {
        let of = |object: &str, kernel| {
            unnamed_of(&Unnamed { object: object.to_owned(), kernel, fraction: 0.25 }, "the profile")
        };
        let kernel = of("kernel", true);
        assert!(kernel.contains("kernel.kptr_restrict=0") && !kernel.contains("tare setup symbols"), "{kernel}");
        let program = of("mariadbd", false);
        assert!(program.contains("most of them of mariadbd: `tare setup symbols`"), "{program}");
    }
}
