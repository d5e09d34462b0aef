//! Claims and verdicts, for people and as JSON.

use crate::cli::Problem;
use crate::cli::output::{self, duration};
use serde::Serialize;
use tare_findings::reproduce::{Claimed, Reproduced};
use tare_report::words::reproduce as words;
use tare_results::claim::{Claim, Experiment, Predicted, Predictions, Published};

const NAMES: usize = 30;

#[derive(Serialize)]
struct ClaimJson<'a> {
    name: &'a str,
    text: &'a str,
    source: &'a str,
    published: &'a Published,
    needs: String,
    study: &'a str,
    article: Option<&'a str>,
    experiment: &'a str,
    /// With --dry-run: blocks that would be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<usize>,
    verdict: Option<VerdictJson<'a>>,
}

#[derive(Serialize)]
struct VerdictJson<'a> {
    text: String,
    #[serde(flatten)]
    found: &'a Reproduced,
}

#[derive(Serialize)]
struct Document<'a> {
    claims: Vec<ClaimJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_s: Option<f64>,
}

fn claim_json<'a>(
    experiment: &'a Experiment,
    claim: &'a Claim,
    blocks: Option<usize>,
    verdict: Option<&'a Reproduced>,
) -> ClaimJson<'a> {
    ClaimJson {
        name: &claim.name,
        text: &claim.text,
        source: &claim.source,
        published: &claim.published,
        needs: words::needs(&experiment.needs, experiment.builds.keys()),
        study: &experiment.study,
        article: experiment.article.as_deref(),
        experiment: &experiment.name,
        blocks,
        verdict: verdict.map(|found| VerdictJson { text: words::line(claim, found), found }),
    }
}

/// Every claim with its source, and no verdict.
///
/// # Errors
/// When it cannot be printed.
pub fn list(experiments: &[Experiment], json: bool) -> Result<(), Problem> {
    let all = || experiments.iter().flat_map(|e| e.claims.iter().map(move |claim| (e, claim)));
    if json {
        let claims = all().map(|(experiment, claim)| claim_json(experiment, claim, None, None)).collect();
        return output::document(
            "tare-reproduce",
            &Document { claims, written: None, within_s: None, expected_s: None },
        );
    }
    let mut text = String::new();
    for experiment in experiments {
        let article = experiment.article.as_ref().map(|letter| format!(" (article {letter})")).unwrap_or_default();
        let needs = words::needs(&experiment.needs, experiment.builds.keys());
        text.push_str(&format!("{}{article}: study {}, needs {needs}\n", experiment.name, experiment.study));
        for claim in &experiment.claims {
            let published = words::published(claim);
            text.push_str(&format!("  {}: {} [{published}]\n      {}\n", claim.name, claim.text, claim.source));
        }
    }
    output::lines(&text)
}

/// What would be run, and in how much time.
///
/// # Errors
/// When it cannot be printed.
pub fn planned(predictions: &Predictions, json: bool) -> Result<(), Problem> {
    let expected_s: f64 = predictions.experiments.iter().map(|own| own.expected_s).sum();
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
        let document = Document {
            claims: claims.collect(),
            written: None,
            within_s: predictions.within_s,
            expected_s: Some(expected_s),
        };
        return output::document("tare-reproduce", &document);
    }
    let mut text = String::new();
    for own in &predictions.experiments {
        let blocks = tare_text::count(own.blocks, "block");
        for claim in &own.experiment.claims {
            let what = match own.cannot.get(&claim.name) {
                Some(cannot) => format!("cannot be tested here: {}", words::because(cannot)),
                None if own.blocks == 0 => "left out: no time for it".to_owned(),
                None => format!("{}, {blocks}", own.experiment.name),
            };
            text.push_str(&format!("{:NAMES$} {what}\n", claim.name));
        }
    }
    let runs = predictions.experiments.iter().filter(|own| own.blocks > 0).count();
    let runs = tare_text::count(runs, "experiment");
    output::lines(&format!("{text}\n{runs}, about {}\n", duration(expected_s)))
}

/// A line a claim.
///
/// # Errors
/// When it cannot be printed.
pub fn verdicts(claimed: &[Claimed]) -> Result<(), Problem> {
    let line = |own: &Claimed| {
        let said = own.verdict.as_ref().map_or_else(|| "not run".to_owned(), |found| words::line(&own.claim, found));
        format!("{:NAMES$} {said}\n", own.claim.name)
    };
    output::lines(&claimed.iter().map(line).collect::<String>())
}

/// How many came to what.
///
/// # Errors
/// When it cannot be printed.
pub fn summed(claimed: &[Claimed]) -> Result<(), Problem> {
    output::lines(&format!("{}\n", words::sentence(claimed.iter().map(|own| own.verdict.as_ref()))))
}

/// All of it as one document.
///
/// # Errors
/// When it cannot be printed.
pub fn document(predictions: &Predictions, claimed: &[Claimed]) -> Result<(), Problem> {
    let of = |own: &'_ Predicted| own.experiment.claims.len();
    let experiments = predictions.experiments.iter().flat_map(|own| std::iter::repeat_n(own, of(own)));
    let claims = experiments
        .zip(claimed)
        .map(|(own, claimed)| claim_json(&own.experiment, &claimed.claim, Some(own.blocks), claimed.verdict.as_ref()));
    let document = Document {
        claims: claims.collect(),
        written: Some(&predictions.written),
        within_s: predictions.within_s,
        expected_s: None,
    };
    output::document("tare-reproduce", &document)
}
