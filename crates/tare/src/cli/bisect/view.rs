//! What a bisection prints: before it, the cost that the same rules predict on simulated pairs, for `--dry-run` and for
//! what is asked; and its result at the end.

use super::super::ab_result::certificate_json;
use super::super::beforehand::Outlook;
use super::super::compare::Opened;
use super::super::study_file::{self, StudyText};
use super::super::{Exit, Problem, ab_together, output, plan_view, trust};
use super::request::BisectRequest;
use super::search::{Spent, step_of};
use std::path::Path;
use tare_findings::ab::Ab;
use tare_findings::bisect::{Bisection, Expected, Outcome, Range, expected};
use tare_findings::certificate::Certified;
use tare_findings::why;
use tare_report::words::{self, bisect, certificate};
use tare_study::plan::resolve::Where;
use tare_text::{count, duration, object, small_percent};
use tare_topology::Machine;

/// The metric that gives the time per transaction.
const OF_TRANSACTIONS: &str = "tps";

/// What the records of the step say of the time of a transaction.
struct Why {
    command: String,
    /// None if they do not have all of the time.
    sentence: Option<String>,
}

/// Prints the result: a sentence, a table, and what explains the slowdown.
pub fn print(found: &Bisection, certified: Option<&Certified>, folder: &Path, json: bool) -> Result<(), Problem> {
    let why = why(found, folder);
    if !json {
        let mut rows = bisect::rows(found);
        rows.push(("A/A here", certificate::alongside(certified)));
        let rows = rows.iter().map(|(name, value)| format!("  {name:<12} {}\n", tare_text::shown(value)));
        let why = why.map_or_else(String::new, |why| {
            let sentence = why.sentence.map_or_else(String::new, |sentence| format!("  {sentence}\n"));
            format!(
                "\nWhere the time goes, from A, the one before, to B, the first slower one:\n{sentence}  {}\n",
                why.command
            )
        });
        let inside = inside(found).map_or_else(String::new, |inside| {
            format!("\nWhich commit of the merge, with the same --build and other options:\n  {inside}\n")
        });
        return output::lines(&format!("{}\n\n{}{why}{inside}", bisect::sentence(found), rows.collect::<String>()));
    }
    let commit = |place: usize| {
        object! {
            commit: &found.line[place].id,
            subject: &found.line[place].subject,
            author_date: &found.line[place].author_date,
            probability: found.chances.get(place - 1).copied().unwrap_or_default(),
        }
    };
    // A ratio above 1 means slower.
    let size = |ab: &Ab| {
        object! {
            slowdown: ab.slowdown.map(|found| found.value),
            ci_low: ab.slowdown.and_then(|found| Some(found.ci?.low)),
            ci_high: ab.slowdown.and_then(|found| Some(found.ci?.high)),
            verdict: ab.verdict,
            stopped: ab.stop,
            pairs: ab.pairs,
        }
    };
    let skipped = found.line.iter().zip(&found.usable).filter(|(_, usable)| !**usable);
    let last = found.line.len() - 1;
    let likely = if found.chances.is_empty() { Vec::new() } else { found.likely() };
    let document = object! {
        text: bisect::sentence(found),
        outcome: found.outcome(),
        good: &found.line[0].id,
        bad: &found.line[last].id,
        commits: last,
        ends: found.ends.as_ref().map(size),
        first: found.confirmed().into_iter().flat_map(|cell| cell.commits.clone()).map(commit).collect::<Vec<_>>(),
        probability: found.confirmed().map(|cell| cell.chance),
        step: found.step.as_ref().map(size),
        part_of_the_whole: found.is_part(),
        likely: likely.into_iter().map(|(place, _)| commit(place)).collect::<Vec<_>>(),
        skipped: skipped.map(|(commit, _)| commit.id.as_str()).collect::<Vec<_>>(),
        builds: found.builds,
        pairs: found.pairs,
        disturbed_pairs: found.disturbed,
        elapsed_s: found.elapsed_s,
        interleaved: found.ends.as_ref().is_some_and(|ends| ends.by_turns),
        why: why.as_ref().map(|why| &why.command),
        why_text: why.as_ref().and_then(|why| why.sentence.as_ref()),
        inside: inside(found),
        certificate: certified.map(certificate_json),
    };
    output::document("tare-bisect", &document)
}

/// What `tare why` says of the found commit and its predecessor; `None` without times per transaction.
fn why(found: &Bisection, folder: &Path) -> Option<Why> {
    let (cell, step) = (found.confirmed()?, found.step.as_ref()?);
    if step.metric.as_deref() != Some(OF_TRANSACTIONS) {
        return None;
    }
    let path = step_of(cell).folder(folder);
    let sides = [&step.rule.a, &step.rule.b].map(|condition| format!("{}:{condition}", path.display()));
    let explained = || {
        let opened = Opened::of(&sides).ok()?;
        let [(_, a), (_, b)] = opened.sides().try_into().ok()?;
        why::why(a, b).ok().map(|found| words::why::why(&found))
    };
    let [a, b] = sides.each_ref().map(|side| tare_text::quoted(side));
    Some(Why { command: format!("tare why {a} {b}"), sentence: explained() })
}

