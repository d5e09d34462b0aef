//! Reads option files of servers and clients. They are read here because a private server must not use the paths and
//! ports that such a file also sets.

use crate::EngineError;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Limit on an option file and everything that it includes, bytes.
const LARGEST: u64 = 1 << 20;
/// Least size at which a file or a folder entry counts: an empty file could otherwise be included without end.
const OF_A_FILE: u64 = 1 << 10;
const OF_AN_ENTRY: u64 = 1 << 6;
const DEPTH: usize = 8;
/// The permission bit that lets users write who are neither its owner nor in its group.
const ANYONE_WRITES: u32 = 0o002;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionFile {
    /// Option -> value, the last one of each; a flag has an empty value.
    pub options: BTreeMap<String, String>,
    /// File and line (from 1) of each option.
    pub places: BTreeMap<String, (PathBuf, usize)>,
    /// Options that a private server must not be given, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
    /// The file and its included files, in the order in which they were read.
    pub files: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OptionLine {
    /// `[group]`: whether the group applies to this server.
    Group(bool),
    /// A name, with `_` in place of `-`, and its value; a flag has no value.
    Option(String, Option<String>),
    /// An included file, and whether it must exist.
    File(PathBuf, bool),
    Folder(PathBuf, &'static str),
    Empty,
}

/// Reads a file and what it includes. `read` parses a line; `placed` returns the reason why a private server is not
/// given an option with this value.
pub(crate) fn read_file(
    path: &Path,
    in_group: bool,
    read: &dyn Fn(&str) -> OptionLine,
    placed: &dyn Fn(&str, &str) -> Option<&'static str>,
) -> Result<OptionFile, EngineError> {
    let mut found = OptionFile::default();
    let mut reader = Reader { read, placed, left: LARGEST, found: &mut found };
    reader.file(path, in_group, DEPTH)?;
    Ok(found)
}

struct Reader<'a> {
    read: &'a dyn Fn(&str) -> OptionLine,
    placed: &'a dyn Fn(&str, &str) -> Option<&'static str>,
    /// What remains of [`LARGEST`].
    left: u64,
    found: &'a mut OptionFile,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, in_group: bool, depth: usize) -> Result<(), EngineError> {
        let unreadable = |reason: String| EngineError::OptionFile { path: path.to_owned(), reason };
        // A link is followed: distributions make my.cnf one.
        let file = tare_files::open_named(path).map_err(|e| unreadable(e.to_string()))?;
        let file = file.ok_or_else(|| unreadable("there is no such file".to_owned()))?;
        // An option may name a plugin, so it is refused where MariaDB and MySQL ignore it.
        if file.metadata().is_ok_and(|found| found.mode() & ANYONE_WRITES != 0) {
            return Err(unreadable(format!("any user may change it: chmod o-w {}", path.display())));
        }
        let bytes = tare_files::read_all(file, path, LARGEST).map_err(|e| unreadable(e.to_string()))?;
        self.take(path, OF_A_FILE.max(bytes.len() as u64))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.found.files.push(path.to_owned());
        let mut ours = in_group;
        for (number, line) in text.lines().enumerate() {
            match (self.read)(line.trim()) {
                OptionLine::Group(for_us) => ours = for_us,
                OptionLine::Option(name, value) if ours => {
                    self.option(name, value.unwrap_or_default(), (path.to_owned(), number + 1));
                }
                OptionLine::File(other, must_exist) => {
                    let other = next_to(path, &other);
                    if must_exist || other.exists() {
                        self.deeper(&other, in_group, depth)?;
                    }
                }
                OptionLine::Folder(folder, ending) => {
                    let mut files = Vec::new();
                    for entry in fs::read_dir(next_to(path, &folder)).into_iter().flatten().flatten() {
                        self.take(path, OF_AN_ENTRY)?;
                        files.extend(Some(entry.path()).filter(|file| file.to_string_lossy().ends_with(ending)));
                    }
                    files.sort();
                    files.iter().try_for_each(|file| self.deeper(file, in_group, depth))?;
                }
                OptionLine::Option(..) | OptionLine::Empty => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, path: &Path, bytes: u64) -> Result<(), EngineError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let reason = format!("exceeds {} KiB together with the files that it includes", LARGEST >> 10);
            EngineError::OptionFile { path: path.to_owned(), reason }
        })?;
        Ok(())
    }

    fn deeper(&mut self, path: &Path, in_group: bool, depth: usize) -> Result<(), EngineError> {
        let Some(depth) = depth.checked_sub(1) else {
            let reason = format!("is nested more than {DEPTH} includes deep: check for files that include each other");
            return Err(EngineError::OptionFile { path: path.to_owned(), reason });
        };
        self.file(path, in_group, depth)
    }

    fn option(&mut self, name: String, value: String, place: (PathBuf, usize)) {
        match (self.placed)(&name, &value) {
            Some(reason) => self.found.left_out.push((name, reason)),
            None => {
                self.found.places.insert(name.clone(), place);
                self.found.options.insert(name, value);
            }
        }
    }
}

