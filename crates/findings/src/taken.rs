//! What measured disturbance could explain at most: the part of a trial's time that others took from its CPUs.
//!
//! At worst everything stood still whenever anything else ran on one of the benchmark's CPUs, and no two of these
//! moments were at the same time. Then a throughput v in a sample of which others took the share t was v / (1 - t)
//! without them, and a time v was v (1 - t): no arrangement of the same CPU time explains more, what caches lost aside.

use tare_results::metric::{self, Better};
use tare_results::schema::{SampleRecord, TrialRecord};

/// A machine that slept for longer was suspended, as in the rules by which samples are judged.
const SUSPENDED_S: f64 = 0.01;

/// Share of a sample's time, from 0 to 1, in which others ran on the benchmark's CPUs at most; none where that was not
/// recorded or something else disturbed it too.
fn of_sample(sample: &SampleRecord) -> Option<f64> {
    let value = |name: &str| sample.covariates.get(name).copied();
    let above = |name: &str, limit: f64| value(name).is_some_and(|found| found > limit);
    if above("server_swapped_bytes", 0.0) || above("suspended_s", SUSPENDED_S) {
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

/// The largest share of the time of a trial's samples; none where one of them has none.
fn of_trial(trial: &TrialRecord) -> Option<f64> {
    let shares = trial.samples.iter().map(of_sample).collect::<Option<Vec<f64>>>()?;
    shares.into_iter().reduce(f64::max)
}

/// The largest share of all these trials, where it bounds every one of them below a standstill.
pub(crate) fn most<'t>(trials: impl IntoIterator<Item = &'t TrialRecord>) -> Option<f64> {
    let shares = trials.into_iter().map(of_trial).collect::<Option<Vec<f64>>>()?;
    Some(shares.into_iter().fold(0.0, f64::max)).filter(|share| *share < 1.0)
}

/// Whether CPU time that is taken away bounds what happens to a metric: throughput, and times of whole queries. A
/// percentile can be that of a transaction that waited for all of it.
pub(crate) fn applies(name: &str) -> bool {
    metric::describe(name).is_primary()
}

/// A trial's value of such a metric as it was at best without what disturbed it; as it is for a clean one.
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
