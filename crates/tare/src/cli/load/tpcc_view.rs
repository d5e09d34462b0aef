//! The result of `tare load tpcc`, for scripts and for people.

use super::oltp_args::SaidArgs;
use super::subject::Subject;
use super::view;
use crate::cli::{Problem, output};
use serde::Serialize;
use std::collections::BTreeMap;
use strum::VariantArray;
use tare_drive::sut::Surroundings;
use tare_drive::workload::tpcc::{Condition, Kind, Tally};
use tare_load::Sample;

/// What every run says of itself.
pub const NOT_OFFICIAL: &str = "not an official TPC-C result, and not comparable with one";

/// The document of `tare load tpcc --json`: that of `tare load`, and what is TPC-C's own.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    note: &'static str,
    /// New orders a minute.
    nopm: f64,
    /// New orders that were rolled back because the standard wants it; they count.
    rolled_back: u64,
    of_kinds: BTreeMap<&'static str, OfKind>,
    #[serde(flatten)]
    load: view::Document<'a>,
}

/// What became of transactions of one kind.
#[derive(Debug, Serialize)]
struct OfKind {
    transactions: u64,
    retries: u64,
    latency_ms_mean: f64,
    latency_ms_p95: f64,
    latency_ms_p99: f64,
}

impl OfKind {
    fn of(tally: &Tally, kind: Kind) -> Self {
        let took = tally.took(kind);
        Self {
            transactions: took.count(),
            retries: tally.retries(kind),
            latency_ms_mean: took.mean_ms().unwrap_or(0.0),
            latency_ms_p95: took.percentile_ms(95.0).unwrap_or(0.0),
            latency_ms_p99: took.percentile_ms(99.0).unwrap_or(0.0),
        }
    }
}

impl<'a> Document<'a> {
    /// The document of a sample and of what its clients counted.
    pub fn of(
        sample: &'a Sample,
        around: &'a Surroundings,
        subject: &'a Subject,
        tally: &Tally,
        said: &SaidArgs,
    ) -> Self {
        Self {
            note: NOT_OFFICIAL,
            nopm: tally.new_orders_a_minute(sample.tps()),
            rolled_back: tally.rolled_back(),
            of_kinds: Kind::VARIANTS.iter().map(|kind| (kind.name(), OfKind::of(tally, *kind))).collect(),
            load: view::Document::of(sample, around, subject, None, said),
        }
    }
}

/// Prints a sample for people.
pub fn print(
    sample: &Sample,
    around: &Surroundings,
    subject: &Subject,
    tally: &Tally,
    said: &SaidArgs,
) -> Result<(), Problem> {
    let new_orders = tally.took(Kind::NewOrder).count();
    let nopm = tally.new_orders_a_minute(sample.tps());
    let mut text = format!(
        "new orders    {new_orders:>12}   {nopm:.1} a minute (NOPM), {} rolled back as the standard wants it\n",
        tally.rolled_back()
    );
    text += "                     count    retries    mean ms     p95 ms     p99 ms\n";
    for kind in Kind::VARIANTS.iter().copied() {
        let of = OfKind::of(tally, kind);
        text += &format!("  {:<12}{:>12}{:>11}", kind.name(), of.transactions, of.retries);
        text += &format!("{:>11.3}{:>11.3}{:>11.3}\n", of.latency_ms_mean, of.latency_ms_p95, of.latency_ms_p99);
    }
    output::text(&text)?;
    view::print(sample, around, subject, None, said)?;
    output::text(&format!("! {NOT_OFFICIAL}\n"))
}

/// What was found about a consistency condition.
#[derive(Debug, Serialize)]
pub struct Looked {
    clause: String,
    says: &'static str,
    /// Whether it holds in all tables.
    pub holds: bool,
    /// Where it does not, and what stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
}

impl Looked {
    /// One that holds everywhere.
    pub fn holds(condition: &Condition) -> Self {
        Self { clause: format!("3.3.2.{}", condition.number), says: condition.says, holds: true, found: None }
    }

    /// One that does not, with the first place where that was seen.
    pub fn broken(condition: &Condition, found: String) -> Self {
        Self { holds: false, found: Some(found), ..Self::holds(condition) }
    }

    /// Its clause and what was found, on a line.
    pub fn line(&self) -> String {
        let Self { clause, says, found, .. } = self;
        match found {
            None => format!("{clause:<9}holds           {says}\n"),
            Some(found) => format!("{clause:<9}DOES NOT HOLD   {says}: {found}\n"),
        }
    }
}
