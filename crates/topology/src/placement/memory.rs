//! Memory policies: on which nodes new pages are allocated.

use crate::location::{Index, Term, usable};
use crate::text::serde_as_string;
use crate::{Location, Machine, NotRealizable, Origin};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use tare_cpuset::NodeSet;
use tare_text::{did_you_mean, nearest};

/// The folder with each node's weight, on kernels with weighted interleave.
const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// On which nodes new pages are allocated. Nodes are **OS node numbers**, as in numactl and /sys/devices/system/node,
/// unlike the logical indexes of `node:` in a location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryPolicy {
    /// The kernel's default: the node of the CPU that first touches a page (`default`, MPOL_DEFAULT).
    #[default]
    Default,
    /// Only these nodes (`bind:0-1`, MPOL_BIND).
    Bind(Nodes),
    /// These nodes in turn, page by page (`interleave:all`, MPOL_INTERLEAVE).
    Interleave(Nodes),
    /// These nodes in turn, each with as many pages as its weight (`weighted-interleave:all`, MPOL_WEIGHTED_INTERLEAVE,
    /// Linux 6.9). The weights are those of the kernel in /sys/kernel/mm/mempolicy/weighted_interleave.
    WeightedInterleave(Nodes),
    /// This node as long as it has free memory (`preferred:1`, MPOL_PREFERRED).
    Preferred(u32),
    /// The node of the allocating CPU, set explicitly (`local`, MPOL_LOCAL).
    Local,
}

/// The nodes of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Nodes {
    /// Every node with memory (`all`).
    All,
    /// Only as a level of a factor: one level for each node with memory (`each`).
    Each,
    /// These OS node numbers. Never empty when parsed.
    These(NodeSet),
}

/// Why a text is not a memory policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected {expected}, found {found:?} at byte {offset}{}", did_you_mean(*nearest)
)]
pub struct PolicyError {
    /// Position of the error, in bytes from the start of the text.
    pub offset: usize,
    /// What was expected there, as text for the user.
    pub expected: &'static str,
    /// What was found in its place.
    pub found: String,
    /// The most similar known word, if one is similar enough.
    pub nearest: Option<&'static str>,
}

impl MemoryPolicy {
    /// The OS numbers of the nodes that it names; empty for `all`, `each` and policies without nodes.
    pub fn nodes(&self) -> NodeSet {
        match self {
            Self::Default | Self::Local => NodeSet::default(),
            Self::Bind(nodes) | Self::Interleave(nodes) | Self::WeightedInterleave(nodes) => match nodes {
                Nodes::All | Nodes::Each => NodeSet::default(),
                Nodes::These(nodes) => nodes.clone(),
            },
            Self::Preferred(node) => (*node).into(),
        }
    }

    /// This policy with its nodes as numbers, after checking that they exist on this machine and have memory.
    ///
    /// # Errors
    /// When a node does not exist or has no memory, for `each`, and when the kernel does not support the policy.
    pub fn resolve(&self, machine: &Machine) -> Result<Self, NotRealizable> {
        Ok(match self {
            Self::Default => Self::Default,
            Self::Local => Self::Local,
            Self::Bind(nodes) => Self::Bind(nodes.resolve(machine)?),
            Self::Interleave(nodes) => Self::Interleave(nodes.resolve(machine)?),
            Self::WeightedInterleave(_) if machine.origin == Origin::This && !Path::new(WEIGHTS).exists() => {
                let reason = "this kernel has no weighted interleave, which came with Linux 6.9; use interleave";
                return Err(NotRealizable::new(reason));
            }
            Self::WeightedInterleave(nodes) => Self::WeightedInterleave(nodes.resolve(machine)?),
            Self::Preferred(node) => {
                Nodes::These((*node).into()).resolve(machine)?;
                Self::Preferred(*node)
            }
        })
    }
}

