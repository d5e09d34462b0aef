//! Sentences after the answer, with a unit on every number.

use super::comparison::refusal;
use super::terms::{mode_cause, modes, phrase};
use super::{answer, compared, machines, queries, steadiness, suspects, trials, waits};
use crate::figures::times;
use tare_findings::collect;
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::mode::ModesTested;
use tare_findings::summary::Summary;
use tare_findings::verdict::Verdict;
use tare_findings::warm_up::warm_up_by_level;
use tare_results::{Results, metric};
use tare_text::{list, percent};

pub fn further(summary: &Summary, results: &Results) -> Vec<String> {
    // First, so that a reader of one sentence reads this one.
    let mut all: Vec<String> =
        summary.metrics.iter().filter_map(|name| metric::caveat(name)).map(str::to_owned).collect();
    if let Some(metric) = &summary.headline_metric {
        all.extend(of_headline(summary, metric));
    }
    all.extend(summary.machines.iter().flat_map(machines::differing_machines));
    all.extend(compared::basis(summary, results));
    all.extend(waits::slept_in_most(summary));
    all.extend(summary.run_order.as_ref().and_then(|drift| trials::drift(drift, summary.answer.shown())));
    all.extend(trials::aside(summary));
    all.extend(summary.lifetimes.as_ref().map(trials::lifetimes));
    all.extend(summary.dropped.as_ref().map(trials::dropped));
    all.extend(queries::plans_between(&summary.plans));
    all.extend(queries::warm_up(&summary.warm_up));
    all.extend(warm_up_by_level(&summary.warm_up, &summary.conditions).map(|by| queries::warm_up_by_level(&by)));
    let decision = results.plan.as_ref().and_then(|plan| plan.decision.as_ref());
    all.extend(decision.map(|decision| decision.reason.clone()));
    all.extend(summary.not_adjusted.as_ref().map(refusal));
    all.extend(machines::client_hosts(&collect::conditions(results)));
    // A rehearsal is too short for modes, which is stated elsewhere.
    let tested = summary.modes_tested.as_ref().filter(|_| !summary.answer.is_rehearsal);
    all.extend(tested.and_then(modes_tested));
    all
}

/// Modes that all conditions share, or the power of the test for modes, if it found none. Those of a condition are
/// stated elsewhere.
fn modes_tested(found: &ModesTested) -> Option<String> {
    let metric = phrase(&found.metric);
    if !found.together.is_empty() {
        let centres: Vec<String> = found
            .together
            .iter()
            .map(|mode| format!("{} of it in {}", times(mode.mean), percent(mode.weight)))
            .collect();
        return Some(format!(
            "Over all {}conditions together the {metric} of a trial has {} modes about its condition's mean: {} of trials.",
            if found.seen_in > 0 { "other " } else { "" },
            found.together.len(),
            list(&centres)
        ));
    }
    let share = |power: f64| if power < 0.01 { "under 1%".to_owned() } else { format!("{:.0}%", 100.0 * power) };
    let seen = match (found.power_in_one.map(share), found.power_together.map(share)) {
        (Some(one), None) => format!("in {one} of such studies"),
        (None, Some(all)) => format!("in {all} of such studies if all conditions have them"),
        (Some(one), Some(all)) => {
            format!("in {one} of such studies if one condition has them, in {all} if all have")
        }
        (None, None) => return None,
    };
    (found.seen_in == 0).then(|| {
        format!(
            "No modes of {metric} are detected; two modes {} standard deviations apart would be detected {seen}.",
            found.apart_sd
        )
    })
}

fn of_headline(summary: &Summary, metric: &str) -> Vec<String> {
    let is_answer = matches!(summary.answer.shown(), Verdict::SpreadFrom(_));
    let levels = summary.conditions.iter().map(|condition| &condition.levels);
    let sources = summary.spread_sources.as_ref().filter(|_| !is_answer);
    let all = [
        modes_sentence(summary, metric),
        far_sentence(summary, metric),
        sources.map(|sources| answer::spread(sources, levels)),
        steadiness::residuals(summary),
        steadiness::spread(summary),
    ];
    all.into_iter().flatten().chain(suspects::culprits(summary, metric)).collect()
}

/// Maximum conditions in the list of those whose trials lie far apart; the table has all.
const FAR: usize = 3;

/// Conditions for which the table prints a range, because their trials are far apart and their mean does not describe
/// them.
fn far_sentence(summary: &Summary, metric: &str) -> Option<String> {
    let far = |condition: &&ConditionSummary| condition.metrics.iter().any(|m| m.name == metric && m.far_from_mean);
    let mut names: Vec<String> = summary.conditions.iter().filter(far).map(|c| c.name.clone()).collect();
    if names.len() > FAR {
        let others = names.split_off(FAR - 1).len();
        names.push(format!("{others} other conditions"));
    }
    (!names.is_empty()).then(|| {
        format!(
            "Trials of {} differ widely, so their range is shown in place of a mean; more trials would show whether \
             they form modes.",
            list(&names)
        )
    })
}

fn modes_of<'a>(summary: &'a Summary, metric: &str) -> Vec<(&'a ConditionSummary, &'a MetricSummary)> {
    let found = summary.conditions.iter().flat_map(|condition| condition.metrics.iter().map(move |m| (condition, m)));
    found.filter(|(_, m)| m.name == metric && !m.modes.is_empty()).collect()
}

fn modes_sentence(summary: &Summary, metric: &str) -> Option<String> {
    let bimodal = modes_of(summary, metric);
    let (condition, first) = bimodal.first()?;
    let cause = first.mode_cause.as_ref().map_or(String::new(), |cause| format!(": {}", mode_cause(cause, first.unit)));
    let others = match bimodal.len() {
        1 => String::new(),
        2 => " 1 more condition has several modes.".to_owned(),
        n => format!(" {} more conditions have several modes.", n - 1),
    };
    let (name, number) = (&condition.name, first.modes.len());
    Some(format!(
        "{name} has {number} modes ({}), so its mean describes no trial{cause}.{others}",
        modes(&first.modes, first.unit)
    ))
}
