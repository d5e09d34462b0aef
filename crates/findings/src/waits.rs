//! Where the server's threads spend wall-clock time, and what keeps those that serve connections asleep, by
//! condition: means over trials.

use super::confidence::{self, CONFIDENCE};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::captures::Captures;
use tare_results::schema::TrialRecord;
use tare_results::waits::{
    CallerShare, Doing, FutexOperation, StackSamples, ThreadsTime, TimePart, TimeUse, WaitsFile, WakesFile,
};
use tare_stats::Interval;
use tare_stats::trials::mean_interval;

/// Maximum number of listed parts per class of threads.
const LISTED: usize = 24;

/// Time of the server's threads in the capture samples of one condition, means over its trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitsSummary {
    pub trials: usize,
    /// Samples of every thread per second, mean over trials: fewer with many threads.
    pub looks_per_s: f64,
    /// CPU time of the sampling itself, as a share of one CPU.
    pub looking_cpu_fraction: f64,
    pub connections: ClassTime,
    pub background: ClassTime,
    /// The callers of the functions that connections sleep in, if stacks were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<StacksSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StacksSummary {
    /// Number of stacks read, in all trials.
    pub read: u64,
    /// Share of stacks that reach the thread's start function.
    pub whole_fraction: f64,
    /// `caller;callee`, with the share of the threads' time, the largest first.
    pub callers: Vec<(String, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassTime {
    pub threads: f64,
    /// Whether running and waiting for a CPU are the kernel's exact counts in all trials.
    pub exact: bool,
    /// Share of the samples in which a thread was running or runnable, for comparison with the exact counts; none
    /// without samples.
    pub running_samples_fraction: Option<f64>,
    /// Parts that add up to 1, the largest first; the smallest may be left out.
    pub parts: Vec<TimeSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeSummary {
    pub time: TimeUse,
    /// What is waited on: symbol, mapping, file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<FutexOperation>,
    /// For a futex, the caller of most of its sleeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Distinct futex addresses per trial, mean.
    pub addresses: f64,
    /// Maximum number of distinct threads seen in it in one trial.
    pub threads: usize,
    /// Share of the wall-clock time of all threads of the class, 0 to 1.
    pub fraction: f64,
    /// 95% interval of the share over trials; null with one trial.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Time of all threads of the class per transaction, milliseconds; none if the load counts no transactions.
    pub per_transaction_ms: Option<f64>,
}

impl WaitsSummary {
    /// Share of the connections' time spent asleep, other than waiting for their clients.
    pub fn own_waits(&self) -> f64 {
        self.connections.parts.iter().filter(|part| part.time.is_wait()).map(|part| part.fraction).sum()
    }
}

/// Over the trials of one condition that have the capture; none if no trial has it.
pub(super) fn summary(trials: &[(&TrialRecord, &WaitsFile)]) -> Option<WaitsSummary> {
    let mean =
        |of: &dyn Fn(&WaitsFile) -> f64| trials.iter().map(|(_, file)| of(file)).sum::<f64>() / trials.len() as f64;
    (!trials.is_empty()).then(|| WaitsSummary {
        trials: trials.len(),
        looks_per_s: mean(&|file| file.looks as f64 / file.elapsed_s.max(1e-9)),
        looking_cpu_fraction: mean(&|file| file.looking_cpu_s / file.elapsed_s.max(1e-9)),
        connections: class(trials, |file| &file.connections),
        background: class(trials, |file| &file.background),
        stacks: stacks(trials),
    })
}

fn stacks(trials: &[(&TrialRecord, &WaitsFile)]) -> Option<StacksSummary> {
    let with = || trials.iter().filter_map(|(_, file)| file.stacks.as_ref());
    let sum = |of: fn(&StackSamples) -> u64| with().map(of).fold(0, u64::saturating_add);
    let (read, whole) = (sum(|stacks| stacks.read), sum(|stacks| stacks.whole));
    (read > 0).then(|| StacksSummary {
        read,
        whole_fraction: whole as f64 / read as f64,
        callers: callers_of_wakes(with().map(|stacks| stacks.callers.as_slice())),
    })
}

type Key<'f> = (TimeUse, Option<&'f str>, Option<FutexOperation>, Option<&'f str>);

fn class<'f>(trials: &[(&TrialRecord, &'f WaitsFile)], of: impl Fn(&'f WaitsFile) -> &'f ThreadsTime) -> ClassTime {
    let all = trials.len() as f64;
    let mut parts: BTreeMap<Key<'f>, Vec<Vec<&TimePart>>> = BTreeMap::new();
    for (index, (_, file)) in trials.iter().enumerate() {
        for part in &of(file).parts {
            let key = (part.time, part.on.as_deref(), part.operation, part.caller.as_deref());
            parts.entry(key).or_insert_with(|| vec![Vec::new(); trials.len()])[index].push(part);
        }
    }
    let times: Vec<Option<f64>> = trials.iter().map(|(trial, file)| thread_ms(trial, of(file))).collect();
    let mut parts: Vec<TimeSummary> = parts.into_iter().map(|(key, of_trials)| part(key, &of_trials, &times)).collect();
    parts.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
    parts.truncate(LISTED);
    let (samples, running) = trials.iter().fold((0_u64, 0_u64), |(samples, running), (_, file)| {
        (samples.saturating_add(of(file).samples), running.saturating_add(of(file).running_samples))
    });
    ClassTime {
        threads: trials.iter().map(|(_, file)| of(file).threads as f64).sum::<f64>() / all,
        exact: trials.iter().all(|(_, file)| of(file).exact),
        running_samples_fraction: (samples > 0).then(|| running as f64 / samples as f64),
        parts,
    }
}

