//! This machine, limited to what this process may use, and machines from synthetic descriptions.

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
    /// The machine this process runs on, limited to the CPUs on which the calling thread may run (online, inside the
    /// cgroup's cpuset, inside its affinity mask) and to the nodes whose memory the cgroup allows. A node whose memory
    /// it withholds stays, without memory, when CPUs of it are left.
    ///
    /// # Errors
    /// When hwloc cannot read the machine, or this process may use none of its CPUs.
    pub fn this() -> Result<Self, MachineError> {
        let discovery = |e: &dyn std::fmt::Display| MachineError::Discovery(e.to_string());
        let affinity = |e| MachineError::Affinity(std::io::Error::other::<AffinityError>(e));
        // Objects that the cgroup withholds are kept at first, to be able to say that they exist.
        let builder = Topology::builder().with_flags(BuildFlags::INCLUDE_DISALLOWED).map_err(|e| discovery(&e))?;
        // hwloc asks for this thread's CPUs until it is told, and leaves it where it put it when it may not go back.
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
        // The kernel allows memory from nodes that have some; a node without is not withheld.
        let with_memory: NodeSet = nodes.iter().filter(|n| n.memory_bytes > 0).map(|n| n.os_index).collect();
        let withheld = with_memory.difference(&indexes(topology.allowed_nodeset().iter_set()));
        let excluded = Excluded {
            offline: indexes(topology.complete_cpuset().iter_set()).difference(&online),
            cgroup: online.difference(&allowed),
            affinity: online.intersection(&allowed).difference(&affinity),
            cgroup_nodes: withheld.clone(),
        };
        let cpus = HwlocCpuSet::from(bitmap(&usable));
        // A node stays for its memory or for its CPUs.
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

    /// A machine from an hwloc synthetic description, such as `package:2 node:1 core:6 pu:2`. A large enough one takes
    /// all memory: [`Machine::describe`] reads those of others.
    ///
    /// # Errors
    /// When it describes no machine.
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
