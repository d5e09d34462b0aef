//! A resctrl group that limits the threads of a server to some ways of the L3 caches and to a percentage of the memory
//! bandwidth of their cores (Intel CAT and MBA; on AMD only the caches, because it limits bandwidth to an absolute
//! amount).

use crate::cache_monitor::{self, ROOT};
use crate::error::{NoiseError, Result};
use crate::system::System;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use tare_cpuset::observe::{descendants, threads_of};

const L3_WAYS: &str = "l3_ways";
const BANDWIDTH: &str = "memory_bandwidth_percent";
/// L3 caches with one mask, or with one for instructions and one for data.
const CACHES: [&str; 3] = ["L3", "L3CODE", "L3DATA"];
const MEMORY: &str = "MB";
const NOT_MOUNTED: &str = "resctrl is not mounted: sudo mount -t resctrl resctrl /sys/fs/resctrl, where the processor has \
                           such limits";

/// Limits for the threads of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheLimits {
    /// Number of ways of each L3 cache that the threads may fill. These are the first ways, which others may fill too.
    /// `None` for all ways.
    pub l3_ways: Option<u32>,
    /// Percentage of the memory bandwidth of the cores that they run on. `None` for no limit.
    pub memory_bandwidth_percent: Option<u32>,
}

impl CacheLimits {
    /// Checks that this machine and this user can set these limits.
    ///
    /// # Errors
    /// [`NoiseError::NotAvailable`] with what the machine supports; [`NoiseError::Read`].
    pub fn check(&self, system: &System) -> Result<()> {
        let Some((limit, _)) = self.wanted(system)?.into_iter().next() else { return Ok(()) };
        system.may_write(ROOT).map_err(|why| limit.not_available(format!("{ROOT}: {why}; run as root")))
    }

    fn wanted(&self, system: &System) -> Result<Vec<(Limit, Schema)>> {
        let limits: Vec<Limit> = [(L3_WAYS, self.l3_ways), (BANDWIDTH, self.memory_bandwidth_percent)]
            .into_iter()
            .filter_map(|(setting, level)| Some(Limit { setting, level: level? }))
            .collect();
        let Some(first) = limits.first() else { return Ok(Vec::new()) };
        if !system.exists(&format!("{ROOT}/schemata")) {
            return Err(first.not_available(NOT_MOUNTED.to_owned()));
        }
        let all = schemata(system, ROOT)?;
        let mut wanted = Vec::new();
        for limit in limits {
            let is_own = |schema: &&Schema| limit.is_of(&schema.resource);
            let own: Vec<&Schema> = all.iter().filter(is_own).collect();
            if own.is_empty() {
                return Err(limit.not_available("this processor has no such limit".to_owned()));
            }
            for schema in own {
                let value = limit.value(schema, system)?;
                wanted.push((limit, schema.with(value)));
            }
        }
        Ok(wanted)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    setting: &'static str,
    level: u32,
}

impl Limit {
    fn is_of(&self, resource: &str) -> bool {
        if self.setting == BANDWIDTH { resource == MEMORY } else { CACHES.contains(&resource) }
    }

    /// The value for every domain of a resource.
    fn value(&self, schema: &Schema, system: &System) -> Result<u64> {
        let info = |file: &str| system.read_optional(&format!("{ROOT}/info/{}/{file}", schema.resource));
        let number = |file: &str| info(file).and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(1);
        let level = u64::from(self.level);
        if self.setting == BANDWIDTH {
            // Percentages are at most 100 in every domain; other processors and mount options use absolute amounts.
            if schema.values.values().any(|value| *value > 100) {
                return Err(self.not_available("this machine limits bandwidth to an amount, not to a part".to_owned()));
            }
            let (least, step) = (number("min_bandwidth"), number("bandwidth_gran").max(1));
            if level < least || !level.is_multiple_of(step) {
                return Err(self.not_available(format!("this machine has steps of {step}% from {least}% on")));
            }
            return Ok(level);
        }
        let mask = info("cbm_mask").and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
        let (least, ways) = (number("min_cbm_bits").max(1), u64::from(mask.count_ones()));
        if level < least || level > ways {
            let taken = format!("the L3 caches here have {ways} ways, of which a group takes {least} or more");
            return Err(self.not_available(taken));
        }
        Ok(mask & ((u64::MAX >> (64 - level)) << mask.trailing_zeros()))
    }

    fn not_available(&self, reason: String) -> NoiseError {
        NoiseError::NotAvailable { setting: self.setting, level: self.level.to_string(), reason }
    }
}

/// A line of `schemata`: the value of each domain of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Schema {
    resource: String,
    values: BTreeMap<u32, u64>,
}

