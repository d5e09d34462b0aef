//! Sentences on the probes (`sampling.probe`).

use tare_findings::probes::{OfProbe, Weight};
use tare_stats::worth::Advice;
use tare_text::{count, percent};

/// The measurement: how much the metric varied, and how much of that remains with each probe.
pub fn measured(found: &Weight) -> String {
    let what = match found.metrics {
        1 => found.metric.clone(),
        n => format!("the average of {} from {} on", count(n, "metric"), found.metric),
    };
    let probes: Vec<String> = found.probes.iter().map(of_probe).collect();
    format!(
        "{what} varied by {} (CoV of {} of one server); alongside it {}",
        percent(found.cov),
        count(found.repeats, "sample"),
        probes.join(", ")
    )
}

fn of_probe(found: &OfProbe) -> String {
    let ends = format!("{:.2} to {:.2}", found.left_ci_low, found.left_ci_high);
    format!("the probe {} leaves {:.2} of it ({ends})", found.probe.word(), found.left)
}

/// The outcome of `sampling.probe = "auto"`, as a note of the plan; with `None` the samples do not vary.
pub fn chosen(found: Option<&Weight>) -> String {
    let used = found.and_then(|found| found.probes.iter().find(|of| Some(of.probe) == found.probe));
    let why = match (used, found.map(|found| found.advice)) {
        (Some(used), _) => return format!("sampling.probe = \"auto\": {} and is used", of_probe(used)),
        (_, Some(Advice::DoesNotHelp)) => "each probe leaves more than 0.90 of the spread",
        (_, Some(_)) => "whether one helps here cannot be decided from so few samples",
        (_, None) => "the samples have no spread that a probe could explain",
    };
    format!("sampling.probe = \"auto\": {why}, so no probe is used")
}

pub fn advice(found: &Weight) -> String {
    match (found.advice, found.probe) {
        (Advice::Helps, Some(probe)) => {
            format!("A probe helps here: run the study with --set sampling.probe={}.", probe.word())
        }
        (Advice::DoesNotHelp, _) => "No probe helps here: each probe leaves more than 0.90 of the spread.".to_owned(),
        (Advice::Helps | Advice::CannotTell, _) => {
            "Whether a probe helps here cannot be decided from so few samples: take more with --samples.".to_owned()
        }
    }
}
