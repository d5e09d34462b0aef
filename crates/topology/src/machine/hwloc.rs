//! Converts hwloc's objects and its XML to plain data, in this process.

use super::model::{Cache, Core, CpuKind, Die, Excluded, Machine, Node, Origin, Package, Pu};
use hwlocality::Topology;
use hwlocality::bitmap::BitmapIndex;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::TopologyBuilder;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tare_cpuset::{CpuSet, IndexSet};

/// Why the description of a machine could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum MachineError {
    /// hwloc failed to discover this machine.
    #[error("hwloc could not discover this machine: {0}")]
    Discovery(String),
    /// Environment variables make hwloc describe another machine.
    #[error(
        "hwloc describes another machine than this one; unset HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT and \
         HWLOC_THISSYSTEM"
    )]
    NotThisMachine,
    /// The CPUs of this process could not be read.
    #[error("could not read the CPU affinity of this process: {0}")]
    Affinity(#[source] std::io::Error),
    /// hwloc knows none of the CPUs that this process may run on.
    #[error("hwloc knows none of the CPUs this process may run on ({allowed})")]
    NoCpus { allowed: CpuSet },
    /// hwloc does not accept the text as a synthetic description.
    #[error(
        "{description:?} is neither an existing file nor an hwloc synthetic description, such as \"node:4 core:32 pu:1\""
    )]
    Synthetic { description: String },
    /// A described machine is larger than any real one.
    #[error("the machine {what} has more than {most} PUs (logical CPUs), the limit of a described machine")]
    TooManyPus { what: String, most: usize },
    /// The XML file could not be read.
    #[error("could not read the hwloc XML file {}: {source}", path.display())]
    XmlUnreadable { path: PathBuf, source: std::io::Error },
    /// The format of the file is newer than version 2 of hwloc.
    #[error(
        "{} was written by hwloc {version} or later, and only files of version 2 can be read; on that machine write it \
         with: lstopo --export-xml-flags V2 machine.xml",
        path.display()
    )]
    XmlTooNew { path: PathBuf, version: String },
    /// The child process that reads descriptions failed.
    #[error("cannot read the machine {what}: {reason}")]
    Reader { what: String, reason: String },
    /// hwloc does not accept the file as its XML.
    #[error("{} is not an hwloc XML file (as written by `lstopo machine.xml`)", path.display())]
    XmlInvalid { path: PathBuf },
}

/// Data and unified caches, outermost first. Level 5 is the highest level of hwloc.
const CACHES: [(u8, ObjectType); 5] = [
    (5, ObjectType::L5Cache),
    (4, ObjectType::L4Cache),
    (3, ObjectType::L3Cache),
    (2, ObjectType::L2Cache),
    (1, ObjectType::L1Cache),
];

pub(super) fn snapshot(topology: &Topology, origin: Origin, excluded: Excluded) -> Machine {
    let packages: Vec<Package> = with_cpus(topology, ObjectType::Package)
        .map(|(object, cpus)| Package { os_index: os_index(object), cpus, model: info(object, "CPUModel") })
        .collect();
    let caches: Vec<Cache> = CACHES.iter().flat_map(|(level, kind)| caches(topology, *level, *kind)).collect();
    let cpu_kinds = cpu_kinds(topology);
    let cores: Vec<Core> = with_cpus(topology, ObjectType::Core)
        .map(|(object, cpus)| {
            let kind = cpu_kinds.iter().position(|kind| cpus.is_subset(&kind.cpus));
            Core { os_index: os_index(object), cpus, kind }
        })
        .collect();
    let nodes = nodes(topology);
    let pus = topology
        .objects_with_type(ObjectType::PU)
        .filter_map(os_index)
        .map(|cpu| Pu {
            os_index: cpu,
            core: cores.iter().position(|core| core.cpus.contains(cpu)),
            package: packages.iter().position(|package| package.cpus.contains(cpu)),
            node: nodes.iter().position(|node| node.cpus.contains(cpu)),
            last_level_cache: caches.iter().position(|cache| cache.cpus.contains(cpu)),
        })
        .collect();
    let dies = with_cpus(topology, ObjectType::Die).map(|(_, cpus)| Die { cpus }).collect();
    let distances = distances(topology, &nodes);
    Machine { origin, packages, dies, caches, cores, pus, nodes, cpu_kinds, distances, excluded }
}

