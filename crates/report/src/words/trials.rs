//! Sentences on what is wrong with trials: drift, shared servers, outliers, left-out samples, disturbances by other
//! programs, and a client that was the limit.

use super::terms::phrase;
use crate::figures::{chance, change, changes, figure};
use std::collections::BTreeMap;
use tare_findings::client_limit::{ClientFindings, LongestStall};
use tare_findings::collect::is_usable;
use tare_findings::compare::DisturbedSide;
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::left_out::Dropped;
use tare_findings::lifetimes::Lifetimes;
use tare_findings::residuals::{Drift, Outlier};
use tare_findings::state::{self, Failure, State};
use tare_findings::summary::Summary;
use tare_findings::verdict::Verdict;
use tare_results::disturbed::{Disturbing, by_program};
use tare_results::schema::TrialRecord;
use tare_results::search::ClientLimit;
use tare_results::unit::Unit;
use tare_results::{Results, Source, covariate, metric};
use tare_text::{count, decimal, list, percent, was};

/// One sentence; `None` if no drift is shown.
pub(super) fn drift(found: &Drift, answer: &Verdict) -> Option<String> {
    let without_blocks = answer.tested().is_some_and(|tested| !tested.analysis.by_block);
    let within = match without_blocks {
        true => "Conditions were not compared within blocks, so the drift is part of every interval",
        false => "Conditions were compared block by block, which removes the drift",
    };
    let change = found.change.map_or(String::new(), |change| {
        let way = if change < 0.0 { "lower" } else { "higher" };
        format!("; the last third of the run is {} {way} than the first", percent(change.abs()))
    });
    found.shown().then(|| {
        format!(
            "The machine drifted: a trial resembles the one before it (correlation {:.2}, p {}){change}. {within}; \
             a comparison with another run cannot remove it.",
            found.correlation,
            chance(found.p_value)
        )
    })
}

/// What a reader of a ladder must know.
pub(super) fn lifetimes(found: &Lifetimes) -> String {
    let place = match found.ci {
        Some(ci) if found.shown => format!(
            "a rung is {} for each that was measured on its server before (95% interval {}), which the random order \
             spreads over all rungs",
            change(found.per_place),
            changes(ci)
        ),
        _ => "no effect of what was measured on a server before is shown".to_owned(),
    };
    format!(
        "Rungs shared servers, up to {} each: a restart moves all rungs of a lifetime together ({} of the variance \
         between trials of a rung, over {}), so it is part of every interval and of no step between rungs; {place}.",
        found.rungs,
        percent(found.restart_share),
        count(found.lifetimes, "lifetime")
    )
}

/// How far the left-out samples are from the others, on average over all trials.
pub(super) fn dropped(found: &Dropped) -> String {
    format!(
        "Left out, as the study requests: the first {} of each trial, whose {} was {} against the others.",
        if found.samples == 1 { "sample".to_owned() } else { count(found.samples, "sample") },
        phrase(&found.metric),
        change(found.change)
    )
}

/// Names the outlier, its log and the result without it.
pub(super) fn outlier(found: &Outlier) -> String {
    let unit = metric::describe(&found.metric).unit;
    let differing: Vec<String> = found
        .unusual
        .iter()
        .map(|(name, own, usual)| {
            let unit = covariate::Covariate::of(name).map_or(Unit::Plain, |known| known.unit);
            format!("{name} {} against {}", figure(*own, unit), figure(*usual, unit))
        })
        .collect();
    let recorded = match differing.is_empty() {
        true => "no covariate recorded with it stands out".to_owned(),
        false => format!("alongside it {}", differing.join(", ")),
    };
    let interval = found
        .ci
        .map_or(String::new(), |ci| format!(" (95% interval {} to {})", figure(ci.low, unit), figure(ci.high, unit)));
    let log = found.log.as_ref().map_or(String::new(), |log| format!("; its log is {log}"));
    format!(
        "trial {} (attempt {}, {}) is an outlier: {} {}, {} from the others' mean; without it {}{interval}; \
         {recorded}{log}",
        found.trial,
        found.attempt,
        found.condition,
        found.metric,
        figure(found.value, unit),
        percent((found.value / found.mean_without - 1.0).abs()),
        figure(found.mean_without, unit),
    )
}

