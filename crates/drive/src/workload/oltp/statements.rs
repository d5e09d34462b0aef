//! The statements, the transactions that consist of them, and the time of each kind of statement; the texts of
//! sysbench's columns: groups of eleven digits joined by dashes. Time is taken in the capture sample only: measured
//! transactions read no clock for it.

use super::settings::{QueryCounts, Workload};
use super::{OltpError, Tables};
use crate::workload::sessions::{Clock, Merge};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use strum::VariantNames;
use tare_engine::Dialect;
use tare_load::{Distribution, Draw, Random};

#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Statement {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

impl Statement {
    /// Its text for table number `table`, from 1.
    pub(super) fn sql(self, table: usize, dialect: &dyn Dialect) -> String {
        let [a, b, c, d] = [1, 2, 3, 4].map(|number| dialect.placeholder(number));
        match self {
            Self::PointSelect => format!("SELECT c FROM sbtest{table} WHERE id={a}"),
            Self::SimpleRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN {a} AND {b}"),
            Self::SumRange => format!("SELECT SUM(k) FROM sbtest{table} WHERE id BETWEEN {a} AND {b}"),
            Self::OrderRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN {a} AND {b} ORDER BY c"),
            Self::DistinctRange => {
                format!("SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN {a} AND {b} ORDER BY c")
            }
            Self::IndexUpdate => format!("UPDATE sbtest{table} SET k=k+1 WHERE id={a}"),
            Self::NonIndexUpdate => format!("UPDATE sbtest{table} SET c={a} WHERE id={b}"),
            Self::Delete => format!("DELETE FROM sbtest{table} WHERE id={a}"),
            Self::Insert => format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({a}, {b}, {c}, {d})"),
        }
    }

    pub(super) fn placeholders(self) -> usize {
        match self {
            Self::PointSelect | Self::IndexUpdate | Self::Delete => 1,
            Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange | Self::NonIndexUpdate => 2,
            Self::Insert => 4,
        }
    }

    pub(super) fn reads(self) -> bool {
        match self {
            Self::PointSelect | Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange => true,
            Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete | Self::Insert => false,
        }
    }
}

impl Statement {
    /// Valid numbers of rows in an answer, on tables of `rows` rows, when ranges have `range` ids from `id` on. If
    /// other sessions of the workload remove rows, an update or a delete may find no row, and a read fewer.
    pub(super) fn answers(self, id: i64, range: i64, rows: i64, taken: bool) -> std::ops::RangeInclusive<u64> {
        let in_range = (rows - id + 1).clamp(0, range).unsigned_abs();
        let (least, most) = match self {
            Self::PointSelect | Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete => (1, 1),
            Self::SumRange | Self::Insert => return 1..=1,
            Self::SimpleRange | Self::OrderRange => (in_range, in_range),
            Self::DistinctRange => (in_range.min(1), in_range),
        };
        if taken { 0..=most } else { least..=most }
    }
}

/// Statements that are repeated `count` times on one drawn table; each repetition draws one id for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) statements: &'static [Statement],
    pub(super) count: u32,
}

/// The statements of a transaction between BEGIN and COMMIT, in order; empty for workloads without groups.
pub(super) fn groups(workload: Workload, counts: &QueryCounts) -> Vec<Group> {
    use Statement::{
        Delete, DistinctRange, IndexUpdate, Insert, NonIndexUpdate, OrderRange, PointSelect, SimpleRange, SumRange,
    };
    let group = |statements, count| Group { statements, count };
    let reads = [
        group(&[PointSelect], counts.point_selects),
        group(&[SimpleRange], counts.simple_ranges),
        group(&[SumRange], counts.sum_ranges),
        group(&[OrderRange], counts.order_ranges),
        group(&[DistinctRange], counts.distinct_ranges),
    ];
    let writes = [
        group(&[IndexUpdate], counts.index_updates),
        group(&[NonIndexUpdate], counts.non_index_updates),
        group(&[Delete, Insert], counts.delete_inserts),
    ];
    match workload {
        Workload::PointSelect => vec![group(&[PointSelect], 1)],
        Workload::ReadOnly => reads.to_vec(),
        Workload::ReadWrite => [reads.as_slice(), &writes].concat(),
        Workload::WriteOnly => writes.to_vec(),
        Workload::UpdateIndex => vec![group(&[IndexUpdate], counts.index_updates)],
        Workload::UpdateNonIndex => vec![group(&[NonIndexUpdate], counts.non_index_updates)],
        Workload::Delete => vec![group(&[Delete], 1)],
        Workload::Insert | Workload::BulkInsert | Workload::SelectRandomPoints | Workload::SelectRandomRanges => {
            Vec::new()
        }
    }
}

impl Workload {
    pub(super) fn is_transactional(self) -> bool {
        match self {
            Self::ReadOnly | Self::ReadWrite | Self::WriteOnly => true,
            Self::PointSelect | Self::UpdateIndex | Self::UpdateNonIndex | Self::Delete | Self::Insert => false,
            Self::BulkInsert | Self::SelectRandomPoints | Self::SelectRandomRanges => false,
        }
    }

