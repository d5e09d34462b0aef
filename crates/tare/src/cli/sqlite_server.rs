//! `tare sqlite-server` (hidden): the embedded engine as a process of its own. Its errors go to the server's log.

use super::{Exit, Problem};
use tare_engine::sqlite::{ServeArgs, serve};

/// Serves the embedded engine until SIGTERM.
///
/// # Errors
/// What kept it from starting.
pub fn run(args: &ServeArgs) -> Result<Exit, Problem> {
    serve(args).map(|()| Exit::Done).map_err(|e| Problem::new(Exit::Machine, e.to_string()))
}
