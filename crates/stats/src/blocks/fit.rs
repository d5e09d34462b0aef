//! The trials by condition and block, and the least-squares fit of value = condition + block + error.

use crate::line::inverse_spd;
use std::collections::BTreeMap;

/// The trials of one condition as (block, value). With logarithms as values, differences are ratios.
pub type Condition = Vec<(usize, f64)>;

/// One trial with the indexes of its condition and block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub condition: usize,
    pub block: usize,
    pub value: f64,
}

/// The trials of the blocks that hold more than one condition; others carry no information about differences.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub entries: Vec<Entry>,
    pub conditions: usize,
    /// Number of blocks; they are numbered from 0.
    pub blocks: usize,
}

impl Table {
    pub fn of(conditions: &[Condition]) -> Self {
        let mut blocks: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
        for (place, condition) in conditions.iter().enumerate() {
            condition.iter().for_each(|(block, value)| blocks.entry(*block).or_default().push((place, *value)));
        }
        blocks.retain(|_, trials| trials.iter().any(|(condition, _)| *condition != trials[0].0));
        let numbered = blocks.values().enumerate();
        let entry = |block, (condition, value): &(usize, f64)| Entry { condition: *condition, block, value: *value };
        Self {
            entries: numbered.flat_map(|(block, trials)| trials.iter().map(move |trial| entry(block, trial))).collect(),
            conditions: conditions.len(),
            blocks: blocks.len(),
        }
    }

    /// The trials of all blocks except those of one group. With as many groups as blocks each group is one block.
    pub fn without(&self, group: usize, groups: usize) -> Self {
        let others: Vec<bool> = (0..self.blocks).map(|own| own % groups != group).collect();
        self.of_chosen(&others)
    }

    /// The trials of the given conditions, which are renumbered.
    pub fn among(&self, members: &[usize]) -> Self {
        let own = |member: &usize| -> Condition {
            self.entries.iter().filter(|entry| entry.condition == *member).map(|e| (e.block, e.value)).collect()
        };
        Self::of(&members.iter().map(own).collect::<Vec<_>>())
    }

    /// The trials of the blocks that hold every condition once.
    pub fn complete(&self) -> Self {
        let mut counts = vec![vec![0usize; self.conditions]; self.blocks];
        self.entries.iter().for_each(|entry| counts[entry.block][entry.condition] += 1);
        let whole: Vec<bool> = counts.iter().map(|block| block.iter().all(|n| *n == 1)).collect();
        self.of_chosen(&whole)
    }

    /// The trials of some blocks, which are renumbered; `chosen` has one value per block.
    fn of_chosen(&self, chosen: &[bool]) -> Self {
        let mut blocks = 0;
        let numbers: Vec<usize> = chosen
            .iter()
            .map(|kept| {
                let number = blocks;
                blocks += usize::from(*kept);
                number
            })
            .collect();
        let entries = self.entries.iter().filter(|entry| chosen[entry.block]);
        Self {
            entries: entries.map(|entry| Entry { block: numbers[entry.block], ..*entry }).collect(),
            conditions: self.conditions,
            blocks,
        }
    }

    pub fn of_conditions(&self) -> Vec<usize> {
        let mut counts = vec![0; self.conditions];
        self.entries.iter().for_each(|entry| counts[entry.condition] += 1);
        counts
    }

    pub fn of_blocks(&self) -> Vec<usize> {
        let mut counts = vec![0; self.blocks];
        self.entries.iter().for_each(|entry| counts[entry.block] += 1);
        counts
    }
}

/// With more conditions than this only complete blocks are fitted, which need no matrix.
pub(super) const MOST_CONDITIONS: usize = 300;

/// Effect of each condition; `None` for a condition without trials. Only differences between effects have a meaning.
pub(super) type Effects = Vec<Option<f64>>;

pub(super) fn value_of(effects: &Effects, weights: &[(usize, f64)]) -> Option<f64> {
    weights.iter().map(|(c, w)| Some(w * effects[*c]?)).sum()
}

/// Least-squares fit of conditions and blocks.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub effects: Effects,
    /// Residual of each entry of the table.
    pub residuals: Vec<f64>,
    /// Degrees of freedom of the residuals.
    pub df: f64,
    unscaled: Unscaled,
}

/// The part of the fit from which variances of contrasts are computed.
#[derive(Debug, Clone)]
enum Unscaled {
    /// Every block holds each condition once; the number of blocks.
    Complete(f64),
    Matrix(Matrix),
}

/// The normal equations of the conditions after elimination of the blocks.
#[derive(Debug, Clone)]
struct Matrix {
    /// A generalised inverse of the equations.
    inverse: Vec<Vec<f64>>,
    /// The condition of each row.
    present: Vec<usize>,
    /// The rows of the trials in each block.
    members: Vec<Vec<usize>>,
}

impl Matrix {
    fn row(&self, condition: usize) -> Option<usize> {
        self.present.iter().position(|present| *present == condition)
    }

