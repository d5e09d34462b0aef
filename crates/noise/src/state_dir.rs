//! The state directory, which stores the journal between runs.

use crate::error::{NoiseError, Result};
use std::ffi::OsString;
use std::path::PathBuf;

/// State directory of root. Other users can search it, to see whether something is left to restore (see
/// [`crate::Journal::pending`]); the journal itself has mode 0600.
pub(crate) const ROOT_STATE_DIR: &str = "/var/lib/tare";

/// The state directory: `TARE_STATE_DIR`; otherwise `/var/lib/tare` for root, and `$XDG_STATE_HOME/tare/HOST` or
/// `$HOME/.local/state/tare/HOST` for other users, with the name of this host: machines may share a home, and none may
/// take the state of a run on another for that of a killed run. It need not exist; it is created with the first write.
///
/// # Errors
/// [`NoiseError::NoStateDir`] when none of these variables is set to an absolute path.
pub fn default_state_dir() -> Result<PathBuf> {
    state_dir_from(|name| std::env::var_os(name), rustix::process::geteuid().is_root(), &host_name())
}

/// The name of this host.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn state_dir_from(variable: impl Fn(&str) -> Option<OsString>, root: bool, host: &str) -> Result<PathBuf> {
    // The XDG specification requires that relative and empty paths are ignored; here this applies to all variables.
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|p| p.is_absolute());
    if let Some(dir) = absolute("TARE_STATE_DIR") {
        return Ok(dir);
    }
    if root {
        return Ok(PathBuf::from(ROOT_STATE_DIR));
    }
    absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .map(|base| base.join("tare").join(folder_of(host)))
        .ok_or(NoiseError::NoStateDir)
}

/// A host's name as that of a folder: root can give it any name, and a container may have none.
fn folder_of(host: &str) -> String {
    let name = host.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.', "_");
    if name.trim_matches('.').is_empty() { "localhost".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir_on(host: &str, variables: &[(&str, &str)], root: bool) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        state_dir_from(find, root, host).ok().map(|p| p.display().to_string())
    }

    fn dir(variables: &[(&str, &str)], root: bool) -> Option<String> {
        dir_on("node-1", variables, root)
    }

    #[test]
    fn order_of_places() {
        let all = [("HOME", "/h"), ("XDG_STATE_HOME", "/x"), ("TARE_STATE_DIR", "/t")];
        assert_eq!(dir(&all, false).as_deref(), Some("/t"));
        assert_eq!(dir(&all, true).as_deref(), Some("/t"));
        assert_eq!(dir(&all[..2], true).as_deref(), Some(ROOT_STATE_DIR));
        assert_eq!(dir(&all[..2], false).as_deref(), Some("/x/tare/node-1"));
        assert_eq!(dir(&all[..1], false).as_deref(), Some("/h/.local/state/tare/node-1"));
        assert_eq!(dir(&[("HOME", "relative")], false), None);
    }

    #[test]
    fn machines_that_share_a_home_have_their_own_state() {
        let on = |host| dir_on(host, &[("HOME", "/h")], false).unwrap();
        assert_ne!(on("node-1"), on("node-2"));
        for (host, folder) in
            [("..", "localhost"), ("", "localhost"), ("a/../b", "a_.._b"), ("n.example.org", "n.example.org")]
        {
            assert_eq!(on(host), format!("/h/.local/state/tare/{folder}"));
        }
    }
}
