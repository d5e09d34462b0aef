//! Which samples count: whose figures are valid, because a user's program or another host may report any value, and
//! which were disturbed, by the rules of docs/noise.md, each with the source of its threshold.
//!
//! Pressure (PSI) is recorded but not a rule: two of the benchmark's own threads on one CPU cause it by design.

use super::TrialError;
use std::collections::BTreeSet;
use tare_drive::capture::interference::OthersSeen;
use tare_results::covariate::{FOREIGN_FRACTION, Unbounded, unbounded};
use tare_results::metric::{self, Better};
use tare_results::schema::{Outcome, SampleRecord, TrialRecord};
use tare_results::unit::Unit;
use tare_study::language::settings::Sampling;
use tare_text::count;

/// Seconds of CPU time below which no limit applies, whatever the fraction: clock ticks of 10 ms cannot resolve less.
const FOREIGN_LEAST_S: f64 = 0.1;
const NAMED: usize = 3;

/// The programs that took CPU time, if together they exceeded the limit; else none.
pub(crate) fn disturbing_programs(sampling: &Sampling, seen: &OthersSeen) -> Vec<(String, f64)> {
    match foreign(sampling, seen) {
        Some(_) => seen.users.iter().map(|(name, _, cpus)| (name.clone(), *cpus)).collect(),
        None => Vec::new(),
    }
}

/// The fraction of the benchmark's CPU time that other processes took, and the limit, if it is exceeded.
fn foreign(sampling: &Sampling, seen: &OthersSeen) -> Option<(f64, f64)> {
    let value = |name: &str| seen.covariates.get(name);
    let enough = value("foreign_cpu_s").is_some_and(|s| *s >= FOREIGN_LEAST_S);
    sampling.foreign_cpu_limit.exceeded(value(FOREIGN_FRACTION)).filter(|_| enough)
}

/// Why a sample is disturbed; `None` if it is clean.
pub(crate) fn judge_disturbance(sampling: &Sampling, sample: usize, seen: &OthersSeen) -> Option<String> {
    disturbance_reasons(sampling, seen).map(|reasons| format!("sample {sample}: {reasons}"))
}

