//! Sentences on where the time of a transaction goes, and on the parts of a difference.

use super::compared::TWO_TRIALS;
use super::history::shortened;
use super::terms::run_of;
use super::waits;
use crate::figures::figure;
use std::collections::BTreeMap;
use tare_findings::compare::JoinedBy;
use tare_findings::differences::Difference;
use tare_findings::time::{BY_CALLER, ConditionTime, Counted, EventMean, EventSide, Extremes, Missing, Part};
use tare_findings::why::{Changes, NamedChange, PartChange, Times, Why};
use tare_results::cache_lines::NO_SAMPLING;
use tare_results::captures::{CALLERS, LOCKS, PROFILE, STATUS, WAITS, WAKES};
use tare_results::events::{EVENTS, Hardware};
use tare_results::unit::Unit;
use tare_stats::blocks::are_few;
use tare_text::{count, list, percent};

const DIVIDE: [&str; 7] = [WAITS, WAKES, CALLERS, LOCKS, STATUS, PROFILE, EVENTS];
/// Maximum parts named in the first sentence.
const NAMED: usize = 2;
/// Time counted in two parts is mentioned from this share on; smaller overlaps arise because the two sources are not
/// read at the same moment.
const TWICE: f64 = 0.005;
/// Maximum conditions named for such an overlap, and for disturbed trials.
const LABELLED: usize = 3;
/// A part below this share of the difference does not explain it.
const EXPLAINS: f64 = 0.05;
/// A part that changed the other way is mentioned from this share on, because the others explain more than the whole.
const OPPOSES: f64 = -0.25;

/// Maximum properties named in which two machines differ.
const APART: usize = 3;
/// A time below this is too short for any recording, in microseconds.
const SEEN_US: f64 = 0.01;

pub fn part(part: &Part) -> String {
    match part {
        Part::ClientUser => "client user time".to_owned(),
        Part::ClientSystem => "client kernel time".to_owned(),
        Part::ClientWaited => "clients waiting for CPU".to_owned(),
        Part::ServerUser => "server user time".to_owned(),
        Part::ServerSystem => "server kernel time".to_owned(),
        Part::ServerWaited => "server waiting for CPU".to_owned(),
        Part::OtherPrograms => "CPUs used by others".to_owned(),
        Part::Throttled => "stopped by a CPU quota".to_owned(),
        Part::Flush => "writing the log".to_owned(),
        Part::Io => "reading and writing files".to_owned(),
        Part::TemporaryFiles => "temporary files".to_owned(),
        Part::Pause => "pauses of the server".to_owned(),
        Part::StatementSleep => "sleep asked for by statements".to_owned(),
        Part::RowLock => "row-lock waiting".to_owned(),
        Part::Lock(name) | Part::Futex(name) => {
            format!("waiting for {}", without_a_name(name).unwrap_or_else(|| last_word(name).to_owned()))
        }
        Part::OtherLocks => "waiting for other locks".to_owned(),
        Part::Asleep => "unidentified sleep".to_owned(),
        Part::Way => "between client and server".to_owned(),
        Part::NotExplained => "not explained".to_owned(),
    }
}

/// The words for a lock without a name of its own: one that is known only by who takes it, and classes of locks, on
/// tables, users' numbers and others (`Lock/relation` of PostgreSQL, `sql/table_lock` of MariaDB and MySQL).
pub(super) fn without_a_name(name: &str) -> Option<String> {
    let by_caller = name.strip_suffix(BY_CALLER).map(|caller| format!("a lock in {caller}"));
    let class = || name.strip_prefix("Lock/").or_else(|| name.strip_prefix("sql/")?.strip_suffix("_lock"));
    by_caller.or_else(|| Some(format!("the {} lock", class()?)))
}

