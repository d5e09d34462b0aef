//! Compares sides with several sessions each: the trials of a session share boot, memory, files and the copy of the
//! data, so each session's mean is one observation.

use super::conclusion::{Comparison, Note, Sessions};
use super::matching::{Run, run_of};
use super::model::{CompareError, ConditionPair, Losses, Lost, MetricComparison, Options, Side};
use super::run::{Read, concluded, prepared};
use super::verdicts;
use crate::collect::{ConditionTrials, host, is_same_trial};
use crate::differences;
use std::collections::{BTreeMap, HashMap};
use tare_results::Results;
use tare_results::schema::{Outcome, SampleRecord, TrialRecord};
use tare_stats::ratio::Verdict;
use tare_stats::sequential::FEWEST_SESSIONS;

/// Compares two sides of several sessions each: a t interval over the sessions' means, paired if both sides were
/// measured in the same sessions, in the same order. With fewer than five sessions per side, no verdict holds beyond
/// these sessions.
pub fn compare_sessions(a: &[Side<'_>], b: &[Side<'_>], options: &Options) -> Result<Comparison, CompareError> {
    let (a_sides, b_sides) = (a, b);
    let runs = [runs(a)?, runs(b)?];
    for (sides, runs) in [a, b].into_iter().zip(&runs) {
        each_once(sides, runs)?;
    }
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else { return Err(CompareError::NoMetric) };
    let paired = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| std::ptr::eq(a.results, b.results));
    let named = [a.len(), b.len()];
    let (merged, other) = match paired {
        true => (merged(&[&runs[0], &runs[1]], true), None),
        false => (merged(&[&runs[0]], false), Some(merged(&[&runs[1]], false))),
    };
    // In shared sessions the two sides are conditions of one set of results.
    let a = Side { results: &merged, condition: first_a.condition };
    let b = Side { results: other.as_ref().unwrap_or(&merged), condition: first_b.condition };
    let (of_a, of_b) = (run_of(a)?, run_of(b)?);
    let read = [Read { side: a, run: &of_a, label: "A" }, Read { side: b, run: &of_b, label: "B" }];
    let mut found = prepared(read[0], read[1], options)?;
    let with_metrics = found.pairs.iter().map(|pair| pair.comparison.condition.clone());
    found.losses = lost(&runs, with_metrics.chain(found.losses.iter().map(|lost| lost.condition.clone())).collect());
    found.notes.retain(|note| !matches!(note, Note::Sessions { .. } | Note::Failed { .. } | Note::Lost { .. }));
    found.notes.extend(found.losses.iter().flat_map(|losses| of_losses(&runs, losses)));
    for (label, (sides, runs)) in ["A", "B"].into_iter().zip([a_sides, b_sides].into_iter().zip(&runs)) {
        found.notes.extend(unfinished(sides, runs, label));
    }
    // A session without a value of a judged metric, for example because all of its trials failed, does not count.
    let judged = found.pairs.iter().map(|pair| &pair.comparison).filter(|metric| metric.judged);
    let [a, b] = judged.fold(named, |[a, b], metric| [a.min(metric.trials_a), b.min(metric.trials_b)]);
    let of = Sessions { a, b, paired, decides: a.min(b) >= FEWEST_SESSIONS };
    found.notes.insert(0, Note::OfSessions { of, joined_by: found.joined_by });
    if !paired {
        found.differences = differences::between(first_a.results, first_b.results);
    }
    let mut found = concluded(found, options);
    // Sessions are no neighbouring trials of a run.
    found.notes.retain(|note| !matches!(note, Note::DriftUnseen { .. } | Note::GateDriftUnseen { .. }));
    found.sessions = Some(of);
    let few = |metric: &&mut MetricComparison| metric.trials_a.min(metric.trials_b) < FEWEST_SESSIONS;
    found.metrics.iter_mut().filter(few).for_each(|metric| metric.verdict = Verdict::Inconclusive);
    // Failures are counted in trials, so that few sessions can show that B fails more often.
    let is_failed = found.losses.iter().any(|losses| losses.b_fails_more);
    if !of.decides && !is_failed {
        found.gate = found.gate.map(|_| super::Gate::Inconclusive);
    }
    Ok(found)
}

fn runs<'r>(sides: &[Side<'r>]) -> Result<Vec<Run<'r>>, CompareError> {
    sides.iter().map(|side| run_of(*side)).collect()
}

/// Refuses a session that is named twice, or a copy of one: it would count as a second observation.
fn each_once(sides: &[Side<'_>], runs: &[Run<'_>]) -> Result<(), CompareError> {
    let mut known: HashMap<&str, Vec<(usize, &TrialRecord)>> = HashMap::new();
    for (place, run) in runs.iter().enumerate() {
        let trials =
            || run.conditions.iter().flat_map(|condition| condition.ok.iter().chain(&condition.failed).copied());
        let session = |trial: &TrialRecord| {
            let started_together = known.get(&*trial.started_at)?;
            started_together.iter().find(|(_, other)| is_same_trial(trial, other)).map(|(session, _)| *session)
        };
        if let Some(first) = trials().find_map(session) {
            return Err(CompareError::same_trials("two sessions", sides[first], sides[place]));
        }
        for trial in trials().filter(|trial| !trial.started_at.is_empty()) {
            known.entry(&trial.started_at).or_default().push((place, trial));
        }
    }
    Ok(())
}

