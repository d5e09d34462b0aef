//! Names of Arm cores. Kernels on Arm do not report model names, only a number per core (MIDR) that identifies the
//! manufacturer and the design.

use super::model::Machine;
use std::fs;
use std::path::Path;
use tare_cpuset::CpuSet;

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
fn design(midr: u64) -> String {
    let (maker, part) = ((midr >> 24) as u8, (midr >> 4) as u16 & 0xfff);
    let revision = format!("r{}p{}", (midr >> 20) & 0xf, midr & 0xf);
    match CORES.iter().find(|(by, number, _)| (*by, *number) == (maker, part)) {
        Some((_, _, name)) => format!("{name} {revision}"),
        None => format!("Arm core {maker:#x}:{part:#x} {revision}"),
    }
}

fn of_cpu(folder: &Path, cpu: u32) -> Option<String> {
    let text = fs::read_to_string(folder.join(format!("cpu{cpu}/regs/identification/midr_el1"))).ok()?;
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok().map(design)
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
pub(super) fn name(machine: &mut Machine) {
    name_from(machine, Path::new(CPUS));
}

fn name_from(machine: &mut Machine, folder: &Path) {
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
            assert_eq!(design(midr), name);
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
        name_from(&mut machine, folder.path());
        assert_eq!(machine.packages[0].model.as_deref(), Some("Cortex-A53 r0p4 + Cortex-A72 r0p3"));
        let names: Vec<Option<&str>> = machine.cpu_kinds.iter().map(|kind| kind.name.as_deref()).collect();
        assert_eq!(names, [Some("Cortex-A53 r0p4"), Some("own"), None]);
        let unnamed = Machine::synthetic("package:1 core:2 pu:1").unwrap();
        let mut same = unnamed.clone();
        name_from(&mut same, Path::new("/nowhere"));
        assert_eq!(same, unnamed, "on other processors nothing changes");
    }
}