/// The result of conditions with another load: how far apart their trials are. The lowest may be the best.
pub(super) fn aside(summary: &Summary) -> Option<String> {
    let metric = summary.headline_metric.as_deref()?;
    let others: Vec<(&ConditionSummary, &MetricSummary)> = summary
        .conditions
        .iter()
        .filter(|condition| summary.own_threads(condition).is_some())
        .filter_map(|condition| Some((condition, condition.metrics.iter().find(|m| m.name == metric)?)))
        .collect();
    let words: Vec<String> = others
        .iter()
        .map(|(condition, found)| {
            let (low, high) = (figure(found.min, found.unit), figure(found.max, found.unit));
            let spread = found.between_cov.map_or(String::new(), |cov| format!(", CoV {}", percent(cov)));
            let range = if found.trials == 1 { format!("at {low}") } else { format!("from {low} to {high}") };
            format!("{} {range} ({}{spread})", condition.name, count(found.trials, "trial"))
        })
        .collect();
    (!words.is_empty())
        .then(|| format!("Conditions with another load, from the lowest trial to the highest: {}.", list(&words)))
}

/// Why the client was the limit; `None` if it was not. `elapsed_s` is the length of the sample.
pub fn client_limit_reason(covariates: &BTreeMap<String, f64>, elapsed_s: f64) -> Option<String> {
    ClientLimit::of(covariates, elapsed_s).map(|found| limit_words(found, elapsed_s))
}

fn limit_words(found: ClientLimit, elapsed_s: f64) -> String {
    let of = match found {
        ClientLimit::StoodStillS(_) => format!(" of {} s", decimal(elapsed_s, 2)),
        _ => String::new(),
    };
    format!("{found}{of}")
}

/// A standstill, and whether the client or the server caused it, as far as known.
pub fn stall_words(LongestStall { from_s, length_s, is_clients }: &LongestStall) -> String {
    let whose = match is_clients {
        true => "the client itself stalled",
        false => "the client ran, so the server or the connection to it stalled",
    };
    let (length_s, from_s) = (decimal(*length_s, 2), decimal(*from_s, 1));
    format!("no transaction completed for {length_s} s from second {from_s} on: {whose}")
}

/// A reader must know this before attributing a figure to the server.
pub(super) fn client_limit_notes(results: &Results) -> Vec<String> {
    let found = ClientFindings::of(results);
    let limited = found.limited.iter().map(|found| {
        let why = limit_words(found.first.0, found.first.1);
        let (trials, all, condition) = (found.trials, found.all, found.condition);
        format!(
            "the client was the limit in {trials} of {} of {condition}, so the figures describe the client: {why}",
            count(all, "trial")
        )
    });
    let waited = found.waited.iter().map(|found| {
        let (trials, condition, share) = (found.trials, found.condition, percent(found.first));
        format!(
            "in {} of {condition} client threads waited for a CPU for {share} of the time, on CPUs reserved for them: \
             give them more",
            count(trials, "trial")
        )
    });
    let stalls = found.stalls.iter().map(|(trial, sample, stall)| {
        let (number, condition) = (trial.trial, &trial.condition);
        format!("trial {number} ({condition}), sample {}: {}", sample.sample, stall_words(stall))
    });
    let more = (found.more_stalls > 0)
        .then(|| format!("{} with such a stall, each shorter", count(found.more_stalls, "more sample")));
    let slow_s = found.slow_s;
    let slow = (slow_s > 0.0).then(|| {
        format!("{} of samples had less than half of their sample's usual throughput", count(slow_s as usize, "second"))
    });
    let searches = found.searches.iter().map(|found| {
        let (trials, all, condition, (slo, why)) = (found.trials, found.all, found.condition, found.first);
        format!(
            "the client was the limit of the search in {trials} of {all} trials of {condition}, so the server may \
             reach more under {slo}: {why}"
        )
    });
    limited.chain(waited).chain(stalls).chain(more).chain(slow).chain(searches).collect()
}

/// Why a trial failed.
pub(crate) fn failure(failure: &Failure) -> String {
    match failure {
        Failure::Recorded(reason) => reason.clone(),
        Failure::NotANumber { metric, sample } => format!("{metric} of sample {sample} is not a number"),
        Failure::Nothing { metric, sample, value } => {
            let value = figure(*value, metric::describe(metric).unit);
            format!("{metric} of sample {sample} is {value}: nothing was done")
        }
    }
}

/// Up to this many disturbed attempts are listed individually.
const FEW: usize = 2;
const PROGRAMS: usize = 4;