pub(super) fn indexes(bits: impl Iterator<Item = BitmapIndex>) -> IndexSet {
    bits.filter_map(|bit| u32::try_from(usize::from(bit)).ok()).filter(|i| *i <= tare_cpuset::MAX_INDEX).collect()
}

fn with_cpus(topology: &Topology, kind: ObjectType) -> impl Iterator<Item = (&TopologyObject, CpuSet)> {
    topology.objects_with_type(kind).map(|object| (object, cpus_of(object))).filter(|(_, cpus)| !cpus.is_empty())
}

fn cpus_of(object: &TopologyObject) -> CpuSet {
    object.cpuset().map_or_else(CpuSet::new, |set| indexes(set.iter_set()))
}

fn os_index(object: &TopologyObject) -> Option<u32> {
    object.os_index().and_then(|index| u32::try_from(index).ok())
}

fn info(object: &TopologyObject, key: &str) -> Option<String> {
    object.info(key).map(|value| value.to_string_lossy().into_owned())
}

fn caches(topology: &Topology, level: u8, kind: ObjectType) -> impl Iterator<Item = Cache> {
    with_cpus(topology, kind).map(move |(object, cpus)| {
        let size_bytes = match object.attributes() {
            Some(ObjectAttributes::Cache(cache)) => cache.size().map(u64::from),
            _ => None,
        };
        Cache { level, size_bytes, cpus }
    })
}

/// NUMA nodes, each with its own CPUs only.
pub(super) fn nodes(topology: &Topology) -> Vec<Node> {
    let mut nodes: Vec<Node> = topology.objects_with_type(ObjectType::NUMANode).filter_map(node).collect();
    keep_own_cpus(&mut nodes);
    nodes
}

fn node(object: &TopologyObject) -> Option<Node> {
    let memory_bytes = match object.attributes() {
        Some(ObjectAttributes::NUMANode(numa)) => numa.local_memory().map_or(0, u64::from),
        _ => 0,
    };
    Some(Node { os_index: os_index(object)?, cpus: cpus_of(object), memory_bytes })
}

/// Assigns each CPU to one node, as the OS does. hwloc lists the CPUs of the object a node is attached to: a
/// memory-only node has the CPUs of its package, or all. A CPU belongs to the node with the fewest CPUs that includes
/// it; of several, to the one with the lowest number, because firmware numbers nodes with CPUs first. A node without
/// CPUs is memory-only.
fn keep_own_cpus(nodes: &mut [Node]) {
    let reach: Vec<(u32, CpuSet)> = nodes.iter().map(|node| (node.os_index, node.cpus.clone())).collect();
    let owner = |cpu: u32| {
        let covering = reach.iter().filter(|(_, cpus)| cpus.contains(cpu));
        covering.min_by_key(|(number, cpus)| (cpus.len(), *number)).map(|(number, _)| *number)
    };
    for node in nodes {
        node.cpus = node.cpus.iter().filter(|cpu| owner(*cpu) == Some(node.os_index)).collect();
    }
}

/// Empty on machines that are not hybrid, for which hwloc lists a single kind.
fn cpu_kinds(topology: &Topology) -> Vec<CpuKind> {
    let Ok(kinds) = topology.cpu_kinds() else { return Vec::new() };
    let kinds: Vec<CpuKind> = kinds
        .map(|kind| CpuKind {
            name: kind
                .infos
                .iter()
                .find(|info| info.name().to_bytes() == b"CoreType")
                .map(|info| info.value().to_string_lossy().into_owned()),
            efficiency: kind.efficiency.and_then(|e| u32::try_from(e).ok()),
            cpus: indexes(kind.cpuset.iter_set()),
        })
        .filter(|kind| !kind.cpus.is_empty())
        .collect();
    if kinds.len() < 2 { Vec::new() } else { kinds }
}

