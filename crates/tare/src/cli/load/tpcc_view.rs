//! The result of `tare load tpcc`, as JSON and as text.

use super::view::{self, Viewed};
use serde::Serialize;
use std::collections::BTreeMap;
use strum::VariantArray;
use tare_drive::workload::Measured;
use tare_drive::workload::tpcc::{Condition, Kind};
use tare_results::metric;
use tare_text::object;

pub(crate) const NOT_OFFICIAL: &str = "not an official TPC-C result, and not comparable with one";

#[derive(Debug, Serialize)]
struct OfKind {
    transactions: u64,
    retries: u64,
    latency_ms_mean: f64,
    latency_ms_p95: f64,
    latency_ms_p99: f64,
}

impl OfKind {
    fn of(measured: &Measured, kind: Kind) -> Self {
        let name = kind.name();
        let count = |what: &str| seen(measured, &format!("tpcc_{what}_{name}"));
        let latency = |figure: &str| metric_of(measured, &format!("latency_ms_{figure}_of_{name}"));
        Self {
            transactions: count("transactions"),
            retries: count("retries"),
            latency_ms_mean: latency("mean"),
            latency_ms_p95: latency("p95"),
            latency_ms_p99: latency("p99"),
        }
    }
}

fn seen(measured: &Measured, name: &str) -> u64 {
    measured.covariates.get(name).copied().unwrap_or(0.0) as u64
}

fn metric_of(measured: &Measured, name: &str) -> f64 {
    measured.metrics.iter().find(|(metric, _)| metric.name() == name).map_or(0.0, |(_, value)| *value)
}

/// The document of `tare load tpcc --json`: that of `tare load` with additional fields for TPC-C.
pub(crate) fn document(viewed: &Viewed<'_>) -> impl Serialize {
    let measured = viewed.measured;
    let of_kinds = Kind::VARIANTS.iter().map(|kind| (kind.name(), OfKind::of(measured, *kind)));
    object! {
        note: NOT_OFFICIAL,
        nopm: metric_of(measured, metric::TPMC.name()),
        // New orders that were rolled back because the standard requires it; they are counted.
        rolled_back: seen(measured, "tpcc_rollbacks"),
        of_kinds: of_kinds.collect::<BTreeMap<_, _>>(),
        #[serde(flatten)]
        load: view::document(viewed),
    }
}

pub(crate) fn words(viewed: &Viewed<'_>) -> String {
    let measured = viewed.measured;
    let mut text = format!(
        "new orders    {:>12}   {:.1} per minute (NOPM), {} rolled back as the standard requires\n",
        OfKind::of(measured, Kind::NewOrder).transactions,
        metric_of(measured, metric::TPMC.name()),
        seen(measured, "tpcc_rollbacks"),
    );
    text += "                     count    retries    mean ms     p95 ms     p99 ms\n";
    for kind in Kind::VARIANTS.iter().copied() {
        let of = OfKind::of(measured, kind);
        text += &format!("  {:<12}{:>12}{:>11}", kind.name(), of.transactions, of.retries);
        text += &format!("{:>11.3}{:>11.3}{:>11.3}\n", of.latency_ms_mean, of.latency_ms_p95, of.latency_ms_p99);
    }
    text + &view::words(viewed) + &format!("! {NOT_OFFICIAL}\n")
}

#[derive(Debug, Serialize)]
pub(crate) struct Looked {
    clause: String,
    says: &'static str,
    pub holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
}

impl Looked {
    pub(crate) fn holds(condition: &Condition) -> Self {
        Self { clause: format!("3.3.2.{}", condition.number), says: condition.says, holds: true, found: None }
    }

    /// A condition that does not hold, with the first place where this was seen.
    pub(crate) fn broken(condition: &Condition, found: String) -> Self {
        Self { holds: false, found: Some(found), ..Self::holds(condition) }
    }

    pub(crate) fn line(&self) -> String {
        let Self { clause, says, found, .. } = self;
        match found {
            None => format!("{clause:<9}holds           {says}\n"),
            Some(found) => format!("{clause:<9}DOES NOT HOLD   {says}: {found}\n"),
        }
    }
}