/// The path of a file that another one names: relative to the folder of the latter.
fn next_to(path: &Path, other: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).join(other)
}

/// A line of an option file of MariaDB or MySQL.
pub(crate) fn my_cnf_line(text: &str, is_ours: &dyn Fn(&str) -> bool) -> OptionLine {
    if text.is_empty() || text.starts_with(['#', ';']) {
        return OptionLine::Empty;
    }
    if let Some(group) = text.strip_prefix('[') {
        return OptionLine::Group(is_ours(group.split(']').next().unwrap_or_default().trim()));
    }
    if let Some(folder) = text.strip_prefix("!includedir") {
        return OptionLine::Folder(PathBuf::from(folder.trim()), ".cnf");
    }
    if let Some(file) = text.strip_prefix("!include") {
        return OptionLine::File(PathBuf::from(file.trim()), true);
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(unquoted(value))),
        None => (text.split(" #").next().unwrap_or(text), None),
    };
    OptionLine::Option(name.trim().replace('-', "_"), value)
}

/// A value without a trailing comment and without its quotes, escape sequences replaced.
pub(crate) fn unquoted(value: &str) -> String {
    let value = value[..comment_start(value)].trim();
    let inside = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let mut text = String::new();
    let mut chars = inside.unwrap_or(value).chars();
    while let Some(char) = chars.next() {
        match (char, if char == '\\' { chars.next() } else { None }) {
            ('\\', Some('s')) => text.push(' '),
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('r')) => text.push('\r'),
            ('\\', Some('b')) => text.push('\u{8}'),
            ('\\', Some('\\')) => text.push('\\'),
            (char, other) => text.extend([char].into_iter().chain(other)),
        }
    }
    text
}

/// Where a comment begins: at a `#` after a space and outside quotes.
fn comment_start(value: &str) -> usize {
    let (mut quote, mut escaped) = (None, false);
    let starts = |(at, char): (usize, char)| {
        if !escaped && (char == '"' || char == '\'') && quote.is_none_or(|open| open == char) {
            quote = if quote.is_none() { Some(char) } else { None };
        }
        escaped = char == '\\' && !escaped;
        (char == '#' && quote.is_none() && value[..at].ends_with(char::is_whitespace)).then_some(at)
    };
    value.char_indices().find_map(starts).unwrap_or(value.len())
}

/// Whether `found`, as the server prints it, means the same as `requested`: numbers with K, M, G, T (powers of 1024),
/// switches in all spellings, lists as subsets ("a=on" in a longer list), otherwise the same word in any case.
pub fn same_value(requested: &str, found: &str) -> bool {
    let (requested, found) = (requested.trim(), found.trim());
    if requested.eq_ignore_ascii_case(found) {
        return true;
    }
    if let (Some(requested), Some(found)) = (quantity(requested), quantity(found)) {
        return requested == found;
    }
    if let (Some(requested), Some(found)) = (switch(requested), switch(found)) {
        return requested == found;
    }
    let has = |item: &str| found.split(',').any(|have| have.trim().eq_ignore_ascii_case(item.trim()));
    requested.contains(['=', ',']) && requested.split(',').all(has)
}

