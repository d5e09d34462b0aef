//! Data directories as a server's own initialisation leaves them: the longest part of preparing small data, and the
//! same for all of them.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::cache::{CacheKey, cached};
use super::directories::copy_tree;
use super::room::{Room, held_below};
use crate::EngineError;

/// Makes `data` in `partial`, a copy of what `install` makes in the cache where `key` is not there yet.
pub(crate) fn initialised(
    cache: &Path,
    key: &CacheKey,
    partial: &Path,
    install: impl FnOnce(&Path) -> Result<(), EngineError>,
) -> Result<PathBuf, EngineError> {
    let original = cached(cache, key, install)?;
    let data = partial.join("data");
    let made = DirBuilder::new().mode(0o700).create(&data);
    made.map_err(|source| EngineError::io("make the directory", &data, source))?;
    copy_tree(&original, &data, &mut Room::new(&data, held_below(&original)))?;
    Ok(data)
}
