//! The output of a bisection at its end.

use super::super::output;
use super::super::{Exit, Problem};
use super::search::step_of;
use serde::Serialize;
use std::path::Path;
use tare_findings::ab::AbVerdict;
use tare_findings::bisect::{Bisection, Outcome};
use tare_report::words::bisect as words;

/// The metric that gives the time per transaction.
const OF_TRANSACTIONS: &str = "tps";

#[derive(Serialize)]
struct BisectJson<'a> {
    text: String,
    outcome: Outcome,
    good: &'a str,
    bad: &'a str,
    commits: usize,
    ends: Option<SizeJson>,
    first: Vec<CommitJson<'a>>,
    probability: Option<f64>,
    step: Option<SizeJson>,
    part_of_the_whole: bool,
    likely: Vec<CommitJson<'a>>,
    skipped: Vec<&'a str>,
    builds: usize,
    pairs: usize,
    disturbed_pairs: usize,
    elapsed_s: f64,
    interleaved: bool,
    why: Option<String>,
    inside: Option<String>,
}

#[derive(Serialize)]
struct CommitJson<'a> {
    commit: &'a str,
    subject: &'a Option<String>,
    author_date: &'a Option<String>,
    probability: f64,
}

/// A slowdown: a ratio above 1 means slower.
#[derive(Serialize)]
struct SizeJson {
    slowdown: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    verdict: AbVerdict,
    pairs: usize,
}

impl SizeJson {
    fn of(ab: &tare_findings::ab::Ab) -> Self {
        let ci = ab.slowdown.and_then(|found| found.ci);
        Self {
            slowdown: ab.slowdown.map(|found| found.value),
            ci_low: ci.map(|ci| ci.low),
            ci_high: ci.map(|ci| ci.high),
            verdict: ab.verdict,
            pairs: ab.pairs,
        }
    }
}

/// Prints the result: a sentence, a table, and the command that explains the slowdown.
pub fn print(found: &Bisection, folder: &Path, json: bool) -> Result<(), Problem> {
    let why = why(found, folder);
    if !json {
        let rows = words::rows(found);
        let rows = rows.iter().map(|(name, value)| format!("  {name:<12} {}\n", tare_text::shown(value)));
        let why = why.map_or_else(String::new, |why| format!("\nWhere the time goes:\n  {why}\n"));
        let inside = inside(found).map_or_else(String::new, |inside| {
            format!("\nWhich commit of the merge, with the same --build and other options:\n  {inside}\n")
        });
        return output::lines(&format!("{}\n\n{}{why}{inside}", words::sentence(found), rows.collect::<String>()));
    }
    let commit = |place: usize| CommitJson {
        commit: &found.line[place].id,
        subject: &found.line[place].subject,
        author_date: &found.line[place].author_date,
        probability: found.chances.get(place - 1).copied().unwrap_or_default(),
    };
    let skipped = found.line.iter().zip(&found.usable).filter(|(_, usable)| !**usable);
    let last = found.line.len() - 1;
    let likely = if found.chances.is_empty() { Vec::new() } else { found.likely() };
    output::document(
        "tare-bisect",
        &BisectJson {
            text: words::sentence(found),
            outcome: found.outcome(),
            good: &found.line[0].id,
            bad: &found.line[last].id,
            commits: last,
            ends: found.ends.as_ref().map(SizeJson::of),
            first: found.cell.iter().flat_map(|cell| cell.commits.clone()).map(commit).collect(),
            probability: found.cell.as_ref().map(|cell| cell.chance),
            step: found.step.as_ref().map(SizeJson::of),
            part_of_the_whole: found.is_part(),
            likely: likely.into_iter().map(|(place, _)| commit(place)).collect(),
            skipped: skipped.map(|(commit, _)| commit.id.as_str()).collect(),
            builds: found.builds,
            pairs: found.pairs,
            disturbed_pairs: found.disturbed,
            elapsed_s: found.elapsed_s,
            interleaved: found.ends.as_ref().is_some_and(|ends| ends.by_turns),
            why,
            inside: inside(found),
        },
    )
}

/// The `tare why` command for the found commit and its predecessor; `None` without times per transaction.
fn why(found: &Bisection, folder: &Path) -> Option<String> {
    let (cell, step) = (found.cell.as_ref()?, found.step.as_ref()?);
    if step.metric.as_deref() != Some(OF_TRANSACTIONS) {
        return None;
    }
    let path = step_of(cell).folder(folder);
    let side = |condition: &str| tare_text::quoted(&format!("{}:{condition}", path.display()));
    Some(format!("tare why {} {}", side(&step.rule.a), side(&step.rule.b)))
}

/// The command that bisects the commits of a merge; `None` if what was found contains no merge of exactly one branch.
fn inside(found: &Bisection) -> Option<String> {
    let merge = |place: usize| match found.line[place].merged.as_slice() {
        [tip] => Some(format!("tare bisect \"$(git merge-base {} {tip})\" {tip}", found.line[place - 1].id)),
        _ => None,
    };
    found.cell.as_ref()?.commits.clone().find_map(merge)
}

pub fn exit_of(found: &Bisection) -> Exit {
    match found.outcome() {
        Outcome::Found | Outcome::NoDifference | Outcome::Faster => Exit::Done,
        Outcome::Undecided => Exit::Inconclusive,
    }
}