/// The bytes that an option of this name, in any spelling, is set to; none if it is not set.
pub(crate) fn bytes_of(options: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    let plain = |option: &str| option.trim_start_matches('-').replace('-', "_").to_lowercase();
    bytes(options.iter().rfind(|(option, _)| plain(option) == name)?.1)
}

/// A quantity of bytes as options are written: with K, M, G or T (powers of 1024); PostgreSQL writes kB, MB, GB.
pub fn bytes(text: &str) -> Option<u64> {
    quantity(text.trim().trim_end_matches('B')).map(|bytes| bytes as u64)
}

fn quantity(text: &str) -> Option<f64> {
    let (digits, unit) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1u64 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        (at, 't' | 'T') => (&text[..at], 1 << 40),
        _ => (text, 1),
    };
    digits.parse::<f64>().ok().filter(|quantity| quantity.is_finite()).map(|quantity| quantity * unit as f64)
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_servers_read_them() {
        let read = [
            ("  plain # a comment", "plain"),
            ("no#comment", "no#comment"),
            ("'64 # MB'  # it's one", "64 # MB"),
            (r#""say "so"""#, "say \"so\""),
            (r#""a\"b" # c"#, "a\\\"b"),
            (r"a\sb\\c\q", r"a b\c\q"),
            ("\"open", "\"open"),
            ("", ""),
        ];
        for (value, expected) in read {
            assert_eq!(unquoted(value), expected, "{value}");
        }
    }

    #[test]
    fn option_files_that_include_each_other_are_read_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let ours = |text: &str| my_cnf_line(text, &|_| true);
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("folder/note.txt"), "").unwrap();
        fs::write(path("empty.cnf"), "").unwrap();
        for (line, times, fits) in [("!include empty.cnf\n", 1_100, false), ("!includedir folder\n", 14_000, false)]
            .into_iter()
            .chain([("!include empty.cnf\n", 900, true), ("!includedir folder\n", 9_000, true)])
        {
            fs::write(path("my.cnf"), line.repeat(times)).unwrap();
            let read = read_file(&path("my.cnf"), true, &ours, &|_, _| None);
            let refused = read.map(drop).map_err(|error| error.to_string().contains("exceeds 1024 KiB"));
            assert_eq!(refused, if fits { Ok(()) } else { Err(true) }, "{times} times {line}");
        }
    }

    #[test]
    fn an_option_file_that_any_user_may_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("my.cnf"), "!include other.cnf\n").unwrap();
        fs::write(path("other.cnf"), "plugin_load_add = x.so\n").unwrap();
        for name in ["my.cnf", "other.cnf"] {
            for (mode, refused) in [(0o646, true), (0o664, false), (0o644, false)] {
                fs::set_permissions(path(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
                let read = read_file(&path("my.cnf"), true, &|text: &str| my_cnf_line(text, &|_| true), &|_, _| None);
                let error = read.err().map(|error| error.to_string());
                assert_eq!(error.is_some(), refused, "{name} {mode:o}: {error:?}");
                assert!(error.is_none_or(|error| error.contains("chmod o-w") && error.contains(name)), "{name}");
            }
        }
    }

    #[test]
    fn the_spellings_of_one_value_are_the_same_and_others_are_not() {
        for (requested, found) in [
            ("256M", "268435456"),
            ("1g", "1073741824"),
            ("0.5", "0.500000"),
            ("on", "1"),
            ("OFF", "0"),
            ("o_direct", "O_DIRECT"),
            ("mrr=on", "index_merge=on,mrr=on,firstmatch=off"),
        ] {
            assert!(same_value(requested, found), "{requested} {found}");
        }
        for (requested, found) in
            [("100M", "134217728"), ("on", "0"), ("mrr=on", "mrr=off"), ("WAL", "delete"), ("2", "ON")]
        {
            assert!(!same_value(requested, found), "{requested} {found}");
        }
    }
}
