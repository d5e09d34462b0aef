//! What is left out of the analysis: dropped samples and how far they lie from the others, and clean trials that are
//! a selection of the fast ones.

use super::collect::{ConditionTrials, trial_mean};
use super::state::{self, is_disturbed};
use tare_results::metric::{self, Better};
use tare_results::schema::TrialRecord;
use tare_stats::counts::{Count, more_in_b};
use tare_stats::descriptive::{mean, min_max};

#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    pub samples: usize,
    pub metric: String,
    /// Relative difference from the samples that count, averaged over all trials.
    pub change: f64,
}

/// None if nothing was left out.
pub(super) fn dropped(conditions: &[ConditionTrials<'_>], metric: &str) -> Option<Dropped> {
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

/// Means of the disturbed trials, corrected for the largest possible effect of the disturbance, and of the clean ones,
/// with signs such that higher is better; none if either are missing or the effect has no upper bound.
fn sides(condition: &ConditionTrials<'_>, name: &str) -> Option<[Vec<f64>; 2]> {
    // A trial that other processes could have stalled completely has no bound.
    let bounded = condition.disturbed().into_iter().filter(|trial| state::most_taken([*trial]).is_some()).collect();
    let disturbed = ConditionTrials { ok: bounded, ..condition.at_best() };
    let sign = sign(metric::describe(name).better);
    let sides = [disturbed, condition.clean()]
        .map(|side| side.means(name).into_iter().map(|mean| sign * mean).collect::<Vec<_>>());
    (state::taken_applies(name) && sides.iter().all(|side| !side.is_empty())).then_some(sides)
}

/// The factor that makes higher values better.
fn sign(better: Better) -> f64 {
    match better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    }
}

/// The limit below the clean trials: as far below the slowest as the range of the clean trials.
fn far_below(fast: &[f64]) -> Option<f64> {
    min_max(fast).map(|(least, most)| least - (most - least))
}

/// Whether the clean trials of a condition are not representative of all its trials: every disturbed trial is worse
/// than every clean one even after correction for the largest possible effect of the disturbance, and chance alone
/// gives this no more often than `rate`. Either slow trials are disturbed more often, or something other than the lost
/// CPU time slowed them.
pub(super) fn disturbed_beyond(condition: &ConditionTrials<'_>, name: &str, rate: f64) -> bool {
    let Some([slow, fast]) = sides(condition, name) else { return false };
    let by_chance = more_in_b(Count { hits: 0, of: fast.len() }, Count { hits: slow.len(), of: slow.len() });
    let ends = min_max(&slow).zip(min_max(&fast));
    ends.is_some_and(|((_, best_slow), (worst_fast, _))| best_slow < worst_fast) && by_chance <= rate
}

/// Whether a disturbed trial is worse than its disturbance explains, and further from the clean ones than these are
/// from each other: leaving it out reduces the spread.
pub(super) fn one_disturbed_beyond(condition: &ConditionTrials<'_>, name: &str) -> bool {
    let Some([slow, fast]) = sides(condition, name) else { return false };
    let far = min_max(&slow).zip(far_below(&fast));
    fast.len() > 1 && far.is_some_and(|((worst, _), far)| worst < far)
}

/// Whether disturbed trials of a condition are worse than clean ones by no more than these differ among themselves:
/// they may be slow by chance or because of the disturbance. Each trial has its block and a logarithm.
pub(super) fn disturbed_near<'t>(
    trials: impl Iterator<Item = (&'t TrialRecord, (usize, f64))>,
    better: Better,
) -> bool {
    let sign = sign(better);
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for (trial, (_, ln)) in trials {
        if is_disturbed(trial) { slow.push(sign * ln) } else { fast.push(sign * ln) }
    }
    let Some((mean_slow, mean_fast)) = mean(&slow).zip(mean(&fast)) else { return false };
    let far = min_max(&slow).zip(far_below(&fast));
    mean_slow < mean_fast && far.is_some_and(|((_, best), far)| best >= far)
}
