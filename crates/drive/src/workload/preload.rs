//! Reading everything that a server holds before the first sample, whatever the load's tables are.

use super::fill::in_one_session;
use super::pool::all_read;
use super::{Driven, LoadContext, LoadError, Pool, PoolContents};
use tare_results::schema::AppliedSetting;

/// A load's pool from before its first sample until after its last one.
pub struct Warm<'a> {
    held: Option<PoolContents<'a>>,
    before: Option<Pool>,
    applied: Vec<AppliedSetting>,
}

impl<'a> Warm<'a> {
    /// Reads every table and every index from end to end where that is asked for, and proves it where the server says
    /// what it holds. Call it before the first client connects.
    pub fn up(preload: bool, stage: &LoadContext<'a>) -> Result<Self, LoadError> {
        let held = PoolContents::at_start(stage);
        let applied = if preload { vec![read_all(stage, held)?] } else { Vec::new() };
        Ok(Self::with(held, applied))
    }

    /// Of a load that has warmed the server up itself, and proved what it applied.
    pub fn with(held: Option<PoolContents<'a>>, applied: Vec<AppliedSetting>) -> Self {
        Self { held, before: held.and_then(|held| held.now()), applied }
    }

    /// What the samples were, with what is known of the pool around them.
    pub fn around(self, driven: Driven) -> Driven {
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
    Ok(AppliedSetting { factor: "preload".into(), level: "on".into(), found: None, verified })
}