/// The same without the number of the sample.
pub(crate) fn disturbance_reasons(sampling: &Sampling, seen: &OthersSeen) -> Option<String> {
    let value = |name: &str| seen.covariates.get(name);
    let percent = |fraction: f64| format!("{:.1}%", fraction * 100.0);
    let mut reasons = Vec::new();
    if let Some((stolen, limit)) = sampling.steal_limit.exceeded(value("steal_fraction")) {
        reasons.push(format!("the hypervisor took {} of the CPU time (limit {})", percent(stolen), percent(limit)));
    }
    if let Some((taken, limit)) = foreign(sampling, seen) {
        let who: Vec<String> = seen
            .users
            .iter()
            .take(NAMED)
            .map(|(name, pid, cpu)| format!("{name} ({pid}) {:.0}%", cpu * 100.0))
            .collect();
        // A process is observed on whichever CPU it runs, so its share may exceed what it took from the benchmark.
        let who = match who.is_empty() {
            true => ": short-lived processes".to_owned(),
            false => format!("; on all CPUs: {}", who.join(", ")),
        };
        reasons.push(format!(
            "other processes took {} of the time of the benchmark's CPUs (limit {}){who}",
            percent(taken),
            percent(limit)
        ));
    }
    reasons.extend(unbounded(&seen.covariates).into_iter().map(|found| match found {
        Unbounded::Swapped(bytes) => format!("{:.1} MiB of the server were swapped out", bytes / f64::from(1 << 20)),
        Unbounded::Suspended(s) => format!("the machine was suspended for {s:.2} s"),
        Unbounded::Signal => "a signal stopped tare, its server or its client program for a while".to_owned(),
        Unbounded::StoodStill(s) => format!(
            "tare stood still for {s:.2} s and waited for no CPU: its control group was frozen, or its virtual machine \
             was paused"
        ),
        Unbounded::ServerStoodStill(s) => {
            format!("the server stood still for {s:.2} s: its control group was frozen, or a signal stopped it")
        }
    }));
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Marks a measured trial as disturbed. It goes back to the end of the schedule unless no attempt is left: then it
/// counts, because the machine is disturbed every time, and the record keeps the reason.
pub(crate) fn mark_disturbed(record: &mut TrialRecord, reasons: &[String], attempts: u32) {
    if record.outcome != Outcome::Ok || reasons.is_empty() {
        return;
    }
    record.reason = Some(first_of(reasons));
    if record.attempt < attempts {
        record.outcome = Outcome::Disturbed;
    }
}

/// Samples of which the reason of a trial has the details.
const DETAILED: usize = 2;

/// The first reasons, and the number of the others: a trial may have hundreds of disturbed samples.
fn first_of(reasons: &[String]) -> String {
    let shown = reasons.iter().take(DETAILED).cloned();
    let more = reasons.len().saturating_sub(DETAILED);
    let more = (more > 0).then(|| format!("{} disturbed", count(more, "further sample")));
    shown.chain(more).collect::<Vec<String>>().join("; ")
}

/// More events per second than any client can complete: one transaction or query per nanosecond.
const MOST_PER_S: f64 = 1e9;

/// Fails the trial if a figure is no number or impossible, or a throughput not above 0. `done` is the operation count.
pub(super) fn check_figures(sample: &SampleRecord, done: Option<f64>, threads: usize) -> Result<(), TrialError> {
    let most = MOST_PER_S * threads as f64;
    let is_result = |name: &str, value: f64| {
        let described = metric::describe(name);
        let is_work = described.unit == Unit::PerS || described.is_primary() && described.better == Better::Higher;
        // The meaning of the study's own metrics is unknown, and tare itself counts the rounds of the counters.
        let is_known = metric::is_declared(name) && name != metric::ROUNDS_PER_S.name();
        let possible = match described.unit {
            Unit::PerS if is_known => 0.0..=most,
            Unit::PerMin if is_known => 0.0..=60.0 * most,
            Unit::S | Unit::Ms | Unit::Us | Unit::Ns | Unit::Bytes if is_known => 0.0..=f64::MAX,
            _ => f64::MIN..=f64::MAX,
        };
        possible.contains(&value) && (value > 0.0 || !is_work)
    };
    let none =
        |metric: &str, value| Err(TrialError::NoResult { sample: sample.sample, metric: metric.to_owned(), value });
    if let Some(done) = done.filter(|done| !(0.0..=most * sample.elapsed_s).contains(done)) {
        return none("the number of transactions", done);
    }
    match sample.metrics.iter().find(|(name, value)| !is_result(name, **value)) {
        Some((name, value)) => none(name, *value),
        None => Ok(()),
    }
}

/// Records the programs of a sample's client: they must be the same in all samples of a trial.
pub(super) fn note_client(programs: BTreeSet<String>, record: &mut TrialRecord) -> Result<(), TrialError> {
    if record.client_programs.is_empty() {
        record.client_programs = programs;
    } else if record.client_programs != programs {
        return Err(TrialError::ClientExchanged);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tare_study::language::settings::Limit;

    fn seen(values: &[(&str, f64)]) -> OthersSeen {
        let covariates: BTreeMap<String, f64> = values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        OthersSeen { covariates, users: vec![("cc1plus".into(), 77, 0.93)] }
    }

    #[test]
    fn each_disturbance_rule_applies_only_above_its_limit() {
        let sampling = Sampling::default();
        let quiet: [&[(&str, f64)]; 5] = [
            &[],
            &[("steal_fraction", 0.03), ("psi_cpu_some_fraction", 1.0), ("busy_fraction", 1.0)],
            &[("foreign_cpu_fraction", 0.05), ("foreign_cpu_s", 10.0)],
            &[("foreign_cpu_fraction", 0.4), ("foreign_cpu_s", 0.09)],
            &[("server_swapped_bytes", 0.0), ("suspended_s", 0.000_1), ("stopped_processes", 0.0), ("stopped_s", 0.09)],
        ];
        for values in quiet {
            assert_eq!(judge_disturbance(&sampling, 0, &seen(values)), None, "{values:?}");
        }
        let loud: [(&[(&str, f64)], &str); 7] = [
            (&[("steal_fraction", 0.031)], "hypervisor took 3.1%"),
            (&[("foreign_cpu_fraction", 0.051), ("foreign_cpu_s", 0.1)], "(limit 5.0%); on all CPUs: cc1plus (77) 93%"),
            (&[("server_swapped_bytes", 4096.0)], "swapped out"),
            (&[("suspended_s", 2.5)], "suspended for 2.50 s"),
            (&[("stopped_processes", 1.0)], "a signal stopped"),
            (&[("stopped_s", 1.2)], "tare stood still for 1.20 s"),
            (&[("server_stopped_s", 0.11)], "the server stood still for 0.11 s"),
        ];
        for (values, words) in loud {
            let reason = judge_disturbance(&sampling, 3, &seen(values)).unwrap();
            assert!(reason.starts_with("sample 3: ") && reason.contains(words), "{reason}");
        }
        let off = Sampling { steal_limit: Limit(None), foreign_cpu_limit: Limit(None), ..sampling };
        let all = seen(&[("steal_fraction", 0.9), ("foreign_cpu_fraction", 0.9), ("foreign_cpu_s", 9.0)]);
        assert_eq!(judge_disturbance(&off, 0, &all), None);
    }

    #[test]
    fn a_trial_has_the_details_of_two_disturbed_samples_and_the_number_of_the_others() {
        let reason = |samples: usize| {
            let reasons: Vec<String> = (0..samples).map(|sample| format!("sample {sample}: stolen")).collect();
            let mut record = TrialRecord { outcome: Outcome::Ok, ..TrialRecord::default() };
            mark_disturbed(&mut record, &reasons, 1);
            record.reason.unwrap_or_default()
        };
        assert_eq!(reason(2), "sample 0: stolen; sample 1: stolen");
        assert_eq!(reason(3), "sample 0: stolen; sample 1: stolen; 1 further sample disturbed");
        assert_eq!(reason(40), "sample 0: stolen; sample 1: stolen; 38 further samples disturbed");
    }

    #[test]
    fn figures_that_no_client_can_achieve_are_refused() {
        let says = |name: &str, value: f64| {
            let metrics = [(name.to_owned(), value)].into();
            check_figures(&SampleRecord { elapsed_s: 2.0, metrics, ..SampleRecord::default() }, None, 4)
        };
        for name in ["tps", "qps", "nopm"] {
            for wrong in [0.0, -1.0, 1e308, f64::NAN, f64::INFINITY] {
                let message = says(name, wrong).unwrap_err().to_string();
                assert!(message.starts_with(&format!("sample 0 has no result: {name} is {wrong:?};")), "{message}");
            }
            assert!(says(name, 3.9e9).is_ok(), "four threads");
        }
        assert!(says("tps", 4.1e9).is_err() && says("latency_ms_p99", -0.5).is_err());
        for fine in [("rounds_per_s", 1e11), ("bytes_per_s", 1e308), ("offset_ms", -1.0), ("loss", -1.0), ("tpmC", 0.0)]
        {
            assert!(says(fine.0, fine.1).is_ok(), "{fine:?}");
        }
        let counted = |done| check_figures(&SampleRecord { elapsed_s: 2.0, ..SampleRecord::default() }, Some(done), 4);
        assert!(counted(0.0).is_ok() && counted(7.9e9).is_ok());
        assert!([-1.0, 8.1e9, f64::INFINITY, f64::NAN].into_iter().all(|done| counted(done).is_err()));
    }
}
