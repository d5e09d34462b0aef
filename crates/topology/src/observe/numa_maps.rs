//! Parses `/proc/<pid>/numa_maps`: one line per mapping, with its policy, its file and the nodes of its pages.

use crate::{MemoryPolicy, Nodes};
use std::fs::File;
use std::io::{self, BufRead, BufReader};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Its first address, to look up its size in /proc/PID/maps.
    pub start: u64,
    /// The policy of its pages in the kernel's words, such as `interleave:0-1` or `weighted interleave:0-1`.
    pub policy: String,
    /// The file it maps, with blanks escaped; `None` for memory without a file.
    pub file: Option<String>,
    /// Whether it is the stack of the process's first thread.
    pub stack: bool,
    pub page_bytes: u64,
    /// Number of pages on each node, by OS node number.
    pub pages: Vec<(u32, u64)>,
}

/// All mappings, in order. Unknown lines are skipped, because the format differs between kernels.
///
/// The kernel walks every page table for this, holding the process's memory map for reading: milliseconds for each
/// gigabyte.
pub(crate) fn mappings(path: &str) -> io::Result<impl Iterator<Item = io::Result<Mapping>>> {
    let lines = BufReader::new(File::open(path)?).split(b'\n');
    // File names may have any bytes; the fields that are used are ASCII.
    Ok(lines.filter_map(|line| line.map(|line| mapping(&String::from_utf8_lossy(&line))).transpose()))
}

/// Parses a line: an address, a policy (whose name may contain a blank) and fields such as `N0=5`, a number of pages of
/// size `kernelpagesize_kB`. The kernel escapes blanks in file names, so splitting at blanks is safe.
fn mapping(line: &str) -> Option<Mapping> {
    let (address, rest) = line.split_once(' ')?;
    let start = u64::from_str_radix(address, 16).ok()?;
    let two_words = ["prefer (many)", "weighted interleave"];
    let word = two_words.iter().find(|words| rest.starts_with(**words)).map_or(0, |words| words.len());
    let end = rest[word..].find(' ').map_or(rest.len(), |end| word + end);
    let (policy, fields) = rest.split_at(end);
    let mut found =
        Mapping { start, policy: policy.to_owned(), file: None, stack: false, page_bytes: 4096, pages: Vec::new() };
    for field in fields.split(' ') {
        match field.split_once('=') {
            None => found.stack |= field == "stack",
            Some(("file", path)) => found.file = Some(path.to_owned()),
            Some(("kernelpagesize_kB", kib)) => found.page_bytes = kib.parse::<u64>().ok()?.checked_mul(1024)?,
            Some((key, value)) => {
                let node = key.strip_prefix('N').and_then(|node| node.parse().ok());
                found.pages.extend(node.zip(value.parse().ok()));
            }
        }
    }
    Some(found)
}

/// Parses a policy in the kernel's words: `bind:0-1`, `interleave:0,2`, `weighted interleave:0`, `prefer:1`,
/// `prefer (many):1`, `local`, `default`.
pub(crate) fn policy_of(shown: &str) -> Option<MemoryPolicy> {
    match shown.split_once(':') {
        None if shown == "default" => Some(MemoryPolicy::Default),
        None if shown == "local" => Some(MemoryPolicy::Local),
        Some(("bind", nodes)) => Some(MemoryPolicy::Bind(Nodes::These(nodes.parse().ok()?))),
        Some(("interleave", nodes)) => Some(MemoryPolicy::Interleave(Nodes::These(nodes.parse().ok()?))),
        Some(("weighted interleave", nodes)) => {
            Some(MemoryPolicy::WeightedInterleave(Nodes::These(nodes.parse().ok()?)))
        }
        Some(("prefer" | "prefer (many)", node)) => Some(MemoryPolicy::Preferred(node.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_policy_file_and_pages() {
        let line = "55d0 default file=/a/N0=7 mapped=5 N0=2 N11=3 kernelpagesize_kB=4";
        let file = Some("/a/N0=7".to_owned());
        let expected = Mapping {
            start: 0x55d0,
            policy: "default".to_owned(),
            file,
            stack: false,
            page_bytes: 4096,
            pages: vec![(0, 2), (11, 3)],
        };
        assert_eq!(mapping(line), Some(expected));
        let huge = mapping("7f00 interleave:0-1 anon=2 huge N0=1 N1=1 kernelpagesize_kB=2048").unwrap();
        assert_eq!((huge.policy.as_str(), huge.page_bytes, huge.pages.len()), ("interleave:0-1", 2 << 20, 2));
    }

    #[test]
    fn policies_of_two_words_stay_whole() {
        for policy in ["prefer (many):0-1", "weighted interleave:0,2", "bind=static:0", "local", "default"] {
            let stack = mapping(&format!("7ffe0000 {policy} stack anon=3 N0=3 kernelpagesize_kB=4")).unwrap();
            assert_eq!((stack.policy.as_str(), stack.stack), (policy, true));
            assert_eq!(mapping(&format!("7ffe0000 {policy}")).unwrap().policy, policy);
        }
    }

    #[test]
    fn a_line_that_is_no_mapping_is_skipped() {
        for line in ["", "default", "nonsense here", "7f00 default kernelpagesize_kB=99999999999999999999"] {
            assert_eq!(mapping(line), None, "{line:?}");
        }
    }

    #[test]
    fn every_policy_notation_of_the_kernel_is_parsed() {
        for (shown, expected) in [
            ("default", Some("default")),
            ("local", Some("local")),
            ("bind:0-1,3", Some("bind:0-1,3")),
            ("interleave:0-3", Some("interleave:0-3")),
            ("prefer:1", Some("preferred:1")),
            ("prefer (many):1", Some("preferred:1")),
            ("prefer (many):0-1", None),
            ("bind=static:0", None),
            ("weighted interleave:0,2", Some("weighted-interleave:0,2")),
        ] {
            assert_eq!(policy_of(shown).map(|p| p.to_string()).as_deref(), expected, "{shown}");
        }
    }
}