    pub(crate) fn writes(self) -> bool {
        match self {
            Self::PointSelect | Self::ReadOnly | Self::SelectRandomPoints | Self::SelectRandomRanges => false,
            Self::ReadWrite | Self::WriteOnly | Self::UpdateIndex | Self::UpdateNonIndex => true,
            Self::Insert | Self::Delete | Self::BulkInsert => true,
        }
    }
}

/// Kinds in addition to the statements.
const BORDERS: [&str; 2] = ["begin", "commit"];
const KINDS: usize = Statement::VARIANTS.len() + BORDERS.len();

/// A kind of statement. BEGIN and COMMIT are separate kinds, because commits wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum Timed {
    Begin,
    Statement(Statement),
    Commit,
}

/// The time from sending a statement until its answer was read, by kind.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementTimes {
    clock: Clock,
    took: [Duration; KINDS],
}

impl StatementTimes {
    pub(crate) fn start(&mut self) {
        self.clock.start();
    }

    pub(crate) fn stop(&mut self) {
        self.clock.stop();
    }

    /// The start time, to be passed to `note` with the answer; None while timing is off.
    #[inline]
    pub(crate) fn now(&self) -> Option<Instant> {
        self.clock.runs().then(Instant::now)
    }

    /// Adds the time of a statement, including statements that failed.
    #[inline]
    pub(crate) fn note(&mut self, timed: Timed, began: Option<Instant>) {
        let Some(began) = began else { return };
        let kind = match timed {
            Timed::Statement(statement) => statement as usize,
            Timed::Begin => KINDS - 2,
            Timed::Commit => KINDS - 1,
        };
        self.took[kind] += began.elapsed();
    }
}

impl Merge for StatementTimes {
    fn merge(&mut self, other: &Self) {
        self.clock.merge(&other.clock);
        self.took.iter_mut().zip(&other.took).for_each(|(sum, other)| *sum += *other);
    }

    fn clear(&mut self) {
        self.clock.clear();
        self.took = Default::default();
    }

    fn statements(&self) -> BTreeMap<String, f64> {
        let (names, timed) = (Statement::VARIANTS.iter().chain(&BORDERS), self.clock.timed());
        let all = names.zip(self.took).filter(|(_, took)| !took.is_zero());
        all.map(|(name, took)| ((*name).to_owned(), took.div_duration_f64(timed))).collect()
    }
}

const GROUP_DIGITS: usize = 11;
/// Groups in column `c`: 119 characters.
pub(super) const C_GROUPS: usize = 10;
/// Groups in column `pad`: 59 characters.
pub(super) const PAD_GROUPS: usize = 5;

const TEN_TO_GROUP_DIGITS: u64 = 100_000_000_000;

/// Appends `groups` groups of uniformly random digits, joined by dashes.
pub(super) fn push_groups(text: &mut String, random: &mut Random, groups: usize) {
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        let mut digits = [b'0'; GROUP_DIGITS];
        let mut rest = random.below(TEN_TO_GROUP_DIGITS);
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        text.extend(digits.map(char::from));
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub tables: Tables,
    /// Distribution of `k`. sysbench uses the distribution of the run; the default, special, clusters it.
    pub distribution: Distribution,
    /// The only input of the random rows: they depend neither on `sessions` nor on the engine.
    pub seed: u64,
    /// Sessions that fill tables at the same time, one table each; SQLite uses one.
    pub sessions: usize,
    pub dialect: &'static dyn Dialect,
}

/// Receives the number of added rows, and can stop the work.
pub(super) type Progress<'a> = &'a dyn Fn(u64) -> Result<(), OltpError>;

/// One row, whose memory is reused for the next.
#[derive(Default, Clone)]
pub(super) struct SbtestRow {
    pub id: i64,
    pub k: i64,
    pub c: String,
    pub pad: String,
}

impl SbtestRow {
    pub(super) fn draw(&mut self, id: u64, k: &Draw, random: &mut Random) {
        self.id = id as i64;
        self.k = k.draw(random) as i64;
        self.c.clear();
        push_groups(&mut self.c, random, C_GROUPS);
        self.pad.clear();
        push_groups(&mut self.pad, random, PAD_GROUPS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::Purpose;

    #[test]
    fn texts_have_the_lengths_and_the_form_of_sysbench() {
        let mut random = Random::new(3, Purpose::Rows, 0);
        for (groups, length) in [(C_GROUPS, 119), (PAD_GROUPS, 59)] {
            let mut text = String::new();
            push_groups(&mut text, &mut random, groups);
            assert_eq!(text.len(), length);
            let parts: Vec<&str> = text.split('-').collect();
            assert_eq!(parts.len(), groups);
            assert!(parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit())));
        }
    }

    #[test]
    fn every_position_of_a_group_has_every_digit_equally_often() {
        let mut random = Random::new(3, Purpose::Rows, 0);
        let mut text = String::new();
        push_groups(&mut text, &mut random, 20_000);
        let mut counts = [[0u32; 10]; GROUP_DIGITS];
        for group in text.split('-') {
            for (place, digit) in group.bytes().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        // 2000 expected, standard deviation 42; the limits are five of them away.
        assert!(counts.iter().flatten().all(|count| (1788..=2212).contains(count)), "{counts:?}");
    }
}
