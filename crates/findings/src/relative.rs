//! Builds, or values of an option, by loads: the table of relative throughput that database engineers publish, base =
//! 1.00, with the cost per operation alongside. It is derived from the summary, so that every report shows the same
//! figures.

use super::builds::BuildComparison;
pub use super::builds::Group;
use super::condition::ConditionSummary;
use super::factors::{load_of, words_of};
use super::summary::Summary;
use serde::Serialize;
use std::collections::BTreeSet;
use tare_results::schema::Levels;
use tare_results::server_cost::{Operation, Quantity, ServerCost};
use tare_stats::Interval;
use tare_stats::ratio::Verdict;

/// The server's cost per operation, means over trials; none if not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cost {
    /// CPU time of the server's threads per operation, microseconds.
    pub cpu_us: Option<f64>,
    /// Context switches of the server's threads per operation.
    pub switches: Option<f64>,
    /// Read requests to the devices with the server's files, per operation.
    pub reads: Option<f64>,
    pub writes: Option<f64>,
    pub flushes: Option<f64>,
    pub read_bytes: Option<f64>,
    pub written_bytes: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelativeCell {
    pub condition: String,
    pub value: f64,
    /// Metric / metric of the base with the same load; 1 for the base.
    pub ratio: f64,
    /// 95% interval of this ratio alone; none for the base.
    #[serde(flatten, serialize_with = "super::confidence::ci")]
    pub ci: Option<Interval>,
    /// The verdict, with all cells of the table tested together; none for the base.
    pub verdict: Option<Verdict>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelativeRow {
    /// The levels of all other factors, including the load.
    pub levels: Levels,
    pub group: Group,
    /// In the order of the table's columns; none if there is no result.
    pub cells: Vec<Option<RelativeCell>>,
}

impl RelativeRow {
    /// The load, and the levels that distinguish it from other rows.
    pub fn name(&self) -> String {
        match load_of(&self.levels) {
            Some(load) if self.levels.len() == 1 => load.clone(),
            _ => words_of(&self.levels),
        }
    }
}

/// The ratios of a group of loads in one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRatios {
    pub group: Group,
    pub column: String,
    pub loads: usize,
    /// Geometric mean of their ratios.
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

/// A group with fewer loads is not summarized.
const FEWEST: usize = 3;

/// Builds, or values of an option, as columns; loads as rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelativeTable {
    pub factor: String,
    pub metric: String,
    /// Levels of the factor, the base first.
    pub columns: Vec<String>,
    /// One per load, ordered by group.
    pub rows: Vec<RelativeRow>,
    /// Each group of three or more loads, in each column except the base.
    pub groups: Vec<GroupRatios>,
}

impl RelativeTable {
    /// The table of a summary whose factors are a load and either a build or an option; none for other summaries.
    pub fn of(summary: &Summary) -> Option<Self> {
        let first = summary.builds.first()?;
        let mut table = Self {
            factor: first.factor.clone(),
            metric: first.metric.clone(),
            columns: vec![first.a.clone()],
            rows: Vec::new(),
            groups: Vec::new(),
        };
        for found in &summary.builds {
            load_of(&found.levels)?;
            if !table.columns.contains(&found.b) {
                table.columns.push(found.b.clone());
            }
        }
        for found in &summary.builds {
            if table.rows.iter().all(|row| row.levels != found.levels) {
                let row = table.row(summary, found);
                table.rows.push(row);
            }
        }
        table.rows.sort_by_key(|row| row.group);
        table.groups = table.of_groups();
        (table.rows.len() > 1).then_some(table)
    }

    fn row(&self, summary: &Summary, one: &BuildComparison) -> RelativeRow {
        let levels = &one.levels;
        let cell = |column: &String| {
            let of = |found: &&BuildComparison| found.levels == *levels && found.b == *column;
            let mut whole = levels.clone();
            whole.insert(self.factor.clone(), column.clone());
            let condition = summary.conditions.iter().find(|condition| condition.levels == whole)?;
            let value = mean(condition, &self.metric)?;
            let found = summary.builds.iter().find(of);
            if found.is_none() && *column != self.columns[0] {
                return None;
            }
            Some(RelativeCell {
                condition: condition.name.clone(),
                value,
                ratio: found.map_or(1.0, |found| found.ratio),
                ci: found.and_then(|found| found.ci),
                verdict: found.map(|found| found.verdict),
                cost: cost(condition),
            })
        };
        let group = one.group.unwrap_or(Group::Other);
        RelativeRow { levels: levels.clone(), group, cells: self.columns.iter().map(cell).collect() }
    }

    fn of_groups(&self) -> Vec<GroupRatios> {
        let groups: BTreeSet<Group> = self.rows.iter().map(|row| row.group).collect();
        let of = |group: Group, place: usize, column: &String| {
            let own = self.rows.iter().filter(|row| row.group == group);
            let ratios: Vec<f64> = own.filter_map(|row| Some(row.cells.get(place)?.as_ref()?.ratio)).collect();
            let logs = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
            (ratios.len() >= FEWEST && logs.is_finite()).then(|| GroupRatios {
                group,
                column: column.clone(),
                loads: ratios.len(),
                mean: logs.exp(),
                least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
                most: ratios.iter().copied().fold(0.0, f64::max),
            })
        };
        let columns = || self.columns.iter().enumerate().skip(1);
        let all = groups.into_iter().flat_map(|group| columns().map(move |(place, column)| (group, place, column)));
        all.filter_map(|(group, place, column)| of(group, place, column)).collect()
    }

    /// Whether it answers the study's question: each load is answered separately.
    pub fn is_the_answer(summary: &Summary) -> bool {
        matches!(summary.answer.shown(), super::verdict::Verdict::ByLoad(_))
    }

    pub fn has_costs(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.cells).flatten().any(|cell| cell.cost != Cost::default())
    }

    pub fn cell(&self, condition: &str) -> Option<(&RelativeRow, &RelativeCell)> {
        let of = |row: &&RelativeRow| row.cells.iter().flatten().any(|cell| cell.condition == condition);
        let row = self.rows.iter().find(of)?;
        Some((row, row.cells.iter().flatten().find(|cell| cell.condition == condition)?))
    }
}

fn mean(condition: &ConditionSummary, metric: &str) -> Option<f64> {
    condition.metrics.iter().find(|found| found.name == metric).map(|found| found.mean)
}

fn cost(condition: &ConditionSummary) -> Cost {
    let of = |quantity: Quantity| {
        let named = ServerCost::of(quantity)?;
        let both = [Operation::Transaction, Operation::Query].map(|operation| named.metric(operation).name());
        both.into_iter().find_map(|name| mean(condition, name))
    };
    Cost {
        cpu_us: of(Quantity::Cpu),
        switches: of(Quantity::Switches),
        reads: of(Quantity::StorageReads),
        writes: of(Quantity::StorageWrites),
        flushes: of(Quantity::StorageFlushes),
        read_bytes: of(Quantity::Read),
        written_bytes: of(Quantity::Written),
    }
}
