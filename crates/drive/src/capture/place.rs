//! What the captures of a trial share: their directory, the list of what was captured, and the time that they wait for
//! perf.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tare_engine::interrupted;
use tare_files::{Folder, Result};
use tare_results::cache_lines::SharedLines;
use tare_results::events::SidesEvents;
use tare_results::store::CAPTURES;
use tare_results::{Limited, captures};

pub(super) const FOLDED_FILE: &str = "profile.folded";

/// Recording of the profile; removed after it has been read.
pub(super) const PROFILE_RECORDING: &str = "perf.data";
/// Recording of the wake-ups; removed after it has been read.
pub(super) const WAKES_RECORDING: &str = "wakes.data";
/// Recording of the callers of sleeps; removed after it has been read.
pub(super) const CALLERS_RECORDING: &str = "callers.data";
/// Recording of memory accesses; removed after it has been read.
pub(super) const LINES_RECORDING: &str = "lines.data";

#[derive(Debug, Default)]
pub struct Captured {
    /// Name -> path inside the results directory.
    pub files: BTreeMap<String, String>,
    pub missing: BTreeMap<String, String>,
    /// Stored in the record itself.
    pub events: Option<SidesEvents>,
    pub lines: Option<SharedLines>,
}

/// The directory for the captures of one trial, and facts about the trial.
#[derive(Debug, Clone)]
pub struct Place {
    /// `captures` of the results directory.
    pub(super) all: Arc<Folder>,
    /// The trial's directory in it, and its name: `trial-00003-1`.
    pub(super) folder: Arc<Folder>,
    name: String,
    pub threads: usize,
    pub sample_s: f64,
    /// Shared by all perfs of the capture sample.
    pub(super) patience: Patience,
}

impl Place {
    /// Creates the trial's directory if it is missing. Removes recordings of trials that were killed: they are large
    /// and no longer useful.
    pub fn make(results: &Folder, trial: usize, attempt: u32, threads: usize, sample_s: f64) -> Result<Self> {
        let name = format!("trial-{trial:05}-{attempt}");
        let all = results.make_sub(CAPTURES)?;
        for name in all.names().unwrap_or_default() {
            // Most directories have no recording; entries that are not directories have none either.
            if let Ok(Some(killed)) = all.sub(&name) {
                for recording in [PROFILE_RECORDING, WAKES_RECORDING, CALLERS_RECORDING, LINES_RECORDING] {
                    let _ = killed.remove(recording);
                }
            }
        }
        let folder = all.make_sub(&name)?;
        Ok(Self {
            all: Arc::new(all),
            folder: Arc::new(folder),
            name,
            threads,
            sample_s,
            patience: Patience::default(),
        })
    }

    /// The path of a file through the directory's handle, for programs that accept only paths.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path_by_handle(name)
    }

    pub(super) fn remove(&self, name: &str) {
        // A file that cannot be removed does no harm.
        let _ = self.folder.remove(name);
    }

    /// Removes the directory if nothing could be captured.
    pub(super) fn remove_empty(&self) {
        let _ = self.all.remove_sub(&self.name);
    }

    pub(super) fn relative(&self, name: &str) -> String {
        format!("{CAPTURES}/{}/{name}", self.name)
    }

    pub(super) fn write(&self, captured: &mut Captured, capture: &str, name: &str, content: &[u8]) {
        match self.folder.write(name, content) {
            Ok(()) => drop(captured.files.insert(capture.to_owned(), self.relative(name))),
            Err(e) => drop(captured.missing.insert(capture.to_owned(), format!("cannot write {name}: {e}"))),
        }
    }

    pub(super) fn write_json(
        &self,
        captured: &mut Captured,
        capture: &str,
        name: &str,
        document: &(impl Serialize + DeserializeOwned + Limited),
    ) {
        match captures::written(document) {
            Ok(text) => self.write(captured, capture, name, &text),
            Err(reason) => drop(captured.missing.insert(capture.to_owned(), reason)),
        }
    }
}

/// For all perfs of a capture sample: to attach to all threads, and to write their data.
const IN_ALL: Duration = Duration::from_secs(60);

/// The rest of this time, nanoseconds. One wait may take half of it: a perf that hangs leaves time to the others.
#[derive(Debug, Clone)]
pub(super) struct Patience(Arc<AtomicU64>);

impl Default for Patience {
    fn default() -> Self {
        Self::of(IN_ALL)
    }
}

impl Patience {
    fn of(time: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(time.as_nanos() as u64)))
    }

    fn left(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }

    /// Repeats `look` until it has a result; `None` if it has none in time, or after a signal.
    pub(crate) fn wait<T>(&self, every: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let (longest, began) = (self.left() / 2, Instant::now());
        let found = loop {
            let found = look();
            if found.is_some() || began.elapsed() >= longest || interrupted() {
                break found;
            }
            std::thread::sleep(every);
        };
        self.0.fetch_sub(began.elapsed().min(longest).as_nanos() as u64, Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_trial_removes_recordings_of_a_killed_trial() {
        let folder = tempfile::tempdir().unwrap();
        let results = Folder::open(folder.path(), tare_files::Trust::Anyone).unwrap().unwrap();
        let killed = Place::make(&results, 0, 1, 1, 0.1).unwrap();
        for name in ["perf.data", "wakes.data", "callers.data", "lines.data", "profile.json"] {
            std::fs::write(killed.path(name), "recorded").unwrap();
        }
        Place::make(&results, 0, 2, 1, 0.1).unwrap();
        assert_eq!(killed.folder.names().unwrap(), ["profile.json"]);
    }

    #[test]
    fn perfs_that_hang_share_one_time_and_leave_half_of_it_to_the_next() {
        let patience = Patience::of(Duration::from_millis(16));
        for left_ms in [8, 4, 2, 1] {
            assert_eq!(patience.clone().wait(Duration::from_millis(1), || None::<()>), None);
            assert_eq!(patience.left(), Duration::from_millis(left_ms));
        }
        let mut looks = 0;
        let third = || {
            looks += 1;
            (looks == 3).then_some(looks)
        };
        assert_eq!(Patience::default().wait(Duration::ZERO, third), Some(3));
        assert_eq!(Patience::of(Duration::ZERO).wait(Duration::ZERO, || Some(1)), Some(1), "one that is ready");
    }
}
