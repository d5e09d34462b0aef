//! The transactions of one connection, and a statement that is ready to be sent: prepared on the server, or as text
//! into which its values are written.

use super::settings::SendMode;
use super::statements::StatementTimes;
use super::{OltpError, SessionError};
use std::fmt::Write;
use tare_engine::{Dialect, Param, Session, SqlError, StatementId};
use tare_load::{Queries, Random};

pub(super) trait Work: Send {
    /// Runs one transaction, or as much of it as succeeds; adds the sent statements to `sent`.
    fn attempt(&mut self, session: &mut dyn Session, random: &mut Random, sent: &mut Queries) -> Result<(), OltpError>;

    /// Whether a transaction is open on the server after an attempt has failed.
    fn leaves_open(&self) -> bool {
        false
    }

    /// Whether a duplicate key is a normal collision between clients, so that the event is run again, as in sysbench;
    /// otherwise it is an error.
    fn may_collide(&self) -> bool {
        false
    }

    /// Its statement times; None if it has a single statement.
    fn times(&mut self) -> Option<&mut StatementTimes> {
        None
    }

    /// Sends buffered rows at the end of a run; errors and counts are ignored.
    fn finish(&mut self, _session: &mut dyn Session) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSlot {
    pub index: usize,
    pub clients: usize,
}

impl ClientSlot {
    /// The slot of a single connection.
    pub const ONLY: Self = Self { index: 0, clients: 1 };
}

#[derive(Debug)]
pub(super) enum Ready {
    Prepared(StatementId),
    Text(Box<[Box<str>]>),
}

impl Ready {
    pub(super) fn new(
        session: &mut dyn Session,
        sql: &str,
        placeholders: usize,
        way: SendMode,
        dialect: &dyn Dialect,
    ) -> Result<Self, OltpError> {
        match way {
            SendMode::Prepared => {
                Ok(Self::Prepared(session.prepare(sql).map_err(|source| SessionError::statement(sql, source))?))
            }
            SendMode::Text => Ok(Self::Text(split(sql, placeholders, dialect))),
        }
    }

    /// Sends the statement with its values; `text` is a buffer.
    #[inline]
    pub(super) fn send(
        &self,
        session: &mut dyn Session,
        values: &[Param<'_>],
        text: &mut String,
    ) -> Result<u64, SqlError> {
        match self {
            Self::Prepared(statement) => session.execute(*statement, values),
            Self::Text(parts) => {
                write(text, parts, values);
                session.run(text)
            }
        }
    }
}

fn split(sql: &str, placeholders: usize, dialect: &dyn Dialect) -> Box<[Box<str>]> {
    let mut rest = sql;
    let mut parts = Vec::with_capacity(placeholders + 1);
    for number in 1..=placeholders {
        // In every statement of these workloads each placeholder occurs once, in order.
        let Some((before, after)) = rest.split_once(&dialect.placeholder(number)) else { break };
        parts.push(before.into());
        rest = after;
    }
    parts.push(rest.into());
    parts.into()
}

fn write(text: &mut String, parts: &[Box<str>], values: &[Param<'_>]) {
    text.clear();
    for (index, part) in parts.iter().enumerate() {
        text.push_str(part);
        match values.get(index) {
            // Writing to a String does not fail.
            Some(Param::Int(number)) => {
                let _ = write!(text, "{number}");
            }
            Some(Param::Text(value)) => quote(text, value),
            None => {}
        }
    }
}

/// A quoted value. The values of these workloads are digits and dashes, which need no escape on any server.
fn quote(text: &mut String, value: &str) {
    text.push('\'');
    for letter in value.chars() {
        if letter == '\'' {
            text.push('\'');
        }
        text.push(letter);
    }
    text.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{Engine, Mariadb, Postgresql};

    #[test]
    fn values_are_written_where_their_placeholders_stood() {
        for (engine, sql) in
            [(&Mariadb as &dyn Engine, "UPDATE t SET c=? WHERE id=?"), (&Postgresql, "UPDATE t SET c=$1 WHERE id=$2")]
        {
            let parts = split(sql, 2, engine.dialect());
            let mut text = "of the statement before".to_owned();
            write(&mut text, &parts, &[Param::Text("1-2'3"), Param::Int(-7)]);
            assert_eq!(text, "UPDATE t SET c='1-2''3' WHERE id=-7", "{}", engine.name());
        }
        let ten: Vec<String> = (1..=10).map(|number| format!("${number}")).collect();
        let parts = split(&ten.join(","), 10, Postgresql.dialect());
        let mut text = String::new();
        write(&mut text, &parts, &(0..10).map(Param::Int).collect::<Vec<_>>());
        assert_eq!(text, "0,1,2,3,4,5,6,7,8,9", "$10 is not $1 and a 0");
    }
}
