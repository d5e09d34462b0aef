//! Looks at a study on the way: after which blocks, and what chance of a false alarm each of them has.
//!
//! Every look but the last has a twentieth of the chance that the answer has, and the last one what is left (after
//! Haybittle 1971 and Peto and others 1976). These add up to the whole, so the answer is wrong no more often than that,
//! whatever decides between two looks whether the study goes on, and whatever shape its trials have.

use crate::schema::Plan;
use serde::Serialize;
use tare_stats::sequential::LOOKS;

/// What each look but the last has of the chance of a false alarm.
const EARLY: f64 = 0.05;

/// Blocks after which is looked, the last of them when all have run: those of a comparison of pairs.
pub fn looks(blocks: usize) -> Vec<usize> {
    LOOKS.into_iter().filter(|look| *look < blocks).chain([blocks]).collect()
}

/// Where a study with looks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The first is 1.
    pub number: usize,
    /// How many there are in all.
    pub of: usize,
    /// Blocks that are planned so far.
    pub blocks: usize,
    /// Blocks of the whole study.
    pub of_blocks: usize,
    /// Whether no further block can follow: all are planned, or the time was over.
    pub is_last: bool,
}

impl Look {
    /// The look that the trials of this plan lead to; none where there is one alone, at the end.
    pub fn of(plan: &Plan) -> Option<Self> {
        let within = plan.within.as_ref()?;
        let (blocks, of_blocks) = (plan.blocks().len(), within.blocks?);
        let all = looks(of_blocks);
        let number = all.iter().position(|look| *look >= blocks)? + 1;
        let is_last = number == all.len() || within.stopped > 0;
        Some(Self { number, of: all.len(), blocks, of_blocks, is_last })
    }

    /// What this look has of the chance of a false alarm.
    pub fn share(&self) -> f64 {
        if self.is_last { 1.0 - EARLY * (self.of - 1) as f64 } else { EARLY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{PlannedTrial, Within};

    #[test]
    fn shares_of_all_looks_are_the_whole_chance() {
        for (of_blocks, looked) in [(3, vec![3]), (5, vec![4, 5]), (10, vec![4, 6, 9, 10])] {
            let plan = |blocks: usize, stopped: usize| Plan {
                trials: (0..blocks)
                    .map(|block| PlannedTrial { trial: block, block, condition: String::new(), lifetime: None })
                    .collect(),
                within: Some(Within { blocks: Some(of_blocks), stopped, ..Within::default() }),
                ..Plan::default()
            };
            assert_eq!(looks(of_blocks), looked);
            let all: f64 = looked.iter().map(|blocks| Look::of(&plan(*blocks, 0)).unwrap().share()).sum();
            assert!((all - 1.0).abs() < 1e-12, "{all}");
            // The time was over before the last.
            let stopped = Look::of(&plan(looked[0], 1)).unwrap();
            assert_eq!(stopped.share(), Look::of(&plan(of_blocks, 0)).unwrap().share());
        }
        assert_eq!(Look::of(&Plan::default()), None);
    }
}
