//! Data that is the same for all tests and takes seconds to make is made once, and linked into the cache of each test:
//! initialised data directories of the engines that a test names, digests of programs, prepared data.

use crate::engines::support::{binary_of, shared_cache};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_engine::{Engine, Mariadb, Mysql, Postgresql, PrepareRequest, remembered_sha1};
use tare_files::LogFile;
use tempfile::TempDir;

/// Prepared data without a table, in a cache that tests may share; temporary files go into `scratch`.
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

/// Computes the digest of a program, which every record contains, once for all tests: tare has a hundred megabytes.
pub fn know(program: &Path, cache: &Path) {
    let Some(shared) = shared_cache() else { return };
    let _ = File::open(program).map(|program| remembered_sha1(program, &shared));
    for name in named(&shared, "program-") {
        let _ = fs::copy(shared.join(&name), cache.join(name)); // what is missing is read again
    }
}

/// Links the initialised directories of the engines that `words` name into the cache of a test.
pub fn link_into(cache: &Path, words: &str) {
    for engine in [&Mariadb as &dyn Engine, &Mysql, &Postgresql] {
        let begin = format!("{}-initialised-", engine.name());
        if !words.contains(engine.name()) || !named(cache, &begin).is_empty() {
            continue;
        }
        let Some(shared) = shared_cache() else { return };
        if let Some(program) = binary_of(engine) {
            know(&program, cache);
        }
        if named(&shared, &begin).is_empty() {
            let scratch = TempDir::new().unwrap();
            empty(engine, binary_of(engine), &shared, scratch.path());
        }
        for name in named(&shared, &begin) {
            link_whole(&shared.join(&name), &cache.join(&name));
        }
    }
}

/// Prepared data that tests share, identified by its file KEY: the text for comments of dbt3 takes seconds to generate,
/// even for small tables, and starting a server to fill tables takes as long.
const SHARED: [&str; 2] = ["dataset: dbt3, recipe", "dataset: sysbench oltp, analysed, tables 1, rows 1000, seed 1\n"];

/// Links the shared data of the engines that `words` name, and of the embedded engine.
pub fn lend(cache: &Path, words: &str) {
    let Some(shared) = shared_cache() else { return };
    let is_named =
        |name: &str| name.starts_with("sqlite-") || name.split('-').next().is_some_and(|engine| words.contains(engine));
    link_shared(&shared, cache, is_named);
}

/// A cache that leaves its prepared data to later tests, if the test passes.
pub struct Left(pub PathBuf);

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(shared) = shared_cache().filter(|_| !std::thread::panicking()) {
            link_shared(&self.0, &shared, |_| true);
        }
    }
}

/// Links shared data that one cache has and the other does not.
fn link_shared(from: &Path, to: &Path, is_wanted: impl Fn(&str) -> bool) {
    let is_shared = |name: &String| {
        fs::read_to_string(from.join(name).join("KEY")).is_ok_and(|key| SHARED.iter().any(|data| key.contains(data)))
    };
    let missing = named(from, "").into_iter().filter(|name| is_wanted(name) && !to.join(name).exists());
    for name in missing.filter(is_shared) {
        link_whole(&from.join(&name), &to.join(&name));
    }
}

/// Links a directory atomically; does nothing if links are impossible or another test was faster.
fn link_whole(from: &Path, to: &Path) {
    let half = to.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    if link_tree(from, &half).and_then(|()| fs::rename(&half, to)).is_err() {
        let _ = fs::remove_dir_all(half);
    }
}

/// Complete entries of a cache.
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
