//! What a benchmark's own client and the kernel say together of one sample.

use super::{Ran, Report};
use crate::workload::Measured;
use tare_results::metric;
use tare_results::schema::ThreadClass;
use tare_results::server_cost::Operation;

/// Why none of these loads has captures.
pub const NO_CAPTURES: &str = "a program of someone else's has no further sample for captures";

/// The sample that a run was: the client's figures, its CPU time for each transaction, and how many of these there were
/// while the server was watched.
pub fn client_sample(report: Report, ran: Ran, measured_s: f64) -> Measured {
    let Report { mut metrics, covariates, transactions } = report;
    let watched_s = ran.surroundings.covariates.get("elapsed_s").copied().unwrap_or(measured_s);
    // The watch ends a moment before the client does.
    let share = transactions.map(|all| all * watched_s / measured_s).filter(|all| *all > 0.0);
    if let Some(during) = share {
        let us = |class| ran.surroundings.cpu_s(class).map(|s| s * 1e6 / during);
        metrics.extend(us(ThreadClass::Client).map(|us| (metric::CLIENT_CPU_US_PER_TRANSACTION, us)));
    }
    Measured {
        elapsed_s: measured_s,
        operations: share.map(|during| (Operation::Transaction, during)),
        metrics,
        tps_each_second: ran.tps_each_second,
        histograms: Default::default(),
        covariates,
        surroundings: ran.surroundings,
    }
}