/// Names of instruments are paths whose last word is the lock.
pub(super) fn last_word(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// What A and B are when the fastest and the slowest condition were chosen.
pub fn extremes(chosen: &Extremes<'_>) -> String {
    let Extremes { fastest, slowest, of, alike, .. } = chosen;
    let clients = count(fastest.clients, "client");
    let with = match (alike, &fastest.load) {
        (true, Some(_)) => format!("the {of} conditions with this load and {clients}"),
        (true, None) => format!("the {of} conditions with {clients}"),
        (false, Some(_)) => format!("the {of} conditions with this load"),
        (false, None) => format!("{of} conditions"),
    };
    format!("A is {}, the fastest of {with}, B {}, the slowest.", fastest.name, slowest.name)
}

/// In place of [`next`] if there are no two conditions.
pub const ALONE: &str = "No next command: one condition has no difference that could be explained.";

/// The command that analyses the difference of these two conditions of `results`: a sentence and its command.
pub fn next(chosen: &Extremes<'_>, results: &str) -> [String; 2] {
    let side = |time: &ConditionTime| tare_text::quoted(&format!("{results}:{}", time.name));
    let command = format!("tare why {} {}", side(chosen.fastest), side(chosen.slowest));
    ["What makes up the difference between the fastest and the slowest condition:".to_owned(), command]
}

/// The answer: the whole difference, then what explains most of it, then the unexplained part.
pub fn why(found: &Why) -> String {
    let whole = found.own();
    let size = figure(whole.us.abs(), Unit::Us);
    let way = if whole.us < 0.0 { "less" } else { "longer" };
    let takes = match found.undisturbed {
        Some(_) => format!("B's transactions take {size} {way} without other programs"),
        None => format!("B takes {size} {way} per transaction"),
    };
    let Some(ci) = whole.ci else {
        return format!("{takes}; with a single trial on a side there is no interval.");
    };
    if !whole.shown {
        let [a, b] = found.own_us().map(|us| figure(us, Unit::Us));
        let rest = found.functions.shown.first().map_or(String::new(), but);
        // The table has the difference that is shown, with the time of the others.
        let (head, apart) = match found.undisturbed {
            Some(_) if found.difference.shown => {
                ("The CPU time of other programs hides whether A and B differ", " without them")
            }
            Some(_) => ("No difference is shown", " without other programs"),
            None => ("No difference is shown", ""),
        };
        return format!("{head}: A takes {a} per transaction{apart}, B {b}{rest}.");
    }
    let (low, high) = if whole.us < 0.0 { (-ci.high, -ci.low) } else { (ci.low, ci.high) };
    let head = format!("{takes} ({} to {})", figure(low, Unit::Us), figure(high, Unit::Us));
    let is_large = |share: f64| share >= EXPLAINS || share <= OPPOSES;
    let explains = |change: &&PartChange| change.shown && is_own(change) && is_large(share(change));
    let mut named: Vec<&PartChange> = found.parts.iter().filter(explains).collect();
    named.sort_by(|a, b| b.us.abs().total_cmp(&a.us.abs()));
    let any_explains = named.iter().any(|change| share(change) > 0.0);
    let words = |change: &PartChange| format!("{} {}", signed(share(change)), part(&change.part));
    let named: Vec<String> = named.into_iter().take(NAMED).map(words).collect();
    let rest = format!("; {} not explained", signed(share(&found.not_explained)));
    match any_explains {
        true => format!("{head}: {}{rest}.", named.join(", ")),
        false => format!("{head}: {}{rest}.", largest(found)),
    }
}

/// The largest part, which is not shown to differ.
fn largest(found: &Why) -> String {
    let own = found.parts.iter().filter(|change| is_own(change));
    let largest = own.max_by(|a, b| share(a).total_cmp(&share(b)));
    let largest = largest.filter(|change| share(change) >= EXPLAINS);
    largest.map_or("no part is shown to differ".to_owned(), |change| {
        format!("{} may be {} (not shown)", percent(share(change)), part(&change.part))
    })
}

fn is_own(change: &PartChange) -> bool {
    change.part != Part::OtherPrograms
}

/// The part's share of the difference between A and B themselves; other programs have none.
fn share(change: &PartChange) -> f64 {
    change.share.unwrap_or(0.0)
}

/// A function that is shown to differ although the whole is not.
fn but(function: &NamedChange) -> String {
    let way = if function.us < 0.0 { "less" } else { "longer" };
    format!("; but {} takes {} {way}", function.name, figure(function.us.abs(), Unit::Us))
}

/// A share that may be negative.
pub fn signed(share: f64) -> String {
    // Values that round to 0 have no sign.
    if share < -5e-5 { format!("-{}", percent(-share)) } else { percent(share.max(0.0)) }
}

/// An estimated time; a limit if it is too short to be recorded.
fn about(us: f64) -> String {
    if us < SEEN_US { format!("less than {SEEN_US} µs") } else { format!("about {}", figure(us, Unit::Us)) }
}

pub fn cautions(found: &Why) -> Vec<String> {
    let [a, b] = &found.sides;
    let lost = [("A", a), ("B", b)].into_iter().zip(found.lost).filter(|(_, lost)| *lost > 0);
    let lost: Vec<String> =
        lost.map(|((label, time), lost)| format!("{lost} of {} trials of {label}", lost + time.trials)).collect();
    let lost = (!lost.is_empty()).then(|| format!("no result: {}; tare show has the reasons", list(&lost)));
    let mut cautions: Vec<String> = lost.into_iter().chain(times_cautions(&[("A", a), ("B", b)], " of both")).collect();
    if a.trials.min(b.trials) > 1 && are_few([a.trials, b.trials]) {
        cautions.push(TWO_TRIALS.to_owned());
    }
    if found.undisturbed.is_some() {
        let us = |time: &ConditionTime| {
            let strangers = time.parts.iter().filter(|part| part.part == Part::OtherPrograms);
            about(strangers.map(|part| part.us).sum())
        };
        let own = found.own();
        let interval = own
            .ci
            .map_or_else(String::new, |ci| format!(" ({} to {})", figure(ci.low, Unit::Us), figure(ci.high, Unit::Us)));
        cautions.push(format!(
            "other programs used the CPUs for {} of A's time and {} of B's: suspects are compared with the difference \
             without that, {}{interval}",
            us(a),
            us(b),
            figure(own.us, Unit::Us)
        ));
    }
    cautions.extend(not_captured(&found.missing));
    cautions.extend(found.unnamed.as_ref().map(|unnamed| waits::unnamed_of(unnamed, "the profile")));
    if !found.one_run {
        cautions.push(format!(
            "A and B were not measured in one run: differences between sessions affect every part{}{}",
            apart(&found.made_apart),
            in_one_session(found)
        ));
    }
    cautions
}

/// How to measure two runs in one session; empty if they do not differ.
fn in_one_session(found: &Why) -> String {
    if found.joined_by == JoinedBy::Nothing {
        return String::new();
    }
    let both = found.again.as_ref().map_or_else(String::new, |again| format!(": {}", run_of(&again.arguments)));
    format!("; measure both in one session, block by block{both}, or in pairs, with tare ab")
}

/// The first few differences between two machines or servers.
fn apart(found: &[Difference]) -> String {
    let words = |one: &Difference| match one.a.contains('\n') || one.b.contains('\n') {
        true => one.what.to_string(),
        false => format!("{} ({} and {})", one.what, value(&one.a), value(&one.b)),
    };
    let named: Vec<String> = found.iter().take(APART).map(words).collect();
    let others = if found.len() > APART { "; tare compare lists all" } else { "" };
    if named.is_empty() { String::new() } else { format!(", here {}{others}", list(&named)) }
}

fn value(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { shortened(text) }
}

/// The same for conditions that are not compared.
pub fn cautions_of(found: &Times) -> Vec<String> {
    let labelled: Vec<_> = found.conditions.iter().map(|time| (time.name.as_str(), time)).collect();
    let missing = found.captures.iter().flat_map(|captured| captured.missing.clone()).collect();
    let lost = (!found.lost.is_empty()).then(|| {
        format!("no trial of {} has a result, so its time is not shown; tare show has the reasons", list(&found.lost))
    });
    lost.into_iter().chain(times_cautions(&labelled, "")).chain(not_captured(&missing)).collect()
}

/// Cautions about the times of conditions, each with its label; what is missing for all is said once. `of`: whose
/// unexplained part has what others lack.
fn times_cautions(times: &[(&str, &ConditionTime)], of: &str) -> Vec<String> {
    let lacks = |time: &ConditionTime| {
        list(&time.missing.iter().map(|missing| missing_words(*missing).to_owned()).collect::<Vec<_>>())
    };
    let message = |label: &str, of: &str, lacks: &str| {
        format!("{label}not recorded, and so part of what is not explained{of}: {lacks}")
    };
    let first = times.first().map(|(_, time)| lacks(time)).unwrap_or_default();
    let mut cautions = Vec::new();
    if times.iter().all(|(_, time)| lacks(time) == first) {
        cautions.extend((!first.is_empty()).then(|| message("", "", &first)));
    } else {
        let lacking = times.iter().filter(|(_, time)| !time.missing.is_empty());
        cautions.extend(lacking.map(|(label, time)| message(&format!("{label}: "), of, &lacks(time))));
    }
    cautions.extend(pooled(times));
    cautions.extend(disturbed(times));
    cautions.extend(overlaps(times));
    cautions
}

/// Servers whose threads do not each belong to a connection.
fn pooled(times: &[(&str, &ConditionTime)]) -> Option<String> {
    let pooled: Vec<_> = times.iter().filter(|(_, time)| time.thread_pool).collect();
    let labels: Vec<String> = pooled.iter().map(|(label, _)| (*label).to_owned()).collect();
    let has_parts = !pooled.iter().any(|(_, time)| time.missing.contains(&Missing::ServerThreads));
    let parts = match has_parts {
        true => "its parts are those of all its threads together, also of those that work in the background",
        false => "its threads have no parts",
    };
    (!pooled.is_empty()).then(|| {
        format!(
            "the server of {} has a pool of threads, of which none belongs to one connection: {parts}, and what they \
             sleep in is not known; with thread_handling=one-thread-per-connection it is",
            list(&labels)
        )
    })
}

/// Trials that count although disturbed; in total if there are many conditions.
fn disturbed(times: &[(&str, &ConditionTime)]) -> Option<String> {
    let worth: Vec<_> = times.iter().filter(|(_, time)| time.disturbed > 0).collect();
    let sum = |of: fn(&ConditionTime) -> usize| worth.iter().map(|(_, time)| of(time)).sum::<usize>();
    let each: Vec<String> = match worth.len() {
        0 => return None,
        1..=LABELLED => {
            worth.iter().map(|(label, time)| format!("{} of {} of {label}", time.disturbed, time.trials)).collect()
        }
        conditions => {
            vec![format!("{} of {} of {conditions} conditions", sum(|time| time.disturbed), sum(|time| time.trials))]
        }
    };
    Some(format!("trials that count although disturbed, as no attempt was clean: {}", list(&each)))
}

/// Captures that failed, with the reason, if they would have divided the time. [`hardware`] reports what the machine
/// does not support.
fn not_captured(missing: &BTreeMap<String, String>) -> Vec<String> {
    let divide = missing.iter().filter(|(name, _)| DIVIDE.contains(&name.as_str()));
    divide.map(|(name, reason)| format!("not captured: {name}: {reason}")).collect()
}

/// Time that is counted in two parts, one sentence per kind of overlap.
pub fn overlaps(times: &[(&str, &ConditionTime)]) -> Vec<String> {
    let message = |what: &str, us: fn(&ConditionTime) -> f64| {
        let worth = times.iter().filter(|(_, time)| us(time) > TWICE * time.us_per_transaction);
        let mut each: Vec<(f64, &str)> = worth.map(|(label, time)| (us(time), *label)).collect();
        let all = each.len();
        if all > LABELLED {
            each.sort_by(|a, b| b.0.total_cmp(&a.0));
            each.truncate(LABELLED);
        }
        let more = if all > each.len() { format!(", the largest of {all}") } else { String::new() };
        let each: Vec<String> =
            each.iter().map(|(us, label)| format!("{} of {label}", figure(*us, Unit::Us))).collect();
        (all > 0).then(|| format!("{what}: {}{more}", list(&each)))
    };
    let kinds = [
        message(
            "waits for a CPU that other parts already contain (the other side's work, or a wait for a lock or the log)",
            |time| time.overlap_us,
        ),
        message("CPU time of retries for a lock is counted in the wait for the lock, and in no other part", |time| {
            time.retries_us
        }),
        message("clients spin until the server answers; this CPU time is counted in no part", |time| {
            time.spun_us.unwrap_or(0.0)
        }),
        message("parts overlap: both sides worked at the same time, or spun while they waited for a lock", |time| {
            -time.not_explained.us
        }),
    ];
    kinds.into_iter().flatten().collect()
}

fn missing_words(missing: Missing) -> &'static str {
    match missing {
        Missing::WaitsForCpu => "waits for a CPU (capture.schedule)",
        Missing::ServerThreads => "the server's threads",
        Missing::RowLocks => "row-lock waits (capture.status)",
        Missing::Locks => "waits for locks inside the server (capture.locks)",
        Missing::Sleeps => "what the server's threads sleep in (capture.waits)",
    }
}