/// Time of all threads of a class per transaction of the capture sample, milliseconds.
fn thread_ms(trial: &TrialRecord, time: &ThreadsTime) -> Option<f64> {
    let tps = trial.capture_sample.as_ref()?.tps;
    (tps > 0.0).then(|| 1000.0 * time.threads as f64 / tps).filter(|each| each.is_finite())
}

fn part((time, on, operation, caller): Key<'_>, of_trials: &[Vec<&TimePart>], times: &[Option<f64>]) -> TimeSummary {
    let all = of_trials.len() as f64;
    let sum = |parts: &Vec<&TimePart>| parts.iter().map(|part| part.fraction).sum::<f64>();
    let fractions: Vec<f64> = of_trials.iter().map(sum).collect();
    let each: Option<Vec<f64>> = fractions.iter().zip(times).map(|(share, time)| Some(share * (*time)?)).collect();
    TimeSummary {
        time,
        on: on.map(str::to_owned),
        operation,
        caller: caller.map(str::to_owned),
        addresses: of_trials.iter().flatten().map(|part| part.addresses as f64).sum::<f64>() / all,
        threads: of_trials.iter().flatten().map(|part| part.threads).max().unwrap_or(0),
        fraction: fractions.iter().sum::<f64>() / all,
        // With a few differing trials, the interval could extend beyond 0 to 1.
        ci: mean_interval(&fractions, CONFIDENCE).map(|ci| Interval { low: ci.low.max(0.0), high: ci.high.min(1.0) }),
        per_transaction_ms: each.map(|each| each.iter().sum::<f64>() / all),
    }
}

const CALLERS_LISTED: usize = 16;

/// Sleeps of the connections' threads in the capture samples of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WakesSummary {
    pub trials: usize,
    /// Share of these threads' time for which they slept until they were woken.
    pub slept_fraction: f64,
    /// The wakers, with the share of the time, the largest first.
    pub woken_by: Vec<(String, f64)>,
    /// What the sleeps waited for: the same time attributed along the chain of wakers, the largest first.
    pub charged: Vec<(String, Doing, f64)>,
    /// Callers of the functions that they sleep in, `caller;callee`, with the share of the time, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<(String, f64)>,
    /// Whether a recording was too long to be read in full.
    pub cut: bool,
}

/// Chains with their mean share over the trials that have any, the largest first.
fn callers_of_wakes<'f>(trials: impl Iterator<Item = &'f [CallerShare]>) -> Vec<(String, f64)> {
    let trials: Vec<&[CallerShare]> = trials.filter(|callers| !callers.is_empty()).collect();
    let mut shares = BTreeMap::<String, f64>::new();
    for one in trials.iter().copied().flatten() {
        *shares.entry(one.chain.clone()).or_default() += one.fraction / trials.len() as f64;
    }
    let mut shares: Vec<(String, f64)> = shares.into_iter().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(CALLERS_LISTED);
    shares
}

