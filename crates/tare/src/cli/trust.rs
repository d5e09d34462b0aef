//! A study is a program: it names binaries that run as anyone who runs it. One that is someone else's, or that others
//! could exchange, is asked about.

use super::{Exit, Problem};
use std::path::Path;
use tare_files::{FilesError, Trust};

/// Whose studies and results are run: this user's own and root's, or, where the user says so, anyone's.
pub fn whose(trusted: bool) -> Trust {
    if trusted { Trust::Anyone } else { Trust::Own { caller: sudo_user() } }
}

/// What is not run because others have, or may have had, a hand in it.
pub fn refused(error: &FilesError) -> Problem {
    Problem::new(Exit::Usage, format!("not run: {error}"))
        .at(error.path().display().to_string())
        .expected(
            "studies and results of your own, in folders that no one else can exchange: they name programs, and these \
             run as you",
        )
        .advice(
            "use a place of your own; or read the study, and when you trust it and all who may write there, repeat the \
             command with --trust",
        )
}

/// Why a trial does not go on where others have put another folder in the place of the results. The run stops.
pub fn exchanged(path: &Path) -> Problem {
    Problem::new(Exit::Machine, "the results directory was exchanged for another one while the run worked in it")
        .at(path.display().to_string())
        .expected("the folder that the run has open, under its name until the run has ended")
        .advice("look at who may write to the folder above it; put it back and repeat the command with --resume")
}

/// Who called sudo: what is theirs they could as well have given to sudo.
fn sudo_user() -> Option<u32> {
    rustix::process::geteuid().is_root().then(|| std::env::var("SUDO_UID").ok()?.parse().ok()).flatten()
}
