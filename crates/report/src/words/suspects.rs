//! Sentences on suspects: locks and functions whose share grows, the name and the figure of each suspect, and the
//! experiment that decides.

use super::terms::{at, negative_scaling, run_of};
use super::why::{last_word, signed, without_a_name};
use crate::figures::{change, changes_of, times};
use tare_findings::captures::{GrowthRanking, Profiled};
use tare_findings::scaling::{Scaling, Step};
use tare_findings::summary::Summary;
use tare_findings::why::{
    Cause, Change, Expected, Experiment, Proof, ProofVerdict, SUSPECTS_SHOWN, Suspect, Trial, Why,
};
use tare_text::{count, decimal, list, percent};

/// Smaller times would be printed as 0, because microseconds have one decimal.
const LEAST_US: f64 = 0.05;
/// Factors on the number of trials that is recommended when they were too few: two trials are too few as well.
const TIMES_AS_MANY: u32 = 2;
const TIMES_A_SINGLE: u32 = 3;

pub(crate) fn suspect(suspect: &Suspect) -> String {
    match suspect {
        Suspect::RowLock => "row locks".to_owned(),
        Suspect::GlobalLock(name) => without_a_name(name).unwrap_or_else(|| format!("the lock {}", last_word(name))),
        Suspect::PageLock(name) => format!("the page lock {}", last_word(name)),
        Suspect::IndexLock(name) => format!("the index lock {}", last_word(name)),
        Suspect::TableLock(name) => format!("locks of tables ({})", last_word(name)),
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
        Suspect::TemporaryFiles => "temporary files".to_owned(),
        Suspect::Pauses => "pauses of the server".to_owned(),
        Suspect::StatementSleep => "sleep asked for by statements".to_owned(),
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

/// The command that would decide about a suspect; none without a study for it.
pub(crate) fn command(cause: &Cause) -> Option<String> {
    command_of(&cause.prove)
}

fn command_of(experiment: &Experiment) -> Option<String> {
    (!experiment.arguments.is_empty()).then(|| run_of(&experiment.arguments))
}

/// What the user has to put into a command; empty if nothing.
fn put_in(experiment: &Experiment) -> &'static str {
    match experiment.changes.iter().all(|change| change.value.is_some()) {
        true => "",
        false => ", with the name of another machine, which ssh reaches, for HOST",
    }
}

/// The expected result of that command.
fn expected(cause: &Cause) -> &'static str {
    let records = |capture: &str| {
        let key = |change: &Change| change.key.strip_prefix("capture.") == Some(capture);
        cause.prove.changes.iter().any(key)
    };
    match (&cause.suspect, cause.prove.expected) {
        (Suspect::GlobalLock(_), Expected::Unchanged) => "if more tables help, it is not one lock of the whole server",
        (Suspect::Throttled, _) => {
            "with no CPU quota there, the slower of the two gets faster and the difference shrinks"
        }
        (_, Expected::Unchanged) => "if so, nothing changes",
        (_, Expected::OwnPart) => "if so, the slower of the two gets faster, and of its waits only this one falls",
        (_, Expected::Faster) => "if so, the slower of the two gets faster and the difference shrinks",
        (Suspect::Unnamed | Suspect::Pauses, Expected::Named) if !records("waits") && records("wakes") => {
            "then tare why names the threads that end them"
        }
        (Suspect::Unnamed | Suspect::Pauses, Expected::Named) => "then tare why names the waits and the functions",
        (_, Expected::Named) => "then tare why names the functions that cause it",
    }
}

/// The end of an answer: what would decide, with the command for it, or why none is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    pub sentence: String,
    pub command: Option<String>,
}

/// The experiment that would decide, with its minutes: about the largest suspect whose experiment changes a setting;
/// about the whole difference if that is not shown. Without such a suspect, what would name one.
pub fn decides(found: &Why) -> NextStep {
    if !found.own().shown {
        return more_trials(found, "To decide about a difference");
    }
    let first = worth(found).filter(|cause| !cause.prove.same).find_map(|cause| Some((cause, command(cause)?)));
    if let Some((first, command)) = first {
        let (minutes, put_in) = (minutes(first.prove.estimated_s, 1), put_in(&first.prove));
        let sentence = format!("To decide about {}{minutes}{put_in}; {}:", suspect(&first.suspect), expected(first));
        return NextStep { sentence, command: Some(command) };
    }
    if let Some(command) = command_of(&found.captures).filter(|_| !found.captures.same) {
        let minutes = minutes(found.captures.estimated_s, 1);
        let sentence = format!("To name more of the difference, record what was not{minutes}:");
        return NextStep { sentence, command: Some(command) };
    }
    if !worth(found).any(|cause| cause.shown) {
        return more_trials(found, "No experiment is known. To show what differs");
    }
    let reason = match worth(found).all(|cause| cause.prove.changes.is_empty()) {
        true => "the statements themselves decide",
        false => "to compare A with B was the experiment itself, and everything that names waits was recorded",
    };
    NextStep { sentence: format!("No command is known that would decide more: {reason}."), command: None }
}

