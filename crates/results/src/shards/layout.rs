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
use crate::lists::{Limited, TooLong};
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
    fn check(&self) -> Result<(), TooLong> {
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
    /// Makes the folder. The plan loses its machine: every shard binds itself to the one that it runs on.
    pub fn create(path: &Path, study_toml: &str, plan: &Plan, count: usize) -> Result<Self, DirectoryError> {
        let plan = Plan { machine: None, ..plan.clone() };
        let open = Directory::create_empty(path, Trust::Anyone)?;
        open.write_study(study_toml)?;
        open.write("plan.json", &crate::store::pretty(&plan))?;
        // Last: a folder with this file is whole.
        open.write(NAME, &crate::store::pretty(&ShardsFile { schema: SCHEMA, shards: count }))?;
        Ok(Self { folder: Arc::new(open.into_folder()), count, plan })
    }

    /// Opens one; none when `path` is a folder of something else. Where it is executed, `trust` says whose is.
    pub fn open(path: &Path, trust: Trust) -> Result<Option<Self>, ReadError> {
        folder(path, trust)?.map_or(Ok(None), Self::of)
    }

    /// The one that an open folder holds; none when it holds something else.
    pub(crate) fn of(folder: Folder) -> Result<Option<Self>, ReadError> {
        let Some(bytes) = folder.read(NAME, LARGEST)? else { return Ok(None) };
        let ShardsFile { shards, .. } = lines::parse(&bytes, &folder.path().join(NAME), 0)?;
        let plan = directory::read_plan(&folder)?;
        // None is without a block: what goes through all of them ends.
        let blocks = plan.blocks().len();
        if shards > blocks.max(1) {
            return Err(ReadError::TooMany { path: folder.path().join(NAME), what: "shards", limit: blocks });
        }
        Ok(Some(Self { folder: Arc::new(folder), count: shards.max(1), plan }))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The handle through which all that it holds is found.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// How many shards there are; they are numbered from 0.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Every trial of every shard; its conditions are those of the machine that cut it.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The shard that a block belongs to. Every shard gets blocks from the whole length of the schedule.
    pub fn shard_of(&self, block: usize) -> usize {
        block % self.count
    }

    /// Where it lies, to reach what is below it.
    pub(super) fn place(&self) -> Place {
        Place::of(self.folder.clone())
    }

    pub(super) fn shard(index: usize) -> String {
        format!("shard-{index:04}")
    }

    /// Takes a shard for as long as what is returned lives.
    ///
    /// # Errors
    /// [`DirectoryError::Busy`] while another run has it, here or on another machine whose file system tells.
    pub fn take(&self, index: usize) -> Result<TakenShard, DirectoryError> {
        Ok(TakenShard(Directory::lock(self.folder.make_sub(&Self::shard(index))?)?))
    }
}

#[derive(Debug)]
pub struct TakenShard(Directory);

impl TakenShard {
    /// Goes on with what a machine has run of it; none where it has nothing yet.
    ///
    /// # Errors
    /// When the name of the machine cannot name a folder, and as [`Directory::resume`].
    pub fn resume(&self, host: &str) -> Result<Option<Directory>, DirectoryError> {
        Writer::new(host)?;
        let Some(part) = self.0.folder().sub(host)? else { return Ok(None) };
        // One that died before it had written its plan is begun anew.
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
