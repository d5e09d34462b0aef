//! Sentences on a comparison.

use super::find::shown_interval;
use super::terms::{first_that_fits, interval_of_change, phrase, run_of};
use super::trials;
use crate::figures::{Scale, change, changes_of};
use tare_findings::compare::{
    AgainstFirst, Change, Comparison, JoinedBy, Losses, Lost, ManyComparison, MetricComparison, Note, Sessions, Verdict,
};
use tare_findings::one_study::OneStudy;
use tare_findings::probes::Refusal;
use tare_results::server::LowOptimisation;
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_text::{count, list, small_percent};

/// Both sides are identical, by the SHA-1 of their server programs.
pub(crate) fn identical(programs: &[String]) -> String {
    let digits: Vec<&str> = programs.iter().map(|sha1| sha1.get(..12).unwrap_or(sha1)).collect();
    format!(
        "A and B are identical: the same server program (SHA-1 {}), settings and data. Differences below come from the \
         machine or from chance.",
        digits.join(", ")
    )
}

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The largest change of a judged metric, or that none is shown, in at most 25 words; `None` if no metric is judged.
pub fn comparison_sentence(found: &Comparison, min_effect: f64) -> Option<String> {
    if let Some(failing) = found.losses.iter().find(|lost| lost.b_fails_more) {
        return Some(fails_more(failing) + ".");
    }
    let judged = || found.metrics.iter().filter(|metric| metric.judged);
    let changed = judged().filter(|metric| matches!(metric.verdict, Verdict::Faster | Verdict::Slower));
    let first = judged().next()?;
    let by_size = |a: &&MetricComparison, b: &&MetricComparison| size(a).total_cmp(&size(b));
    // Of several metrics, an interval is beyond although its verdict, which holds for all of them together, is open.
    let is_open = |metric: &&MetricComparison| {
        metric.verdict == Verdict::Inconclusive && (metric.withheld || is_beyond(metric, min_effect))
    };
    let largest = changed.max_by(by_size).or_else(|| judged().filter(is_open).max_by(by_size));
    let of = largest.unwrap_or(first);
    let what = match of.verdict {
        Verdict::Inconclusive if is_open(&of) => "Undecided".to_owned(),
        Verdict::Faster | Verdict::Slower => format!("B is {} than A", word(of.verdict)),
        _ if judged().all(|metric| metric.verdict == Verdict::Equivalent) => {
            format!("A and B are equivalent within {}", small_percent(min_effect))
        }
        _ if judged().all(|metric| interval(metric).is_none()) => "Too few trials to compare A and B".to_owned(),
        // Smaller ones were not tested.
        _ if min_effect > 0.0 => format!("No difference above {} is shown", small_percent(min_effect)),
        _ => "No difference is shown".to_owned(),
    };
    let one_condition = judged().all(|metric| metric.condition == first.condition);
    let at = if one_condition || largest.is_none() { String::new() } else { format!(" at {}", of.condition) };
    let one = judged().count() == 1;
    let figures = if largest.is_some() || one { figures(of) } else { String::new() };
    let why = if is_open(&of) { undecided_because(of, judged().count()) } else { String::new() };
    let of_trials = |side: fn(&Losses) -> Lost| found.losses.iter().map(side);
    let lost: usize = of_trials(|lost| lost.a).chain(of_trials(|lost| lost.b)).map(|side| side.lost).sum();
    let without = if lost > 0 { format!("; {} gave no result", count(lost, "trial")) } else { String::new() };
    let short = format!("{what}{at}{why}{figures}{without}.");
    // Of several metrics without a change, the one that moved most.
    let most = judged().filter(|metric| !one && largest.is_none() && has_interval(metric)).max_by(by_size);
    let with_most =
        |at: String, most: &MetricComparison| format!("{what}; largest{at}{}{without}.", self::figures(most));
    let long = most.into_iter().flat_map(|most| {
        let at = if one_condition { String::new() } else { format!(" at {}", most.condition) };
        [with_most(at, most), with_most(String::new(), most)]
    });
    Some(first_that_fits(long.chain([short])))
}