/// Results in which each session is one trial of each of its conditions; in blocks if the sides share the sessions.
fn merged(sides: &[&Vec<Run<'_>>], blocked: bool) -> Results {
    let mut trials: Vec<TrialRecord> = Vec::new();
    for runs in sides {
        for (session, run) in runs.iter().enumerate() {
            for condition in &run.conditions {
                // A condition with the same name on both sides is added only once.
                let known = |trial: &TrialRecord| trial.block == session && trial.condition == condition.name;
                if !(blocked && trials.iter().any(known)) {
                    let number = trials.len();
                    trials.extend(as_trial(condition, number, if blocked { session } else { 0 }));
                }
            }
        }
    }
    Results { trials, ..Results::default() }
}

/// A session's trials of one condition as one trial: a failed one if all of them failed; none without any attempt that
/// ended for reasons other than a disturbance.
fn as_trial(condition: &ConditionTrials<'_>, number: usize, block: usize) -> Option<TrialRecord> {
    let of = condition.clean_or_all();
    let mut record = (*of.ok.first().or(of.failed.first())?).clone();
    if of.ok.is_empty() {
        record.outcome = Outcome::Failed;
    }
    (record.trial, record.block) = (number, block);
    // A session of several machines has none of them as its own.
    record.ran_on = record.ran_on.filter(|own| of.ok.iter().all(|trial| host(trial) == own.host));
    record.plain = Default::default();
    record.of_all_samples = BTreeMap::new();
    record.samples = as_samples(&of, record.elapsed_s);
    Some(record)
}

/// The samples of a session's trials as those of one trial, whose mean is that of the trials: the digit to which values
/// were rounded is known from samples only. Trials of unequal numbers of samples are one sample each.
fn as_samples(of: &ConditionTrials<'_>, elapsed_s: f64) -> Vec<SampleRecord> {
    let mut samples: Vec<SampleRecord> = Vec::new();
    for metric in of.metrics() {
        let own = of.of_trials(&metric);
        let are_even = own.windows(2).all(|pair| pair[0].len() == pair[1].len());
        let values = if are_even { own.concat() } else { of.means(&metric) };
        let missing = values.len().saturating_sub(samples.len());
        samples.extend((0..missing).map(|_| SampleRecord { elapsed_s, ..SampleRecord::default() }));
        for (sample, value) in samples.iter_mut().zip(values) {
            sample.metrics.insert(metric.clone(), value);
        }
    }
    samples
}

/// The failures of all sessions together, for every pair of conditions in which one side failed.
fn lost(runs: &[Vec<Run<'_>>; 2], mut pairs: Vec<ConditionPair>) -> Vec<Losses> {
    let sum = |side: &[Run<'_>], name: &str| {
        named(side, name).map(verdicts::lost).fold(Lost { failed: 0, lost: 0, trials: 0 }, |sum, one| Lost {
            failed: sum.failed + one.failed,
            lost: sum.lost + one.lost,
            trials: sum.trials + one.trials,
        })
    };
    pairs.sort();
    pairs.dedup();
    let of = |condition: ConditionPair| {
        let both = [sum(&runs[0], &condition.a), sum(&runs[1], &condition.b)];
        Losses::of(["A", "B"], condition, both)
    };
    pairs.into_iter().filter_map(of).collect()
}

/// The notes on the failed and lost trials of both sides, in all of their sessions.
fn of_losses(runs: &[Vec<Run<'_>>; 2], losses: &Losses) -> Vec<Note> {
    let sides = [("A", &losses.condition.a, losses.a), ("B", &losses.condition.b, losses.b)];
    let of = |(runs, (side, condition, lost)): (&Vec<Run<'_>>, (&str, &String, Lost))| {
        let failed = named(runs, condition).map(|own| own.failed.len()).sum();
        verdicts::of_losses(side, condition, failed, lost)
    };
    runs.iter().zip(sides).flat_map(of).collect()
}

/// The planned trials of all sessions of a side that were not run.
fn unfinished(sides: &[Side<'_>], runs: &[Run<'_>], label: &str) -> Option<Note> {
    let of = |(side, run): (&Side<'_>, &Run<'_>)| {
        let names: Vec<&str> = run.conditions.iter().map(|condition| condition.name).collect();
        verdicts::unfinished(*side, &names, label)
    };
    sides.iter().zip(runs).filter_map(of).reduce(|sum, one| match (sum, one) {
        (Note::Unfinished { side, missing, planned }, Note::Unfinished { missing: more, planned: of, .. }) => {
            Note::Unfinished { side, missing: missing + more, planned: planned + of }
        }
        (sum, _) => sum,
    })
}

/// One condition in each session of a side.
fn named<'r, 's>(side: &'s [Run<'r>], name: &'s str) -> impl Iterator<Item = &'s ConditionTrials<'r>> {
    side.iter().flat_map(|run| &run.conditions).filter(move |condition| condition.name == name)
}