pub(super) fn wakes_summary(captures: &[&Captures]) -> Option<WakesSummary> {
    let files: Vec<&WakesFile> = captures.iter().filter_map(|captures| captures.wakes.as_ref()).collect();
    let n = files.len() as f64;
    let (mut woken_by, mut charged) = (BTreeMap::<String, f64>::new(), BTreeMap::<(String, Doing), f64>::new());
    for file in &files {
        for one in &file.woken_by {
            *woken_by.entry(one.who.clone()).or_default() += one.fraction / n;
        }
        for one in &file.charged {
            *charged.entry((one.who.clone(), one.doing)).or_default() += one.fraction / n;
        }
    }
    let mut woken_by: Vec<(String, f64)> = woken_by.into_iter().collect();
    woken_by.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut charged: Vec<(String, Doing, f64)> = charged.into_iter().map(|((who, doing), f)| (who, doing, f)).collect();
    charged.sort_by(|a, b| b.2.total_cmp(&a.2));
    let callers = callers_of_wakes(files.iter().map(|file| file.callers.as_slice()));
    woken_by.truncate(CALLERS_LISTED);
    charged.truncate(CALLERS_LISTED);
    (!files.is_empty()).then(|| WakesSummary {
        trials: files.len(),
        slept_fraction: files.iter().map(|file| file.slept_fraction).sum::<f64>() / n,
        woken_by,
        charged,
        callers,
        cut: files.iter().any(|file| file.cut),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{CaptureSample, Levels, PlannedTrial};

    fn file(parts: &[(TimeUse, Option<&str>, f64)]) -> WaitsFile {
        let parts = parts.iter().map(|(time, on, fraction)| TimePart {
            time: *time,
            on: on.map(str::to_owned),
            operation: None,
            caller: None,
            addresses: usize::from(on.is_some()),
            threads: 4,
            fraction: *fraction,
        });
        let connections =
            ThreadsTime { threads: 4, samples: 100, running_samples: 50, exact: true, parts: parts.collect() };
        let background = ThreadsTime::default();
        WaitsFile { schema: 2, elapsed_s: 2.0, looks: 300, looking_cpu_s: 0.02, connections, background, stacks: None }
    }

    #[test]
    fn shares_are_means_over_trials_and_times_are_of_all_threads_for_each_transaction() {
        let planned = PlannedTrial { trial: 0, block: 0, condition: "all".to_owned(), lifetime: None };
        let mut trial = TrialRecord::new(&planned, 1, Levels::new(), String::new());
        trial.capture_sample =
            Some(CaptureSample { elapsed_s: 2.0, tps: 1000.0, tps_ratio: 1.0, ..CaptureSample::default() });
        // Two locks in the heap in the first trial, none in the second.
        let one = file(&[
            (TimeUse::Ran, None, 0.4),
            (TimeUse::SharedFutex, Some("heap"), 0.4),
            (TimeUse::SharedFutex, Some("heap"), 0.1),
            (TimeUse::Client, None, 0.1),
        ]);
        let two = file(&[(TimeUse::Ran, None, 0.6), (TimeUse::Client, None, 0.4)]);
        let found = summary(&[(&trial, &one), (&trial, &two)]).unwrap();
        let shown: Vec<_> = found
            .connections
            .parts
            .iter()
            .map(|part| (part.time, (part.fraction * 100.0).round(), part.per_transaction_ms.unwrap()))
            .collect();
        // 4 threads and 1,000 transactions per second: 4 ms of thread time per transaction.
        assert_eq!(shown[0], (TimeUse::Ran, 50.0, 2.0));
        assert!(shown[1..].iter().all(|(_, share, ms)| *share == 25.0 && (ms - 1.0).abs() < 1e-9), "{shown:?}");
        let sum: f64 = found.connections.parts.iter().map(|part| part.fraction).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!((found.own_waits() - 0.25).abs() < 1e-9);
        assert_eq!((found.looks_per_s, found.looking_cpu_fraction), (150.0, 0.01));
        assert!(found.connections.parts[0].ci.unwrap().contains(0.5));
        let within = |ci: Interval| ci.low >= 0.0 && ci.high <= 1.0;
        assert!(found.connections.parts.iter().all(|part| part.ci.is_some_and(within)), "{found:?}");
        assert_eq!(summary(&[]), None);
        let alone = summary(&[(&trial, &one)]).unwrap();
        assert!(alone.connections.parts.iter().all(|part| part.ci.is_none()));
    }
}