/// Why there is no verdict on a change although its interval is beyond the minimum effect; `of` is the number of
/// comparisons for which all verdicts hold together.
fn undecided_because(metric: &MetricComparison, of: usize) -> String {
    match (metric.withheld, of) {
        (true, _) => ", because trials were disturbed".to_owned(),
        (false, 1) => String::new(),
        (false, of) => format!(", one of {of} comparisons"),
    }
}

/// The interval on which the verdict is based: of a ratio, or of a difference.
fn interval(metric: &MetricComparison) -> Option<Interval> {
    metric.decisive().map_or_else(|| metric.difference?.ci, |found| found.ci)
}

fn has_interval(metric: &MetricComparison) -> bool {
    interval(metric).is_some_and(|ci| metric.decisive().is_none() || shown_interval(Some(ci)).is_some())
}

/// The other trials of a side that fails more often are no sample of its trials.
fn fails_more(found: &Losses) -> String {
    let of = |side: Lost| format!("{} of {}", side.failed, side.trials);
    let (a, b) = (of(found.a), of(found.b));
    format!("{} fails more often than {}: {b} trials against {a}", found.side, found.first)
}

/// The same, with its condition and its test.
pub(crate) fn fails_more_by_test(found: &Losses) -> String {
    let p = if found.p_value < 0.001 { "below 0.001".to_owned() } else { format!("{:.3}", found.p_value) };
    format!("{} ({}; Fisher's exact test, p {p})", fails_more(found), found.condition)
}

/// Whether the interval of a change is wholly beyond the minimum effect: without a verdict, other reasons prevent it.
pub(super) fn is_beyond(metric: &MetricComparison, min_effect: f64) -> bool {
    // A difference is taken relative to the magnitude of A.
    let relative = |end: f64| match metric.decisive() {
        Some(_) => end,
        None => 1.0 + end / metric.mean_a.abs(),
    };
    let beyond = |ci: Interval| relative(ci.low) > 1.0 + min_effect || relative(ci.high) < 1.0 / (1.0 + min_effect);
    interval(metric).is_some_and(beyond)
}

/// The size of a change, for sorting: the logarithm of the ratio, or of 1 plus the difference relative to A's
/// magnitude.
pub(crate) fn size(metric: &MetricComparison) -> f64 {
    let relative = || metric.difference.map_or(0.0, |found| (found.value / metric.mean_a).abs().ln_1p());
    metric.decisive().map_or_else(relative, |found| found.value.ln().abs())
}

/// The change on which the verdict is based, with its interval: ": throughput -2.9% (95% interval -3.2% to -2.6%)".
pub(super) fn figures(metric: &MetricComparison) -> String {
    let Some(found) = metric.decisive() else {
        return metric.difference.map_or(String::new(), |found| by(metric, &found));
    };
    let interval = shown_interval(found.ci).map_or("no interval".to_owned(), interval_of_change);
    format!(": {} {}{} ({interval})", phrase(&metric.name), change(found.value - 1.0), adjusted_by(metric))
}

/// ": score +1.2 (95% interval +1.0 to +1.4)".
fn by(metric: &MetricComparison, found: &Change) -> String {
    let (value, interval) = difference(found, metric.unit);
    let interval = interval.map_or("no interval".to_owned(), |ends| format!("95% interval {ends}"));
    format!(": {} {value} ({interval})", phrase(&metric.name))
}

/// The probe by which [`MetricComparison::decisive`] is adjusted; empty if by none.
pub(crate) fn adjusted_by(metric: &MetricComparison) -> String {
    metric.adjusted.as_ref().map_or_else(String::new, |adjusted| format!(", adjusted by {}", adjusted.by))
}

/// That the sides of several runs can be measured in one study, with the factor in brackets if it is known; `None` if
/// they do not differ.
pub(crate) fn in_one_study(notes: &[Note]) -> Option<String> {
    let joined_by = notes.iter().find_map(|note| match note {
        Note::Sessions { joined_by, .. } | Note::OfSessions { joined_by, .. } => Some(*joined_by),
        _ => None,
    })?;
    let by = factor(joined_by).map_or_else(String::new, |factor| format!(" ({factor})"));
    (joined_by != JoinedBy::Nothing).then(|| format!("both in one study, block by block{by}"))
}

