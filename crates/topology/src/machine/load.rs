//! Discovers this machine, limited to what this process may use, and reads synthetic descriptions.

use super::arm;
use super::error::MachineError;
use super::hwloc::{guarded, indexes, nodes, snapshot};
use super::model::{Excluded, Machine, Node, Origin};
use hwlocality::Topology;
use hwlocality::bitmap::Bitmap;
use hwlocality::cpu::cpuset::CpuSet as HwlocCpuSet;
use hwlocality::memory::nodeset::NodeSet as HwlocNodeSet;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder};
use hwlocality::topology::editor::RestrictFlags;
use tare_cpuset::{AffinityError, NodeSet, ThreadRef, affinity_of, keep_affinity};

impl Machine {
    /// The machine that this process runs on, limited to the CPUs on which the calling thread may run (online, in the
    /// cgroup's cpuset and in its affinity mask) and to the nodes whose memory the cgroup allows. A node whose memory
    /// is not allowed remains, without memory, if it has usable CPUs.
    ///
    /// # Errors
    /// When hwloc cannot read the machine, or this process may use none of its CPUs.
    pub fn this() -> Result<Self, MachineError> {
        let discovery = |e: &dyn std::fmt::Display| MachineError::Discovery(e.to_string());
        let affinity = |e| MachineError::Affinity(std::io::Error::other::<AffinityError>(e));
        // Objects that the cgroup does not allow are included at first, so that they can be listed as excluded.
        let builder = Topology::builder().with_flags(BuildFlags::INCLUDE_DISALLOWED).map_err(|e| discovery(&e))?;
        // hwloc binds this thread to other CPUs and may fail to restore its affinity.
        let mut topology = keep_affinity(|| builder.build()).map_err(affinity)?.map_err(|e| discovery(&e))?;
        if !topology.is_this_system() {
            return Err(MachineError::NotThisMachine);
        }
        let affinity = affinity_of(ThreadRef::of_this_thread()).map_err(affinity)?;
        let online = indexes(topology.cpuset().iter_set());
        let allowed = indexes(topology.allowed_cpuset().iter_set());
        let usable = online.intersection(&allowed).intersection(&affinity);
        if usable.is_empty() {
            return Err(MachineError::NoCpus { allowed: affinity });
        }
        let nodes = nodes(&topology);
        // The kernel's list of allowed nodes only has nodes with memory; a node without memory is not withheld.
        let with_memory: NodeSet = nodes.iter().filter(|n| n.memory_bytes > 0).map(|n| n.os_index).collect();
        let withheld = with_memory.difference(&indexes(topology.allowed_nodeset().iter_set()));
        let excluded = Excluded {
            offline: indexes(topology.complete_cpuset().iter_set()).difference(&online),
            cgroup: online.difference(&allowed),
            affinity: online.intersection(&allowed).difference(&affinity),
            cgroup_nodes: withheld.clone(),
        };
        let cpus = HwlocCpuSet::from(bitmap(&usable));
        // A node is kept if it has usable memory or usable CPUs.
        let gives = with_memory.difference(&withheld);
        let stays = |n: &&Node| gives.contains(n.os_index) || !n.cpus.intersection(&usable).is_empty();
        let nodes: NodeSet = nodes.iter().filter(stays).map(|n| n.os_index).collect();
        let nodes = HwlocNodeSet::from(bitmap(&nodes));
        let none_removed = RestrictFlags::empty();
        topology
            .edit(|editor| {
                editor.restrict(&cpus, none_removed).map_err(|e| e.to_string())?;
                editor.restrict(&nodes, none_removed).map_err(|e| e.to_string())
            })
            .map_err(MachineError::Discovery)?;
        let mut machine = snapshot(&topology, Origin::This, excluded);
        arm::name(&mut machine);
        for node in machine.nodes.iter_mut().filter(|node| withheld.contains(node.os_index)) {
            node.memory_bytes = 0;
        }
        Ok(machine)
    }

    /// A machine from an hwloc synthetic description, such as `package:2 node:1 core:6 pu:2`. A description can require
    /// any amount of memory; use [`Machine::describe`] for untrusted ones.
    ///
    /// # Errors
    /// When the description is invalid.
    pub fn synthetic(description: &str) -> Result<Self, MachineError> {
        let invalid = || MachineError::Synthetic { description: description.to_owned() };
        let topology = guarded(|| TopologyBuilder::new().from_synthetic(description).ok()?.build().ok());
        let topology = topology.ok_or_else(invalid)?;
        Ok(snapshot(&topology, Origin::Synthetic(description.to_owned()), Excluded::default()))
    }
}

fn bitmap(set: &tare_cpuset::CpuSet) -> Bitmap {
    let mut bitmap = Bitmap::new();
    for index in set.iter() {
        if let Ok(index) = hwlocality::bitmap::BitmapIndex::try_from(index as usize) {
            bitmap.set(index);
        }
    }
    bitmap
}