/// How many trials were disturbed, then one line per program; `None` if the attempts are listed individually.
pub(super) fn disturbed_in_short(results: &Results) -> Option<Vec<String>> {
    let disturbed: Vec<&TrialRecord> =
        results.trials.iter().filter(|trial| matches!(state::of(trial), State::Disturbed(_))).collect();
    if disturbed.len() <= FEW {
        return None;
    }
    let counted = disturbed.iter().filter(|trial| is_usable(trial)).count();
    let usable = results.trials.iter().filter(|trial| is_usable(trial)).count();
    let counted_words = match counted {
        0 if usable == 0 => "no trial counts".to_owned(),
        0 => "no trial that counts was disturbed".to_owned(),
        _ => format!("{counted} of {} {} disturbed in every attempt", count(usable, "trial"), was(counted)),
    };
    let aside = match disturbed.len() - counted {
        0 => String::new(),
        n => format!("; {} set aside", if n == 1 { "1 attempt was".into() } else { format!("{n} attempts were") }),
    };
    let head = format!("{counted_words}{aside}; {}", each(&results.path.display().to_string()));
    let programs = by_program(disturbed.iter().map(|trial| &trial.disturbed_by));
    let line = |by: &Disturbing<'_>| took(by.program, by.cpus, by.attempts, disturbed.len());
    let others = (programs.len() > PROGRAMS)
        .then(|| format!("{} took less, or in fewer attempts", count(programs.len() - PROGRAMS, "other program")));
    // Time of the hypervisor, swapping, a suspension, short-lived processes; and records of older versions.
    let unnamed = disturbed.iter().filter(|trial| trial.disturbed_by.is_empty());
    let first = unnamed.clone().next().map(|trial| {
        let reason = trial.reason.as_deref().unwrap_or_default();
        // A CSV file has the reason alone, which may name programs.
        let without = if results.source == Source::Csv { "" } else { " without a program" };
        format!("{}{without}, as in trial {}: {reason}", count(unnamed.count(), "disturbed attempt"), trial.trial)
    });
    let named = programs.iter().take(PROGRAMS).map(line);
    Some(std::iter::once(head).chain(named).chain(others).chain(first).collect())
}

/// How to list disturbed attempts individually.
fn each(results: &str) -> String {
    format!("each by itself: tare show {} --all", tare_text::quoted(results))
}

fn took(program: &str, cpus: f64, attempts: usize, of: usize) -> String {
    format!("{program} took up to {} of a CPU in {attempts} of {}", percent(cpus), count(of, "disturbed attempt"))
}

/// The disturbed attempts of one side of a comparison, in one line.
pub(super) fn disturbed_side(side: &str, found: &DisturbedSide) -> String {
    let DisturbedSide { results, counted, of, set_aside, program } = found;
    let counts = match (*counted, *set_aside) {
        (0, aside) => format!("{} {} disturbed and set aside", count(aside, "attempt"), was(aside)),
        (counted, 0) => format!("{counted} of {} {} disturbed and counted", count(*of, "trial"), was(counted)),
        (counted, aside) => format!(
            "{counted} of {} {} disturbed and counted, {} set aside",
            count(*of, "trial"),
            was(counted),
            count(aside, "attempt")
        ),
    };
    let program = program.as_ref().map(|most| {
        let others = match most.others {
            0 => String::new(),
            others => format!(", {} less", count(others, "other program")),
        };
        took(&most.program, most.cpus, most.attempts, counted + set_aside) + &others
    });
    let list = Some(each(results)).filter(|_| !results.is_empty());
    let parts: Vec<String> = [Some(counts), program, list].into_iter().flatten().collect();
    format!("{side}: {}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn a_client_is_the_limit_by_its_quota_its_cpus_or_its_own_standstill() {
        let why = |pairs: &[(&str, f64)]| client_limit_reason(&of(pairs), 10.0).unwrap_or_default();
        assert!(why(&[("client_throttled_fraction", 0.8)]).contains("used up in 80"));
        assert!(why(&[("client_busy_fraction", 0.95)]).contains("95"));
        assert_eq!(why(&[("client_stalled_s", 2.0)]), "it stalled for 2.00 s of 10.00 s");
        let idle = [
            ("client_throttled_fraction", 0.01),
            ("client_busy_fraction", 0.4),
            ("client_stalled_s", 0.1),
            ("client_waited_for_cpu_fraction", 0.9),
        ];
        assert_eq!(why(&idle), "");
        let still = |length_s| client_limit_reason(&of(&[("client_stalled_s", length_s)]), 2.0);
        assert!(still(0.14).is_none() && still(0.3).is_some(), "a moment of a short sample is an accident");
        let short = client_limit_reason(&of(&[("client_stalled_s", 0.6)]), 0.847);
        assert_eq!(short.as_deref(), Some("it stalled for 0.60 s of 0.85 s"), "one unit for both");
        let absurd = client_limit_reason(&of(&[("client_stalled_s", 1e308)]), 1e300);
        assert_eq!(absurd.as_deref(), Some("it stalled for 1.00e308 s of 1.00e300 s"));
    }

    #[test]
    fn a_stall_is_reported_with_its_place_and_its_cause() {
        let words = |is_clients| stall_words(&LongestStall { from_s: 3.25, length_s: 1.5, is_clients });
        assert!(words(true).ends_with("the client itself stalled"), "{}", words(true));
        assert!(
            words(false).contains("1.50 s from second 3.2 on") && words(false).contains("so the server"),
            "{}",
            words(false)
        );
    }
}