/// The factor of the sides; none if they do not differ, or in other keys. Servers that were already running are
/// distinguished by where they listen.
fn factor(joined_by: JoinedBy) -> Option<&'static str> {
    match joined_by {
        JoinedBy::Nothing | JoinedBy::Difference => None,
        JoinedBy::Binary => Some("factors.binary"),
        JoinedBy::Socket => Some("factors.socket"),
    }
}

fn not_run(side: &str, missing: usize, planned: usize) -> String {
    format!("{missing} of {} of {side} were not run", count(planned, "planned trial"))
}

/// What to do about sides of different sessions.
fn in_one_session(joined_by: JoinedBy, one_study: Option<&OneStudy>) -> Option<String> {
    let how = match (joined_by, one_study, factor(joined_by)) {
        (JoinedBy::Nothing, ..) => return None,
        (_, Some(both), _) => format!(": {}", run_of(&both.arguments())),
        (_, None, Some(factor)) => format!(", with {factor} in one study"),
        (_, None, None) => ", with what differs as a factor of one study".to_owned(),
    };
    Some(format!("measure both in one session, block by block{how}"))
}

pub fn notes(notes: &[Note]) -> Vec<String> {
    notes.iter().map(note).collect()
}

/// A note as a sentence without full stop.
pub(crate) fn note(found: &Note) -> String {
    match found {
        Note::Identical { side, first } => format!("{side} is the same program, settings and data as {first}"),
        Note::SameValues { side, first } => {
            format!("{side} has the values of {first} in the same order: a copy of results is no second measurement")
        }
        Note::OnlyIn { condition, side } => format!("{condition} is only in {side} and is not compared"),
        Note::Lacks { side, metric, of, conditions, compared } => {
            let part = format!(" in {conditions} of {}", count(*compared, "condition"));
            let at = if conditions == compared { "" } else { &part };
            format!("{metric}, the headline metric of {of}, is not compared{at}: {side} has no value of it")
        }
        Note::Refused(why) => refusal(why),
        Note::Unprobed(probe) => {
            format!("not adjusted by the probe {probe}: that needs 4 trials per side, each with a reading")
        }
        Note::Disturbed { side, attempts } => trials::disturbed_side(side, attempts),
        Note::Failed { side, condition, failed } => {
            format!("{side}, {condition}: {} failed, not compared", count(*failed, "attempt"))
        }
        Note::NothingDone { side, condition, metric, failed } => {
            format!("{side}, {condition}: {}", nothing_done(metric, *failed))
        }
        Note::Lost { side, condition, lost } => format!("{side}, {condition}: {}", lost_trials(lost)),
        Note::Unfinished { side, missing, planned } => not_run(side, *missing, *planned),
        Note::FailsMore(losses) => fails_more_by_test(losses),
        Note::Sessions { first, others, joined_by, one_study } => {
            let advice = in_one_session(*joined_by, one_study.as_ref());
            other_session(first, others) + &advice.map_or_else(String::new, |advice| format!("; {advice}"))
        }
        Note::OfSessions { of, .. } => of_sessions(of),
        Note::NodeLayouts { side, first, layouts: [one, other] } => format!(
            "{side} was measured with other NUMA nodes than {first} ({one}, then {other}; sub-NUMA clustering, NPS or \
             L3 as NUMA in the firmware): the same location means other CPUs there"
        ),
        Note::ProbeMoved { probe, side, condition, change, paired } => format!(
            "{side}, {condition}: the probe {probe} itself took {} of its time ({}); {}",
            times(change.ratio),
            shown_interval(change.ci).map_or("no interval".to_owned(), interval_of_change),
            match paired {
                true => "in the same blocks, so the sides themselves differ, and an adjustment by it is wrong",
                false =>
                    "if the machine caused this, the adjusted ratio removes it; if what is compared caused it, the \
                     adjusted ratio is wrong",
            }
        ),
        Note::Modes { side, condition, metric, modes } => {
            format!("{side}, {condition}: {metric} has {modes} modes; a ratio of means describes no trial of it")
        }
        Note::LowOptimisation { side, condition, level } => {
            format!("{side}: the server of {condition} was compiled {}", compiled(*level))
        }
        Note::TooFewTrials { trials } => too_few(*trials).to_owned(),
        Note::Drifted { widest, shown } => format!(
            "trials {} the ones before them within a run: intervals are up to {widest:.1} times as wide as independent \
             trials would make them",
            if *shown { "resemble" } else { "may resemble" }
        ),
        Note::GateDriftUnseen { metric, trials, correlation } => format!(
            "{trials} trials cannot exclude drift within a run: if each resembled the one before it (correlation \
             {correlation}), the gate would not pass, because {metric} could be slower than it allows"
        ),
        Note::DriftUnseen { metric, verdict, trials, correlation } => format!(
            "{trials} trials cannot exclude drift within a run: if each resembled the one before it (correlation \
             {correlation}), {metric} would not be shown to be {}",
            word(*verdict)
        ),
    }
}

