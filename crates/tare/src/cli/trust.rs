//! A study is a program: it names binaries that run as anyone who runs it. One that is someone else's is asked about.

use super::{Exit, Problem};
use std::path::Path;
use tare_files::{FilesError, check_ours};

/// Makes sure that a study or a results directory is this user's own or root's, and closed to the writing of others, or
/// that the user says to trust it.
///
/// # Errors
/// [`Problem`] with whose it is.
pub fn check(path: &Path, trusted: bool) -> Result<(), Problem> {
    if trusted {
        return Ok(());
    }
    // A link of the user's own is as good as what it leads to; what is missing is said by who reads it.
    let Ok(path) = path.canonicalize() else { return Ok(()) };
    match check_ours(&path) {
        Ok(()) => Ok(()),
        Err(FilesError::Foreign { owner, .. }) if Some(owner) == sudo_user() => Ok(()),
        Err(error) => Err(Problem::new(Exit::Usage, format!("not run: {error}"))
            .at(path.display().to_string())
            .expected("a study of your own: it names programs, and they are run as you")
            .advice("read study.toml or the study, and when you trust it, repeat the command with --trust")),
    }
}

/// All that `--resume` believes in a results directory.
///
/// # Errors
/// As [`check`].
pub fn check_results(directory: &Path, trusted: bool) -> Result<(), Problem> {
    check(directory, trusted)?;
    for name in ["study.toml", "plan.json", "trials.jsonl", "logs"] {
        check(&directory.join(name), trusted)?;
    }
    Ok(())
}

/// Who called sudo: what is theirs they could as well have given to sudo.
fn sudo_user() -> Option<u32> {
    rustix::process::geteuid().is_root().then(|| std::env::var("SUDO_UID").ok()?.parse().ok()).flatten()
}