impl Schema {
    fn of(line: &str) -> Option<Self> {
        let (resource, domains) = line.trim().split_once(':')?;
        let radix = if resource == MEMORY { 10 } else { 16 };
        let domain = |text: &str| {
            let (id, value) = text.split_once('=')?;
            Some((id.trim().parse().ok()?, u64::from_str_radix(value.trim(), radix).ok()?))
        };
        let values = domains.split(';').map(domain).collect::<Option<_>>()?;
        Some(Self { resource: resource.to_owned(), values })
    }

    fn with(&self, value: u64) -> Self {
        Self { resource: self.resource.clone(), values: self.values.keys().map(|id| (*id, value)).collect() }
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |(id, value): (&u32, &u64)| match self.resource == MEMORY {
            true => format!("{id}={value}"),
            false => format!("{id}={value:x}"),
        };
        write!(f, "{}:{}", self.resource, self.values.iter().map(value).collect::<Vec<_>>().join(";"))
    }
}

/// The lines of `schemata` of a group; lines that cannot be parsed are skipped.
fn schemata(system: &System, group: &str) -> Result<Vec<Schema>> {
    Ok(system.read(&format!("{group}/schemata"))?.lines().filter_map(Schema::of).collect())
}

/// A group with limits. When this is dropped, the group is removed and its threads return to the default group.
#[derive(Debug)]
pub struct CacheGroup {
    system: System,
    path: String,
    wanted: Vec<(Limit, Schema)>,
}

impl CacheGroup {
    /// Creates a group without threads; `None` if there are no limits. Groups of killed processes are removed first.
    ///
    /// # Errors
    /// [`NoiseError::NotAvailable`] as in [`CacheLimits::check`]; [`NoiseError::Write`] with the kernel's reason.
    pub fn make(system: &System, limits: CacheLimits) -> Result<Option<Self>> {
        let wanted = limits.wanted(system)?;
        if wanted.is_empty() {
            return Ok(None);
        }
        cache_monitor::remove_left_groups(system);
        let path = format!("{ROOT}/{}", cache_monitor::group_name("limit"));
        system.make_group(&path)?;
        let group = Self { system: system.clone(), path, wanted };
        for (_, schema) in &group.wanted {
            group.system.write(&format!("{}/schemata", group.path), &format!("{schema}\n"))?;
        }
        Ok(Some(group))
    }

    /// The file `tasks`: a process that is being started enters the group by writing `0` to it.
    #[must_use]
    pub fn tasks(&self) -> PathBuf {
        self.system.path(&format!("{}/tasks", self.path))
    }