fn other_session(first: &str, others: &[String]) -> String {
    let were = match others {
        [one] => format!("{one} was"),
        several => format!("{} were", list(several)),
    };
    format!(
        "{were} not measured in one session with {first}: differences between sessions are part of the ratios, and no \
         interval covers them"
    )
}

fn lost_trials(lost: &Lost) -> String {
    let trials = count(lost.trials, "trial");
    format!("no attempt at {} of {trials} gave a result; the rest is compared, and no gate can pass on it", lost.lost)
}

/// Why trials count as failed that have values.
pub fn nothing_done(metric: &str, trials: usize) -> String {
    let count_as = if trials == 1 { "counts" } else { "count" };
    format!("{} {count_as} as failed because {metric} is 0 or below", count(trials, "trial"))
}

fn too_few(trials: usize) -> &'static str {
    match trials {
        0 | 1 => "a side with a single trial has no interval: nothing can be concluded from it",
        _ => super::compared::TWO_TRIALS,
    }
}

/// What n counts, and whether it is enough.
fn of_sessions(found: &Sessions) -> String {
    let Sessions { a, b, paired, decides } = found;
    let how = match paired {
        true => format!("{a} sessions that measured both sides"),
        false => format!("{} of A and {} of B", count(*a, "session"), count(*b, "session")),
    };
    let end = match decides {
        true => "the intervals include differences between sessions",
        false => "a verdict beyond these sessions needs five of each side, so none is given",
    };
    format!("{how}: each is one observation, the mean of its trials (n counts sessions); {end}")
}

/// The part of a slowdown of a judged metric that disturbance cannot explain; `None` for other metrics.
pub(crate) fn beyond_disturbance(metric: &MetricComparison) -> Option<String> {
    let beyond = metric.beyond.filter(|_| metric.judged && metric.verdict == Verdict::Slower)?;
    let left = |ratio: f64| change(ratio - 1.0);
    let interval = beyond.ci.map_or(String::new(), |ci| format!(" ({})", changes_of(ci)));
    Some(format!(
        "disturbed trials count, but other programs took at most {:.0}% of the time of any; even with everything \
         stopped for that long, {} would be {}{interval}; limits: sampling.foreign_cpu_limit, sampling.steal_limit",
        100.0 * beyond.taken,
        metric.name,
        left(beyond.ratio)
    ))
}

/// A difference of means for tables: the value and its interval, in the metric's unit.
pub(crate) fn difference(found: &Change, unit: Unit) -> (String, Option<String>) {
    let ends = found.ci.map_or(0.0, |ci| ci.low.abs().max(ci.high.abs()));
    let scale = Scale::new(unit, found.value.abs().max(ends), 3);
    let signed = |value: f64| if value > 0.0 { format!("+{}", scale.figure(value)) } else { scale.figure(value) };
    let interval = found.ci.map(|Interval { low, high }| format!("{} to {}", signed(low), signed(high)));
    (signed(found.value), interval)
}

