//! Prepared data directories: created once, named by a hash of everything that they depend on.

use super::directories::{Room, copy_tree, held_below, not_private};
use crate::EngineError;
use sha1::{Digest, Sha1};
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use tare_files::{Access, PrivateFolder, crash};

/// Name of the file that describes an entry.
const KEY: &str = "KEY";
/// Suffix of the name of an entry that is being created.
const PARTIAL: &str = ".partial";
/// Limit on the size of a KEY, bytes.
const LARGEST: u64 = 1 << 20;

/// Everything that a cached directory depends on, one `name: value` line each.
pub(crate) struct CacheKey {
    /// The prefix of its name: the engine's name, and a suffix if it is not a complete data set.
    begin: String,
    text: String,
}

impl CacheKey {
    pub(crate) fn new(engine: &str, parts: &[(&str, &str)]) -> Self {
        // Escaped, so that a value with a line break cannot look like two parts.
        let lines = parts.iter().map(|(name, value)| format!("{name}: {}\n", value.escape_default()));
        Self { begin: engine.to_owned(), text: lines.collect() }
    }

    /// The key of a directory without a data set.
    pub(crate) fn of_initialised(engine: &str, parts: &[(&str, &str)]) -> Self {
        let key = Self::new(engine, parts);
        Self { begin: format!("{engine}-initialised"), ..key }
    }

    fn directory_name(&self) -> String {
        let digest = Sha1::digest(self.text.as_bytes());
        let hex: String = digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{hex}", self.begin)
    }
}

/// The data directory of `key` in `cache`; `make` creates it if it does not exist. `make` gets a directory in which
/// it creates `data`. A lock prevents two processes from creating it at the same time, and it gets its name only when
/// complete and on disk: a process that is killed leaves a partial entry, which the next one removes.
///
/// A server is started on this directory, and its content can make that server do anything. Therefore the cache must
/// be a private folder, and an entry must belong to this user and hold exactly the files that were created: any other
/// entry is created anew.
pub(crate) fn cached(
    cache: &Path,
    key: &CacheKey,
    make: impl FnOnce(&Path) -> Result<(), EngineError>,
) -> Result<PathBuf, EngineError> {
    let folder = PrivateFolder::open_or_create(cache, Access::Closed).map_err(not_private)?;
    let cache = fs::canonicalize(folder.path()).map_err(|source| EngineError::io("resolve", cache, source))?;
    let name = key.directory_name();
    let (complete, partial) = (cache.join(&name), cache.join(format!("{name}{PARTIAL}")));
    if is_complete(&complete, key) {
        return Ok(complete.join("data"));
    }
    let lock = lock_file(&folder, &name)?;
    lock.lock().map_err(|source| EngineError::io("lock", &complete, source))?;
    if is_complete(&complete, key) {
        return Ok(complete.join("data"));
    }
    for stale in [&partial, &complete] {
        remove(stale)?;
    }
    let made = make_partial(&partial, key, make);
    if made.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    made?;
    folder.rename(&format!("{name}{PARTIAL}"), &name).map_err(not_private)?;
    Ok(complete.join("data"))
}

/// Whether [`cached`] would find a complete entry for `key`.
pub(crate) fn is_cached(cache: &Path, key: &CacheKey) -> bool {
    is_complete(&cache.join(key.directory_name()), key)
}

/// Removes incomplete entries of killed processes. A process at work holds its lock, and its entry is kept.
pub fn remove_half_made(cache: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let Some(folder) = PrivateFolder::open(cache, Access::Closed).map_err(not_private)? else {
        return Ok(Vec::new());
    };
    let mut removed = Vec::new();
    for partial in folder.names().map_err(not_private)? {
        let Some(name) = partial.strip_suffix(PARTIAL) else { continue };
        let lock = lock_file(&folder, name)?;
        if lock.try_lock().is_ok() {
            let path = folder.path().join(&partial);
            remove(&path)?;
            removed.push(path);
        }
    }
    Ok(removed)
}

fn lock_file(folder: &PrivateFolder, name: &str) -> Result<File, EngineError> {
    folder.append(&format!("{name}.lock")).map_err(not_private)
}

/// Removes a directory, or whatever else has its name.
fn remove(path: &Path) -> Result<(), EngineError> {
    let failed = |source| EngineError::io("remove", path, source);
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?,
    };
    crash::point("prepared data: before its removal");
    if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map_err(failed)?;
    crash::point("prepared data: removed");
    Ok(())
}

/// Whether the entry is what was created for this key, judged by its name, its owner and its files.
fn is_complete(directory: &Path, key: &CacheKey) -> bool {
    let Ok(Some(folder)) = PrivateFolder::open(directory, Access::Closed) else { return false };
    let Ok(Some(text)) = folder.read(KEY, LARGEST) else { return false };
    let Some(found) = Identity::of(key, &directory.join("data")) else { return false };
    let whole = format!("whole seconds: {}\n", found.by_seconds);
    text == found.text().as_bytes()
        || (found.has_whole_seconds && text.starts_with(found.head.as_bytes()) && text.ends_with(whole.as_bytes()))
}

