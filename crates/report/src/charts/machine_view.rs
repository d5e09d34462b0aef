//! The machine as a tree of nested boxes, as lstopo draws it: the input of the drawing.

use crate::figures::figure;
use std::collections::HashSet;
use tare_cpuset::CpuSet;
use tare_results::unit::Unit;
use tare_topology::Machine;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum BoxKind {
    Machine,
    Package,
    Node,
    /// A cache shared by several cores.
    Cache,
    Core,
    /// A processing unit: what the OS calls a CPU.
    Pu,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineBox {
    pub kind: BoxKind,
    /// Its label in the drawing, such as `L3 32 MiB`.
    pub label: String,
    /// OS number of a PU.
    pub cpu: Option<usize>,
    /// Boxes inside this one, in logical order.
    pub children: Vec<MachineBox>,
}

/// A box before nesting: its kind and its CPUs.
struct Container {
    kind: BoxKind,
    label: String,
    cpus: CpuSet,
}

/// Most boxes around a PU: machines have up to eight. A description of anyone may nest any number.
const MOST_AROUND: usize = 16;
/// Most comparisons of two objects of a machine. One with 8,192 PUs takes a third of them.
const MOST_COMPARISONS: usize = 1_000_000_000;

/// The tree of a machine: packages, nodes, shared caches, cores and PUs, nested by their CPUs. `None` for a description
/// with more objects than are compared with each other.
pub fn view(machine: &Machine) -> Option<MachineBox> {
    let Machine { packages, nodes, caches, cores, pus, .. } = machine;
    let around = packages.len() + nodes.len() + caches.len() + cores.len();
    if (pus.len() + caches.len()).saturating_mul(around) > MOST_COMPARISONS {
        return None;
    }
    let mut containers = containers(machine);
    // A node may contain several packages or the opposite: the larger one is outside.
    containers.sort_by_key(|container| (std::cmp::Reverse(container.cpus.len()), container.kind));
    let mut root = MachineBox { kind: BoxKind::Machine, label: String::new(), cpu: None, children: Vec::new() };
    // The path of the box made from each container; a box is made at its first PU.
    let mut made: Vec<Option<Vec<usize>>> = vec![None; containers.len()];
    for pu in &machine.pus {
        let mut path: Vec<usize> = Vec::new();
        for (index, container) in containers.iter().enumerate().filter(|(_, c)| c.cpus.contains(pu.os_index)) {
            path = match &made[index] {
                Some(path) => path.clone(),
                None if path.len() == MOST_AROUND => break,
                None => {
                    let child = MachineBox {
                        kind: container.kind,
                        label: container.label.clone(),
                        cpu: None,
                        children: Vec::new(),
                    };
                    let path = add(&mut root, &path, child);
                    made[index] = Some(path.clone());
                    path
                }
            };
        }
        let cpu = pu.os_index as usize;
        add(
            &mut root,
            &path,
            MachineBox { kind: BoxKind::Pu, label: cpu.to_string(), cpu: Some(cpu), children: Vec::new() },
        );
    }
    for node in machine.nodes.iter().filter(|node| node.cpus.is_empty()) {
        let label = format!("{}, memory only", node_label(node.os_index, node.memory_bytes));
        root.children.push(MachineBox { kind: BoxKind::Node, label, cpu: None, children: Vec::new() });
    }
    Some(root)
}

/// Adds a box under the one at `path` and returns its own path.
fn add(root: &mut MachineBox, path: &[usize], child: MachineBox) -> Vec<usize> {
    let mut at = root;
    for step in path {
        at = &mut at.children[*step];
    }
    at.children.push(child);
    let mut path = path.to_vec();
    path.push(at.children.len() - 1);
    path
}

fn containers(machine: &Machine) -> Vec<Container> {
    let mut containers = Vec::new();
    for (index, package) in machine.packages.iter().enumerate() {
        containers.push(Container {
            kind: BoxKind::Package,
            label: format!("package {index}"),
            cpus: package.cpus.clone(),
        });
    }
    for node in machine.nodes.iter().filter(|node| !node.cpus.is_empty()) {
        let label = node_label(node.os_index, node.memory_bytes);
        containers.push(Container { kind: BoxKind::Node, label, cpus: node.cpus.clone() });
    }
    for cache in shared_caches(machine) {
        let size = cache.size_bytes.map_or(String::new(), |bytes| format!(" {}", bytes_label(bytes)));
        let label = format!("L{}{size}", cache.level);
        containers.push(Container { kind: BoxKind::Cache, label, cpus: cache.cpus.clone() });
    }
    for (index, core) in machine.cores.iter().enumerate() {
        containers.push(Container { kind: BoxKind::Core, label: format!("core {index}"), cpus: core.cpus.clone() });
    }
    containers
}

/// Caches that several cores share; the outer one of two with the same CPUs.
fn shared_caches(machine: &Machine) -> Vec<&tare_topology::Cache> {
    let (mut shared, mut known) = (Vec::new(), HashSet::new());
    for cache in machine.caches.iter().filter(|cache| cache.cpus.len() > 1) {
        let in_one_core = machine.cores.iter().any(|core| cache.cpus.is_subset(&core.cpus));
        if !in_one_core && known.insert(&cache.cpus) {
            shared.push(cache);
        }
    }
    shared
}

fn node_label(node: u32, memory_bytes: u64) -> String {
    if memory_bytes == 0 { format!("node {node}") } else { format!("node {node}, {}", bytes_label(memory_bytes)) }
}

fn bytes_label(bytes: u64) -> String {
    let text = figure(bytes as f64, Unit::Bytes);
    // "32.0 MiB" is shortened to "32 MiB".
    text.replace(".00 ", " ").replace(".0 ", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds and labels from the outside in, down to the first PU.
    fn first_path(mut at: &MachineBox) -> Vec<(BoxKind, &str)> {
        let mut path = Vec::new();
        while let Some(child) = at.children.first() {
            path.push((child.kind, child.label.as_str()));
            at = child;
        }
        path
    }

    fn cpus(at: &MachineBox) -> Vec<usize> {
        at.cpu.map_or_else(|| at.children.iter().flat_map(cpus).collect(), |cpu| vec![cpu])
    }

    #[test]
    fn boxes_nest_as_lstopo_draws_them() {
        let machine = Machine::synthetic("package:2 node:1 l3:1 core:6 pu:2").unwrap();
        let root = view(&machine).unwrap();
        let kinds: Vec<BoxKind> = first_path(&root).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [BoxKind::Package, BoxKind::Node, BoxKind::Cache, BoxKind::Core, BoxKind::Pu]);
        assert_eq!(root.children.len(), 2);
        assert_eq!(cpus(&root), (0..24).collect::<Vec<_>>());
    }

    #[test]
    fn private_caches_and_machines_without_cores_make_no_boxes() {
        let root = view(&Machine::synthetic("node:2 l2:3 core:1 pu:1").unwrap()).unwrap();
        let kinds: Vec<BoxKind> = first_path(&root).iter().map(|(kind, _)| *kind).collect();
        assert!(!kinds.contains(&BoxKind::Cache), "{kinds:?}");
        let flat = view(&Machine::synthetic("pu:4").unwrap()).unwrap();
        assert_eq!(cpus(&flat), [0, 1, 2, 3]);
    }

    #[test]
    fn a_machine_of_anyone_nests_few_boxes_and_none_is_made_of_too_many_objects() {
        let mut machine = Machine::synthetic("package:1 core:2 pu:1").unwrap();
        machine.packages = vec![machine.packages[0].clone(); 300];
        let root = view(&machine).unwrap();
        assert_eq!((first_path(&root).len(), cpus(&root)), (MOST_AROUND + 1, vec![0, 1]));
        machine.packages = vec![machine.packages[0].clone(); 5_000];
        machine.pus = vec![machine.pus[0].clone(); 200_000];
        assert_eq!(view(&machine), None);
    }
}
