//! Between warm-up and samples: the study's own statements, then waiting until the server has finished its pending
//! work for the changes of the warm-up.

use crate::workload::error::shown;
use crate::workload::fill::in_one_session;
use crate::workload::{LoadContext, LoadError};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tare_engine::{Backlog, Dialect, Done, Session, SqlError};
use tare_results::server::SettledRecord;

const ASK_EVERY: Duration = Duration::from_secs(1);
/// Interval between checks whether the caller requests a stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Number of consecutive answers that are compared to decide whether a figure is steady.
const LOOK_BACK: usize = 4;
/// A figure is steady if its answers differ by no more than this share of the largest, or than this absolute number.
const STILL: f64 = 0.01;
const STILL_LEAST: u64 = 16;

#[derive(Debug, thiserror::Error)]
#[error("settling the server before the first sample: {statement}: {source}")]
struct SettleError {
    statement: String,
    source: SqlError,
}

/// Sends the statements, then waits.
///
/// # Errors
/// The server's refusal. A timeout is not an error: it is noted in the record.
pub(super) fn settle(stage: &LoadContext<'_>) -> Result<SettledRecord, LoadError> {
    let requested = stage.settle;
    in_one_session(stage, |session, go_on| {
        let clock = Instant::now();
        let statements = requested.statements.iter().map(String::as_str);
        let begun = if requested.limit_s > 0.0 { stage.dialect.begin_settling() } else { &[] };
        for sql in statements.chain(begun.iter().copied()) {
            let failed = |source| LoadError::own(SettleError { statement: shown(sql), source });
            session.run(sql).map_err(failed)?;
            go_on()?;
        }
        let statements_s = clock.elapsed().as_secs_f64();
        Ok(SettledRecord { statements_s, ..wait(requested.limit_s, session, stage.dialect, go_on)? })
    })
}

/// Queries the pending work until none is left, or the time limit is reached.
fn wait(
    limit_s: f64,
    session: &mut dyn Session,
    dialect: &dyn Dialect,
    go_on: impl Fn() -> Result<(), LoadError>,
) -> Result<SettledRecord, LoadError> {
    let clock = Instant::now();
    let mut answers: Vec<Vec<Backlog>> = Vec::new();
    let mut settled = limit_s == 0.0;
    while !settled {
        let failed = |source| LoadError::own(SettleError { statement: "what is left to do".to_owned(), source });
        answers.push(dialect.backlog(session).map_err(failed)?);
        settled = is_settled(&answers);
        if settled || clock.elapsed().as_secs_f64() >= limit_s {
            break;
        }
        let until = (Instant::now() + ASK_EVERY).min(clock + Duration::from_secs_f64(limit_s));
        while Instant::now() < until {
            go_on()?;
            sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
        }
    }
    let last = answers.last().into_iter().flatten();
    Ok(SettledRecord {
        statements_s: 0.0,
        waited_s: clock.elapsed().as_secs_f64(),
        settled,
        left: last.map(|left| (left.what.to_owned(), left.amount)).collect(),
    })
}

/// Whether the last answers, oldest first, show that no pending work is left.
fn is_settled(answers: &[Vec<Backlog>]) -> bool {
    let Some(last) = answers.last() else { return false };
    let steady = |what: &str| {
        let recent: Vec<u64> = answers.iter().rev().take(LOOK_BACK).filter_map(|answer| amount(answer, what)).collect();
        let (least, most) = (recent.iter().min().copied(), recent.iter().max().copied());
        recent.len() == LOOK_BACK
            && least
                .zip(most)
                .is_some_and(|(least, most)| most - least <= STILL_LEAST.max((most as f64 * STILL) as u64))
    };
    last.iter().all(|left| match left.done {
        Done::AtMost(limit) => left.amount <= limit,
        Done::Steady => left.amount == 0 || steady(left.what),
        Done::SteadyBelow(limit) => left.amount == 0 || left.amount < limit && steady(left.what),
    })
}

fn amount(answer: &[Backlog], what: &str) -> Option<u64> {
    answer.iter().find(|left| left.what == what).map(|left| left.amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(purge: u64, dirty: u64) -> Vec<Backlog> {
        let left = |what, amount, done| Backlog { what, amount, done };
        vec![left("purge", purge, Done::AtMost(10)), left("dirty", dirty, Done::Steady)]
    }

    #[test]
    fn a_server_has_settled_when_its_pending_work_is_small_or_steady() {
        let all = |answers: &[(u64, u64)]| is_settled(&answers.iter().map(|(p, d)| answer(*p, *d)).collect::<Vec<_>>());
        assert!(!all(&[]));
        assert!(all(&[(10, 0)]) && !all(&[(11, 0)]));
        assert!(!all(&[(0, 5000), (0, 5000), (0, 5000)]), "too few answers for a steady state");
        assert!(all(&[(0, 9000), (0, 5000), (0, 5010), (0, 4990), (0, 5000)]));
        assert!(!all(&[(0, 5300), (0, 5200), (0, 5100), (0, 5000)]), "still being written");
        assert!(!all(&[(0, 5000), (0, 5000), (0, 5000), (11, 5000)]), "both amounts must be steady or small");
        assert!(is_settled(&[Vec::new()]), "a server without answers counts as settled");
        let history = |amounts: &[u64]| {
            let answer = |amount| vec![Backlog { what: "history", amount, done: Done::SteadyBelow(5000) }];
            is_settled(&amounts.iter().map(|amount| answer(*amount)).collect::<Vec<_>>())
        };
        assert!(history(&[0]) && history(&[262; 4]) && !history(&[262; 3]), "an idle server keeps this much history");
        assert!(!history(&[900, 700, 500, 300]) && !history(&[5000; 4]), "the server is still purging");
    }
}