/// The content of an entry's KEY file: what it was made from, who created it, and which files it then had.
struct Identity {
    head: String,
    /// Hash of paths, lengths and modification times.
    content: String,
    /// Hash of paths, lengths and modification times in whole seconds: a cache may have been moved in an archive,
    /// which keeps no finer times.
    by_seconds: String,
    /// Whether no file has a modification time finer than a second.
    has_whole_seconds: bool,
}

impl Identity {
    /// None if it contains anything but files and folders of this user.
    fn of(key: &CacheKey, data: &Path) -> Option<Self> {
        let owner = rustix::process::geteuid().as_raw();
        let mut files = Vec::new();
        list(data, data, owner, &mut files)?;
        files.sort();
        let hash = |line: &dyn Fn(&Listed) -> String| {
            let lines: String = files.iter().map(line).collect();
            Sha1::digest(lines.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
        };
        Some(Self {
            head: format!("{}owner: {owner}\n", key.text),
            content: hash(&|file| format!("{}.{:09}\n", file.line, file.nanoseconds)),
            by_seconds: hash(&|file| format!("{}\n", file.line)),
            has_whole_seconds: files.iter().all(|file| file.nanoseconds == 0),
        })
    }

    fn text(&self) -> String {
        format!("{}content: {}\nwhole seconds: {}\n", self.head, self.content, self.by_seconds)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    /// Its path and kind; for a file also its length and the second of its modification time.
    line: String,
    /// The nanoseconds of that time; 0 for a folder.
    nanoseconds: i64,
}

fn list(root: &Path, path: &Path, owner: u32, files: &mut Vec<Listed>) -> Option<()> {
    let found = fs::symlink_metadata(path).ok()?;
    if found.uid() != owner || !(found.is_dir() || found.is_file()) {
        return None;
    }
    let name = path.strip_prefix(root).ok()?.to_string_lossy().escape_default().to_string();
    if found.is_dir() {
        files.push(Listed { line: format!("{name} folder"), nanoseconds: 0 });
        for entry in fs::read_dir(path).ok()? {
            list(root, &entry.ok()?.path(), owner, files)?;
        }
    } else {
        let line = format!("{name} {} {}", found.len(), found.mtime());
        files.push(Listed { line, nanoseconds: found.mtime_nsec() });
    }
    Some(())
}

fn make_partial(
    partial: &Path,
    key: &CacheKey,
    make: impl FnOnce(&Path) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let folder = PrivateFolder::open_or_create(partial, Access::Closed).map_err(not_private)?;
    crash::point("prepared data: before it is made");
    let syncing = |source| EngineError::io("sync", partial, source);
    // Opened first, because syncfs(2) reports only errors of writes that fail while this is open.
    let file_system = File::open(partial).map_err(syncing)?;
    make(partial)?;
    crash::point("prepared data: made, without a key");
    let identity = Identity::of(key, &partial.join("data")).ok_or_else(|| EngineError::Directory {
        path: partial.join("data"),
        reason: "contains something other than this user's files and directories".to_owned(),
    })?;
    rustix::fs::syncfs(&file_system).map_err(|error| syncing(error.into()))?;
    // Last: an entry with a KEY is complete.
    folder.write(KEY, identity.text().as_bytes()).map_err(not_private)
}

/// Creates `data` in `partial` as a copy of an initialised directory, which `install` creates in the cache if it has
/// no entry for `key` yet. The server's own initialisation takes most of the time of preparing a small data set, and
/// its result is the same for all data sets.
pub(crate) fn initialised(
    cache: &Path,
    key: &CacheKey,
    partial: &Path,
    install: impl FnOnce(&Path) -> Result<(), EngineError>,
) -> Result<PathBuf, EngineError> {
    let original = cached(cache, key, install)?;
    let data = partial.join("data");
    let made = DirBuilder::new().mode(0o700).create(&data);
    made.map_err(|source| EngineError::io("create the directory", &data, source))?;
    copy_tree(&original, &data, &mut Room::new(&data, held_below(&original)))?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn fill(partial: &Path, content: &str) -> Result<(), EngineError> {
        fs::create_dir(partial.join("data")).unwrap();
        fs::write(partial.join("data/file"), content).unwrap();
        Ok(())
    }

    #[test]
    fn threads_that_request_one_cache_entry_share_one_preparation() {
        let cache = tempfile::tempdir().unwrap();
        let made = AtomicUsize::new(0);
        let key = CacheKey::new("e", &[("dataset", "x")]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let make = |partial: &Path| {
                        made.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        fill(partial, "x")
                    };
                    let data = cached(cache.path(), &key, make).unwrap();
                    assert_eq!(fs::read_to_string(data.join("file")).unwrap(), "x");
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn another_key_is_another_directory() {
        let cache = tempfile::tempdir().unwrap();
        let a = cached(cache.path(), &CacheKey::new("e", &[("a", "1"), ("b", "2")]), |p| fill(p, "1")).unwrap();
        let b = cached(cache.path(), &CacheKey::new("e", &[("a", "1\nb: 2")]), |p| fill(p, "2")).unwrap();
        assert_ne!(a, b);
    }

    #[test]
    fn a_failed_or_interrupted_preparation_is_never_used() {
        let cache = tempfile::tempdir().unwrap();
        let key = CacheKey::new("e", &[]);
        let failing = |partial: &Path| {
            fill(partial, "half").unwrap();
            Err(EngineError::Directory { path: partial.to_owned(), reason: "no".to_owned() })
        };
        assert!(cached(cache.path(), &key, failing).is_err());
        let partial = cache.path().join(format!("{}.partial", key.directory_name()));
        assert!(!partial.exists());
        fs::create_dir_all(partial.join("data")).unwrap();
        let data = cached(cache.path(), &key, |p| fill(p, "whole")).unwrap();
        assert_eq!(fs::read_to_string(data.join("file")).unwrap(), "whole");
    }

    #[test]
    fn a_cache_entry_restored_from_an_archive_remains_valid() {
        let cache = tempfile::tempdir().unwrap();
        let key = CacheKey::new("e", &[]);
        let data = cached(cache.path(), &key, |p| fill(p, "good")).unwrap();
        let file = File::options().write(true).open(data.join("file")).unwrap();
        let changed = file.metadata().unwrap().modified().unwrap();
        let since = changed.duration_since(std::time::UNIX_EPOCH).unwrap();
        let second = std::time::UNIX_EPOCH + std::time::Duration::from_secs(since.as_secs());
        file.set_modified(second).unwrap();
        assert!(is_complete(data.parent().unwrap(), &key), "archives keep only whole seconds");
        file.set_modified(second + std::time::Duration::from_secs(1)).unwrap();
        assert!(!is_complete(data.parent().unwrap(), &key));
    }

    #[test]
    fn a_changed_planted_or_linked_cache_entry_is_prepared_again() {
        let cache = tempfile::tempdir().unwrap();
        let key = CacheKey::new("e", &[]);
        let made = AtomicUsize::new(0);
        let make = |partial: &Path| {
            made.fetch_add(1, Ordering::SeqCst);
            fill(partial, "good")
        };
        let data = cached(cache.path(), &key, make).unwrap();
        cached(cache.path(), &key, make).unwrap();
        assert_eq!(made.load(Ordering::SeqCst), 1, "an unchanged entry is used again");
        let planted: [&dyn Fn(); 3] = [
            &|| fs::write(data.join("file"), "evil").unwrap(),
            &|| fs::write(data.join("trigger.TRG"), "evil").unwrap(),
            &|| std::os::unix::fs::symlink("/etc/passwd", data.join("link")).unwrap(),
        ];
        for (count, plant) in planted.iter().enumerate() {
            plant();
            cached(cache.path(), &key, make).unwrap();
            assert_eq!(made.load(Ordering::SeqCst), count + 2);
            assert_eq!(fs::read_to_string(data.join("file")).unwrap(), "good");
            assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
        }
        // Only root can create this: a file of another user that looks the same.
        let foreign = usize::from(rustix::process::geteuid().is_root());
        if foreign == 1 {
            std::os::unix::fs::chown(data.join("file"), Some(65534), None).unwrap();
            cached(cache.path(), &key, make).unwrap();
            assert_eq!(made.load(Ordering::SeqCst), 5);
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let entry = data.parent().unwrap();
        fs::rename(entry, elsewhere.path().join("entry")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("entry"), entry).unwrap();
        cached(cache.path(), &key, make).unwrap();
        assert!(!entry.is_symlink() && made.load(Ordering::SeqCst) == 5 + foreign);
    }

    #[test]
    fn a_link_named_as_the_lock_truncates_nothing_and_an_open_cache_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let key = CacheKey::new("e", &[]);
        let victim = cache.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let lock = cache.path().join(format!("{}.lock", key.directory_name()));
        std::os::unix::fs::symlink(&victim, &lock).unwrap();
        let error = cached(cache.path(), &key, |p| fill(p, "x")).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::remove_file(lock).unwrap();
        fs::set_permissions(cache.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let error = cached(cache.path(), &key, |p| fill(p, "x")).unwrap_err().to_string();
        assert!(error.contains("others may write"), "{error}");
    }

    #[test]
    fn leftovers_of_a_killed_preparation_are_removed_and_a_running_one_is_kept() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["e-1.partial", "e-2.partial"] {
            fs::create_dir_all(cache.path().join(name).join("data")).unwrap();
        }
        let folder = PrivateFolder::open(cache.path(), Access::Closed).unwrap().unwrap();
        let at_work = lock_file(&folder, "e-2").unwrap();
        at_work.lock().unwrap();
        assert_eq!(remove_half_made(cache.path()).unwrap(), [cache.path().join("e-1.partial")]);
        assert!(cache.path().join("e-2.partial").exists());
        assert_eq!(remove_half_made(&cache.path().join("absent")).unwrap(), Vec::<PathBuf>::new());
    }
}
