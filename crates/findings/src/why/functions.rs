//! Functions of the server by their CPU time a transaction: shares of a profile add up to one, so that a rise in one
//! lowers all others; times do not.

use super::model::FunctionChange;
use super::trials::{FALSE_DISCOVERIES, Trials};
use crate::collect::trial_mean;
use crate::time::TrialTime;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::Results;
use tare_results::server_cost::{Operation, Quantity, SERVER_COSTS};
use tare_stats::multiple::benjamini_yekutieli;

/// The functions that are shown to differ, and how many were tested. Every trial of both sides needs its profile.
pub(super) fn changes(trials: &Trials<'_, '_>, results: [&Results; 2]) -> (Vec<FunctionChange>, usize) {
    let of = |times: &[TrialTime<'_>], results: &Results| -> Option<Vec<BTreeMap<String, f64>>> {
        times.iter().map(|time| of_trial(time, results)).collect()
    };
    let Some((a, b)) = of(trials.a, results[0]).zip(of(trials.b, results[1])) else { return (Vec::new(), 0) };
    let names: BTreeSet<&String> = a.iter().chain(&b).flat_map(BTreeMap::keys).collect();
    let values = |side: &[BTreeMap<String, f64>], name: &String| -> Vec<f64> {
        side.iter().map(|trial| trial.get(name).copied().unwrap_or(0.0)).collect()
    };
    let tested: Vec<_> = names
        .into_iter()
        .map(|name| {
            let (a, b) = (values(&a, name), values(&b, name));
            let shift = trials.shift_of(&a, &b);
            (name, a, b, shift)
        })
        .collect();
    let adjusted = benjamini_yekutieli(&tested.iter().map(|(.., shift)| shift.p_value).collect::<Vec<f64>>());
    let all = tested.len();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let mut shown: Vec<FunctionChange> = tested
        .into_iter()
        .zip(adjusted)
        .filter(|(_, p_value)| *p_value <= FALSE_DISCOVERIES)
        .map(|((name, a, b, shift), p_value)| FunctionChange {
            name: name.clone(),
            a_us: mean(&a),
            b_us: mean(&b),
            us: shift.value,
            ci: shift.ci,
            p_value,
        })
        .collect();
    shown.sort_by(|a, b| b.us.abs().total_cmp(&a.us.abs()));
    (shown, all)
}

/// CPU time inside each function, microseconds a transaction; none without a profile.
fn of_trial(time: &TrialTime<'_>, results: &Results) -> Option<BTreeMap<String, f64>> {
    let profile = results.captures.get(&(time.trial.trial, time.trial.attempt))?.profile.as_ref()?;
    // A profile of user mode alone is of that part of the CPU time.
    let quantity = if profile.kernel { Quantity::Cpu } else { Quantity::User };
    let cost = SERVER_COSTS.iter().find(|cost| cost.quantity == quantity)?;
    let cpu_us = trial_mean(time.trial, cost.metric(Operation::Transaction).name())?;
    Some(profile.symbols.iter().map(|symbol| (symbol.symbol.clone(), symbol.self_fraction * cpu_us)).collect())
}
