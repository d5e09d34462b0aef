//! Why a trial failed: whether its server has died, and whether the kernel killed a process for lack of memory.

use super::TrialError;
use rustix::process::{Resource, getrlimit};
use std::time::{Duration, Instant};
use tare_drive::workload::LoadError;
use tare_engine::Server;
use tare_noise::OomKills;

/// How much later than its connections the process of a server may end.
pub(super) const END_AFTER_CONNECTIONS: Duration = Duration::from_secs(2);
/// How often to check whether it has ended.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When a record was begun, and how many processes the kernel had killed for lack of memory then.
pub(super) struct Began {
    pub(super) clock: Instant,
    memory: Option<OomKills>,
}

impl Began {
    pub(super) fn now() -> Self {
        Self { clock: Instant::now(), memory: OomKills::here() }
    }

    /// The reason of a failure. Server and clients are in the control group of the trial, unless the study limits the
    /// server's memory.
    pub(super) fn reason(&self, error: &TrialError) -> String {
        match self.memory.as_ref().and_then(OomKills::since) {
            Some(why) => format!("{error}\n{why}"),
            None => error.to_string(),
        }
    }
}

/// The error of a load on a server that tare started.
pub(super) fn server_error(error: LoadError, server: &mut dyn Server) -> TrialError {
    match error {
        // On an interruption or a timeout, the server is killed as well.
        e @ (LoadError::Interrupted | LoadError::Ended(_)) => e.into(),
        e => {
            let starved = server.lack_of_memory();
            // Only the log of a server that died says why. PostgreSQL survives the end of one of its processes.
            if starved.is_none() && survives(&e, server) {
                let error = TrialError::from(e);
                return if server.is_ours() { error.with_place(server.data()) } else { error };
            }
            let limited = |s| format!("{e}; here a process that uses {s} s of CPU time is ended (ulimit -t)");
            let (reason, otherwise) = match starved {
                Some(why) => (format!("{e}; {why}"), "one of its processes was killed"),
                None => {
                    (getrlimit(Resource::Cpu).current.map_or(e.to_string(), limited), "its exit status is not known")
                }
            };
            let ended = server.exit_status().unwrap_or_else(|| otherwise.to_owned());
            TrialError::ServerDied { ended, reason, tail: server.log_tail(12).join("\n") }
        }
    }
}

/// The connections of a server that dies are closed before its process has ended.
fn survives(error: &LoadError, server: &mut dyn Server) -> bool {
    let until = Instant::now() + if error.is_connection_lost() { END_AFTER_CONNECTIONS } else { Duration::ZERO };
    loop {
        match server.is_alive() {
            true if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            alive => return alive,
        }
    }
}
