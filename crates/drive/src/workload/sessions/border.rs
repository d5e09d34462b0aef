//! BEGIN and COMMIT of one session.

use tare_engine::{Session, SqlError, SqlErrorKind, StatementId};

/// BEGIN or COMMIT: prepared like everything else, or as text where the server cannot prepare it.
#[derive(Debug, Clone, Copy)]
pub struct Border {
    pub sql: &'static str,
    prepared: Option<StatementId>,
}

impl Border {
    pub fn prepare(session: &mut dyn Session, sql: &'static str) -> Result<Self, SqlError> {
        match session.prepare(sql) {
            Ok(statement) => Ok(Self { sql, prepared: Some(statement) }),
            Err(error) if error.kind == SqlErrorKind::NotPreparable => Ok(Self { sql, prepared: None }),
            Err(error) => Err(error),
        }
    }

    /// One that goes as text every time.
    pub fn of_text(sql: &'static str) -> Self {
        Self { sql, prepared: None }
    }

    pub fn send(&self, session: &mut dyn Session) -> Result<(), SqlError> {
        match self.prepared {
            Some(statement) => session.execute(statement, &[]).map(drop),
            None => session.run(self.sql).map(drop),
        }
    }
}

/// Leaves a failed transaction. That there is none any more (a deadlock has already rolled it back) is no error.
pub fn roll_back(session: &mut dyn Session) -> Result<(), SqlError> {
    match session.run("ROLLBACK") {
        Err(source) if source.kind == SqlErrorKind::Lost => Err(source),
        _ => Ok(()),
    }
}
