//! The part of the data that a server's buffer pool holds, queried during a trial.

use super::fill::in_one_session;
use super::load::Connect;
use super::{Driven, LoadContext, LoadError, Pool, ServerAt};
use tare_engine::{Dialect, PoolPages};
use tare_results::schema::AppliedSetting;

/// Share of the data's pages that must be in the pool after all were read: with less the trial has another condition
/// than the requested one.
const RESIDENT: f64 = 0.99;

/// Queries the content of the pool during a trial.
#[derive(Clone, Copy)]
pub(crate) struct PoolContents<'a> {
    connect: &'a Connect<'a>,
    dialect: &'static dyn Dialect,
    /// Pages in the pool before any data was read, which a server always holds. 0 if the server loads data at its
    /// start.
    at_start: u64,
    data: u64,
}

impl<'a> PoolContents<'a> {
    /// Queries a server that this program started; None if it has no pool, or does not report its content.
    pub(crate) fn at_start(stage: &LoadContext<'a>) -> Option<Self> {
        if stage.server.is_none() && stage.server_at != ServerAt::Partner {
            return None;
        }
        let PoolPages { held, data, reloads } = pages(stage.connect, stage.dialect)?;
        let at_start = if reloads { 0 } else { held };
        Some(Self { connect: stage.connect, dialect: stage.dialect, at_start, data })
    }

    /// For a server that an earlier trial has warmed up: the few hundred pages that it always holds count as data.
    pub(crate) fn of_warm(stage: &LoadContext<'a>) -> Option<Self> {
        Self::at_start(stage).map(|contents| Self { at_start: 0, ..contents })
    }

    pub(crate) fn now(&self) -> Option<Pool> {
        let PoolPages { held, .. } = pages(self.connect, self.dialect)?;
        let held_pages = held.saturating_sub(self.at_start);
        Some(Pool {
            data_pages: self.data,
            held_pages: if self.at_start == 0 { held_pages.min(self.data) } else { held_pages },
        })
    }
}

pub(crate) fn all_read(held: Option<PoolContents<'_>>) -> Result<String, LoadError> {
    match held.and_then(|held| held.now()) {
        Some(pool) if pool.fraction() < RESIDENT => {
            Err(LoadError::NotResident { held: pool.held_pages, data: pool.data_pages })
        }
        Some(pool) => Ok(in_words(&pool)),
        None => Ok("this server does not report how much of them it holds".to_owned()),
    }
}

pub(crate) fn in_words(pool: &Pool) -> String {
    let Pool { held_pages, data_pages } = pool;
    format!("the server's pool then held {held_pages} pages of data, the tables and indexes have {data_pages}")
}

fn pages(connect: &Connect<'_>, dialect: &dyn Dialect) -> Option<PoolPages> {
    let mut session = connect().ok()?;
    dialect.pages_in_memory(session.as_mut()).ok()?.filter(|pages| pages.data > 0)
}

/// The pool of a load from before its first sample until after its last one.
pub struct Warm<'a> {
    held: Option<PoolContents<'a>>,
    before: Option<Pool>,
    applied: Vec<AppliedSetting>,
}

impl<'a> Warm<'a> {
    /// Reads every table and every index from end to end if requested, and verifies the pool if the server reports its
    /// content. Call it before the first client connects.
    pub(crate) fn up(preload: bool, stage: &LoadContext<'a>) -> Result<Self, LoadError> {
        let held = PoolContents::at_start(stage);
        let applied = if preload { vec![read_all(stage, held)?] } else { Vec::new() };
        Ok(Self::with(held, applied))
    }

    /// For a load that has warmed the server up itself, and verified what it applied.
    pub(crate) fn with(held: Option<PoolContents<'a>>, applied: Vec<AppliedSetting>) -> Self {
        Self { held, before: held.and_then(|held| held.now()), applied }
    }

    /// Adds the pool before and after the samples to the results.
    pub(crate) fn around(self, driven: Driven) -> Driven {
        let pool = self.before.zip(self.held.and_then(|held| held.now()));
        Driven { pool, applied: [self.applied, driven.applied].concat(), ..driven }
    }
}

fn read_all(stage: &LoadContext<'_>, held: Option<PoolContents<'_>>) -> Result<AppliedSetting, LoadError> {
    let read = in_one_session(stage, |session, go_on| {
        let read = stage.dialect.read_all(session).map_err(LoadError::own)?;
        go_on().map(|()| read)
    })?;
    let now = all_read(held)?;
    let verified = format!("{read} tables and indexes read from end to end; {now}");
    Ok(AppliedSetting::new("preload", "on", verified))
}
