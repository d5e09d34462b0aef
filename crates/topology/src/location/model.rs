use std::fmt;

use crate::CpuSet;

/// Which CPUs, as hwloc-calc writes it: `node:1.core:0-1.pu:0`, joined by `+`; `cpus:4-11,16` for OS numbers; `all`.
///
/// Indexes are logical (hwloc's order, not the OS's), each relative to what contains it: `node:1.core:0` is the first
/// core of the second node. `0-1` is a range, `2-` runs to the end, `all`, `odd` and `even` select by index. Where a
/// node and a core are unrelated by CPUs, nothing is selected, and that is an error rather than an empty set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    pub(super) terms: Vec<Term>,
}

impl Location {
    /// Every usable CPU.
    pub fn all() -> Self {
        Self { terms: vec![Term::All] }
    }

    /// CPUs by OS number. None for the empty set, which is no location.
    pub fn cpus(cpus: CpuSet) -> Option<Self> {
        (!cpus.is_empty()).then(|| Self { terms: vec![Term::Cpus(cpus)] })
    }

    /// What `+` joins; none when there is nothing to join.
    pub(crate) fn of(terms: Vec<Term>) -> Option<Self> {
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// What the `+` joins. Never empty.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

/// A part of a location.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    /// Every usable CPU.
    All,
    /// OS numbers. Never empty.
    Cpus(CpuSet),
    /// Objects within objects, outermost first. Never empty.
    Objects(Vec<Step>),
}

/// Objects of one kind within those of the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// Which kind.
    pub kind: ObjectKind,
    /// Which of these.
    pub index: Index,
}

/// A kind of object that holds CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A socket (`package`, `socket`).
    Package,
    /// A NUMA node (`node`, `numa`, `numanode`).
    Node,
    /// A die (`die`).
    Die,
    /// A data or unified cache of a level from 1 to 5 (`l3`, `l3cache`).
    Cache(u8),
    /// A physical core (`core`).
    Core,
    /// A hardware thread (`pu`).
    Pu,
}

/// Which objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Index {
    /// From the first to the last logical index, both included, first <= last.
    Range(u32, u32),
    /// From a logical index on.
    From(u32),
    /// All.
    All,
    /// Those with an odd logical index.
    Odd,
    /// Those with an even logical index.
    Even,
}

/// Names by kind; a kind's first name is the one that Display writes.
pub(super) const KINDS: [(&str, ObjectKind); 17] = [
    ("package", ObjectKind::Package),
    ("socket", ObjectKind::Package),
    ("node", ObjectKind::Node),
    ("numa", ObjectKind::Node),
    ("numanode", ObjectKind::Node),
    ("die", ObjectKind::Die),
    ("l5", ObjectKind::Cache(5)),
    ("l5cache", ObjectKind::Cache(5)),
    ("l4", ObjectKind::Cache(4)),
    ("l4cache", ObjectKind::Cache(4)),
    ("l3", ObjectKind::Cache(3)),
    ("l3cache", ObjectKind::Cache(3)),
    ("l2", ObjectKind::Cache(2)),
    ("l2cache", ObjectKind::Cache(2)),
    ("l1", ObjectKind::Cache(1)),
    ("core", ObjectKind::Core),
    ("pu", ObjectKind::Pu),
];

impl ObjectKind {
    /// For people: one, and many.
    pub(super) fn nouns(self) -> (String, String) {
        let plain = |one: &str, many: &str| (one.to_owned(), many.to_owned());
        match self {
            Self::Package => plain("package", "packages"),
            Self::Node => plain("NUMA node", "NUMA nodes"),
            Self::Die => plain("die", "dies"),
            Self::Cache(level) => (format!("L{level} cache"), format!("L{level} caches")),
            Self::Core => plain("core", "cores"),
            Self::Pu => plain("PU", "PUs"),
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::text::word_of(self, &KINDS))
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