/// The differences that are not distinguishable: their number, and the largest that may have been missed; with `all`,
/// each with its smallest detectable difference.
pub fn not_distinguishable(found: &Why, all: bool) -> Option<String> {
    let missed = |name: String, smallest_us: Option<f64>, shown: bool| {
        smallest_us.filter(|us| !shown && *us >= SEEN_US).map(|us| (name, us))
    };
    let parts = || found.parts.iter().filter(|change| is_own(change)).chain([&found.not_explained]);
    let of_parts = || parts().filter_map(|change| missed(part(&change.part), change.smallest_us, change.shown));
    let whole = found.own();
    if all {
        let whole = missed("the whole".to_owned(), whole.smallest_us, whole.shown);
        let words = |(name, us): (String, f64)| format!("{name} ({})", figure(us, Unit::Us));
        let named: Vec<String> = whole.into_iter().chain(of_parts()).map(words).collect();
        let head = "Not distinguishable, with the smallest difference that would probably have been detected";
        return (!named.is_empty()).then(|| format!("{head}: {}.", list(&named)));
    }
    let (largest, us) = of_parts().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "Not distinguishable: {} of {}; up to {} may have been missed, most in {largest} (each: --all).",
        of_parts().count(),
        count(parts().count(), "part"),
        figure(us, Unit::Us)
    ))
}

