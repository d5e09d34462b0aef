//! Sentences on the reference weight.

use tare_findings::figures::{count, percent};
use tare_findings::weight::{OfProbe, Weight};
use tare_stats::worth::Advice;

/// What was measured: how much it varied, and what each probe leaves of that.
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
    format!("the probe {} leaves {:.2} of it ({ends})", found.probe, found.left)
}

pub fn advice(found: &Weight) -> String {
    match (found.advice, found.probe) {
        (Advice::Helps, Some(probe)) => {
            format!("A reference weight helps here: run the study with --set sampling.probe={probe}.")
        }
        (Advice::DoesNotHelp, _) => {
            "A reference weight does not help here: each probe leaves more than 0.90 of the spread.".to_owned()
        }
        (Advice::Helps | Advice::CannotTell, _) => {
            "Whether a reference weight helps here cannot be told from so few samples: ask for more with --samples."
                .to_owned()
        }
    }
}
