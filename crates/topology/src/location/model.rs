//! Locations as data, and as text in hwloc-calc's notation.

use std::fmt;
use strum::{Display, EnumString, VariantArray, VariantNames};
use tare_cpuset::CpuSet;

/// A selection of CPUs in hwloc-calc's notation: `node:1.core:0-1.pu:0`, `cpus:4-11,16` for OS numbers, or `all`;
/// several are joined by `+`.
///
/// Indexes are logical (hwloc's order, not the OS's) and relative to the containing object: `node:1.core:0` is the
/// first core of the second node. `0-1` is a range, `2-` means from 2 to the last, and `all`, `odd` and `even` select
/// by index. An expression that selects no CPUs is an error.
///
/// Further words, which hwloc does not have, make a study portable between machines:
///
/// - `node:near` is the first node with CPUs and memory, `node:far` the one farthest from it, and `node:usable` are all
///   nodes with CPUs and memory. `node:each`, only as a level of a factor, stands for one level per such node.
/// - `core:performance` are the cores of the fastest kind of a hybrid machine, `core:efficiency` those of the most
///   power-efficient kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Joined by `+`; never empty.
    pub(crate) terms: Vec<Term>,
}

impl Location {
    /// Every CPU that this process may use.
    pub(crate) fn all() -> Self {
        Self { terms: vec![Term::All] }
    }

    /// A location from its terms; `None` without terms.
    pub(crate) fn of(terms: Vec<Term>) -> Option<Self> {
        (!terms.is_empty()).then_some(Self { terms })
    }
}

/// One term of a location.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// Every CPU that this process may use.
    All,
    /// CPUs by OS number. Never empty.
    Cpus(CpuSet),
    /// Objects within objects, outermost first. Never empty.
    Objects(Vec<Step>),
}

/// Objects of one kind within those of the previous step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    /// The kind of these objects.
    pub kind: ObjectKind,
    /// Which of them, by logical index.
    pub index: Index,
}

/// A kind of object that contains CPUs. Names are read in either case, including hwloc's longer ones, and written as
/// the first name given here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumString, VariantArray, VariantNames)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub(crate) enum ObjectKind {
    /// A socket (`package`, `socket`).
    #[strum(to_string = "package", serialize = "socket")]
    Package,
    /// A NUMA node (`node`, `numa`, `numanode`).
    #[strum(to_string = "node", serialize = "numa", serialize = "numanode")]
    Node,
    /// A die of a package that has several (`die`).
    Die,
    /// A cache of level 5 (`l5`, `l5cache`).
    #[strum(to_string = "l5", serialize = "l5cache")]
    L5,
    /// A cache of level 4 (`l4`, `l4cache`).
    #[strum(to_string = "l4", serialize = "l4cache")]
    L4,
    /// A cache of level 3 (`l3`, `l3cache`); many current processors have several per node.
    #[strum(to_string = "l3", serialize = "l3cache")]
    L3,
    /// A cache of level 2 (`l2`, `l2cache`).
    #[strum(to_string = "l2", serialize = "l2cache")]
    L2,
    /// A data cache of level 1 (`l1`, `l1cache`, `l1d`, `l1dcache`).
    #[strum(to_string = "l1", serialize = "l1cache", serialize = "l1d", serialize = "l1dcache")]
    L1,
    /// A physical core (`core`).
    Core,
    /// A hardware thread (`pu`).
    Pu,
}

impl ObjectKind {
    /// The kind of a cache of this level, 1 to 5.
    pub(crate) fn cache(level: u8) -> Option<Self> {
        [Self::L1, Self::L2, Self::L3, Self::L4, Self::L5].get(usize::from(level.checked_sub(1)?)).copied()
    }
}

/// Which objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Index {
    /// From the first to the last logical index, both included, first <= last.
    Range(u32, u32),
    /// From a logical index to the last.
    From(u32),
    /// Every object of the kind.
    All,
    /// Those with an odd logical index.
    Odd,
    /// Those with an even logical index.
    Even,
    /// Of nodes: the first that has CPUs and memory.
    Near,
    /// Of nodes: the one with CPUs and memory that is farthest from the first, by the distances of the machine.
    Far,
    /// Of nodes: all that have CPUs and memory.
    Usable,
    /// Of nodes, only as a level of a factor: one level for each node that has CPUs and memory.
    Each,
    /// Of cores: those of the fastest kind of a hybrid machine.
    Performance,
    /// Of cores: those of the most power-efficient kind of a hybrid machine.
    Efficiency,
}

impl ObjectKind {
    /// Names for messages: singular and plural.
    pub(super) fn nouns(self) -> (String, String) {
        let plain = |one: &str, many: &str| (one.to_owned(), many.to_owned());
        match self {
            Self::Package => plain("package", "packages"),
            Self::Node => plain("NUMA node", "NUMA nodes"),
            Self::Die => plain("die", "dies"),
            Self::L5 | Self::L4 | Self::L3 | Self::L2 | Self::L1 => {
                let level = self.to_string().to_uppercase();
                (format!("{level} cache"), format!("{level} caches"))
            }
            Self::Core => plain("core", "cores"),
            Self::Pu => plain("PU", "PUs"),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(first, last) if first == last => write!(f, "{first}"),
            Self::Range(first, last) => write!(f, "{first}-{last}"),
            Self::From(first) => write!(f, "{first}-"),
            Self::All => f.write_str("all"),
            Self::Odd => f.write_str("odd"),
            Self::Even => f.write_str("even"),
            Self::Near => f.write_str("near"),
            Self::Far => f.write_str("far"),
            Self::Usable => f.write_str("usable"),
            Self::Each => f.write_str("each"),
            Self::Performance => f.write_str("performance"),
            Self::Efficiency => f.write_str("efficiency"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.index)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Cpus(cpus) => write!(f, "cpus:{cpus}"),
            Self::Objects(steps) => f.write_str(&chain(steps)),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        f.write_str(&terms.join("+"))
    }
}

pub(super) fn chain(steps: &[Step]) -> String {
    steps.iter().map(Step::to_string).collect::<Vec<_>>().join(".")
}

crate::text::serde_as_string!(Location);
