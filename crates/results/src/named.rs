//! A metric with its name, its unit, its better direction and its place in tables.

pub use tare_stats::ratio::Better;

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// `1/s`, `s`, `ms`, `us`, `ns`, `bytes`, `fraction`, or `` where the name does not say.
    pub unit: &'static str,
    pub better: Better,
    /// Tables list metrics by this, then by name; see [`Metric::is_primary`].
    pub rank: u8,
}

/// Ranks below this are what a study is about; the others explain it.
const PRIMARY_RANKS: u8 = 10;

pub(crate) const QUERY_S: &str = "query_s_";
pub(crate) const QUERY: Metric = Metric { unit: "s", better: Better::Lower, rank: 3 };

impl Metric {
    /// Throughputs and whole-query times: what headlines and gates judge when nothing else is asked for.
    pub fn is_primary(&self) -> bool {
        self.rank < PRIMARY_RANKS
    }

    /// What only explains other metrics: in the report, in JSON and in comparisons that ask for it, in no other table.
    pub fn is_detail(&self) -> bool {
        self.rank == Named::DETAIL_RANK
    }
}

/// A metric that a load measures: its name, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    name: Cow<'static, str>,
    /// Its unit, its better direction and its place in a table.
    pub metric: Metric,
}

impl Named {
    /// The place of metrics that explain others; see [`Metric::is_detail`].
    pub const DETAIL_RANK: u8 = 25;

    /// Declares a metric. The lower its rank, the earlier it stands in a table; below 10 it is what a study is about.
    pub const fn new(name: &'static str, unit: &'static str, better: Better, rank: u8) -> Self {
        Self { name: Cow::Borrowed(name), metric: Metric { unit, better, rank } }
    }

    /// Seconds of one execution of query `number` of dbt3.
    pub fn query_s(number: u8) -> Self {
        Self { name: Cow::Owned(format!("{QUERY_S}q{number}")), metric: QUERY }
    }

    /// A metric of someone else's, as it was found to be.
    pub(crate) fn described(name: &str, metric: Metric) -> Self {
        Self { name: Cow::Owned(name.to_owned()), metric }
    }

    /// As it stands in records and tables.
    pub fn name(&self) -> &str {
        &self.name
    }
}
