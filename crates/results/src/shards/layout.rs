//! The folder that the machines share:
//!
//! | file | holds |
//! | --- | --- |
//! | `shards.json` | into how many shards the study is cut |
//! | `study.toml`, `plan.json` | the whole study and its whole schedule; the plan names no machine |
//! | `shard-NNNN/HOST/` | what that machine ran of the shard: a results directory like any other |
//!
//! A block belongs to one shard and is run whole by one machine, so that no comparison crosses machines.

use crate::error::{DirectoryError, ReadError};
use crate::schema::{Plan, SCHEMA};
use crate::store::{Directory, Writer};
use crate::{directory, lines};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const NAME: &str = "shards.json";
/// The largest `shards.json` that is read, bytes.
const LARGEST: u64 = 1 << 20;

/// `shards.json`.
#[derive(Debug, Serialize, Deserialize)]
struct ShardsFile {
    schema: u32,
    shards: usize,
}

/// A study cut into shards.
#[derive(Debug)]
pub struct Sharded {
    path: PathBuf,
    count: usize,
    plan: Plan,
}

impl Sharded {
    /// Makes the folder. The plan loses its machine: every shard binds itself to the one that it runs on.
    ///
    /// # Errors
    /// When `path` holds something already or cannot be written.
    pub fn create(path: &Path, study_toml: &str, plan: &Plan, count: usize) -> Result<Self, DirectoryError> {
        let plan = Plan { machine: None, ..plan.clone() };
        let open = Directory::create_empty(path)?;
        open.write("study.toml", study_toml)?;
        open.write("plan.json", &crate::store::pretty(&plan))?;
        // Last: a folder with this file is whole.
        open.write(NAME, &crate::store::pretty(&ShardsFile { schema: SCHEMA, shards: count }))?;
        Ok(Self { path: path.to_owned(), count, plan })
    }

    /// Opens one; none when `path` is a folder of something else.
    ///
    /// # Errors
    /// When its files cannot be read, or are newer.
    pub fn open(path: &Path) -> Result<Option<Self>, ReadError> {
        // A CSV file is named by the same commands.
        if !path.is_dir() {
            return Ok(None);
        }
        let file = path.join(NAME);
        let Some(bytes) = tare_files::read_regular(&file, LARGEST)? else { return Ok(None) };
        let ShardsFile { shards, .. } = lines::parse(&bytes, &file, 0)?;
        Ok(Some(Self { path: path.to_owned(), count: shards.max(1), plan: directory::read_plan(path)? }))
    }

    /// Where it lies, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many shards there are; they are numbered from 0.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Every trial of every shard; its conditions are those of the machine that cut it.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether a block belongs to a shard. Every shard gets blocks from the whole length of the schedule.
    pub fn owns(&self, index: usize, block: usize) -> bool {
        block % self.count == index
    }

    /// The folder of a shard.
    pub fn shard(&self, index: usize) -> PathBuf {
        self.path.join(format!("shard-{index:04}"))
    }

    /// The results directory of a shard on a machine.
    ///
    /// # Errors
    /// When the name of the machine cannot name a folder.
    pub fn part(&self, index: usize, host: &str) -> Result<PathBuf, DirectoryError> {
        Writer::new(host)?;
        Ok(self.shard(index).join(host))
    }

    /// Takes a shard for as long as the returned lock lives.
    ///
    /// # Errors
    /// [`DirectoryError::Busy`] while another run has it, here or on another machine whose file system tells.
    pub fn take(&self, index: usize) -> Result<Directory, DirectoryError> {
        let path = self.shard(index);
        std::fs::create_dir_all(&path).map_err(|e| crate::error::io_error("create", &path, e))?;
        Directory::lock(&path)
    }
}