/// The first latency matrix that covers every node, with rows and columns in the order of `nodes`.
fn distances(topology: &Topology, nodes: &[Node]) -> Option<Vec<Vec<u64>>> {
    let matrices =
        topology.distances_with_type(Some(DistancesKind::MEANS_LATENCY), ObjectType::NUMANode).unwrap_or_default();
    matrices.iter().find_map(|matrix| {
        let order: Vec<Option<u32>> = matrix.objects().map(|object| object.and_then(os_index)).collect();
        let place = |node: &Node| order.iter().position(|index| *index == Some(node.os_index));
        let places: Vec<usize> = nodes.iter().map(place).collect::<Option<_>>()?;
        let values = matrix.distances();
        let row = |from: &usize| places.iter().map(|to| values.get(from * order.len() + to).copied()).collect();
        places.iter().map(row).collect::<Option<Vec<Vec<u64>>>>()
    })
}

/// Catches panics: hwlocality panics if hwloc sets an unexpected errno, but an invalid file must be an error.
pub(super) fn guarded<T>(load: impl FnOnce() -> Option<T>) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)).ok().flatten()
}

/// Why a text is not accepted as a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Refused {
    /// hwloc does not accept it.
    Invalid,
    /// Its format has this version, which is newer than this hwloc supports.
    TooNew(String),
}

impl Refused {
    pub(super) fn of_file(self, path: &Path) -> MachineError {
        let path: PathBuf = path.to_owned();
        match self {
            Self::Invalid => MachineError::XmlInvalid { path },
            Self::TooNew(version) => MachineError::XmlTooNew { path, version },
        }
    }
}

impl Machine {
    /// A machine from an XML file, as written by `lstopo machine.xml` on that machine. It is read in this process: only
    /// use it for trusted files, because hwloc crashes or hangs on some damaged ones. See [`Machine::describe`].
    ///
    /// # Errors
    /// When the file cannot be read or is invalid.
    pub fn from_xml(path: impl AsRef<Path>) -> Result<Self, MachineError> {
        let path = path.as_ref();
        let xml = std::fs::read_to_string(path)
            .map_err(|source| MachineError::XmlUnreadable { path: path.to_owned(), source })?;
        let machine = parse_xml(&xml).map_err(|refused| refused.of_file(path))?;
        Ok(Self { origin: Origin::Xml(path.display().to_string()), ..machine })
    }
}

/// Parses a machine; its origin does not yet have the name of the file.
pub(super) fn parse_xml(xml: &str) -> Result<Machine, Refused> {
    if let Some(version) = xml_version(xml)
        && version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major > 2)
    {
        return Err(Refused::TooNew(version.to_owned()));
    }
    let topology = guarded(|| TopologyBuilder::new().from_xml(xml).ok()?.build().ok()).ok_or(Refused::Invalid)?;
    let excluded = Excluded {
        offline: indexes(topology.complete_cpuset().iter_set()).difference(&indexes(topology.cpuset().iter_set())),
        ..Excluded::default()
    };
    Ok(snapshot(&topology, Origin::Xml(String::new()), excluded))
}

/// The version of the format: an attribute of the root element since hwloc 2.
fn xml_version(xml: &str) -> Option<&str> {
    let (_, root) = xml.split_once("<topology")?;
    let (attributes, _) = root.split_once('>')?;
    let (_, value) = attributes.split_once("version=\"")?;
    value.split_once('"').map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_root_element() {
        let head = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";
        assert_eq!(xml_version(&format!("{head}<topology version=\"2.0\">")), Some("2.0"));
        assert_eq!(xml_version(&format!("{head}<topology  version=\"3.0\" a=\"b\">")), Some("3.0"));
        assert_eq!(xml_version(&format!("{head}<topology>\n<object version=\"9\">")), None);
        assert_eq!(xml_version(&format!("{head}<topology version=\"3.0")), None);
    }

    #[test]
    fn a_newer_xml_format_is_refused_as_too_new() {
        assert_eq!(parse_xml("<topology version=\"3.0\"></topology>").err(), Some(Refused::TooNew("3.0".to_owned())));
        assert_eq!(parse_xml("<topology version=\"2.0\"></topology>").err(), Some(Refused::Invalid));
    }
}
