//! Discovers this machine, limited to what this process may use, and reads synthetic descriptions.
//!
//! Kernels on Arm do not report model names, only a number per core (MIDR) that identifies the manufacturer and the
//! design.

use super::hwloc::{MachineError, guarded, indexes, nodes, snapshot};
use super::model::{Excluded, Machine, Node, Origin};
use hwlocality::Topology;
use hwlocality::bitmap::Bitmap;
use hwlocality::cpu::cpuset::CpuSet as HwlocCpuSet;
use hwlocality::memory::nodeset::NodeSet as HwlocNodeSet;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder};
use hwlocality::topology::editor::RestrictFlags;
use std::fs;
use std::path::Path;
use tare_cpuset::{AffinityError, CpuSet, NodeSet, ThreadRef, affinity_of, keep_affinity};

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
        name_arm_cores(&mut machine);
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

fn bitmap(set: &CpuSet) -> Bitmap {
    let mut bitmap = Bitmap::new();
    for index in set.iter() {
        if let Ok(index) = hwlocality::bitmap::BitmapIndex::try_from(index as usize) {
            bitmap.set(index);
        }
    }
    bitmap
}

/// Manufacturer, part number and name of designs, from the kernel's arch/arm64/include/asm/cputype.h and the
/// manufacturers' reference manuals.
const CORES: &[(u8, u16, &str)] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x46, 0x003, "MONAKA"),
    (0x48, 0xd01, "TaiShan v110 (Kunpeng 920)"),
    (0x4e, 0x004, "Carmel"),
    (0x4e, 0x010, "Olympus"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0x001, "Oryon"),
    (0x51, 0xc00, "Falkor"),
    (0x61, 0x022, "Icestorm (M1)"),
    (0x61, 0x023, "Firestorm (M1)"),
    (0x61, 0x032, "Blizzard (M2)"),
    (0x61, 0x033, "Avalanche (M2)"),
    (0x6d, 0xd49, "Azure Cobalt 100"),
    (0x70, 0x662, "FTC662"),
    (0x70, 0x663, "FTC663"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
    (0xc0, 0xac5, "Ampere-1b"),
];

/// The folder with a subfolder for each CPU.
const CPUS: &str = "/sys/devices/system/cpu";

/// The name of a core's design with its variant and revision, such as "Neoverse-N1 r3p1"; an unknown design is named by
/// its numbers. The fields are those of the Arm Architecture Reference Manual (MIDR_EL1).
fn core_design(midr: u64) -> String {
    let (maker, part) = ((midr >> 24) as u8, (midr >> 4) as u16 & 0xfff);
    let revision = format!("r{}p{}", (midr >> 20) & 0xf, midr & 0xf);
    match CORES.iter().find(|(by, number, _)| (*by, *number) == (maker, part)) {
        Some((_, _, name)) => format!("{name} {revision}"),
        None => format!("Arm core {maker:#x}:{part:#x} {revision}"),
    }
}

fn of_cpu(folder: &Path, cpu: u32) -> Option<String> {
    let text = fs::read_to_string(folder.join(format!("cpu{cpu}/regs/identification/midr_el1"))).ok()?;
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok().map(core_design)
}

/// The design names of all CPUs of a set, each once, joined; `None` if the kernel reports none.
fn of_set(folder: &Path, cpus: &CpuSet) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for name in cpus.iter().filter_map(|cpu| of_cpu(folder, cpu)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(" + "))
}

/// Sets the names of packages and kinds of cores that have none.
fn name_arm_cores(machine: &mut Machine) {
    name_arm_cores_from(machine, Path::new(CPUS));
}

fn name_arm_cores_from(machine: &mut Machine, folder: &Path) {
    for package in machine.packages.iter_mut().filter(|package| package.model.is_none()) {
        package.model = of_set(folder, &package.cpus);
    }
    for kind in machine.cpu_kinds.iter_mut().filter(|kind| kind.name.is_none()) {
        kind.name = of_set(folder, &kind.cpus);
    }
}

impl Machine {
    /// The names of the core designs of its CPUs, each once, for machines without a processor name, as on Arm. They are
    /// read from the machine that this runs on.
    pub fn core_designs(&self) -> Option<String> {
        of_set(Path::new(CPUS), &self.cpus())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuKind;

    /// A folder like that of an Arm kernel, with the MIDR of each CPU.
    fn kernel(midrs: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, midr) in midrs.iter().enumerate() {
            let place = folder.path().join(format!("cpu{cpu}/regs/identification"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("midr_el1"), format!("{midr}\n")).unwrap();
        }
        folder
    }

    #[test]
    fn designs_have_names_or_numbers_and_always_a_revision() {
        for (midr, name) in [
            (0x0000_0000_410f_d083, "Cortex-A72 r0p3"),
            (0x0000_0000_413f_d0c1, "Neoverse-N1 r3p1"),
            (0x0000_0000_481f_d010, "TaiShan v110 (Kunpeng 920) r1p0"),
            (0x0000_0000_c00f_ac30, "Ampere-1 r0p0"),
            (0x0000_0000_990f_1230, "Arm core 0x99:0x123 r0p0"),
        ] {
            assert_eq!(core_design(midr), name);
        }
    }

    #[test]
    fn packages_and_kinds_without_a_name_get_that_of_their_cores() {
        let folder = kernel(&["0x00000000410fd034", "0x00000000410fd034", "0x00000000410fd083", "damaged"]);
        let mut machine = Machine::synthetic("package:1 core:4 pu:1").unwrap();
        let kind = |name: Option<&str>, cpus: &str| CpuKind {
            name: name.map(str::to_owned),
            efficiency: None,
            cpus: cpus.parse().unwrap(),
        };
        machine.cpu_kinds = vec![kind(None, "0-1"), kind(Some("own"), "2"), kind(None, "3")];
        name_arm_cores_from(&mut machine, folder.path());
        assert_eq!(machine.packages[0].model.as_deref(), Some("Cortex-A53 r0p4 + Cortex-A72 r0p3"));
        let names: Vec<Option<&str>> = machine.cpu_kinds.iter().map(|kind| kind.name.as_deref()).collect();
        assert_eq!(names, [Some("Cortex-A53 r0p4"), Some("own"), None]);
        let unnamed = Machine::synthetic("package:1 core:2 pu:1").unwrap();
        let mut same = unnamed.clone();
        name_arm_cores_from(&mut same, Path::new("/nowhere"));
        assert_eq!(same, unnamed, "on other processors nothing changes");
    }
}
