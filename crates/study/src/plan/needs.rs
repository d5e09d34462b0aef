//! The disk and memory that a plan needs, and whether this machine has them.

use super::design::Condition;
use super::limits::is_wanted;
use crate::language::settings::Settings;
use std::collections::BTreeMap;
use std::path::Path;
use tare_engine::Engine;
use tare_results::schema::{Needs, Plan};
use tare_topology::Machine;

/// Memory of programs and connections, and of the kernel for them, bytes.
const PROGRAMS_BYTES: u64 = 256 << 20;
/// A data set is stored twice: the prepared data and the working copy.
pub(super) const COPIES: u64 = 2;
/// Smaller needs are not checked, bytes: an estimate could refuse what fits.
const LOOKED_AT: u64 = 1 << 30;
/// The same limit for disk, bytes: the size of a server's own files is known well, that of small tables is not.
const DISK_LOOKED_AT: u64 = 64 << 20;
/// A pool smaller than this fraction of the estimated data is too small, whatever the error of the estimate.
const SURE: f64 = 0.8;

pub(crate) fn of<'a>(conditions: impl Iterator<Item = &'a Condition>, seed: u64) -> Needs {
    let mut memory_bytes = 0;
    let mut sets: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for condition in conditions.take_while(|_| is_wanted()) {
        let settings = &condition.settings;
        memory_bytes = memory_bytes.max(memory(settings));
        let load = settings.workload.load.load();
        if settings.makes_data() {
            sets.insert(named(settings, seed), (load.data_bytes(), files(settings)));
        }
    }
    Needs {
        data_bytes: sets.values().map(|(data, _)| data).sum(),
        disk_bytes: COPIES * sets.values().map(|(data, files)| data + files).sum::<u64>(),
        memory_bytes,
    }
}

/// The name of a data set: conditions with the same name share one. Options that determine the format of files make
/// separate data sets, of which the log is the largest part.
pub(crate) fn named(settings: &Settings, seed: u64) -> String {
    let (engine, load) = (&settings.engine, settings.workload.load.load());
    let dataset = engine.named(load.dataset(seed));
    format!("{} {:?} {:?} {} {dataset}", engine.kind.name(), engine.binary, engine.data, files(settings))
}

fn files(settings: &Settings) -> u64 {
    let data = settings.workload.load.load().data_bytes();
    settings.engine.kind.footprint(&settings.engine.options, data).files_bytes
}

/// Memory of a running trial, bytes: unused pages of a pool are never touched.
fn memory(settings: &Settings) -> u64 {
    let load = settings.workload.load.load();
    let own = load.memory_bytes(settings.workload.threads);
    // The memory of a running server is already in use, and that of a measured program is unknown.
    if !settings.starts_a_server() {
        return if own == 0 { 0 } else { own + PROGRAMS_BYTES };
    }
    own + pool_bytes(settings) + PROGRAMS_BYTES
}

/// The part of the server's buffer pool that the data fill, bytes.
pub(super) fn pool_bytes(settings: &Settings) -> u64 {
    let data = settings.workload.load.load().data_bytes();
    settings.engine.kind.footprint(&settings.engine.options, data).pool_bytes.min(data + data / 20)
}

/// Memory of a running trial with all of its data in memory, the server's or the kernel's, bytes.
pub(super) fn with_read_data(settings: &Settings) -> u64 {
    memory(settings) + settings.workload.load.load().data_bytes().saturating_sub(pool_bytes(settings))
}

/// Whether this many bytes of memory are more than the machine has.
pub(super) fn is_more(needed: u64, has: u64) -> bool {
    needed > LOOKED_AT && needed > has
}

/// The option that requests a pool of more than `has` bytes, and its size: the kernel would refuse to map that much.
pub(super) fn oversized<'o>(
    engine: &dyn Engine,
    options: &'o BTreeMap<String, String>,
    has: u64,
) -> Option<(&'o str, u64)> {
    let pool = Some(engine.footprint(options, 0).pool_bytes).filter(|pool| *pool > has)?;
    // The option that sizes the pool is the one without which the engine reports a smaller pool.
    let sizes = |name: &&String| {
        let mut others = options.clone();
        others.remove(*name);
        engine.footprint(&others, 0).pool_bytes < pool
    };
    options.keys().find(sizes).map(|name| (name.as_str(), pool))
}

pub(crate) fn fits_memory(settings: &Settings, machine_bytes: Option<u64>) -> Result<(), String> {
    let (needed, engine) = (memory(settings), &settings.engine);
    let Some(has) = machine_bytes else { return Ok(()) };
    if is_more(needed, has) {
        return Err(format!("it needs about {} of memory, and {}", gigabytes(needed), memory_found(has)));
    }
    match settings.starts_a_server().then(|| oversized(engine.kind, &engine.options, has)).flatten() {
        Some((name, pool)) => {
            Err(format!("option {name} asks for {} of memory, and {}", gigabytes(pool), memory_found(has)))
        }
        None => Ok(()),
    }
}

