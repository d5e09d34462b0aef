//! What servers' initialisation makes is the same for all tests and takes them seconds: it is made once, and linked
//! into the cache of each test that names the engine.

use crate::engines::support::{binary_of, shared_cache};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_engine::{Engine, Mariadb, Mysql, Postgresql, PrepareRequest};
use tare_files::LogFile;
use tempfile::TempDir;

/// Prepared data without a table, in a cache that tests may share; what making them needs goes into `scratch`.
pub fn empty(engine: &dyn Engine, binary: Option<PathBuf>, cache: &Path, scratch: &Path) -> PathBuf {
    let request = PrepareRequest {
        binary,
        cache_directory: cache.to_owned(),
        dataset: "empty".into(),
        options: Default::default(),
        init_options: Vec::new(),
        run_directory: scratch.join("prepare"),
        log: LogFile::at(&scratch.join("prepare.log")).unwrap(),
        state_directory: None,
        timeout: Duration::from_secs(120),
    };
    engine.prepare_data(&request, &mut |_| Ok(())).expect("scripts/setup test installs it")
}

/// Links the initialised directories of the engines that `words` name into the cache of a test.
pub fn link_into(cache: &Path, words: &str) {
    for engine in [&Mariadb as &dyn Engine, &Mysql, &Postgresql] {
        let begin = format!("{}-initialised-", engine.name());
        if !words.contains(engine.name()) || !named(cache, &begin).is_empty() {
            continue;
        }
        let Some(shared) = shared_cache() else { return };
        if named(&shared, &begin).is_empty() {
            let scratch = TempDir::new().unwrap();
            empty(engine, binary_of(engine), &shared, scratch.path());
        }
        for name in named(&shared, &begin) {
            // Where links are impossible, or another thread has been quicker, what is here goes with the test.
            let half = cache.join(format!("{name}.{:?}", std::thread::current().id()));
            let _ = link_tree(&shared.join(&name), &half).and_then(|()| fs::rename(half, cache.join(&name)));
        }
    }
}

/// Whole entries of a cache.
fn named(cache: &Path, begin: &str) -> Vec<String> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(begin) && !name.contains('.')).collect()
}

fn link_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => link_tree(&entry.path(), &target)?,
            false => fs::hard_link(entry.path(), target)?,
        }
    }
    Ok(())
}
