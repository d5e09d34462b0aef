//! Prints claims and verdicts as text and as JSON.

use super::predict::Shortest;
use crate::cli::Problem;
use crate::cli::output::{self, duration};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_findings::reproduce::{Claimed, Reproduced};
use tare_report::words::reproduce as words;
use tare_results::claim::{Cannot, Claim, Experiment, Predicted, Predictions};
use tare_text::object;

/// Columns of the longest name of a claim or an experiment.
const NAMES: usize = 27;
/// Columns of the longest verdict, `does not hold`.
const VERDICTS: usize = 13;
/// A longer text has a line of its own.
const LONG: usize = 40;

fn claim_json(
    experiment: &Experiment,
    claim: &Claim,
    blocks: Option<usize>,
    verdict: Option<&Reproduced>,
) -> impl Serialize {
    object! {
        name: &claim.name,
        text: &claim.text,
        source: &claim.source,
        published: &claim.published,
        needs: words::needs(&experiment.needs, experiment.builds.keys()),
        study: &experiment.study,
        article: &experiment.article,
        experiment: &experiment.name,
        // With --dry-run: blocks that would be run.
        #[serde(flatten)]
        blocks: blocks.map(|blocks| object! { blocks }),
        verdict: verdict.map(|found| object! {
            text: words::line(claim, found),
            #[serde(flatten)]
            found,
        }),
    }
}

fn print_claims(
    claims: impl Iterator<Item: Serialize>,
    written: Option<&str>,
    within_s: Option<f64>,
    expected_s: Option<f64>,
) -> Result<(), Problem> {
    let document = object! {
        claims: claims.collect::<Vec<_>>(),
        #[serde(flatten)]
        written: written.map(|written| object! { written }),
        #[serde(flatten)]
        within_s: within_s.map(|within_s| object! { within_s }),
        #[serde(flatten)]
        expected_s: expected_s.map(|expected_s| object! { expected_s }),
    };
    output::document("tare-reproduce", &document)
}

/// Prints every claim with its source, without a verdict.
pub(crate) fn list(experiments: &[Experiment], articles: &BTreeMap<String, String>, json: bool) -> Result<(), Problem> {
    const FEW: usize = 1;
    let all = || experiments.iter().flat_map(|e| e.claims.iter().map(move |claim| (e, claim)));
    if json {
        let claims = all().map(|(experiment, claim)| claim_json(experiment, claim, None, None));
        return print_claims(claims, None, None, None);
    }
    let mut text = String::new();
    let mut before = None;
    for experiment in experiments {
        let (heading, indent) = (heading_of(experiment, articles), if experiments.len() > FEW { "  " } else { "" });
        if experiments.len() > FEW && before.as_ref() != Some(&heading) {
            text.push_str(&format!("{}{heading}\n", if before.is_some() { "\n" } else { "" }));
        }
        before = Some(heading);
        let needs = words::needs(&experiment.needs, experiment.builds.keys());
        let needs = if needs.is_empty() { needs } else { format!(", needs {needs}") };
        text.push_str(&format!("{indent}{}: study {}{needs}\n", experiment.name, experiment.study));
        for claim in &experiment.claims {
            let published = words::published(claim);
            text.push_str(&format!("{indent}  {:NAMES$}  {} [{published}]\n", claim.name, claim.text));
            if experiments.len() <= FEW {
                text.push_str(&format!("  {:NAMES$}  {}\n", "", claim.source));
            }
        }
    }
    if let Some(first) = experiments.first().filter(|_| experiments.len() > FEW) {
        text.push_str(&format!(
            "\nIn brackets: the published figure. Its source, for example: tare reproduce {} --list\n\
             What this machine has of what they need: tare reproduce --dry-run\n",
            first.name
        ));
    }
    output::lines(&text)
}

/// The title of the article, and how to test all of its claims.
fn heading_of(experiment: &Experiment, articles: &BTreeMap<String, String>) -> String {
    match experiment.article.as_ref().and_then(|letter| articles.get_key_value(letter)) {
        Some((letter, title)) => format!("{title}, all its claims: tare reproduce {letter}"),
        None => "Other sources".to_owned(),
    }
}

