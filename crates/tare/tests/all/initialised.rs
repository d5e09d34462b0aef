//! What is the same for all tests and takes them seconds is made once, and linked into the cache of each: what servers'
//! initialisation makes for a test that names the engine, digests of programs, tables of dbt3.

use crate::engines::support::{binary_of, shared_cache};
use crate::support::World;
use std::fs::{self, File};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_engine::{Engine, Mariadb, Mysql, Postgresql, PrepareRequest, remembered_sha1};
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

/// What a program holds, which the record of every trial says, is read once for all tests and not by the first trial of
/// each: this one has a hundred megabytes.
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
            // Where links are impossible, or another thread has been quicker, what is here goes with the test.
            let half = cache.join(format!("{name}.{:?}", std::thread::current().id()));
            let _ = link_tree(&shared.join(&name), &half).and_then(|()| fs::rename(half, cache.join(&name)));
        }
    }
}

/// A world in which prepared data of dbt3 are those that an earlier test has made, and which leaves its own to later
/// ones: the text that comments are cut from takes seconds to make, however small the tables are.
pub struct WithDbt3(World);

impl WithDbt3 {
    pub fn new() -> Self {
        let world = World::new();
        copy_of_dbt3(shared_cache(), Some(world.path("cache")));
        Self(world)
    }
}

impl Drop for WithDbt3 {
    fn drop(&mut self) {
        copy_of_dbt3(Some(self.path("cache")), shared_cache());
    }
}

impl Deref for WithDbt3 {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

/// Links what one cache has of dbt3 and the other has not.
fn copy_of_dbt3(from: Option<PathBuf>, to: Option<PathBuf>) {
    let Some((from, to)) = from.zip(to) else { return };
    let is_dbt3 = |name: &String| {
        fs::read_to_string(from.join(name).join("KEY")).is_ok_and(|key| key.contains("dataset: dbt3, recipe"))
    };
    for name in named(&from, "").into_iter().filter(|name| is_dbt3(name) && !to.join(name).exists()) {
        let half = to.join(format!("{name}.{}", std::process::id()));
        if link_tree(&from.join(&name), &half).and_then(|()| fs::rename(&half, to.join(&name))).is_err() {
            let _ = fs::remove_dir_all(half); // another test has been quicker
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
