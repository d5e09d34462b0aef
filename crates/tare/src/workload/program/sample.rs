//! What a benchmark's own client and the kernel say together of one sample.

use super::{Ran, Report};
use crate::workload::Measured;
use tare_results::metric;
use tare_results::schema::{ThreadClass, ThreadRecord};

/// The sample that a run was: the client's figures, and the CPU time of either side for each transaction.
pub fn client_sample(report: Report, ran: Ran, measured_s: f64) -> Measured {
    let Report { mut metrics, covariates, transactions } = report;
    let threads = &ran.surroundings.threads;
    let watched_s = ran.surroundings.covariates.get("elapsed_s").copied().unwrap_or(measured_s);
    // The watch ends a moment before the client does.
    let share = transactions.map(|all| all * watched_s / measured_s).filter(|all| *all > 0.0);
    if let Some(during) = share {
        let us = |class| cpu_s(threads, class) * 1e6 / during;
        metrics.push((metric::CLIENT_CPU_US_PER_TRANSACTION, us(ThreadClass::Client)));
        metrics.push((metric::SERVER_CPU_US_PER_TRANSACTION, us(ThreadClass::Connection)));
    }
    Measured {
        elapsed_s: measured_s,
        metrics,
        tps_each_second: ran.tps_each_second,
        covariates,
        surroundings: ran.surroundings,
    }
}

/// CPU time of the threads of a class: exact where the kernel tells it, else in clock ticks.
fn cpu_s(threads: &[ThreadRecord], class: ThreadClass) -> f64 {
    let of_class = threads.iter().filter(|thread| thread.class == class);
    of_class.map(|thread| thread.schedule.map_or(thread.user_s + thread.system_s, |schedule| schedule.ran_s)).sum()
}