    /// Moves a process, its descendants and all their threads into the group. What they start later is in it too.
    ///
    /// # Errors
    /// [`NoiseError::Write`] with the kernel's reason.
    pub fn enter(&self, pid: i32) -> Result<()> {
        let tasks = format!("{}/tasks", self.path);
        let mut known = BTreeSet::new();
        loop {
            let processes = std::iter::once(pid).chain(descendants(pid));
            let threads = processes.flat_map(|pid| threads_of(pid).unwrap_or_default());
            // Threads that were created by one that was not in the group yet.
            let new: Vec<_> = threads.filter(|thread| known.insert(*thread)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for thread in new {
                match self.system.write(&tasks, &thread.tid.to_string()) {
                    Err(e) if threads_of(thread.pid).is_ok_and(|all| all.contains(&thread)) => return Err(e),
                    // The thread has ended.
                    _ => {}
                }
            }
        }
    }

    /// Reads back the limits that are in force: setting, level, proof.
    ///
    /// # Errors
    /// [`NoiseError::NotVerified`] if they differ; [`NoiseError::Read`].
    pub fn verify(&self) -> Result<Vec<(&'static str, String, String)>> {
        let found = schemata(&self.system, &self.path)?;
        let mut proofs = Vec::new();
        for (limit, wanted) in &self.wanted {
            let own = found.iter().find(|schema| schema.resource == wanted.resource);
            if own != Some(wanted) {
                let found = own.map_or_else(|| "nothing".to_owned(), ToString::to_string);
                return Err(NoiseError::NotVerified { setting: limit.setting, expected: wanted.to_string(), found });
            }
            proofs.push((
                limit.setting,
                limit.level.to_string(),
                format!("the server's group of resctrl has {wanted}"),
            ));
        }
        Ok(proofs)
    }
}

impl Drop for CacheGroup {
    fn drop(&mut self) {
        // If this fails, the next group to be created removes it.
        let _ = self.system.remove_group(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use std::fs;

    const INTEL: &str = "    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n";

    fn machine(schemata: &str) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        fake::create(root.path()).unwrap();
        let system = System::at(root.path());
        for (file, text) in [
            ("schemata", schemata),
            ("info/L3/cbm_mask", "7ff\n"),
            ("info/L3/min_cbm_bits", "2\n"),
            ("info/L3CODE/cbm_mask", "7ff\n"),
            ("info/L3DATA/cbm_mask", "7ff\n"),
            ("info/MB/min_bandwidth", "10\n"),
            ("info/MB/bandwidth_gran", "10\n"),
        ] {
            fake::put(root.path(), &format!("{ROOT}/{file}"), text).unwrap();
        }
        (root, system)
    }

    fn limits(l3_ways: Option<u32>, memory_bandwidth_percent: Option<u32>) -> CacheLimits {
        CacheLimits { l3_ways, memory_bandwidth_percent }
    }

    #[test]
    fn a_group_limits_its_threads_and_is_gone_afterwards() {
        let (_root, system) = machine(INTEL);
        assert!(CacheGroup::make(&system, CacheLimits::default()).unwrap().is_none());
        let requested = limits(Some(4), Some(30));
        requested.check(&system).unwrap();
        let group = CacheGroup::make(&system, requested).unwrap().unwrap();
        let own = std::process::id().cast_signed();
        group.enter(own).unwrap();
        let at = |file: &str| fs::read_to_string(system.path(&format!("{}/{file}", group.path))).unwrap();
        assert_eq!(at("schemata"), "L3:0=f;1=f\nMB:0=30;1=30\n");
        assert!(at("tasks").lines().any(|line| line == own.to_string()), "{}", at("tasks"));
        let proofs = group.verify().unwrap();
        let levels: Vec<_> = proofs.iter().map(|(setting, level, _)| (*setting, level.as_str())).collect();
        assert_eq!(levels, [("l3_ways", "4"), ("memory_bandwidth_percent", "30")]);
        // The kernel pads numbers; then another program changes one.
        fs::write(system.path(&format!("{}/schemata", group.path)), "    L3:0=00f;1=00f\n    MB:0= 30;1= 30\n")
            .unwrap();
        assert_eq!(group.verify().unwrap(), proofs);
        fs::write(system.path(&format!("{}/schemata", group.path)), "L3:0=f;1=7ff\nMB:0=30;1=30\n").unwrap();
        assert!(matches!(group.verify(), Err(NoiseError::NotVerified { setting: "l3_ways", .. })));
        drop(group);
        assert!(system.names(ROOT).iter().all(|name| !name.starts_with("tare-")));
    }

    #[test]
    fn caches_with_masks_of_their_own_for_instructions_get_both() {
        let (_root, system) = machine("L3CODE:0=7ff\nL3DATA:0=7ff\n");
        let wanted = limits(Some(3), None).wanted(&system).unwrap();
        let message: Vec<String> = wanted.iter().map(|(_, schema)| schema.to_string()).collect();
        assert_eq!(message, ["L3CODE:0=7", "L3DATA:0=7"]);
    }

    #[test]
    fn a_limit_that_the_machine_cannot_set_is_refused_with_what_it_offers() {
        for (schemata, requested, reason) in [
            (INTEL, limits(Some(12), None), "have 11 ways, of which a group takes 2 or more"),
            (INTEL, limits(Some(1), None), "have 11 ways, of which a group takes 2 or more"),
            (INTEL, limits(None, Some(15)), "steps of 10% from 10% on"),
            (INTEL, limits(None, Some(0)), "steps of 10% from 10% on"),
            ("MB:0=100\n", limits(Some(4), None), "this processor has no such limit"),
            ("L3:0=7ff\n", limits(None, Some(50)), "this processor has no such limit"),
            ("L3:0=7ff\nMB:0=2048\n", limits(None, Some(50)), "to an amount, not to a part"),
        ] {
            let (_root, system) = machine(schemata);
            let message = requested.check(&system).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
            assert!(CacheGroup::make(&system, requested).is_err());
        }
        let root = tempfile::tempdir().unwrap();
        let message = limits(Some(4), None).check(&System::at(root.path())).unwrap_err().to_string();
        assert!(message.contains("sudo mount -t resctrl"), "{message}");
        limits(None, None).check(&System::at(root.path())).unwrap();
    }

    #[test]
    fn groups_of_killed_runs_are_removed_and_monitors_nest_in_limiting_groups() {
        let (_root, system) = machine(INTEL);
        fs::create_dir_all(system.path(&format!("{ROOT}/tare-4194305-limit/mon_groups"))).unwrap();
        fs::create_dir_all(system.path(&format!("{ROOT}/mon_groups"))).unwrap();
        let group = CacheGroup::make(&system, limits(Some(4), None)).unwrap().unwrap();
        assert!(!system.exists(&format!("{ROOT}/tare-4194305-limit")));
        // As the kernel shows a process in this group.
        fs::create_dir_all(system.path("/proc/7")).unwrap();
        let own = group.path.rsplit_once('/').unwrap().1;
        fs::write(system.path("/proc/7/cpu_resctrl_groups"), format!("res:{own}\nmon:\n")).unwrap();
        let monitor = crate::CacheMonitor::make(&system, "server", Some(7)).unwrap();
        assert_eq!(system.names(&format!("{}/mon_groups", group.path)).len(), 1);
        drop(monitor);
        assert_eq!(system.names(&format!("{}/mon_groups", group.path)).len(), 0);
    }
}