fn times(ratio: f64) -> String {
    format!("{:.1}%", 100.0 * ratio)
}

pub(crate) fn build_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent | Verdict::Inconclusive => "no difference shown",
    }
}

/// The verdict, preceded by "disturbed" if it includes disturbed trials.
pub(crate) fn verdict(metric: &MetricComparison) -> String {
    with_disturbed(metric, word(metric.verdict))
}

/// The same in Markdown, with "slower" in bold.
pub(crate) fn verdict_in_markdown(metric: &MetricComparison) -> String {
    with_disturbed(metric, if metric.verdict == Verdict::Slower { "**slower**" } else { word(metric.verdict) })
}

fn with_disturbed(metric: &MetricComparison, verdict: &str) -> String {
    let disturbed = if metric.disturbed { "disturbed: " } else { "" };
    format!("{disturbed}{verdict}")
}

pub(super) fn refusal(why: &Refusal) -> String {
    let more = match why.more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!(
        "nothing is adjusted by the probe {}: the compared settings can change it ({}{more}), and a control that the \
         treatment affects invalidates the comparison",
        why.probe, why.first
    )
}

/// How a build was compiled that is not a production build.
pub(crate) fn compiled(level: LowOptimisation) -> &'static str {
    match level {
        LowOptimisation::None => "without optimisation (-O0)",
        LowOptimisation::Some => "with little optimisation (-O1)",
        LowOptimisation::Debugging => "for debugging (-Og)",
        LowOptimisation::Size => "for size (-Os)",
    }
}

/// The largest change of a judged metric compared with the first side, or that none is shown, in at most 25 words.
pub fn many_sentence(found: &ManyComparison, min_effect: f64) -> String {
    let base = found.sides.first().map_or("", String::as_str);
    if let Some(failing) = found.losses.iter().find(|lost| lost.b_fails_more) {
        return fails_more(failing) + ".";
    }
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    // Smaller changes were not tested.
    let limit = if min_effect > 0.0 { format!(" by more than {}", small_percent(min_effect)) } else { String::new() };
    let by_size = |a: &&&AgainstFirst, b: &&&AgainstFirst| size(&a.metric).total_cmp(&size(&b.metric));
    let largest = |is: &dyn Fn(&AgainstFirst) -> bool| judged.iter().filter(|row| is(row)).max_by(by_size).copied();
    // Each side has a condition of its own name if conditions of one run are the sides.
    let one_condition = judged.windows(2).all(|two| two[0].metric.condition.a == two[1].metric.condition.a);
    let at = |row: &AgainstFirst| match one_condition {
        true => String::new(),
        false => format!(" at {}", row.metric.condition),
    };
    let said = |lead: String, row: &AgainstFirst| format!("{lead}{}{}.", at(row), figures(&row.metric));
    if let Some(row) = largest(&|row| matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower)) {
        return said(format!("{} is {} than {base}", row.against, word(row.metric.verdict)), row);
    }
    if let Some(row) = largest(&|row| is_beyond(&row.metric, min_effect)) {
        let why = undecided_because(&row.metric, judged.len());
        return format!(
            "Undecided whether {} differs from {base}{}{why}{}.",
            row.against,
            at(row),
            figures(&row.metric)
        );
    }
    let lead = match !judged.is_empty() && judged.iter().all(|row| row.metric.verdict == Verdict::Equivalent) {
        true => format!("Every side is equivalent to {base} within {}", small_percent(min_effect)),
        false => format!("No side is shown to differ from {base}{limit}"),
    };
    let with = match judged.as_slice() {
        [one] => vec![said(lead.clone(), one)],
        _ => {
            let of = |row: &AgainstFirst| format!("{lead}; largest {}", row.against);
            let most = largest(&|row| has_interval(&row.metric));
            let both = |row| [said(of(row), row), format!("{}{}.", of(row), figures(&row.metric))];
            most.into_iter().flat_map(both).collect()
        }
    };
    first_that_fits(with.into_iter().chain([format!("{lead}.")]))
}
