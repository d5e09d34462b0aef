//! The databases: start, prove ready, connect, stop.

mod session;

pub use session::{Param, Session, SqlError, SqlErrorKind, StatementId};
