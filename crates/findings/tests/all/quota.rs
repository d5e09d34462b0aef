//! What a CPU quota takes of a transaction's time.

use crate::made_up::trial;
use crate::time::thread;
use tare_cpuset::CpuSet;
use tare_findings::time::{Part, TrialTime};
use tare_results::schema::{ThreadClass, TrialRecord};

/// What the kernel reported of threads in a group with a quota, seconds of a second; `stopped_s` is summed over CPUs.
struct Seen {
    threads: usize,
    cpus: usize,
    ran_s: f64,
    waited_s: f64,
    stopped_s: f64,
    others_s: f64,
}

const fn seen([threads, cpus]: [usize; 2], [ran_s, waited_s]: [f64; 2], [stopped_s, others_s]: [f64; 2]) -> Seen {
    Seen { threads, cpus, ran_s, waited_s, stopped_s, others_s }
}

fn record(of: &Seen) -> TrialRecord {
    let mut record = trial(0, 0, "all", of.threads as f64, false);
    let sample = &mut record.samples[0];
    let share = |seconds: f64| seconds / of.threads as f64;
    let mut one = thread(ThreadClass::Client, share(of.ran_s), 0.0, share(of.waited_s));
    one.allowed_cpus = CpuSet::from_iter(0..u32::try_from(of.cpus).unwrap());
    sample.threads = vec![one; of.threads];
    let covariates =
        [("client_throttled_s", of.stopped_s), ("client_throttled_fraction", 1.0), ("foreign_cpu_s", of.others_s)];
    sample.covariates.extend(covariates.map(|(name, value)| (name.to_owned(), value)));
    record
}

/// Seconds that the quota took from all threads together.
fn took_s(of: &Seen) -> f64 {
    let record = record(of);
    let found = TrialTime::of(&record, None).unwrap();
    found.part(&Part::Throttled) * of.threads as f64 / 1e6
}

/// Threads that always work, spread evenly over the CPUs, as measured on Linux 6.18: all threads of a CPU are stopped
/// with it, so the quota takes the stopped time once for each of them. In the last four cases, a program that always
/// works is on each of the CPUs.
#[test]
fn the_time_that_a_quota_takes_is_that_of_every_stopped_thread() {
    let half_a_cpu = [
        seen([1, 1], [0.499, 0.501], [0.482, 0.49]),
        seen([2, 1], [0.502, 1.514], [0.492, 0.48]),
        seen([4, 2], [0.467, 3.357], [1.476, 1.19]),
        seen([2, 2], [0.501, 1.499], [1.491, 1.50]),
        seen([1, 1], [0.503, 0.498], [0.332, 0.50]),
        seen([2, 1], [0.501, 1.495], [0.336, 0.50]),
        seen([4, 2], [0.501, 3.507], [1.154, 1.48]),
        seen([2, 2], [0.505, 1.499], [1.136, 1.52]),
    ];
    for one in half_a_cpu {
        let expected_s = one.stopped_s * one.threads as f64 / one.cpus as f64;
        let times = took_s(&one) / expected_s;
        assert!((times - 1.0).abs() < 0.1, "{times} on {} CPUs of {} threads", one.cpus, one.threads);
    }
}

/// The kernel left two threads on one of two CPUs, each for a quarter of the time: none of their waits is needed.
#[test]
fn waits_of_threads_that_a_quota_keeps_on_one_cpu_are_due_to_the_quota() {
    let crowded = seen([2, 2], [0.5, 1.5], [0.5, 0.5]);
    assert!((took_s(&crowded) - 1.5).abs() < 0.01, "{}", took_s(&crowded));
    // With one CPU they would wait for each other without a quota too.
    let one_cpu = seen([2, 1], [0.5, 1.5], [0.5, 0.5]);
    assert!((took_s(&one_cpu) - 1.0).abs() < 0.01, "{}", took_s(&one_cpu));
}

/// A quota stops two clients on two CPUs, each for half of the time, in which one of both sides waits for a CPU.
#[test]
fn time_that_a_quota_stops_is_that_of_each_cpu_and_no_wait_for_a_cpu() {
    let stopped = |pairs: usize, cpus: &[u32], summed_s: f64| {
        let mut record = trial(0, 0, "all", 1000.0 * pairs as f64, false);
        let sample = &mut record.samples[0];
        let pair = [thread(ThreadClass::Client, 0.2, 0.0, 0.25), thread(ThreadClass::Connection, 0.3, 0.0, 0.25)];
        sample.threads = (0..pairs).flat_map(|_| pair.clone()).collect();
        for one in &mut sample.threads {
            one.allowed_cpus = cpus.iter().copied().collect();
        }
        sample.covariates.insert("client_throttled_s".to_owned(), summed_s);
        let found = TrialTime::of(&record, None).unwrap();
        for (part, us) in [(Part::Throttled, 500.0), (Part::ClientWaited, 0.0), (Part::ServerWaited, 0.0)] {
            assert!((found.part(&part) - us).abs() < 1e-9, "{pairs} pairs, {cpus:?}: {part:?}: {found:?}");
        }
        assert!(found.part(&Part::NotExplained).abs() < 1e-9 && found.overlap_us == 0.0, "{found:?}");
    };
    // The kernel adds the time up over the CPUs that were stopped.
    stopped(2, &[0, 1], 1.0);
    // On one CPU both clients are stopped at once; a single client has one runnable thread.
    stopped(2, &[0], 0.5);
    stopped(1, &[0, 1], 0.5);
}
