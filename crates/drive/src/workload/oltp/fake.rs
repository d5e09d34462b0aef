//! A session that records what it was sent, and fails where a test requests it.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tare_cpuset::ThreadRef;
use tare_engine::{Code, Param, Session, SqlError, SqlErrorKind, StatementId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    Prepare(String),
    Execute(String, Vec<Value>),
    Run(String),
    Query(String),
    Load(String, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Int(i64),
    Text(String),
}

pub(super) fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        Value::Text(text) => panic!("{text}"),
    }
}

#[derive(Debug, Default)]
struct State {
    sent: Vec<Sent>,
    /// Part of a text, and the error of the next statement that contains it.
    failures: Vec<(String, SqlErrorKind, Code)>,
    answer: Vec<Option<String>>,
    changed: Option<u64>,
    /// Parts of texts whose statements find no row.
    missing: Vec<&'static str>,
    sessions: usize,
    limits: Vec<Option<Duration>>,
}

/// Creates sessions, which write into one common log.
#[derive(Debug, Clone, Default)]
pub(super) struct Fake(Arc<Mutex<State>>);

struct FakeSession {
    fake: Fake,
    prepared: Vec<String>,
}

impl Fake {
    /// The next statement that contains `part` fails, once.
    pub(super) fn failing(self, part: &str, kind: SqlErrorKind) -> Self {
        self.state().failures.push((part.to_owned(), kind, Code::Number(7)));
        self
    }

    /// The next statement that contains `part` fails with this code, once.
    pub(super) fn refusing(self, part: &str, code: Code) -> Self {
        self.state().failures.push((part.to_owned(), SqlErrorKind::Other, code));
        self
    }

    pub(super) fn answering(self, row: Vec<Option<String>>) -> Self {
        self.state().answer = row;
        self
    }

    /// Every statement returns or changes this many rows instead of one.
    pub(super) fn changing(self, rows: u64) -> Self {
        self.state().changed = Some(rows);
        self
    }

    /// Every statement that contains `part` finds no row.
    pub(super) fn missing(self, part: &'static str) -> Self {
        self.state().missing.push(part);
        self
    }

    pub(super) fn session(&self) -> Box<dyn Session> {
        self.state().sessions += 1;
        Box::new(FakeSession { fake: self.clone(), prepared: Vec::new() })
    }

    pub(super) fn sessions(&self) -> usize {
        self.state().sessions
    }

    /// The time limits that its sessions were given.
    pub(super) fn limits(&self) -> Vec<Option<Duration>> {
        self.state().limits.clone()
    }

    pub(super) fn sent(&self) -> Vec<Sent> {
        std::mem::take(&mut self.state().sent)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn hear(&self, sent: Sent, text: &str) -> Result<u64, SqlError> {
        let mut state = self.state();
        state.sent.push(sent);
        match state.failures.iter().position(|(part, ..)| text.contains(part)) {
            Some(index) => {
                let (_, kind, code) = state.failures.remove(index);
                Err(SqlError { kind, code: Some(code), message: "refused".into() })
            }
            None if state.missing.iter().any(|part| text.contains(part)) => Ok(0),
            // One, or the number of rows after VALUES.
            None => Ok(state.changed.unwrap_or(1 + text.matches("),(").count() as u64)),
        }
    }
}

impl Session for FakeSession {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError> {
        self.fake.hear(Sent::Prepare(sql.into()), sql)?;
        self.prepared.push(sql.into());
        Ok(StatementId(self.prepared.len() - 1))
    }

    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError> {
        let sql = self.prepared[statement.0].clone();
        assert_eq!(sql.matches('?').count(), params.len(), "{sql}");
        let values = params
            .iter()
            .map(|param| match param {
                Param::Int(number) => Value::Int(*number),
                Param::Text(text) => Value::Text((*text).into()),
            })
            .collect();
        let received = self.fake.hear(Sent::Execute(sql.clone(), values), &sql)?;
        Ok(self.fake.state().changed.unwrap_or(match params {
            _ if received == 0 => 0,
            // A table of 1000 rows.
            [Param::Int(first), Param::Int(last)] if !sql.contains("SUM") => {
                (last.min(&1000) - first + 1).unsigned_abs()
            }
            _ => received,
        }))
    }

    fn run(&mut self, sql: &str) -> Result<u64, SqlError> {
        self.fake.hear(Sent::Run(sql.into()), sql)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.fake.hear(Sent::Query(sql.into()), sql)?;
        Ok(vec![self.fake.state().answer.clone()])
    }

    fn load(&mut self, sql: &str, feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        let mut rows = Vec::new();
        let fed = feed(&mut rows);
        let rows = String::from_utf8(rows).unwrap();
        let taken = rows.lines().count() as u64;
        self.fake.hear(Sent::Load(sql.into(), rows), sql)?;
        let lost = |e: io::Error| SqlError::own(SqlErrorKind::Lost, e.to_string());
        fed.map(|()| self.fake.state().changed.unwrap_or(taken)).map_err(lost)
    }

    fn set_timeout(&mut self, limit: Option<Duration>) -> Result<(), SqlError> {
        self.fake.state().limits.push(limit);
        Ok(())
    }

    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        Ok(None)
    }
}
