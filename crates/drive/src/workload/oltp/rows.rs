//! What the tables are filled with, however it gets there.

use super::text::{C_GROUPS, PAD_GROUPS, push_groups};
use super::{OltpError, Tables};
use tare_engine::Dialect;
use tare_load::{Distribution, Draw, Random};

#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub tables: Tables,
    /// How `k` is drawn. sysbench uses the distribution of the run; the default, special, clusters it.
    pub distribution: Distribution,
    /// The rows depend on it and on nothing else: neither on `sessions` nor on the engine.
    pub seed: u64,
    /// Sessions that fill tables at the same time, each a table of its own; SQLite uses one.
    pub sessions: usize,
    pub dialect: &'static dyn Dialect,
}

/// Hears how many rows were added, and can stop the work.
pub(super) type Progress<'a> = &'a dyn Fn(u64) -> Result<(), OltpError>;

/// One row; its memory is used again for the next.
#[derive(Default, Clone)]
pub(super) struct SbtestRow {
    pub id: i64,
    pub k: i64,
    pub c: String,
    pub pad: String,
}

impl SbtestRow {
    pub(super) fn draw(&mut self, id: u64, k: &Draw, random: &mut Random) {
        self.id = id as i64;
        self.k = k.draw(random) as i64;
        self.c.clear();
        push_groups(&mut self.c, random, C_GROUPS);
        self.pad.clear();
        push_groups(&mut self.pad, random, PAD_GROUPS);
    }
}