impl Nodes {
    fn resolve(&self, machine: &Machine) -> Result<Self, NotRealizable> {
        let usable = machine.memory_nodes();
        let nodes = match self {
            Self::These(nodes) => nodes,
            Self::All => return Ok(Self::These(usable)),
            Self::Each => {
                let reason = "bind:each is one level per node with memory: it can only be a level of the factor memory";
                return Err(NotRealizable::new(reason));
            }
        };
        if nodes.is_empty() {
            return Err(NotRealizable::new("a memory policy without nodes"));
        }
        let Some(node) = nodes.difference(&usable).first() else { return Ok(self.clone()) };
        let why = if machine.excluded.cgroup_nodes.contains(node) {
            "is outside this process's cgroup cpuset"
        } else if machine.nodes.iter().any(|n| n.os_index == node) {
            "has no memory"
        } else {
            "does not exist"
        };
        Err(NotRealizable::new(format!("NUMA node {node} {why}; memory can come from nodes {usable}")))
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Each => f.write_str("each"),
            Self::These(nodes) => nodes.fmt(f),
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Bind(nodes) => write!(f, "bind:{nodes}"),
            Self::Interleave(nodes) => write!(f, "interleave:{nodes}"),
            Self::WeightedInterleave(nodes) => write!(f, "weighted-interleave:{nodes}"),
            Self::Preferred(node) => write!(f, "preferred:{node}"),
            Self::Local => f.write_str("local"),
        }
    }
}

impl FromStr for MemoryPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let error = |offset: usize, expected, nearest| PolicyError {
            offset,
            expected,
            found: text.get(offset..).unwrap_or_default().to_owned(),
            nearest,
        };
        let (word, nodes) = text.split_once(':').map_or((text, None), |(word, nodes)| (word, Some(nodes)));
        let place = word.len() + usize::from(nodes.is_some());
        let list = |nodes: Option<&str>| match nodes {
            None | Some("") => Err(error(place, "OS node numbers, such as 0-1,3, or \"all\"", None)),
            Some("all") => Ok(Nodes::All),
            Some("each") => Ok(Nodes::Each),
            Some(nodes) => nodes
                .parse()
                .map(Nodes::These)
                .map_err(|e: tare_cpuset::IndexSetError| error(place + e.offset, e.expected, nearest(nodes, ["all"]))),
        };
        match (word, nodes) {
            ("default", None) => Ok(Self::Default),
            ("local", None) => Ok(Self::Local),
            ("default" | "local", Some(_)) => Err(error(word.len(), "nothing more", None)),
            ("bind", nodes) => list(nodes).map(Self::Bind),
            ("interleave", nodes) => list(nodes).map(Self::Interleave),
            ("weighted-interleave", nodes) => list(nodes).map(Self::WeightedInterleave),
            ("preferred", nodes) => tare_cpuset::parse_index(nodes.unwrap_or_default(), place)
                .map(Self::Preferred)
                .map_err(|e| error(e.offset, "one OS node number", None)),
            _ => Err(error(
                0,
                "default, bind:<nodes>, interleave:<nodes>, weighted-interleave:<nodes>, preferred:<node> or local",
                nearest(word, ["default", "bind", "interleave", "weighted-interleave", "preferred", "local"]),
            )),
        }
    }
}

serde_as_string!(MemoryPolicy);

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_policies_read_back() {
        for text in [
            "default",
            "local",
            "bind:0-1,3",
            "interleave:all",
            "interleave:0,2",
            "bind:each",
            "weighted-interleave:0-1",
            "preferred:1",
        ] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_error_has_its_place_and_the_nearest_word() {
        for (text, offset, nearest) in [
            ("", 0, None),
            ("interleaved:0", 0, Some("interleave")),
            ("weighted_interleave:0", 0, Some("weighted-interleave")),
            ("bind", 4, None),
            ("bind:", 5, None),
            ("bind:0,x", 7, None),
            ("interleave:al", 11, Some("all")),
            ("preferred:0-1", 10, None),
            ("local:0", 5, None),
        ] {
            let e = text.parse::<MemoryPolicy>().unwrap_err();
            assert_eq!((e.offset, e.nearest), (offset, nearest), "{text:?}: {e}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(bind|weighted-|interleave|preferred|all|é|:|,|-|[0-9]){0,6}") {
            if let Ok(policy) = text.parse::<MemoryPolicy>() {
                prop_assert_eq!(policy.to_string().parse::<MemoryPolicy>().unwrap(), policy);
            }
        }
    }
}
