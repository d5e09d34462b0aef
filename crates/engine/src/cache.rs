//! Prepared data directories: made once, named by a hash of what they are made of.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use super::EngineError;

/// What a cached directory is made of, one `name: value` line each.
pub(super) struct CacheKey {
    engine: &'static str,
    text: String,
}

impl CacheKey {
    pub(super) fn new(engine: &'static str, parts: &[(&str, &str)]) -> Self {
        // Escaped, so that a value with a line break cannot pass for two parts.
        let lines = parts.iter().map(|(name, value)| format!("{name}: {}\n", value.escape_default()));
        Self { engine, text: lines.collect() }
    }

    fn directory_name(&self) -> String {
        let digest = Sha1::digest(self.text.as_bytes());
        let hex: String = digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{hex}", self.engine)
    }
}

/// The data directory of `key` in `cache`, made by `make` when it is not there. `make` gets a directory in which it
/// makes `data`. A lock keeps two processes from making it twice, and it appears under its name only when complete
/// and on disk: a process killed half-way leaves a part that the next one removes.
pub(super) fn cached(
    cache: &Path,
    key: &CacheKey,
    make: impl FnOnce(&Path) -> Result<(), EngineError>,
) -> Result<PathBuf, EngineError> {
    fs::create_dir_all(cache).map_err(|source| EngineError::io("make the directory", cache, source))?;
    let cache = fs::canonicalize(cache).map_err(|source| EngineError::io("resolve", cache, source))?;
    let name = key.directory_name();
    let (complete, partial) = (cache.join(&name), cache.join(format!("{name}.partial")));
    if is_complete(&complete, key) {
        return Ok(complete.join("data"));
    }
    let lock_path = cache.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(|source| EngineError::io("make the lock", &lock_path, source))?;
    lock.lock().map_err(|source| EngineError::io("lock", &lock_path, source))?;
    if is_complete(&complete, key) {
        return Ok(complete.join("data"));
    }
    for stale in [&partial, &complete].into_iter().filter(|path| path.exists()) {
        fs::remove_dir_all(stale).map_err(|source| EngineError::io("remove", stale, source))?;
    }
    let made = make_partial(&partial, key, make);
    if made.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    made?;
    fs::rename(&partial, &complete).map_err(|source| EngineError::io("rename", &partial, source))?;
    Ok(complete.join("data"))
}

fn is_complete(directory: &Path, key: &CacheKey) -> bool {
    fs::read_to_string(directory.join("KEY")).is_ok_and(|text| text == key.text) && directory.join("data").is_dir()
}

fn make_partial(
    partial: &Path,
    key: &CacheKey,
    make: impl FnOnce(&Path) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    fs::create_dir(partial).map_err(|source| EngineError::io("make the directory", partial, source))?;
    make(partial)?;
    let file = partial.join("KEY");
    fs::write(&file, &key.text).map_err(|source| EngineError::io("write", &file, source))?;
    let sync = || rustix::fs::syncfs(File::open(&file)?).map_err(std::io::Error::from);
    sync().map_err(|source| EngineError::io("sync", partial, source))
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
    fn threads_that_ask_together_share_one_making() {
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
    fn a_failed_or_interrupted_making_leaves_nothing_in_use() {
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
}
