//! Trust in studies and results. A study names programs that run as the user who runs it, so one that belongs to
//! another user, or that others can replace, is refused without `--trust`.

use super::{Exit, Problem};
use std::path::Path;
use tare_files::{FilesError, Trust};

/// Whose studies and results are run: those of this user and root, or anyone's with `--trust`.
pub(crate) fn whose(trusted: bool) -> Trust {
    if trusted { Trust::Anyone } else { Trust::Own { caller: sudo_user() } }
}

/// The error for a file or directory that other users own or may write to.
pub(crate) fn refused(error: &FilesError) -> Problem {
    Problem::new(Exit::Usage, format!("not run: {error}"))
        .at(error.path().display().to_string())
        .expected(
            "studies and results of your own, in folders that no other user can replace: programs named in them run as \
             you",
        )
        .advice(
            "use a folder of your own; or read the study, and if you trust it and all users who may write there, \
             repeat the command with --trust",
        )
}

/// The error for a results directory that another one, or none, replaced during a run. The run stops.
pub(crate) fn exchanged(path: &Path) -> Problem {
    Problem::new(Exit::Machine, "the results directory was replaced or removed during the run")
        .at(path.display().to_string())
        .expected("the folder that the run has open must keep its name until the run has ended")
        .advice("check who may write to its parent folder; move the original back and repeat the command with --resume")
}

/// The user who called sudo: this user could have run the same files with sudo, so they are trusted.
fn sudo_user() -> Option<u32> {
    rustix::process::geteuid().is_root().then(|| std::env::var("SUDO_UID").ok()?.parse().ok()).flatten()
}