/// Prints what would be run, and how long it would take.
pub(crate) fn planned(predictions: &Predictions, shortest: Option<&Shortest>, json: bool) -> Result<(), Problem> {
    let runs = || predictions.experiments.iter().filter(|own| own.blocks > 0);
    let expected_s: f64 = runs().map(|own| own.expected_s).sum();
    let found = |own: &Predicted, claim: &Claim| own.cannot.get(&claim.name).cloned().map(Reproduced::CannotBeTested);
    if json {
        let verdicts: Vec<Vec<Option<Reproduced>>> = predictions
            .experiments
            .iter()
            .map(|own| own.experiment.claims.iter().map(|claim| found(own, claim)).collect())
            .collect();
        let claims = predictions.experiments.iter().zip(&verdicts).flat_map(|(own, verdicts)| {
            let claims = own.experiment.claims.iter().zip(verdicts);
            claims.map(|(claim, found)| claim_json(&own.experiment, claim, Some(own.blocks), found.as_ref()))
        });
        return print_claims(claims, None, predictions.within_s, Some(expected_s));
    }
    let all: usize = predictions.experiments.iter().map(|own| own.experiment.claims.len()).sum();
    let tested: usize = runs().map(|own| testable(own).len()).sum();
    let (all, time) = (tare_text::count(all, "claim"), duration(expected_s));
    let mut text = match (runs().count(), shortest) {
        (0, Some(Shortest { claim, within_s })) => {
            let least = duration(*within_s);
            format!("none of {all} can be decided in this time; {claim} may be in {least}, if it is tested alone\n\n")
        }
        (0, None) => format!("none of {all} can be run here\n"),
        (runs, _) => format!("{tested} of {all} in {}; about {time}\n\n", tare_text::count(runs, "experiment")),
    };
    for own in runs() {
        let blocks = tare_text::count(own.blocks, "block");
        let (name, time) = (&own.experiment.name, duration(own.expected_s));
        text.push_str(&format!("{name:NAMES$}  {blocks}, about {time}: {}\n", testable(own).join(", ")));
    }
    for own in predictions.experiments.iter().filter(|own| own.blocks == 0 && !testable(own).is_empty()) {
        let (name, time) = (&own.experiment.name, duration(own.expected_s));
        text.push_str(&format!("{name:NAMES$}  not enough time: needs about {time}\n"));
    }
    text.push_str(&untestable(predictions));
    output::lines(&text)
}

/// Names of the claims that can be tested.
fn testable(own: &Predicted) -> Vec<&str> {
    let names = own.experiment.claims.iter().map(|claim| claim.name.as_str());
    names.filter(|name| !own.cannot.contains_key(*name)).collect()
}

/// Claims that cannot be tested, grouped by reason.
fn untestable(predictions: &Predictions) -> String {
    let mut reasons: Vec<(&Cannot, Vec<&str>)> = Vec::new();
    let claims = predictions.experiments.iter().flat_map(|own| own.experiment.claims.iter().map(move |c| (own, c)));
    for (own, claim) in claims {
        let Some(cannot) = own.cannot.get(&claim.name) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == cannot) {
            Some((_, names)) => names.push(claim.name.as_str()),
            None => reasons.push((cannot, vec![claim.name.as_str()])),
        }
    }
    let line = |(cannot, names): (&Cannot, Vec<&str>)| format!("  {}: {}\n", words::because(cannot), names.join(", "));
    let lines: String = reasons.into_iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\ncannot be tested here\n{lines}") }
}

pub(crate) fn verdicts(claimed: &[Claimed]) -> Result<(), Problem> {
    let line = |own: &Claimed| {
        let (name, published) = (&own.claim.name, words::published(&own.claim));
        let (verdict, rest) = match &own.verdict {
            Some(Reproduced::CannotBeTested(cannot)) => ("not testable", words::because(cannot)),
            found => (
                words::verdict(found.as_ref()),
                found.as_ref().map_or_else(String::new, |f| words::behind_verdict(&own.claim, f)),
            ),
        };
        let between = if rest.chars().count() > LONG { "\n      " } else { "  " };
        let line = format!("{name:NAMES$} {verdict:VERDICTS$} {published:>8}{between}{rest}");
        format!("{}\n", line.trim_end())
    };
    output::lines(&claimed.iter().map(line).collect::<String>())
}

/// Prints the header of the verdicts.
pub(crate) fn heading() -> Result<(), Problem> {
    output::lines(&format!("{:NAMES$} {:VERDICTS$} {:>8}  here (95% interval)\n", "claim", "verdict", "published"))
}

/// Prints the number of claims with each verdict.
pub(crate) fn summed(claimed: &[Claimed]) -> Result<(), Problem> {
    output::lines(&format!("{}\n", words::sentence(claimed.iter().map(|own| own.verdict.as_ref()))))
}

/// Prints all claims as one document.
pub(crate) fn document(predictions: &Predictions, claimed: &[Claimed]) -> Result<(), Problem> {
    let of = |own: &'_ Predicted| own.experiment.claims.len();
    let experiments = predictions.experiments.iter().flat_map(|own| std::iter::repeat_n(own, of(own)));
    let claims = experiments
        .zip(claimed)
        .map(|(own, claimed)| claim_json(&own.experiment, &claimed.claim, Some(own.blocks), claimed.verdict.as_ref()));
    print_claims(claims, Some(&predictions.written), predictions.within_s, None)
}
