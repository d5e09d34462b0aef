//! Levels of factors that stand for one level per node: `node:each` and `bind:each`.

use super::memory::{MemoryPolicy, Nodes};
use crate::location::usable;
use crate::location::{Index, Term};
use crate::{Location, Machine, NotRealizable};

impl Location {
    /// If the location contains `node:each`: one location for each node with CPUs and memory. Otherwise `None`.
    ///
    /// # Errors
    /// When the machine has no such node.
    pub fn of_each_node(&self, machine: &Machine) -> Result<Option<Vec<Self>>, NotRealizable> {
        let is_each = |term: &Term| match term {
            Term::Objects(steps) => steps.iter().any(|step| step.index == Index::Each),
            Term::All | Term::Cpus(_) => false,
        };
        if !self.terms.iter().any(is_each) {
            return Ok(None);
        }
        let on = |node: usize| {
            let number = u32::try_from(node).unwrap_or(u32::MAX);
            let mut one = self.clone();
            for term in &mut one.terms {
                let Term::Objects(steps) = term else { continue };
                let each = steps.iter_mut().filter(|step| step.index == Index::Each);
                each.for_each(|step| step.index = Index::Range(number, number));
            }
            one
        };
        Ok(Some(usable(machine)?.into_iter().map(on).collect()))
    }
}

impl MemoryPolicy {
    /// If the policy's nodes are `each`: one policy for each node with memory, with or without CPUs. Otherwise `None`.
    pub fn of_each_node(&self, machine: &Machine) -> Option<Vec<Self>> {
        let of: fn(Nodes) -> Self = match self {
            Self::Bind(Nodes::Each) => Self::Bind,
            Self::Interleave(Nodes::Each) => Self::Interleave,
            Self::WeightedInterleave(Nodes::Each) => Self::WeightedInterleave,
            _ => return None,
        };
        Some(machine.memory_nodes().iter().map(|node| of(Nodes::These(node.into()))).collect())
    }
}
