//! What the descriptors of a process stand for.

use std::collections::HashMap;
use std::path::Path;
use tare_cpuset::observe::epoll_watches;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Descriptor {
    Socket,
    File(String),
    Other,
}

/// What is remembered of descriptors while a sample is taken: which of them wait for others, for those stay as they
/// are, and reading them takes long.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    with_socket: HashMap<(i32, i32), bool>,
}

impl Descriptors {
    /// What the argument of a call stands for: registers hold 64 bits of what the caller gave as 32.
    pub fn of(&self, pid: i32, argument: u64) -> Descriptor {
        look(pid, (argument as u32).cast_signed())
    }

    pub fn watches_a_socket(&mut self, pid: i32, argument: u64) -> bool {
        let descriptor = (argument as u32).cast_signed();
        *self.with_socket.entry((pid, descriptor)).or_insert_with(|| {
            let watched = epoll_watches(pid, descriptor).unwrap_or_default();
            watched.into_iter().any(|watched| look(pid, watched) == Descriptor::Socket)
        })
    }
}

fn look(pid: i32, descriptor: i32) -> Descriptor {
    let Ok(target) = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else { return Descriptor::Other };
    if !target.is_absolute() {
        return if target.to_string_lossy().starts_with("socket:") { Descriptor::Socket } else { Descriptor::Other };
    }
    Descriptor::File(named(&target))
}

/// The name of a file; of its folder where it has a number for a name, for there are many of those.
fn named(path: &Path) -> String {
    let part =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().trim_end_matches(" (deleted)").to_owned());
    let name = part(path).unwrap_or_default();
    let is_number = name.contains(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| matches!(c, '0'..='9' | 'A'..='F' | '.' | '_'));
    let folder = path.parent().and_then(part).filter(|_| is_number);
    folder.map_or(name, |folder| format!("{folder}/*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_files_are_named_by_their_folder() {
        for (path, expected) in [
            ("/data/ib_logfile0", "ib_logfile0"),
            ("/data/pg_wal/0000000100000000000000A3", "pg_wal/*"),
            ("/data/base/16384/16401.1", "16384/*"),
            ("/data/sbtest/sbtest1.ibd", "sbtest1.ibd"),
            ("/data/x (deleted)", "x"),
        ] {
            assert_eq!(named(Path::new(path)), expected);
        }
    }
}
