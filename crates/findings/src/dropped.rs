//! Samples that the study leaves out: what the others hide without them.

use super::collect::{ConditionTrials, trial_mean};
use super::figures::{change, count};

/// How far the dropped samples lie from the ones that count, on average over all trials.
pub(super) fn sentence(conditions: &[ConditionTrials<'_>], metric: &str) -> Option<String> {
    let mut most = 0;
    let ratios: Vec<f64> = conditions
        .iter()
        .flat_map(|condition| &condition.ok)
        .filter_map(|trial| {
            let dropped: Vec<f64> = trial.dropped.iter().filter_map(|s| s.metrics.get(metric)).copied().collect();
            most = most.max(dropped.len());
            let ratio = dropped.iter().sum::<f64>() / dropped.len() as f64 / trial_mean(trial, metric)?;
            Some(ratio.ln()).filter(|ln| ln.is_finite())
        })
        .collect();
    let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp() - 1.0;
    (!ratios.is_empty()).then(|| {
        format!(
            "Left out, as the study asks: the first {} of each trial, whose {} was {} against the others.",
            if most == 1 { "sample".to_owned() } else { count(most, "sample") },
            super::reading::phrase(metric),
            change(mean)
        )
    })
}