/// The suspects that explain enough for an experiment.
fn worth(found: &Why) -> impl Iterator<Item = &Cause> {
    found.causes.iter().filter(|cause| found.is_worth_a_trial(cause))
}

/// More trials of both conditions.
fn more_trials(found: &Why, to: &str) -> NextStep {
    let trials = found.sides.iter().map(|side| side.trials).max().unwrap_or(1);
    let (times, words) = if trials > 1 { (TIMES_AS_MANY, "twice") } else { (TIMES_A_SINGLE, "three times") };
    match &found.again {
        Some(again) => NextStep {
            sentence: format!("{to}{}, run {words} as many trials:", minutes(again.estimated_s, times)),
            command: Some(format!("{} --trials {}", run_of(&again.arguments), trials * times as usize)),
        },
        None => NextStep {
            sentence: format!(
                "No command is known that would decide. A study with both as conditions and {words} as many trials \
                 would."
            ),
            command: None,
        },
    }
}

/// `, in about 2 min`; empty without an estimate.
fn minutes(estimated_s: Option<u32>, times: u32) -> String {
    let s = estimated_s.map(|s| s.saturating_mul(times));
    s.map_or_else(String::new, |s| format!(", in about {} min", s.div_ceil(60).max(1)))
}

/// What [`decides`] says, in one line.
pub fn what_decides(found: &Why) -> String {
    let NextStep { sentence, command } = decides(found);
    match command {
        Some(command) => format!("{sentence} {command}"),
        None => sentence,
    }
}

/// The suspects that are listed: the largest, without those that round to 0.
pub(crate) fn listed(found: &Why) -> impl Iterator<Item = &Cause> {
    found.causes.iter().filter(|cause| cause.us.abs() >= LEAST_US).take(SUSPECTS_SHOWN)
}

/// Maximum sentences of one kind; the rest are counted.
const LISTED: usize = 3;

/// Retrograde steps of a metric, then the fastest growing lock and function.
pub(super) fn culprits(summary: &Summary, metric: &str) -> Vec<String> {
    let mut sentences: Vec<String> = retrograde(summary, metric).into_iter().collect();
    sentences.extend([Profiled::Locks, Profiled::Symbols].into_iter().filter_map(|what| growing(summary, what)));
    sentences
}

fn retrograde(summary: &Summary, metric: &str) -> Option<String> {
    let words = |law: &Scaling, step: &Step| {
        format!("{} -> {} {} gave {}{}", step.from, step.to, law.over, times(step.ratio), at(&law.levels))
    };
    let laws = summary.scaling.iter().filter(|law| law.metric == metric);
    let steps = laws.flat_map(|law| law.steps.iter().filter(|step| step.retrograde).map(move |step| words(law, step)));
    negative_scaling(steps.collect(), LISTED)
}

/// The first of the ranking for which growth is shown; `None` if no growth is shown.
fn growing(summary: &Summary, what: Profiled) -> Option<String> {
    let shown = |ranking: &&GrowthRanking| ranking.grown.first().is_some_and(|first| first.shown);
    let rankings = summary.growth.iter().filter(|ranking| ranking.what == what).filter(shown);
    // With several ladders, the one with the fastest growth.
    let growth = |ranking: &&GrowthRanking| ranking.grown.first().map_or(0.0, |first| first.per_doubling);
    let ranking = rankings.max_by(|a, b| growth(a).total_cmp(&growth(b)))?;
    let first = ranking.grown.first()?;
    let (among, of) = match what {
        Profiled::Locks => ("locks", "of the connections' time"),
        Profiled::Symbols | Profiled::Calls => ("functions", "of the server's samples"),
    };
    Some(format!(
        "{} grows fastest of all {among} over {}{}: from {} to {} {of}.",
        first.name,
        ranking.over,
        at(&ranking.levels),
        percent(first.first),
        percent(first.last)
    ))
}

