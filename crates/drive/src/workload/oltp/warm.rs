//! A warm pool before the first sample: what is asked for, doing it, and the proof of what the server holds.

use super::{OltpError, OltpSettings};
use crate::workload::fill::in_parallel;
use crate::workload::pool::all_read;
use crate::workload::{LoadContext, LoadError, PoolContents};
use tare_engine::{Counted, Index};
use tare_results::schema::AppliedSetting;

/// Sessions that read tables at the same time, at most: enough for the disks and cores of large machines.
const READERS: usize = 16;
/// Reads every table and every index from end to end, where that is asked for, and proves it where the server can say.
pub fn preload(
    settings: &OltpSettings,
    stage: &LoadContext<'_>,
    held: Option<PoolContents<'_>>,
) -> Result<Option<AppliedSetting>, LoadError> {
    if !settings.warm.preload {
        return Ok(None);
    }
    if settings.warm.already {
        let verified = format!("on the server of the trial before, not read again; {}", all_read(held)?);
        return Ok(Some(AppliedSetting { factor: "preload".into(), level: "on".into(), found: None, verified }));
    }
    let tables = settings.tables.tables;
    let sessions = std::thread::available_parallelism().map_or(1, usize::from).min(READERS).min(tables);
    in_parallel(
        sessions,
        tables,
        &|_| stage.host.go_on(),
        || LoadError::Interrupted,
        |shared| {
            let mut session = (stage.connect)()?;
            shared.fills(session.as_mut()).map_err(LoadError::own)?;
            while let Some(table) = shared.take() {
                // Tables are numbered from 1.
                let table = table + 1;
                let (name, index) = (format!("sbtest{table}"), format!("k_{table}"));
                for scan in stage.dialect.scans(&name, "pad", &[Index { name: &index, columns: "k" }]) {
                    let found = session.query(&scan.sql).map_err(|source| OltpError::statement(&scan.sql, source))?;
                    let found: Option<u64> = found.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
                    let expected = settings.tables.rows;
                    if scan.counts == Counted::Rows && found != Some(expected) {
                        let found = found.map_or("no number of rows".to_owned(), |found| format!("{found} rows"));
                        return Err(OltpError::TableSize { table, found, expected }.into());
                    }
                }
                shared.added(0)?;
            }
            Ok(())
        },
    )?;
    let verified = format!("{tables} tables and their indexes read from end to end; {}", all_read(held)?);
    Ok(Some(AppliedSetting { factor: "preload".into(), level: "on".into(), found: None, verified }))
}
