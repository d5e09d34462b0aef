//! Whether clean trials are a selection of the fast ones, for the slow ones were the disturbed ones.

use super::collect::ConditionTrials;
use super::state::is_disturbed;
use super::taken;
use tare_results::metric::{self, Better};
use tare_stats::counts::{Count, more_in_b};
use tare_stats::descriptive::mean;

/// Whether the clean trials of a condition are not what all of them would have been: every disturbed one was, even at
/// best without what disturbed it, worse than every clean one, which chance makes of them no more often than at this
/// rate. They were disturbed because they were slow, or by more than CPU time that was taken away.
pub(super) fn beyond(condition: &ConditionTrials<'_>, name: &str, rate: f64) -> bool {
    // A trial that others could have brought to a standstill says nothing.
    let bounded = condition.disturbed().into_iter().filter(|trial| taken::most([*trial]).is_some()).collect();
    let disturbed = ConditionTrials { ok: bounded, ..condition.at_best() };
    if !taken::applies(name) || disturbed.ok.is_empty() {
        return false;
    }
    let clean = condition.clean();
    let (slow, fast) = (disturbed.means(name), clean.means(name));
    let is_worse = |a: f64, b: f64| match metric::describe(name).better {
        Better::Higher => a < b,
        Better::Lower => a > b,
    };
    let apart = slow.iter().all(|a| fast.iter().all(|b| is_worse(*a, *b)));
    let by_chance = more_in_b(Count { hits: 0, of: fast.len() }, Count { hits: slow.len(), of: slow.len() });
    apart && by_chance <= rate
}

/// Whether disturbed trials of a condition are worse than clean ones by no more than these differ among themselves:
/// they may be slow by chance as well as by what disturbed them. `cell` has a logarithm for each of its trials.
pub(super) fn near(condition: &ConditionTrials<'_>, cell: &[(usize, f64)], better: Better) -> bool {
    let sign = match better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    };
    let values = |disturbed: bool| -> Vec<f64> {
        let own = condition.ok.iter().zip(cell).filter(|(trial, _)| is_disturbed(trial) == disturbed);
        own.map(|(_, (_, ln))| sign * ln).collect()
    };
    let (slow, fast) = (values(true), values(false));
    let Some((mean_slow, mean_fast)) = mean(&slow).zip(mean(&fast)) else { return false };
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = fast.iter().copied().fold(f64::INFINITY, f64::min);
    mean_slow < mean_fast && most(&slow) >= least - (most(&fast) - least)
}
