//! Whether clean trials are a selection of the fast ones, for the slow ones were the disturbed ones.

use super::collect::ConditionTrials;
use super::state::is_disturbed;
use super::taken;
use tare_results::metric::{self, Better};
use tare_stats::counts::{Count, more_in_b};
use tare_stats::descriptive::{mean, min_max};

/// Means of disturbed trials, at best without what disturbed them, and of clean ones, so that higher is better; none
/// where either are missing or nothing bounds what was taken.
fn sides(condition: &ConditionTrials<'_>, name: &str) -> Option<[Vec<f64>; 2]> {
    // A trial that others could have brought to a standstill says nothing.
    let bounded = condition.disturbed().into_iter().filter(|trial| taken::most([*trial]).is_some()).collect();
    let disturbed = ConditionTrials { ok: bounded, ..condition.at_best() };
    let sign = sign(metric::describe(name).better);
    let sides = [disturbed, condition.clean()]
        .map(|side| side.means(name).into_iter().map(|mean| sign * mean).collect::<Vec<_>>());
    (taken::applies(name) && sides.iter().all(|side| !side.is_empty())).then_some(sides)
}

/// What values are multiplied by so that higher is better.
fn sign(better: Better) -> f64 {
    match better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    }
}

/// As far below the clean ones as these are from each other.
fn far_below(fast: &[f64]) -> Option<f64> {
    min_max(fast).map(|(least, most)| least - (most - least))
}

/// Whether the clean trials of a condition are not what all of them would have been: every disturbed one was, even at
/// best without what disturbed it, worse than every clean one, which chance makes of them no more often than at this
/// rate. They were disturbed because they were slow, or by more than CPU time that was taken away.
pub(super) fn beyond(condition: &ConditionTrials<'_>, name: &str, rate: f64) -> bool {
    let Some([slow, fast]) = sides(condition, name) else { return false };
    let by_chance = more_in_b(Count { hits: 0, of: fast.len() }, Count { hits: slow.len(), of: slow.len() });
    let ends = min_max(&slow).zip(min_max(&fast));
    ends.is_some_and(|((_, best_slow), (worst_fast, _))| best_slow < worst_fast) && by_chance <= rate
}

/// Whether a disturbed trial is worse than what disturbed it explains, and further from the clean ones than these are
/// from each other: leaving it out makes trials alike.
pub(super) fn one_beyond(condition: &ConditionTrials<'_>, name: &str) -> bool {
    let Some([slow, fast]) = sides(condition, name) else { return false };
    let far = min_max(&slow).zip(far_below(&fast));
    fast.len() > 1 && far.is_some_and(|((worst, _), far)| worst < far)
}

/// Whether disturbed trials of a condition are worse than clean ones by no more than these differ among themselves:
/// they may be slow by chance as well as by what disturbed them. `cell` has a logarithm for each of its trials.
pub(super) fn near(condition: &ConditionTrials<'_>, cell: &[(usize, f64)], better: Better) -> bool {
    let sign = sign(better);
    let values = |disturbed: bool| -> Vec<f64> {
        let own = condition.ok.iter().zip(cell).filter(|(trial, _)| is_disturbed(trial) == disturbed);
        own.map(|(_, (_, ln))| sign * ln).collect()
    };
    let (slow, fast) = (values(true), values(false));
    let Some((mean_slow, mean_fast)) = mean(&slow).zip(mean(&fast)) else { return false };
    let far = min_max(&slow).zip(far_below(&fast));
    mean_slow < mean_fast && far.is_some_and(|((_, best), far)| best >= far)
}
