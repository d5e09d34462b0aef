//! Time for which a CPU quota stopped the clients.
//!
//! A stopped thread is runnable, so the kernel counts its time in the run-queue delay of `schedstat`, together with
//! waits for a CPU. It counts the stops themselves per CPU and not per thread (`throttled_usec` of `cpu.stat`).

use super::strangers;
use tare_cpuset::CpuSet;
use tare_results::schema::{SampleRecord, ThreadClass};

/// Covariate: seconds for which the clients' control group was stopped, summed over the CPUs on which it was.
const STOPPED: &str = "client_throttled_s";
/// Covariate: fraction of the quota's periods in which it was used up.
const PERIODS: &str = "client_throttled_fraction";

/// Seconds of the clients' time in one sample, summed over clients, that their quota took.
///
/// Every CPU on which the threads are is stopped with all threads there: `threads` per CPU. The CPUs on which they were
/// follow from the time that was used, stopped, or used by other programs there. While the quota is used up, the kernel
/// does not spread threads over idle CPUs; if more of them were on a CPU than on all CPUs evenly, their waits for each
/// other are due to the quota too.
pub(super) fn took_s(sample: &SampleRecord, clients: usize) -> f64 {
    let of = |name: &str| sample.covariates.get(name).copied().filter(|value| value.is_finite() && *value > 0.0);
    let Some(stopped_s) = of(STOPPED) else { return 0.0 };
    let [mut ran_s, mut waited_s] = [0.0; 2];
    let mut has_waits = true;
    for thread in sample.threads.iter().filter(|thread| thread.class != ThreadClass::Background) {
        ran_s += strangers::of_thread_s(thread);
        waited_s += thread.schedule.map_or(0.0, |spent| spent.waited_s);
        has_waits &= thread.schedule.is_some();
    }
    let all_s = clients as f64 * sample.elapsed_s;
    // A client and the thread that serves it take turns, so both are no more than one runnable thread. Without their
    // waits, clients count as never asleep.
    let runnable_s = if has_waits { all_s.min(ran_s + waited_s) } else { all_s };
    let most_cpus_s = cpus(sample, clients) * sample.elapsed_s;
    // Other programs use the CPUs while they are stopped, and only the rest of that keeps the threads waiting.
    let others_s = (strangers::foreign_s(sample, false) - stopped_s).max(0.0);
    let threads = (runnable_s / most_cpus_s.min(ran_s + stopped_s + others_s)).max(1.0);
    let threads_evenly = (runnable_s / most_cpus_s).max(1.0);
    let crowded_s = (threads - threads_evenly).max(0.0) * ran_s * of(PERIODS).unwrap_or(0.0).min(1.0);
    (threads * stopped_s + crowded_s).min((runnable_s - ran_s).max(0.0))
}

/// The CPUs that the threads can use at once: at most one for each client.
fn cpus(sample: &SampleRecord, clients: usize) -> f64 {
    let threads = sample.threads.iter().filter(|thread| thread.class != ThreadClass::Background);
    let allowed = threads.fold(CpuSet::default(), |all, thread| all.union(&thread.allowed_cpus));
    let most = if allowed.is_empty() { usize::MAX } else { allowed.len() };
    clients.min(most).max(1) as f64
}
