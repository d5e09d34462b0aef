//! The output of a bisection at its end.

use super::super::ab_output::certificate_json;
use super::super::compare::Opened;
use super::super::output;
use super::super::{Exit, Problem};
use super::search::step_of;
use std::path::Path;
use tare_findings::ab::Ab;
use tare_findings::bisect::{Bisection, Outcome};
use tare_findings::certificate::Certified;
use tare_findings::why;
use tare_report::words::{self, bisect, certificate};
use tare_text::object;

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