    /// The sum of squared trial coefficients of a contrast, by condition. The coefficient of a trial is that of its
    /// condition, minus the mean of these over the trials of its block.
    fn squares(&self, weights: &[(usize, f64)]) -> Option<Vec<(usize, f64)>> {
        let weights: Vec<(usize, f64)> =
            weights.iter().map(|(c, w)| Some((self.row(*c)?, *w))).collect::<Option<_>>()?;
        let of_row = |row: usize| weights.iter().map(|(i, w)| w * self.inverse[*i][row]).sum::<f64>();
        let loads: Vec<f64> = (0..self.present.len()).map(of_row).collect();
        let mut squares = vec![0.0; loads.len()];
        for members in &self.members {
            let centre = members.iter().map(|row| loads[*row]).sum::<f64>() / members.len() as f64;
            members.iter().for_each(|row| squares[*row] += (loads[*row] - centre).powi(2));
        }
        Some(self.present.iter().copied().zip(squares).collect())
    }
}

impl Fit {
    /// `None` when the conditions are not connected through blocks.
    pub fn of(table: &Table) -> Option<Self> {
        let (of_conditions, of_blocks) = (table.of_conditions(), table.of_blocks());
        let count = table.entries.len() as f64;
        let centre = table.entries.iter().map(|entry| entry.value / count).sum::<f64>();
        let conditions = sums(table, centre, |entry| entry.condition, table.conditions);
        let blocks = sums(table, centre, |entry| entry.block, table.blocks);
        let present: Vec<usize> = (0..table.conditions).filter(|c| of_conditions[*c] > 0).collect();
        if present.len() < 2 || table.blocks == 0 {
            return None;
        }
        let complete = of_conditions.iter().all(|n| *n == table.blocks) && is_once(table);
        let (present_effects, unscaled) = match complete {
            true => {
                let n = table.blocks as f64;
                (conditions.iter().map(|sum| sum / n).collect(), Unscaled::Complete(n))
            }
            false if present.len() > MOST_CONDITIONS => return None,
            false => reduced(table, &present, &of_blocks, (&conditions, &blocks))?,
        };
        let mut effects = vec![None; table.conditions];
        present.iter().zip(&present_effects).for_each(|(c, effect): (&usize, &f64)| effects[*c] = Some(*effect));
        let mut of_block = blocks;
        for entry in &table.entries {
            of_block[entry.block] -= effects[entry.condition].unwrap_or(0.0);
        }
        of_block.iter_mut().zip(&of_blocks).for_each(|(sum, n)| *sum /= *n as f64);
        let residual =
            |entry: &Entry| entry.value - centre - effects[entry.condition].unwrap_or(0.0) - of_block[entry.block];
        let residuals = table.entries.iter().map(residual).collect();
        let df = count - present.len() as f64 - table.blocks as f64 + 1.0;
        Some(Self { effects, residuals, df, unscaled })
    }

    /// The value of a contrast of the effects.
    pub fn value(&self, weights: &[(usize, f64)]) -> Option<f64> {
        value_of(&self.effects, weights)
    }

    /// The pooled variance of the residuals and its degrees of freedom.
    pub fn variance(&self) -> (f64, f64) {
        (self.residuals.iter().map(|r| r * r).sum::<f64>() / self.df, self.df)
    }

    /// The variance of a contrast, by condition, in units of the variance of a trial. `None` when a condition has no
    /// trial.
    pub fn unscaled(&self, weights: &[(usize, f64)]) -> Option<Vec<(usize, f64)>> {
        match &self.unscaled {
            Unscaled::Complete(n) => Some(weights.iter().map(|(c, w)| (*c, w * w / n)).collect()),
            Unscaled::Matrix(matrix) => matrix.squares(weights),
        }
    }
}

fn sums(table: &Table, centre: f64, of: impl Fn(&Entry) -> usize, count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    table.entries.iter().for_each(|entry| sums[of(entry)] += entry.value - centre);
    sums
}

/// Whether each block holds each condition at most once.
fn is_once(table: &Table) -> bool {
    let mut seen = vec![false; table.conditions * table.blocks];
    table
        .entries
        .iter()
        .all(|entry| !std::mem::replace(&mut seen[entry.block * table.conditions + entry.condition], true))
}

/// The normal equations of the conditions after elimination of the blocks. A matrix of ones is added, which makes them
/// regular and changes no contrast.
fn reduced(
    table: &Table,
    present: &[usize],
    of_blocks: &[usize],
    (conditions, blocks): (&[f64], &[f64]),
) -> Option<(Vec<f64>, Unscaled)> {
    let k = present.len();
    let mut rows = vec![0; table.conditions];
    present.iter().enumerate().for_each(|(row, c)| rows[*c] = row);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); table.blocks];
    table.entries.iter().for_each(|entry| members[entry.block].push(rows[entry.condition]));
    let mut matrix = vec![vec![1.0; k]; k];
    let mut right: Vec<f64> = present.iter().map(|c| conditions[*c]).collect();
    for (block, members) in members.iter().enumerate() {
        let share = 1.0 / of_blocks[block] as f64;
        for i in members {
            matrix[*i][*i] += 1.0;
            right[*i] -= share * blocks[block];
            members.iter().for_each(|j| matrix[*i][*j] -= share);
        }
    }
    let inverse = inverse_spd(&matrix)?;
    let effects = crate::line::times(&inverse, &right);
    Some((effects, Unscaled::Matrix(Matrix { inverse, present: present.to_vec(), members })))
}
