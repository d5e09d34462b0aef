//! Sentences on suspects: the name of each, its figure, and the experiment that would decide.

use super::comparison::factor;
use super::why::{last_word, lock, signed};
use tare_findings::time::BY_CALLER;
use tare_findings::why::{Cause, Expected, SUSPECTS_SHOWN, Suspect, Why};
use tare_text::{decimal, percent};

/// Smaller times would be printed as 0, because microseconds have one decimal.
const LEAST_US: f64 = 0.05;
/// Factor on the number of trials that is recommended when they were too few.
const TIMES_AS_MANY: u32 = 2;

pub(crate) fn suspect(suspect: &Suspect) -> String {
    match suspect {
        Suspect::RowLock => "row locks".to_owned(),
        Suspect::GlobalLock(name) if name.ends_with(BY_CALLER) => lock(name),
        Suspect::GlobalLock(name) => format!("the lock {}", last_word(name)),
        Suspect::PageLock(name) => format!("the page lock {}", last_word(name)),
        Suspect::IndexLock(name) => format!("the index lock {}", last_word(name)),
        Suspect::WakeUps => "wake-ups".to_owned(),
        Suspect::CpuShortage => "too few CPUs".to_owned(),
        Suspect::Network => "the connection between client and server".to_owned(),
        Suspect::Throttled => "the clients' CPU quota".to_owned(),
        Suspect::KernelTime => "kernel time".to_owned(),
        Suspect::ClientBound => "the clients' own work".to_owned(),
        Suspect::ServerWork => "the server's own work".to_owned(),
        Suspect::RemoteMemory => "memory on other nodes".to_owned(),
        Suspect::Allocator => "the memory allocator".to_owned(),
        Suspect::HugePages { fewer: true } => "fewer huge pages".to_owned(),
        Suspect::HugePages { fewer: false } => "more huge pages".to_owned(),
        Suspect::TlbMisses => "TLB misses".to_owned(),
        Suspect::NumaBalancing => "NUMA balancing".to_owned(),
        Suspect::PageFaults => "page faults".to_owned(),
        Suspect::Commit => "log writes".to_owned(),
        Suspect::Storage => "reads and writes of files".to_owned(),
        Suspect::Pauses => "pauses of the server".to_owned(),
        Suspect::Unnamed => "unidentified waits".to_owned(),
    }
}

/// The figures of a suspect: its time, and related counts.
pub(crate) fn evidence(cause: &Cause) -> String {
    let share = cause.share.map_or(String::new(), |share| format!(" ({} of the difference)", signed(share)));
    let counts = cause.counts.map_or(String::new(), |[a, b]| {
        let change = |decimals| format!("{} -> {}", decimal(a, decimals), decimal(b, decimals));
        match cause.suspect {
            Suspect::RemoteMemory => format!(", work on other nodes than its memory {} -> {}", percent(a), percent(b)),
            Suspect::HugePages { .. } => format!(", memory in huge pages {} -> {}", percent(a), percent(b)),
            Suspect::TlbMisses => format!(", TLB misses per 1,000 instructions {}", change(1)),
            Suspect::NumaBalancing => format!(", its page faults per transaction {}", change(3)),
            Suspect::PageFaults => format!(", page faults per transaction {}", change(3)),
            Suspect::WakeUps => format!(", voluntary switches per transaction {}", change(3)),
            Suspect::Storage => format!(", reads from storage per transaction {}", change(3)),
            _ => format!(", log writes per transaction {}", change(3)),
        }
    });
    let verdict = if cause.shown { "shown" } else { "not shown" };
    let sign = if cause.us < 0.0 { "-" } else { "+" };
    format!("{sign}{} µs{share}{counts}, {verdict}", decimal(cause.us.abs(), 1))
}

/// The command that would decide about a suspect.
pub(crate) fn command(cause: &Cause) -> String {
    let words: Vec<String> = cause.prove.arguments.iter().map(|word| tare_text::quoted(word)).collect();
    format!("tare run {}", words.join(" "))
}

/// The expected result of that command.
fn expected(cause: &Cause) -> &'static str {
    match (&cause.suspect, cause.prove.expected) {
        (Suspect::GlobalLock(_), Expected::Unchanged) => "if more tables help, it is not one lock of the whole server",
        (Suspect::RowLock | Suspect::PageLock(_) | Suspect::IndexLock(_), _)
            if cause.prove.changes.iter().any(|change| change.value.is_none()) =>
        {
            "with statements in FILE that touch other rows; if so, the slower of the two gets faster and the difference \
             shrinks"
        }
        (Suspect::Throttled, _) => {
            "with no CPU quota there, the slower of the two gets faster and the difference shrinks"
        }
        (_, Expected::Unchanged) => "if so, nothing changes",
        (_, Expected::OwnPart) => "if so, the slower of the two gets faster, and of its waits only this one falls",
        (_, Expected::Faster) => "if so, the slower of the two gets faster and the difference shrinks",
        (Suspect::Unnamed | Suspect::Pauses, Expected::Named) => "then tare why names the waits and the functions",
        (_, Expected::Named) => "then tare why names the functions that cause it",
    }
}

/// The experiment that would decide, with its minutes: about the largest suspect whose experiment changes a setting, or
/// about the whole difference if that is not shown. A sentence and its command.
pub fn decides(found: &Why) -> Option<[String; 2]> {
    let minutes = |cause: &Cause, times: u32| {
        let s = cause.prove.estimated_s.map(|s| s.saturating_mul(times));
        s.map_or(String::new(), |s| format!(", in about {} min", s.div_ceil(60).max(1)))
    };
    if !found.own().shown {
        let any = found.causes.first()?;
        let trials = found.sides.iter().map(|side| side.trials).max()?;
        let sentence =
            format!("To decide about a difference{}, run twice as many trials:", minutes(any, TIMES_AS_MANY));
        let study = tare_text::quoted(any.prove.arguments.first()?);
        let both = if found.one_run { None } else { factor(found.joined_by) };
        let both = both.map_or_else(String::new, |factor| format!(" --set {factor}=A,B"));
        return Some([sentence, format!("tare run {study}{both} --trials {}", trials * TIMES_AS_MANY as usize)]);
    }
    let first = found.causes.iter().find(|cause| !cause.prove.same && found.is_worth_a_trial(cause))?;
    let sentence = format!("To decide about {}{}; {}:", suspect(&first.suspect), minutes(first, 1), expected(first));
    Some([sentence, command(first)])
}

/// The suspects that are listed: the largest, without those that round to 0.
pub(crate) fn listed(found: &Why) -> impl Iterator<Item = &Cause> {
    found.causes.iter().filter(|cause| cause.us.abs() >= LEAST_US).take(SUSPECTS_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::super::why::part;
    use super::*;
    use tare_findings::time::Part;

    #[test]
    fn a_lock_has_its_own_name_or_that_of_the_function_that_takes_it() {
        for (name, waits, is) in [
            ("row_lock (caller)", "waiting for a lock in row_lock", "a lock in row_lock"),
            ("wait/synch/mutex/innodb/dict_sys_mutex", "waiting for dict_sys_mutex", "the lock dict_sys_mutex"),
        ] {
            assert_eq!(part(&Part::Futex(name.to_owned())), waits);
            assert_eq!(suspect(&Suspect::GlobalLock(name.to_owned())), is);
        }
    }
}
