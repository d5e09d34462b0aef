//! Filling and dropping tables of a running server: progress on the terminal, and the final JSON document.

use crate::cli::{Exit, Problem, filling, interrupt, output};
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tare_text::{count, object};

/// Seconds between two progress lines.
const EVERY_S: u64 = 2;

/// Called from time to time while tables are filled, with the number of added rows; returns whether to go on.
pub(crate) type GoOn<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Prepared,
    Dropped,
}

/// Ends the command that dropped this number of tables since `began`.
pub(crate) fn dropped(tables: usize, began: Instant, json: bool) -> Result<Exit, Problem> {
    match tables {
        0 => output::note("no table to drop: none of this load exists in this database"),
        _ => output::note(&format!("dropped {}", count(tables, "table"))),
    }
    done(Done::Dropped, (Some(tables), None), began, json)
}

/// Ends the command that added this number of rows since `began`.
pub(crate) fn prepared(rows: u64, began: Instant, json: bool) -> Result<Exit, Problem> {
    done(Done::Prepared, (None, Some(rows)), began, json)
}

/// Prints a document with `--json`, with the number of dropped tables or added rows if known.
fn done(done: Done, (tables, rows): (Option<usize>, Option<u64>), began: Instant, json: bool) -> Result<Exit, Problem> {
    if json {
        let elapsed_s = began.elapsed().as_secs_f64();
        output::document("tare-load-tables", &object! { done, tables, rows, elapsed_s })?;
    }
    Ok(Exit::Done)
}

/// Fills tables until Ctrl-C and prints the progress; `all` is the final number of rows, if known.
pub(crate) fn filled(
    (of, json): (&str, bool),
    all: Option<u64>,
    fill: impl FnOnce(&GoOn<'_>) -> Result<(), Problem>,
) -> Result<Exit, Problem> {
    let interrupted = interrupt::flag()?;
    let rows = Rows { began: Instant::now(), added: AtomicU64::new(0), reported: AtomicU64::new(0), all };
    fill(&|added| {
        rows.add(added);
        if interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let (seconds, added) = (rows.began.elapsed().as_secs_f64(), rows.added.into_inner());
    output::note(&format!("{of}, {added} rows in {seconds:.1} s"));
    prepared(added, rows.began, json)
}

/// Counts rows as they are added and prints the count from time to time.
struct Rows {
    began: Instant,
    added: AtomicU64,
    reported: AtomicU64,
    /// The final number of rows, if known.
    all: Option<u64>,
}

impl Rows {
    fn add(&self, rows: u64) {
        let sum = self.added.fetch_add(rows, Ordering::Relaxed) + rows;
        let times = self.began.elapsed().as_secs() / EVERY_S;
        if self.reported.fetch_max(times, Ordering::Relaxed) < times {
            output::note(&format!("{} after {} s", filling::rows(sum, self.all), times * EVERY_S));
        }
    }
}