/// The command that bisects the commits of a merge; `None` if what was found contains no merge of exactly one branch.
fn inside(found: &Bisection) -> Option<String> {
    let merge = |place: usize| match found.line[place].merged.as_slice() {
        [tip] => Some(format!("tare bisect \"$(git merge-base {} {tip})\" {tip}", found.line[place - 1].id)),
        _ => None,
    };
    found.confirmed()?.commits.clone().find_map(merge)
}

pub fn exit_of(found: &Bisection) -> Exit {
    match found.outcome() {
        Outcome::Found | Outcome::NoDifference | Outcome::Faster => Exit::Done,
        Outcome::Undecided => Exit::Inconclusive,
    }
}

struct Predicted {
    expected: Expected,
    pair: Option<Pair>,
    /// Notes of the plan.
    notes: String,
}

impl Predicted {
    fn of(request: &BisectRequest, trusted: bool) -> Result<Self, Problem> {
        let expected = expected(request.last(), request.minimum_effect, request.confidence);
        let expected = expected.map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
        let (pair, notes) = pair(request, trusted)?;
        Ok(Self { expected, pair, notes })
    }

    /// Seconds of trials; `None` if only a trial can tell.
    fn estimated_s(&self) -> Option<f64> {
        self.pair.map(|pair| pair.data_s + pair.pair_s * self.expected.pairs.median as f64)
    }

    /// "24 to 60 pairs and 4 to 6 builds in 8 of 10 bisections".
    fn effort(&self) -> String {
        let range = |of: &Range, noun| match of.low == of.high {
            true => count(of.low, noun),
            false => format!("{} to {} {noun}s", of.low, of.high),
        };
        let Expected { pairs, builds } = &self.expected;
        format!("{} and {} in 8 of 10 bisections", range(pairs, "pair"), range(builds, "build"))
    }
}

fn commits(request: &BisectRequest) -> String {
    count(request.last(), if request.build.is_some() { "commit" } else { "build" })
}

/// What is left of a bisection on which this time was spent.
pub fn outlook_of_rest(request: &BisectRequest, spent: Spent, trusted: bool) -> Result<Outlook, Problem> {
    let predicted = Predicted::of(request, trusted)?;
    let estimated_s = predicted.estimated_s().map(|all_s| (all_s - spent.trials_s).max(0.0));
    let budget_s = request.budget_s.map(|all_s| (all_s - spent.trials_s - spent.builds_s).max(0.0));
    let builds = if request.build.is_some() { ", plus the time of builds" } else { "" };
    let time = estimated_s.map_or(String::new(), |s| format!("; about {} of trials{builds}", duration(s)));
    let most = budget_s.map_or(String::new(), |s| format!("; at most {}", duration(s)));
    let line = format!("bisect: {}, {}{time}{most}", commits(request), predicted.effort());
    Ok(Outlook { line, seconds: budget_s.or(estimated_s).unwrap_or(0.0) })
}

pub fn print_outlook(request: &BisectRequest, json: bool, trusted: bool) -> Result<(), Problem> {
    let last = request.last();
    let predicted = Predicted::of(request, trusted)?;
    let estimated_s = predicted.estimated_s();
    let effect = small_percent(request.minimum_effect);
    let (good, bad) = (&request.line[0].id, &request.line[last].id);
    let time = match (estimated_s, request.build.is_some()) {
        (Some(s), true) => format!("; {} of trials, plus the time of builds", duration(s)),
        (Some(s), false) => format!("; {} of trials", duration(s)),
        (None, _) => String::new(),
    };
    let text = format!(
        "{} to bisect: {}, if the step and the standard deviation of a pair are {effect}{time}.",
        commits(request),
        predicted.effort(),
    );
    let Predicted { expected: Expected { pairs, builds }, pair, notes } = predicted;
    let pair_s = pair.map(|pair| pair.pair_s);
    if !json {
        return output::lines(&format!("{text}\n\n  good  {good}\n  bad   {bad}\n{notes}"));
    }
    let document = object! {
        text, good, bad, commits: last, builds, pairs, pair_s, estimated_s
    };
    output::document("tare-bisect-dry-run", &document)
}

/// Estimated seconds.
#[derive(Clone, Copy)]
struct Pair {
    pair_s: f64,
    /// For making the data, once.
    data_s: f64,
}

/// The estimate for pairs and the notes of the plan. There is no estimate if only a trial can tell, or if this machine
/// has no private server of this kind.
fn pair(request: &BisectRequest, trusted: bool) -> Result<(Option<Pair>, String), Problem> {
    if request.command.is_some() {
        return Ok((None, String::new()));
    }
    let name = request.study.as_deref().unwrap_or("side-by-side");
    let mut study = StudyText::read(name, trust::whose(trusted), true)?.parse(&request.overrides())?;
    (study.factors, study.conditions) = (Vec::new(), Vec::new());
    study.sampling.trials = 1;
    study.sampling.target_half_width = None;
    let machine = Machine::this()?;
    let planned = study_file::planned(study, &machine, Where::Here, trusted);
    let realizable = planned.ok().filter(|(_, plan)| plan.conditions.iter().any(|condition| condition.realizable));
    let Some((mut study, mut plan)) = realizable else { return Ok((None, String::new())) };
    ab_together::settle_turns(request.interleave, &mut study, &mut plan, (&machine, Where::Here))?;
    let pair = Pair { pair_s: 2.0 * plan.trials_s(), data_s: plan.data_s };
    Ok((Some(pair), format!("\n{}", plan_view::notes(&plan))))
}
