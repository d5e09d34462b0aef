//! Adjustment of a study by a probe: which probe it uses, the readings alongside each trial, the comparisons that may
//! use it, and whether it would help on this machine.

use super::collect::{self, ConditionTrials};
use super::confidence;
use super::differences::{self, Difference, HOST, What};
use serde::Serialize;
use tare_results::metric::{self, Better};
use tare_results::probe::{Probe, ProbeUse};
use tare_results::schema::{SampleRecord, TrialRecord};
use tare_results::{Results, factor};
use tare_stats::Interval;
use tare_stats::control::{self, Arm};
use tare_stats::descriptive::{mean, std_dev};
use tare_stats::worth::{Advice, worth};

/// One probe applied to one metric of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weighed {
    pub probe: Probe,
    /// The share of the spread between trials that remains after adjustment, residual over plain; 1 if the probe
    /// explains nothing.
    pub left: f64,
    /// The geometric mean with the probe at its mean over the study; null if the study did not declare in advance
    /// that this probe adjusts, or if a factor can move the probe.
    pub adjusted_mean: Option<f64>,
    #[serde(flatten, serialize_with = "confidence::ci")]
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
    let word = collect::study(results).and_then(|table| table.get("sampling")?.get("probe")?.as_str());
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
fn of_sample(sample: &SampleRecord, metric: &str, probe: Probe) -> Option<f64> {
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
        What::Machine(_) => *what == HOST,
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
            probe,
            left,
            adjusted_mean: adjusted.map(|found| found.value),
            ci: adjusted.and_then(|found| found.ci),
        })
    };
    Probe::ALL.into_iter().filter_map(of).collect()
}

/// Probability that any of the intervals of the three probes misses the true value.
const ERROR: f64 = 0.05;

/// The estimated benefit of each probe for the samples of one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weight {
    /// The metric, or the first of several combined ones.
    pub metric: String,
    pub metrics: usize,
    pub repeats: usize,
    /// Coefficient of variation of the measured values, as a fraction.
    pub cov: f64,
    pub probes: Vec<OfProbe>,
    /// Helps if one probe helps, does not help if none does.
    pub advice: Advice,
    /// The probe that leaves the least spread, if one helps.
    pub probe: Option<Probe>,
}

/// The spread that remains after adjustment by one of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OfProbe {
    /// The probe's name, as in a study file.
    pub probe: Probe,
    /// Correlation with the metric. Both are logarithms, oriented so that both are larger on a slower machine.
    pub correlation: f64,
    /// Spread that would remain / total spread.
    pub left: f64,
    pub left_ci_low: f64,
    pub left_ci_high: f64,
    /// Effective number of repeats: fewer than the actual number if consecutive ones are correlated.
    pub effective: f64,
    pub advice: Advice,
}

/// Estimates the probes from the samples of the first trial with a result; none with too few samples, or without
/// readings.
pub fn weigh(results: &Results) -> Option<Weight> {
    let trial = results.trials.iter().find(|trial| collect::is_usable(trial))?;
    let mut metrics: Vec<&str> = trial.metric_names().into_iter().collect();
    metrics.sort_by_cached_key(|name| metric::sort_key(name));
    metrics.dedup();
    if metrics.iter().any(|name| metric::describe(name).is_primary()) {
        metrics.retain(|name| metric::describe(name).is_primary());
    }
    let values = slowness(trial, &metrics)?;
    let confidence = 1.0 - ERROR / Probe::ALL.len() as f64;
    let of = |probe: Probe| {
        let found = worth(&values, &readings_of_metrics(trial, &metrics, probe)?, confidence)?;
        Some(OfProbe {
            probe,
            correlation: found.correlation,
            left: found.left,
            left_ci_low: found.left_ci.low,
            left_ci_high: found.left_ci.high,
            effective: found.repeats,
            advice: found.advice,
        })
    };
    let probes: Vec<OfProbe> = Probe::ALL.into_iter().filter_map(of).collect();
    let helps = probes.iter().filter(|found| found.advice == Advice::Helps);
    let best = helps.min_by(|a, b| a.left.total_cmp(&b.left)).map(|found| found.probe);
    let advice = match best {
        Some(_) => Advice::Helps,
        None if probes.iter().all(|found| found.advice == Advice::DoesNotHelp) => Advice::DoesNotHelp,
        None => Advice::CannotTell,
    };
    (!probes.is_empty()).then(|| {
        Some(Weight {
            metric: (*metrics.first()?).to_owned(),
            metrics: metrics.len(),
            repeats: values.len(),
            cov: std_dev(&values)?,
            probes,
            advice,
            probe: best,
        })
    })?
}

/// The logarithm of each sample's time, or of the inverse of its throughput, averaged over the metrics.
fn slowness(trial: &TrialRecord, metrics: &[&str]) -> Option<Vec<f64>> {
    let of_metric = |name: &&str| {
        let sign = match metric::describe(name).better {
            Better::Higher => -1.0,
            Better::Lower => 1.0,
        };
        let values = trial.values(name);
        values.iter().all(|value| *value > 0.0).then(|| values.iter().map(|v| sign * v.ln()).collect())
    };
    averaged(metrics.iter().map(of_metric))
}

/// The logarithm of the readings alongside each sample, averaged over the metrics.
fn readings_of_metrics(trial: &TrialRecord, metrics: &[&str], probe: Probe) -> Option<Vec<f64>> {
    let of_metric = |name: &&str| {
        trial.samples.iter().map(|sample| of_sample(sample, name, probe).map(f64::ln)).collect::<Option<Vec<f64>>>()
    };
    averaged(metrics.iter().map(of_metric))
}

/// The element-wise mean of lists of the same length; none if one is missing.
fn averaged(lists: impl Iterator<Item = Option<Vec<f64>>>) -> Option<Vec<f64>> {
    let lists: Vec<Vec<f64>> = lists.collect::<Option<_>>()?;
    let length = lists.first()?.len();
    let place = |at: usize| mean(&lists.iter().filter_map(|list| list.get(at).copied()).collect::<Vec<_>>());
    lists.iter().all(|list| list.len() == length).then(|| (0..length).map(place).collect::<Option<_>>())?
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
