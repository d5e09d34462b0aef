//! Upper bound of the effect of measured disturbance: the share of a trial's time that other processes ran on its CPUs.
//!
//! In the worst case, the whole load stalled whenever anything else ran on one of the benchmark's CPUs, and no two of
//! these periods overlapped. Let t be the share of a sample's time that others took. Then a throughput v would have
//! been v / (1 - t) without them, and a time v would have been v (1 - t). No arrangement of the same CPU time has a
//! larger effect, apart from cache misses that it causes.

use tare_results::covariate::unbounded;
use tare_results::metric::{self, Better};
use tare_results::schema::{SampleRecord, TrialRecord};

/// Upper bound of the share of a sample's time, from 0 to 1, in which others ran on the benchmark's CPUs; none if it
/// was not recorded or the sample was disturbed in another way too.
fn of_sample(sample: &SampleRecord) -> Option<f64> {
    let value = |name: &str| sample.covariates.get(name).copied();
    if !unbounded(&sample.covariates).is_empty() {
        return None;
    }
    let foreign_s = value("foreign_cpu_s")?;
    let stolen = value("bound_steal_fraction").or_else(|| value("steal_fraction"))?;
    let cpus = || {
        let busy = value("bound_busy_s")? / value("bound_busy_fraction")? / sample.elapsed_s;
        Some(busy.round().max(1.0)).filter(|cpus| cpus.is_finite())
    };
    let stolen = if stolen > 0.0 { stolen * cpus()? } else { 0.0 };
    let taken = foreign_s / sample.elapsed_s + stolen;
    taken.is_finite().then(|| taken.clamp(0.0, 1.0))
}

/// The largest share of a trial's samples; none if a sample has none.
fn of_trial(trial: &TrialRecord) -> Option<f64> {
    let shares = trial.samples.iter().map(of_sample).collect::<Option<Vec<f64>>>()?;
    shares.into_iter().reduce(f64::max)
}

/// The largest share of all these trials, if every trial has one below 1 (a complete stall).
pub(crate) fn most<'t>(trials: impl IntoIterator<Item = &'t TrialRecord>) -> Option<f64> {
    let shares = trials.into_iter().map(of_trial).collect::<Option<Vec<f64>>>()?;
    Some(shares.into_iter().fold(0.0, f64::max)).filter(|share| *share < 1.0)
}

/// Whether lost CPU time bounds the effect on a metric: true for throughput and for times of whole queries. A
/// percentile may belong to a transaction that waited for all of it.
pub(crate) fn applies(name: &str) -> bool {
    metric::describe(name).is_primary()
}

/// A trial's value of such a metric, corrected for the largest possible effect of the disturbance; unchanged for a
/// clean trial.
pub(crate) fn at_best(trial: &TrialRecord, name: &str, value: f64) -> f64 {
    if !crate::state::is_disturbed(trial) {
        return value;
    }
    let left = 1.0 - of_trial(trial).unwrap_or(0.0);
    match metric::describe(name).better {
        Better::Higher => value / left,
        Better::Lower => value * left,
    }
}
