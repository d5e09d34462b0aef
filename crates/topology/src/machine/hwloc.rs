//! Converts hwloc's objects to plain data.

use super::model::{Cache, Core, CpuKind, Die, Excluded, Machine, Node, Origin, Package, Pu};
use hwlocality::Topology;
use hwlocality::bitmap::BitmapIndex;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;
use tare_cpuset::{CpuSet, IndexSet};

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
