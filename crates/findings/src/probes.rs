//! Adjustment of a study by a probe: which probe it uses, the readings alongside each trial, and the comparisons that
//! may use it.

use super::collect::{self, ConditionTrials};
use super::differences::{self, Difference, What};
use super::ends;
use serde::Serialize;
use tare_results::Results;
use tare_results::factor;
use tare_results::probe::{Probe, ProbeUse};
use tare_results::schema::{SampleRecord, TrialRecord};
use tare_stats::Interval;
use tare_stats::control::{self, Arm};
use tare_stats::descriptive::mean;

/// One probe applied to one metric of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weighed {
    /// `chain`, `spin` or `wakeup`.
    pub probe: String,
    /// The share of the spread between trials that remains after adjustment, residual over plain; 1 if the probe
    /// explains nothing.
    pub left: f64,
    /// The geometric mean with the probe at its mean over the study; null if the study did not declare in advance
    /// that this probe adjusts, or if a factor can move the probe.
    pub adjusted_mean: Option<f64>,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

/// Why a probe may not adjust a comparison: one of the differences can move the probe itself, and a control variable
/// that the treatment moves invalidates the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub probe: Probe,
    pub first: What,
    pub more: usize,
}

/// The use of probes that a study declared in advance.
pub(super) fn declared(results: &Results) -> ProbeUse {
    let table = collect::study(results);
    let word = table.as_ref().and_then(|table| table.get("sampling")?.get("probe")?.as_str());
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// The reading alongside one metric of a trial, nanoseconds, mean over its samples; none if a sample has none.
pub(super) fn of_trial(trial: &TrialRecord, metric: &str, probe: Probe) -> Option<f64> {
    // Samples held as columns contain metrics only.
    let whole = trial.plain.is_empty().then_some(&trial.samples)?;
    let readings: Option<Vec<f64>> = whole.iter().map(|sample| of_sample(sample, metric, probe)).collect();
    mean(&readings?)
}

/// The reading alongside one metric of a sample, nanoseconds.
pub(super) fn of_sample(sample: &SampleRecord, metric: &str, probe: Probe) -> Option<f64> {
    let own = sample.covariates.get(&probe.covariate_of(metric)).or_else(|| sample.covariates.get(probe.covariate()));
    own.copied().filter(|ns| *ns > 0.0)
}

/// The readings alongside all analysed trials that have a metric, in their order; none if one is missing.
pub(super) fn readings(condition: &ConditionTrials<'_>, metric: &str, probe: Probe) -> Option<Vec<f64>> {
    condition.with(metric).into_iter().map(|(trial, _)| of_trial(trial, metric, probe)).collect()
}

/// Factors that affect only the server, or the statements sent to it: they cannot move a probe that runs while the
/// server is idle. Every other factor is assumed to be able to.
const CANNOT_MOVE: [&str; 15] = [
    "binary",
    "build",
    "engine",
    "workload",
    "data",
    "transport",
    "aslr",
    "allocator",
    "environment_bytes",
    "preload",
    "queries",
    "warmup_runs",
    "distribution",
    "tables",
    "rows",
];

/// Whether a level of this factor can change a probe's reading.
pub fn can_move(factor: &str) -> bool {
    !(CANNOT_MOVE.contains(&factor) || factor::option(factor).is_some())
}

/// Whether a difference between two runs can move the probe.
fn moves(what: &What) -> bool {
    /// Sections and keys of a study that affect only the server, or only set how often something is done.
    const HARMLESS: [&str; 15] = [
        "name",
        "title",
        "description",
        "question",
        "engine.",
        "process.",
        "sampling.trials",
        "sampling.samples",
        "sampling.seed",
        "sampling.attempts",
        "sampling.trial_timeout_s",
        "sampling.budget_s",
        "factors.",
        "conditions",
        "quick",
    ];
    let harmless = match what {
        What::Factor(factor) => !can_move(factor),
        What::Study(key) if key == "workload.threads" => false,
        What::Study(key) => key.starts_with("workload.") || HARMLESS.iter().any(|known| key.starts_with(known)),
        What::ServerVersion | What::ServerBuild(_) | What::ServerSetting(_) | What::Tare => true,
        // The load of the machine is exactly what a probe corrects for.
        What::Setting(_) => what.is_load(),
        What::Machine(_) => false,
    };
    !harmless
}

/// Why comparisons of these conditions are not adjusted; none if they may be.
pub(super) fn refusal(differences: &[Difference], probe: Probe) -> Option<Refusal> {
    let movers: Vec<&What> = differences.iter().map(|difference| &difference.what).filter(|what| moves(what)).collect();
    let first = *movers.first()?;
    Some(Refusal { probe, first: first.clone(), more: movers.len() - 1 })
}

/// The probe that adjusts the whole study, or the reason why not if a factor can move it.
pub(super) fn of_study(results: &Results, conditions: &[ConditionTrials<'_>]) -> (Option<Probe>, Option<Refusal>) {
    let Some(probe) = declared(results).adjusts() else { return (None, None) };
    let first = conditions.first().map(|condition| condition.levels);
    let pairs = conditions.iter().filter_map(|other| Some(differences::of_levels(first?, other.levels)));
    match refusal(&pairs.flatten().collect::<Vec<_>>(), probe) {
        Some(reason) => (None, Some(reason)),
        None => (Some(probe), None),
    }
}

/// The geometric mean of a probe over all trials of a study that have a metric.
fn centre(conditions: &[ConditionTrials<'_>], metric: &str, probe: Probe) -> Option<f64> {
    let all: Option<Vec<Vec<f64>>> = conditions.iter().map(|c| readings(c, metric, probe)).collect();
    let logs: Vec<f64> = all?.concat().into_iter().map(f64::ln).collect();
    mean(&logs).map(f64::exp)
}

/// Every recorded probe applied to one metric of one condition. `adjusts` is the probe of the whole study.
pub(super) fn weighed(
    condition: &ConditionTrials<'_>,
    all: &[ConditionTrials<'_>],
    metric: &str,
    adjusts: Option<Probe>,
    confidence: f64,
) -> Vec<Weighed> {
    let values: Vec<f64> = condition.means(metric);
    let of = |probe: Probe| {
        let readings = readings(condition, metric, probe)?;
        let arm = Arm { metric: &values, probe: &readings };
        let left = control::left(&arm).ok()?;
        let at = || centre(all, metric, probe);
        let adjusted = (adjusts == Some(probe)).then(|| control::mean_at(&arm, at()?, confidence).ok()).flatten();
        Some(Weighed {
            probe: probe.word().to_owned(),
            left,
            adjusted_mean: adjusted.map(|found| found.value),
            ci: adjusted.and_then(|found| found.ci),
        })
    };
    Probe::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(what: What) -> Difference {
        Difference { what, a: "a".into(), b: "b".into() }
    }

    #[test]
    fn only_a_factor_that_affects_the_server_alone_leaves_a_probe_usable() {
        let factor = |name: &str| What::Factor(name.to_owned());
        let study = |key: &str| What::Study(key.to_owned());
        for harmless in [
            factor("option.innodb_buffer_pool_size"),
            factor("binary"),
            study("engine.binary"),
            study("sampling.trials"),
            study("workload.queries"),
            What::ServerVersion,
        ] {
            assert_eq!(refusal(&[difference(harmless.clone())], Probe::Chain), None, "{harmless}");
        }
        for mover in [
            factor("placement"),
            factor("threads"),
            factor("thp"),
            factor("something_new"),
            study("workload.threads"),
            study("placement.server"),
            What::Machine("kernel".into()),
            What::Setting("/sys/devices/system/cpu/cpufreq/boost".to_owned()),
        ] {
            let found = refusal(&[difference(What::ServerVersion), difference(mover.clone())], Probe::Spin);
            assert_eq!(found, Some(Refusal { probe: Probe::Spin, first: mover, more: 0 }));
        }
    }
}
