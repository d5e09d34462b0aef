//! Phrases for where the threads of a server spend time, and the sentence on what they sleep in most.

use crate::figures::{figure, times};
use tare_findings::captures::{CaptureSummary, Unnamed};
use tare_findings::summary::Summary;
use tare_findings::waits::{TimeSummary, WaitsSummary};
use tare_results::waits::{FutexOperation, TimeUse};
use tare_text::{ending, percent};

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
    Some(figure(part.per_transaction_ms? / 1000.0, "s"))
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
pub(super) fn sentence(summary: &Summary) -> Option<String> {
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
