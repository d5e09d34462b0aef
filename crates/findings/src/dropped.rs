//! Samples that the study leaves out, and how far they lie from the others.

use super::collect::{ConditionTrials, trial_mean};

#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    pub samples: usize,
    pub metric: String,
    /// Relative difference from the samples that count, averaged over all trials.
    pub change: f64,
}

/// None if nothing was left out.
pub(super) fn find(conditions: &[ConditionTrials<'_>], metric: &str) -> Option<Dropped> {
    let mut samples = 0;
    let ratios: Vec<f64> = conditions
        .iter()
        .flat_map(|condition| &condition.ok)
        .filter_map(|trial| {
            let dropped: Vec<f64> = trial.dropped.iter().filter_map(|s| s.metrics.get(metric)).copied().collect();
            samples = samples.max(dropped.len());
            let ratio = dropped.iter().sum::<f64>() / dropped.len() as f64 / trial_mean(trial, metric)?;
            Some(ratio.ln()).filter(|ln| ln.is_finite())
        })
        .collect();
    let change = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp() - 1.0;
    (!ratios.is_empty()).then(|| Dropped { samples, metric: metric.to_owned(), change })
}
