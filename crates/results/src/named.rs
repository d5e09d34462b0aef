//! A metric with its name, unit, better direction and place in tables.

pub use tare_stats::ratio::Better;

use crate::unit::Unit;
use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub unit: Unit,
    pub better: Better,
    /// Tables order metrics by rank, then by name; see [`Metric::is_primary`].
    pub rank: u8,
}

/// Metrics with a lower rank are what a study is about; the others explain it.
const PRIMARY_RANKS: u8 = 10;

pub(crate) const QUERY_S: &str = "query_s_";
pub(crate) const QUERY: Metric = Metric { unit: Unit::S, better: Better::Lower, rank: 3 };

impl Metric {
    /// Throughputs and whole-query times: the default metrics of headlines and gates.
    pub fn is_primary(&self) -> bool {
        self.rank < PRIMARY_RANKS
    }

    /// Metrics that only explain others: they appear in the report, in JSON and in comparisons that request them, but
    /// in no other table.
    pub fn is_detail(&self) -> bool {
        self.rank == Named::DETAIL_RANK
    }
}

/// A metric that a load measures: its name and its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    name: Cow<'static, str>,
    pub metric: Metric,
}

impl Named {
    /// The rank of metrics that explain others; see [`Metric::is_detail`].
    pub(crate) const DETAIL_RANK: u8 = 25;

    /// Declares a metric. A lower rank is listed earlier in a table; ranks below 10 are what a study is about.
    pub(crate) const fn new(name: &'static str, unit: Unit, better: Better, rank: u8) -> Self {
        Self { name: Cow::Borrowed(name), metric: Metric { unit, better, rank } }
    }

    /// Seconds of one execution of query `number` of dbt3.
    pub fn query_s(number: u8) -> Self {
        Self { name: Cow::Owned(format!("{QUERY_S}q{number}")), metric: QUERY }
    }

    /// A metric that is not declared here, with its guessed description.
    pub(crate) fn described(name: &str, metric: Metric) -> Self {
        Self { name: Cow::Owned(name.to_owned()), metric }
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}