/// The largest of those that are not distinguishable, with the smallest detectable difference.
pub fn not_shown(changes: &Changes, what: &str) -> Option<String> {
    let words = |change: &NamedChange| Some(format!("{} ({})", change.name, figure(change.smallest_us?, Unit::Us)));
    let named: Vec<String> = changes.not_shown.iter().filter_map(words).collect();
    (!named.is_empty()).then(|| format!("Not distinguishable among {what}, the largest, with the smallest difference that would probably have been detected: {}.", list(&named)))
}

/// Hardware events by which no part was divided, because they were not recorded, and why.
pub fn hardware(found: &Why) -> Option<String> {
    let Hardware { counters, accesses, resctrl } = found.hardware?;
    let uncounted = !found.events.iter().any(|change| change.event.what.is_of_hardware());
    let unsampled = found.lines.iter().all(Option::is_none);
    let asks = [
        (counters && uncounted, "Cycles and cache misses are counted with capture.events=on."),
        (accesses && unsampled, "Cache lines by reader and writer are sampled with capture.lines=on."),
    ];
    let missing = [
        (!counters, "cycles and cache misses (this machine has no hardware counters for the kernel)".to_owned()),
        (!accesses, format!("cache lines by reader and writer ({NO_SAMPLING})")),
        (!resctrl, "memory bandwidth and cache occupancy (resctrl is not mounted)".to_owned()),
    ];
    let missing: Vec<String> = missing.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
    let asks = asks.into_iter().filter(|(is, _)| *is).map(|(_, what)| what.to_owned());
    let not_here = (!missing.is_empty()).then(|| format!("Not available here: {}.", list(&missing)));
    let sentences: Vec<String> = asks.chain(not_here).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

pub fn side(side: EventSide) -> &'static str {
    match side {
        EventSide::Client => "client",
        EventSide::Server => "server",
    }
}