/// The changed settings, in the notation of a study.
pub(crate) fn changes_of_trial(changes: &[Change]) -> String {
    let words = |change: &Change| format!("{}={}", change.key, change.shown());
    changes.iter().map(words).collect::<Vec<_>>().join(" ")
}

/// What an experiment will do, and which result confirms the suspect.
pub fn plan_of_trial(trial: &Trial) -> String {
    let effect = percent(trial.effect);
    let result = match trial.expected {
        Expected::Faster => format!("confirmed if the time per transaction falls by {effect} or more"),
        Expected::Unchanged => format!("ruled out if the time per transaction falls by {effect} or more"),
        Expected::OwnPart => {
            format!(
                "confirmed if the time per transaction and the suspect's own waits fall by {effect}, and no others do"
            )
        }
        Expected::Named => "confirmed if it names functions".to_owned(),
    };
    format!(
        "{}: {} with {}; the suspect is {result}",
        suspect(&trial.suspect),
        trial.condition,
        changes_of_trial(&trial.changes)
    )
}

pub(crate) fn outcome_of_proof(proof: &Proof) -> String {
    let name = suspect(&proof.trial.suspect);
    let verdict = match proof.verdict {
        ProofVerdict::Stands => format!("{name}: confirmed"),
        ProofVerdict::Refuted => format!("{name}: ruled out"),
        ProofVerdict::NotRefuted => format!("{name}: not ruled out"),
        ProofVerdict::Undecided => format!("{name}: undecided"),
    };
    if let Some(problem) = &proof.problem {
        return format!("{verdict}: the experiment could not be completed: {problem}");
    }
    let seen = match (proof.ratio, proof.ci) {
        (Some(ratio), Some(ci)) => format!(
            "the time per transaction changed by {} ({}) with {}",
            change(ratio - 1.0),
            changes_of(ci),
            changes_of_trial(&proof.trial.changes)
        ),
        _ => format!("too few pairs of trials completed with {}", changes_of_trial(&proof.trial.changes)),
    };
    let waits = proof.waits.map_or_else(String::new, |waits| {
        let change = |us: f64| change(us / waits.of_us);
        format!(", the suspect's own waits by {} of it, others by {}", change(waits.own_us), change(waits.others_us))
    });
    format!("{verdict}: {seen}{waits}; {}", count(proof.pairs, "pair"))
}

pub(crate) fn answer_of_proofs(proofs: &[Proof]) -> String {
    let of = |verdict: ProofVerdict| -> Vec<String> {
        proofs.iter().filter(|proof| proof.verdict == verdict).map(|proof| suspect(&proof.trial.suspect)).collect()
    };
    let (stand, out) = (of(ProofVerdict::Stands), of(ProofVerdict::Refuted));
    let possible = of(ProofVerdict::NotRefuted);
    match (stand.is_empty(), out.is_empty()) {
        (false, true) => format!("By experiment: {}.", list(&stand)),
        (false, false) => format!("By experiment: {}; not {}.", list(&stand), list(&out)),
        (true, false) => format!("By experiment it is not {}.", list(&out)),
        (true, true) if !possible.is_empty() => format!("By experiment: {} not ruled out.", list(&possible)),
        (true, true) => "No experiment was conclusive.".to_owned(),
    }
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
            ("Lock/advisory", "waiting for the advisory lock", "the advisory lock"),
            ("sql/user_lock", "waiting for the user lock", "the user lock"),
        ] {
            assert_eq!(part(&Part::Futex(name.to_owned())), waits);
            assert_eq!(suspect(&Suspect::GlobalLock(name.to_owned())), is);
        }
    }

    #[test]
    fn an_experiment_whose_result_has_other_reasons_too_confirms_nothing() {
        let trial = Trial {
            suspect: Suspect::GlobalLock("dict_sys".to_owned()),
            condition: "tables=1".to_owned(),
            changes: Vec::new(),
            expected: Expected::Unchanged,
            effect: 0.2,
        };
        assert!(
            plan_of_trial(&trial).ends_with("ruled out if the time per transaction falls by 20% or more"),
            "{}",
            plan_of_trial(&trial)
        );
        let proof = Proof { verdict: ProofVerdict::NotRefuted, problem: None, ..Proof::failed(trial, String::new()) };
        let said = outcome_of_proof(&proof);
        assert!(said.starts_with("the lock dict_sys: not ruled out: "), "{said}");
        assert_eq!(answer_of_proofs(&[proof]), "By experiment: the lock dict_sys not ruled out.");
    }
}
