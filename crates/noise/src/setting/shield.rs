//! The CPU shield: a group directly below the root of cgroup v2 whose cpuset is a partition, so that no other group can
//! use its CPUs (kernel documentation, admin-guide/cgroup-v2, cpuset.cpus.partition).

use crate::error::Result;
use crate::journal::Format;
use crate::system::System;

/// Root of cgroup v2.
pub(crate) const CGROUP: &str = "/sys/fs/cgroup";
/// The group that this tool creates.
pub(crate) const SHIELD: &str = "/sys/fs/cgroup/tare.shield";

/// The present level. If the kernel does not accept the partition, the text has the kernel's reason.
pub(crate) fn read(system: &System) -> Result<String> {
    if !system.exists(SHIELD) {
        return Ok("off".to_owned());
    }
    let state = system.read(&format!("{SHIELD}/cpuset.cpus.partition"))?;
    let cpus = Format::CpuList.value(&system.read(&format!("{SHIELD}/cpuset.cpus"))?);
    match state.trim() {
        "root" => Ok(format!("cpus:{cpus}")),
        other => Ok(format!("{other} (cpus:{cpus})")),
    }
}

/// Why this machine cannot shield CPUs, if so.
pub(crate) fn lacking(system: &System) -> Option<&'static str> {
    let Some(controllers) = system.read_optional(&format!("{CGROUP}/cgroup.controllers")) else {
        return Some(
            "this machine runs cgroup v1, which has no cpuset partitions; boot with systemd.unified_cgroup_hierarchy=1",
        );
    };
    let has = controllers.split_whitespace().any(|c| c == "cpuset");
    (!has).then_some("cgroup v2 has no cpuset controller here")
}
