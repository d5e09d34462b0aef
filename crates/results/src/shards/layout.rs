//! The folder that the machines of a study cut into shards share:
//!
//! | file | holds |
//! | --- | --- |
//! | `shards.json` | the number of shards |
//! | `study.toml`, `plan.json` | the whole study and its whole schedule; the plan names no machine |
//! | `shard-NNNN/HOST/` | what that machine ran of the shard: a normal results directory |
//!
//! A block belongs to one shard and is run completely by one machine, so that no comparison crosses machines.

use crate::error::{DirectoryError, ReadError};
use crate::limits::{Limited, OutOfRange};
use crate::place::{Place, folder};
use crate::schema::{Plan, SCHEMA};
use crate::store::{Directory, Writer};
use crate::{directory, lines};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use tare_files::{Folder, Trust};

const NAME: &str = "shards.json";
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct ShardsFile {
    schema: u32,
    shards: usize,
}

impl Limited for ShardsFile {
    /// It has no list.
    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct Sharded {
    folder: Arc<Folder>,
    count: usize,
    plan: Plan,
}

impl Sharded {
    /// Creates the folder. The plan's machine is removed: every shard binds itself to the machine that runs it. What is
    /// written there is executed later: `trust` says whose folders are accepted.
    pub fn create(
        path: &Path,
        study_toml: &str,
        plan: &Plan,
        count: usize,
        trust: Trust,
    ) -> Result<Self, DirectoryError> {
        let plan = Plan { machine: None, ..plan.clone() };
        let open = Directory::take_empty(Folder::open_or_create(path, trust)?)?;
        open.write_study(study_toml)?;
        open.write("plan.json", &crate::store::pretty(&plan))?;
        // Written last: a folder with this file is complete.
        open.write(NAME, &crate::store::pretty(&ShardsFile { schema: SCHEMA, shards: count }))?;
        Ok(Self { folder: Arc::new(open.into_folder()), count, plan })
    }

    /// Opens a study cut into shards; none if `path` is another kind of folder. Its contents may be executed: `trust`
    /// says whose files are accepted.
    pub fn open(path: &Path, trust: Trust) -> Result<Option<Self>, ReadError> {
        folder(path, trust)?.map_or(Ok(None), Self::of)
    }

    /// The study in an open folder; none if it is another kind of folder.
    pub(crate) fn of(folder: Folder) -> Result<Option<Self>, ReadError> {
        let Some(bytes) = folder.read(NAME, LARGEST)? else { return Ok(None) };
        let ShardsFile { shards, .. } = lines::parse(&bytes, &folder.path().join(NAME), 0)?;
        let plan = directory::read_plan(&folder)?;
        // Every shard has at least one block, so that a loop over all shards is bounded.
        let blocks = plan.blocks().len();
        if shards > blocks.max(1) {
            return Err(ReadError::TooMany { path: folder.path().join(NAME), what: "shards", limit: blocks });
        }
        Ok(Some(Self { folder: Arc::new(folder), count: shards.max(1), plan }))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The handle for access to all its contents.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Number of shards; they are numbered from 0.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Every trial of every shard; its conditions are those of the machine that cut the study.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The shard of a block. Every shard gets blocks from the whole length of the schedule.
    pub fn shard_of(&self, block: usize) -> usize {
        block % self.count
    }

    /// Its location, for access to the folders below it.
    pub(super) fn place(&self) -> Place {
        Place::of(self.folder.clone())
    }

    pub(super) fn shard(index: usize) -> String {
        format!("shard-{index:04}")
    }

    /// Locks a shard until the returned value is dropped.
    ///
    /// # Errors
    /// [`DirectoryError::Busy`] while another run holds it, on this machine or on another one if the file system
    /// supports locks across machines.
    pub fn take(&self, index: usize) -> Result<TakenShard, DirectoryError> {
        Ok(TakenShard(Directory::lock(self.folder.make_sub(&Self::shard(index))?)?))
    }
}

#[derive(Debug)]
pub struct TakenShard(Directory);

impl TakenShard {
    /// Resumes what a machine has run of the shard; none if it has run nothing yet.
    ///
    /// # Errors
    /// If the machine's name is not valid as a folder name, and as [`Directory::resume`].
    pub fn resume(&self, host: &str) -> Result<Option<Directory>, DirectoryError> {
        Writer::new(host)?;
        let Some(part) = self.0.folder().sub(host)? else { return Ok(None) };
        // A run that died before it wrote its plan starts again.
        if part.file("plan.json")?.is_none() {
            return Ok(None);
        }
        Directory::resume_in(part).map(Some)
    }

    pub fn begin(&self, host: &str) -> Result<Directory, DirectoryError> {
        Writer::new(host)?;
        Directory::create_in(self.0.folder().make_sub(host)?)
    }
}
