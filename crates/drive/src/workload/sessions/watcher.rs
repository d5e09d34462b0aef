//! Binding, watching and stopping while clients work. Between warm-up and samples come the study's own statements, then
//! waiting until the server has finished its pending work for the changes so far; after a sample, clients whose
//! transaction does not end are found, and what the server's threads do meanwhile.

use super::connector::Connections;
use crate::sut::{Connected, LoadAround, Surroundings};
use crate::workload::error::shown;
use crate::workload::fill::in_one_session;
use crate::workload::{LoadContext, LoadError, Progress};
use std::collections::BTreeSet;
use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{ThreadState, state_of};
use tare_engine::{Backlog, Dialect, Done, Session, SqlError};
use tare_load::{ClientThread, Interval, Observer, Reading, Rest, RunPhase};
use tare_results::server::SettledRecord;
use tare_text::count;

/// Binds threads when all clients are connected, watches every sample, and stops on request. Captures, which would
/// disturb a measurement, run in the additional sample after the measured ones.
pub(super) struct Watcher<'w, 'a> {
    pub stage: &'w mut LoadContext<'a>,
    pub connections: &'w Connections,
    pub rest: Rest,
    /// The data of each sample; empty for the additional one.
    pub around: Vec<Surroundings>,
}

impl Watcher<'_, '_> {
    fn is_extra(&self, sample: usize) -> bool {
        sample >= self.stage.counts.samples
    }

    fn settle(&mut self) -> Result<(), LoadError> {
        if !self.stage.settle.is_requested() {
            return Ok(());
        }
        let settled = settle(self.stage)?;
        if self.stage.settled.as_ref().is_none_or(|before| before.settled) {
            self.stage.settled = Some(settled);
        }
        Ok(())
    }
}

impl Observer for Watcher<'_, '_> {
    type Error = LoadError;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), LoadError> {
        let serving = self.connections.serving();
        let connected: Vec<Connected> =
            threads.iter().zip(serving).map(|(thread, serving)| Connected { client: thread.id, serving }).collect();
        self.stage.watch.connected(&connected)?;
        self.stage.host.progress(Progress::WarmUp { seconds: self.stage.counts.warmup_s });
        Ok(())
    }

    fn sample_start(&mut self, sample: usize) -> Result<(), LoadError> {
        if sample == 0 {
            self.settle()?;
        }
        self.stage.host.progress(Progress::Sample { sample, seconds: self.stage.counts.sample_s });
        if self.is_extra(sample) {
            self.stage.host.begin_captures(&self.stage.watch.sides());
        } else {
            let load = match self.rest {
                Rest::AroundEach => LoadAround::Idle,
                Rest::BeforeFirst if sample == 0 => LoadAround::Follows,
                Rest::BeforeFirst | Rest::Never => LoadAround::GoesOn,
            };
            self.stage.watch.start(load)?;
        }
        Ok(())
    }

    fn parts(&self, sample: usize) -> usize {
        self.stage.turns.filter(|_| !self.is_extra(sample)).unwrap_or(1)
    }

    fn part_start(&mut self) -> Result<(), LoadError> {
        self.stage.host.progress(Progress::Turn);
        Ok(())
    }

    fn sample_end(&mut self, sample: usize) -> Result<(), LoadError> {
        let around = if self.is_extra(sample) {
            self.stage.host.end_captures();
            Surroundings::default()
        } else {
            self.stage.watch.finish()?
        };
        self.around.push(around);
        // Announced before connections close: each closed connection ends a PostgreSQL process, which would disturb
        // the last turns of the other server.
        let counts = &self.stage.counts;
        if self.stage.turns.is_some() && sample + 1 == counts.samples + usize::from(counts.extra) {
            self.stage.host.progress(Progress::Stopping);
        }
        Ok(())
    }

    fn reading(&mut self, reading: Reading) -> Result<(), LoadError> {
        let warming_up = matches!(reading.stage, RunPhase::Warmup);
        self.stage.host.progress(Progress::Reading { tps: reading.tps, second: reading.second, warming_up });
        Ok(())
    }

    fn interval(&mut self, interval: Interval) -> Result<(), LoadError> {
        self.stage.host.interval(&interval);
        Ok(())
    }

    fn unanswered(&mut self, clients: &BTreeSet<usize>, patience_s: f64) -> Result<(), LoadError> {
        let serving = self.connections.serving();
        let stuck = clients.iter().map(|client| Stuck::of(*client, serving.get(*client).copied().flatten())).collect();
        Err(LoadError::own(Unanswered { patience_s, stuck }))
    }

    fn abandon(&mut self) {
        self.connections.interrupt();
    }

    fn is_enough(&mut self) -> bool {
        self.stage.host.is_enough()
    }

    fn poll(&mut self) -> Result<(), LoadError> {
        if self.stage.host.interrupted() { Err(LoadError::Interrupted) } else { Ok(()) }
    }
}

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

/// Maximum clients that the error describes.
const DESCRIBED: usize = 3;

/// A client without an answer, and the thread of the server behind its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stuck {
    client: usize,
    /// `None`: the thread is not known, or it has ended.
    serving: Option<(ThreadRef, ThreadState)>,
}

impl Stuck {
    pub(super) fn of(client: usize, serving: Option<ThreadRef>) -> Self {
        Self { client, serving: serving.and_then(|thread| Some((thread, state_of(thread).ok()?))) }
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.serving {
            Some((thread, state)) => write!(f, "client {}: thread {} of the server {state}", self.client, thread.tid),
            None => write!(f, "client {}: its thread of the server is not known", self.client),
        }
    }
}

/// Transactions that were running at the end of a sample got no answer in time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
struct Unanswered {
    patience_s: f64,
    stuck: Vec<Stuck>,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { patience_s, stuck } = self;
        let clients = count(stuck.len(), "client thread");
        write!(f, "no answer on {clients} {patience_s} s after the end of the sample: the server does not answer")?;
        stuck.iter().take(DESCRIBED).try_for_each(|one| write!(f, "; {one}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

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

    #[test]
    fn the_error_says_what_the_threads_of_the_server_do() {
        let (send, thread) = channel();
        let (end, ended) = channel::<()>();
        let sleeper = std::thread::spawn(move || {
            send.send(ThreadRef::of_this_thread()).unwrap();
            let _ = ended.recv();
        });
        let asleep = thread.recv().unwrap();
        // It sleeps some time after its message.
        let stuck = (0..1000).map(|_| Stuck::of(7, Some(asleep))).find(|one| {
            sleep(Duration::from_millis(1));
            one.to_string().contains("sleeps")
        });
        let stuck = vec![stuck.unwrap(), Stuck::of(8, Some(ThreadRef::of_this_thread())), Stuck::of(9, None)];
        let text = Unanswered { patience_s: 30.0, stuck }.to_string();
        let expected = format!(
            "no answer on 3 client threads 30 s after the end of the sample: the server does not answer; client 7: \
             thread {} of the server sleeps",
            asleep.tid
        );
        assert!(text.starts_with(&expected), "{text}");
        assert!(text.contains("runs or waits for a CPU; client 9: its thread of the server is not known"), "{text}");
        drop(end);
        sleeper.join().unwrap();
    }
}
