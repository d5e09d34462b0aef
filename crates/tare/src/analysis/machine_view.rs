//! The machine as a tree of boxes: all that the drawing and the pairing of threads need to know of it.

use tare_topology::Machine;

/// What a box stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoxKind {
    /// The whole machine.
    Machine,
    /// A socket.
    Package,
    /// A NUMA node.
    Node,
    /// A cache shared by several cores.
    Cache,
    /// A core.
    Core,
    /// A processing unit: what the OS calls a CPU.
    Pu,
}

/// One box and what it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineBox {
    /// What it is.
    pub kind: BoxKind,
    /// Its words in the drawing, such as `L3 32 MiB`.
    pub label: String,
    /// OS number of a PU.
    pub cpu: Option<usize>,
    /// What is inside, in logical order.
    pub children: Vec<MachineBox>,
}

/// Where one CPU sits relative to another, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// The same PU.
    SamePu,
    /// Two PUs of one core.
    SameCore,
    /// Two cores under one shared cache.
    SameCache,
    /// One node, no shared cache.
    SameNode,
    /// Different nodes.
    OtherNode,
}

impl Relation {
    /// As in a sentence: "on one PU".
    pub fn words(self) -> &'static str {
        match self {
            Self::SamePu => "on one PU",
            Self::SameCore => "on two PUs of one core",
            Self::SameCache => "on two cores under one cache",
            Self::SameNode => "on two cores of one node",
            Self::OtherNode => "on different nodes",
        }
    }
}

impl MachineBox {
    /// The boxes from this one down to a CPU, as child indexes; none when it is not inside.
    fn path_to(&self, cpu: usize) -> Option<Vec<usize>> {
        if self.cpu == Some(cpu) {
            return Some(Vec::new());
        }
        self.children.iter().enumerate().find_map(|(index, child)| {
            let mut path = child.path_to(cpu)?;
            path.insert(0, index);
            Some(path)
        })
    }

    /// How two CPUs of this machine relate; none when either is unknown.
    pub fn relation(&self, a: usize, b: usize) -> Option<Relation> {
        let (to_a, to_b) = (self.path_to(a)?, self.path_to(b)?);
        if a == b {
            return Some(Relation::SamePu);
        }
        let mut common = self;
        let mut nodes_above = false;
        for (step, other) in to_a.iter().zip(&to_b) {
            if step != other {
                break;
            }
            common = common.children.get(*step)?;
            nodes_above |= common.kind == BoxKind::Node;
        }
        Some(match common.kind {
            BoxKind::Core | BoxKind::Pu => Relation::SameCore,
            BoxKind::Cache if nodes_above || !common.contains(BoxKind::Node) => Relation::SameCache,
            _ if nodes_above || !self.contains(BoxKind::Node) => Relation::SameNode,
            _ if common.contains(BoxKind::Node) => Relation::OtherNode,
            _ => Relation::SameNode,
        })
    }

    fn contains(&self, kind: BoxKind) -> bool {
        self.children.iter().any(|child| child.kind == kind || child.contains(kind))
    }

    /// OS numbers of every PU inside, in logical order.
    pub fn cpus(&self) -> Vec<usize> {
        match self.cpu {
            Some(cpu) => vec![cpu],
            None => self.children.iter().flat_map(Self::cpus).collect(),
        }
    }
}

/// The tree of a machine; none when it says nothing of its PUs.
pub fn view(_machine: &Machine) -> Option<MachineBox> {
    None
}
