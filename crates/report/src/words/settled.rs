//! Trials that were measured although their server had work left over from the warm-up.

use std::collections::BTreeMap;
use tare_findings::collect::is_usable;
use tare_findings::figures::count;
use tare_results::Results;
use tare_results::settled::SettledRecord;

/// One line for each condition with such trials.
pub(super) fn notes(results: &Results) -> Vec<String> {
    let mut unsettled: BTreeMap<&str, Vec<&SettledRecord>> = BTreeMap::new();
    for trial in results.trials.iter().filter(|trial| is_usable(trial)) {
        if let Some(settled) = trial.settled.as_ref().filter(|settled| !settled.settled) {
            unsettled.entry(&trial.condition).or_default().push(settled);
        }
    }
    let line = |(condition, trials): (&str, Vec<&SettledRecord>)| {
        let waited_s = trials.iter().map(|settled| settled.waited_s).fold(0.0, f64::max);
        let left: Vec<String> = trials
            .iter()
            .take(1)
            .flat_map(|first| &first.left)
            .map(|(what, amount)| format!("{what} {amount}"))
            .collect();
        format!(
            "{condition}: the server had not settled {waited_s:.0} s after the warm-up in {} ({}), so that work of the \
             warm-up is in the samples; a longer workload.settle_s waits for it",
            count(trials.len(), "trial"),
            left.join(", ")
        )
    };
    unsettled.into_iter().map(line).collect()
}
