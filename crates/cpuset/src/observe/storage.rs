//! Requests and flushes of the block devices that hold a process's files, from /proc/diskstats.
//!
//! The counters of a device include all processes that use it, as in `iostat`. Counts per process need root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Major and minor number of a block device, as in `stat` and /proc/diskstats.
type Device = (u32, u32);

/// Requests that a device has completed since boot. Counters only grow: subtract two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StorageUsage {
    /// Read requests that the devices completed.
    pub reads: f64,
    /// Write requests that the devices completed.
    pub writes: f64,
    /// Flushes of the device's cache, which fsync(2) and similar calls wait for. `None` before Linux 5.5.
    pub flushes: Option<f64>,
}

/// Requests to every device that holds the working folder of a process or a file that it has open for writing. Empty if
/// none of these is on a block device, for example on tmpfs.
pub fn storage_usage(pid: i32) -> BTreeMap<Device, StorageUsage> {
    let devices = devices_of(pid);
    match fs::read_to_string("/proc/diskstats") {
        Ok(text) => usage_of(&text, |device| devices.contains(&device)),
        Err(_) => BTreeMap::new(),
    }
}

fn devices_of(pid: i32) -> BTreeSet<Device> {
    let folder = format!("/proc/{pid}");
    let mut numbers = BTreeSet::new();
    numbers.extend(fs::metadata(format!("{folder}/cwd")).ok().map(|found| found.dev()));
    for entry in fs::read_dir(format!("{folder}/fd")).into_iter().flatten().flatten() {
        // The mode of the link shows how the file was opened.
        let is_written = fs::symlink_metadata(entry.path()).is_ok_and(|link| link.mode() & 0o200 != 0);
        let file = fs::metadata(entry.path()).ok().filter(|file| is_written && file.is_file());
        numbers.extend(file.map(|file| file.dev()));
    }
    let device = |number: u64| (rustix::fs::major(number), rustix::fs::minor(number));
    numbers.into_iter().map(device).map(whole).collect()
}

/// The disk that a partition belongs to: the kernel counts flushes only for the whole disk.
fn whole((major, minor): Device) -> Device {
    let folder = format!("/sys/dev/block/{major}:{minor}");
    let disk = || {
        fs::metadata(format!("{folder}/partition")).ok()?;
        let text = fs::read_to_string(format!("{folder}/../dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    disk().unwrap_or((major, minor))
}

/// Lines of /proc/diskstats (Documentation/admin-guide/iostats.rst): major, minor, name, reads completed, merged,
/// sectors, ms, writes completed, merged, sectors, ms, three fields of the queue, four of discards, flushes, ms.
fn usage_of(text: &str, is_wanted: impl Fn(Device) -> bool) -> BTreeMap<Device, StorageUsage> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        let device = (fields.first()?.parse().ok()?, fields.get(1)?.parse().ok()?);
        Some((device, StorageUsage { reads: number(3)?, writes: number(7)?, flushes: number(18) }))
    };
    text.lines().filter_map(of_line).filter(|(device, _)| is_wanted(*device)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn requests_and_flushes_are_read_from_their_columns() {
        let text =
            " 254 0 vda 11 1 88 5 22 2 176 9 0 14 14 3 0 24 1 33 8\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n garbage\n";
        let found = usage_of(text, |_| true);
        assert_eq!(found[&(254, 0)], StorageUsage { reads: 11.0, writes: 22.0, flushes: Some(33.0) });
        assert_eq!((found[&(7, 0)].flushes, found.len()), (None, 2));
        assert!(usage_of(text, |device| device.0 == 8).is_empty());
    }

    #[test]
    fn syncing_a_file_counts_as_a_write_on_its_device() {
        // In the folder of the crate: a temporary folder may be in memory.
        let path = format!("{}/.storage-{}", env!("CARGO_MANIFEST_DIR"), std::process::id());
        let mut file = fs::File::create(&path).unwrap();
        fs::remove_file(path).unwrap();
        let pid = std::process::id().cast_signed();
        let before = storage_usage(pid);
        for _ in 0..3 {
            file.write_all(&[7; 1 << 16]).unwrap();
            file.sync_all().unwrap();
        }
        let after = storage_usage(pid);
        if before.is_empty() {
            println!("no block device holds the sources: nothing to see");
            return;
        }
        let writes = |all: &BTreeMap<Device, StorageUsage>| all.values().map(|of| of.writes).sum::<f64>();
        assert!(writes(&after) >= writes(&before) + 3.0, "{before:?} {after:?}");
    }
}
