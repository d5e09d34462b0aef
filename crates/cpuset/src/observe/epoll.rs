//! What an epoll descriptor waits for.

use super::error::ObserveError;
use std::fs;

/// The descriptors that were added to an epoll descriptor of a process: lines `tfd: NUMBER ...` of its own file
/// (proc_pid_fdinfo(5)). Empty for a descriptor of another kind.
///
/// # Errors
/// When the process has ended, the descriptor is not open, or the process belongs to another user.
pub fn epoll_watches(pid: i32, descriptor: i32) -> Result<Vec<i32>, ObserveError> {
    let path = format!("/proc/{pid}/fdinfo/{descriptor}");
    let text = fs::read_to_string(&path).map_err(|e| ObserveError::of_io(&path, &e))?;
    let watched = text.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok());
    Ok(watched.collect())
}