/// Whether the server's pool can hold the data, if all of them must be in it.
pub(crate) fn fits_pool(settings: &Settings) -> Result<(), String> {
    let (load, engine) = (settings.workload.load.load(), &settings.engine);
    let data = load.data_bytes();
    if !settings.makes_data() || !load.is_to_be_resident() || data <= LOOKED_AT {
        return Ok(());
    }
    let pool = engine.kind.footprint(&engine.options, data).pool_bytes;
    // The estimate is not precise enough for a closer check; the trial verifies it. An engine without a buffer pool
    // reads through the kernel's page cache.
    match pool > 0 && (pool as f64) < SURE * data as f64 {
        true => Err(format!(
            "preload = \"on\" needs all {} of the data in the server's memory, which has {}: use a larger pool",
            gigabytes(data),
            gigabytes(pool)
        )),
        false => Ok(()),
    }
}

/// Memory of this machine, bytes: the kernel's total, or the limit of the control group if that is lower.
pub(crate) fn memory_here() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"))?;
    let total = kib.trim().parse::<u64>().ok()?.saturating_mul(1024);
    let group = tare_noise::own_memory_limit_bytes();
    Some(group.map_or(total, |group| group.min(total)))
}

/// The memory of [`memory_here`] or [`memory_of`] in the words of an error.
pub(super) fn memory_found(bytes: u64) -> String {
    let of_group = tare_noise::own_memory_limit_bytes() == Some(bytes);
    let whose = if of_group { "the control group of this process allows" } else { "there are" };
    format!("{whose} {}", gigabytes(bytes))
}

/// Memory of a described machine, bytes; none if its description does not give it: hwloc then assumes 1 GiB per node.
pub(crate) fn memory_of(machine: &Machine) -> Option<u64> {
    let reported = machine.nodes.iter().any(|node| node.memory_bytes > 0 && node.memory_bytes != 1 << 30);
    reported.then(|| machine.nodes.iter().map(|node| node.memory_bytes).sum())
}

/// Size of the page, the plan and the logs of a small study, bytes.
const PAGE: u64 = 400_000;
/// Size of a sample in the records and on the page, bytes.
const SAMPLE: u64 = 8_000;

/// Whether the disk has space for the results in `folder`.
pub fn results_fit(plan: &Plan, folder: &Path) -> Result<(), String> {
    let samples = plan.trials_in_all().saturating_mul(plan.samples.max(1)) as u64;
    let least = PAGE.saturating_add(SAMPLE.saturating_mul(samples));
    match free_in(folder) {
        Some(free) if free < least => Err(format!(
            "the results need about {} kB of disk, and {} has {} kB left",
            least / 1000,
            folder.display(),
            free / 1000
        )),
        _ => Ok(()),
    }
}

/// Free bytes on the file system of a folder, which may not exist yet; none if the system does not report them.
fn free_in(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
    // A file system without any blocks does not report free ones.
    let found = rustix::fs::statvfs(existing).ok().filter(|found| found.f_blocks > 0)?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Whether the disk has space for the data in `folder`.
pub fn fits_disk(needs: &Needs, folder: &Path) -> Result<(), String> {
    let Some(free) = free_in(folder) else { return Ok(()) };
    // Prepared data may exist already: only the working copy is certainly new.
    let least = needs.disk_bytes / COPIES;
    if needs.disk_bytes > DISK_LOOKED_AT && least > free {
        return Err(format!(
            "its data need about {} of disk, at least half of that new, and {} has {} left",
            gigabytes(needs.disk_bytes),
            folder.display(),
            gigabytes(free)
        ));
    }
    Ok(())
}

pub fn gigabytes(bytes: u64) -> String {
    let gb = bytes as f64 / 1e9;
    if gb < 0.95 { format!("{:.0} MB", (bytes as f64 / 1e6).ceil()) } else { format!("{gb:.1} GB") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::engine_by_name;

    #[test]
    fn a_pool_larger_than_the_memory_is_refused_by_the_option_that_asks_for_it() {
        for (engine, option) in [("mariadb", "innodb-buffer-pool-size"), ("postgresql", "shared_buffers")] {
            let mut settings = Settings::default();
            settings.engine.kind = engine_by_name(engine).unwrap();
            settings.engine.options.insert(option.into(), "4GB".into());
            assert_eq!([Some(4 << 30), None].map(|has| fits_memory(&settings, has)), [Ok(()), Ok(())]);
            let reason = fits_memory(&settings, Some((4 << 30) - 1)).unwrap_err();
            assert_eq!(reason, format!("option {option} asks for 4.3 GB of memory, and there are 4.3 GB"));
        }
    }
}
