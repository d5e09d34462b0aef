//! The trials, by condition and block.

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