/// The name of an event in tables and sentences, which is perf's name.
pub fn counted(what: &Counted) -> &str {
    match what {
        Counted::InstructionsPerCycle => "instructions per cycle",
        Counted::PerTransaction(name) => name,
    }
}

/// The events counted on each side, one line per side.
pub fn events(means: &[EventMean]) -> Vec<String> {
    let of = |which: EventSide| {
        let counted: Vec<String> = means
            .iter()
            .filter(|mean| mean.event.side == which)
            .map(|mean| format!("{} {}", figure(mean.value, Unit::Plain), counted(&mean.event.what)))
            .collect();
        (!counted.is_empty()).then(|| format!("{} events per transaction: {}", side(which), counted.join(", ")))
    };
    [EventSide::Client, EventSide::Server].into_iter().filter_map(of).collect()
}

/// A call chain that sleeps, with its time in A and in B and the difference.
pub fn slept(change: &NamedChange) -> String {
    let [a, b] = [change.a_us, change.b_us].map(|us| figure(us, Unit::Us));
    let sign = if change.us < 0.0 { "-" } else { "+" };
    let ends = change.ci.map(|ci| format!(" ({} to {})", figure(ci.low, Unit::Us), figure(ci.high, Unit::Us)));
    let (us, ends) = (figure(change.us.abs(), Unit::Us), ends.unwrap_or_default());
    format!("{sign}{us}{ends}, A {a}, B {b}: {}", waits::waking_callers(&change.name))
}

/// The callers of a function, the nearest first.
pub fn callers(chain: &str) -> String {
    format!("from {}", chain.rsplit(';').collect::<Vec<_>>().join(" < "))
}
