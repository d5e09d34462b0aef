//! Option files of servers, read here: a private server must not get the places and ports that such a file names too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::EngineError;

/// The longest option file that is read, bytes.
const LARGEST: u64 = 1 << 20;
/// Files that may include each other.
const DEPTH: usize = 8;

/// What an option file asks of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionFile {
    /// Option -> value, the last one of each; of a flag an empty value.
    pub options: BTreeMap<String, String>,
    /// File and line, from 1, of each of them.
    pub places: BTreeMap<String, (PathBuf, usize)>,
    /// Options that a private server cannot be given, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
    /// The file, and those that it includes, in the order in which they were read.
    pub files: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// `[group]`: whether it is one for this server.
    Group(bool),
    /// A name and its value.
    Option(String, String),
    /// Another file is read in its place; one that must be there, or not.
    File(PathBuf, bool),
    /// All files of a folder with this ending.
    Folder(PathBuf, &'static str),
    /// Nothing, or a comment.
    Empty,
}

/// Reads a file and what it includes. `read` understands a line, `placed` has the reason why a private server is not
/// given an option with this value.
pub(crate) fn read_file(
    path: &Path,
    in_group: bool,
    read: &dyn Fn(&str) -> Line,
    placed: &dyn Fn(&str, &str) -> Option<&'static str>,
) -> Result<OptionFile, EngineError> {
    let mut found = OptionFile::default();
    let mut reader = Reader { read, placed, found: &mut found };
    reader.file(path, in_group, DEPTH)?;
    Ok(found)
}

struct Reader<'a> {
    read: &'a dyn Fn(&str) -> Line,
    placed: &'a dyn Fn(&str, &str) -> Option<&'static str>,
    found: &'a mut OptionFile,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, in_group: bool, depth: usize) -> Result<(), EngineError> {
        let unreadable = |reason: String| EngineError::OptionFile { path: path.to_owned(), reason };
        // A link to it is what distributions make of my.cnf.
        let real = fs::canonicalize(path).map_err(|e| unreadable(e.to_string()))?;
        let bytes = tare_files::read_regular(&real, LARGEST).map_err(|e| unreadable(e.to_string()))?;
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        self.found.files.push(path.to_owned());
        let mut ours = in_group;
        for (number, line) in text.lines().enumerate() {
            match (self.read)(line.trim()) {
                Line::Group(for_us) => ours = for_us,
                Line::Option(name, value) if ours => self.option(name, value, (path.to_owned(), number + 1)),
                Line::File(other, must_exist) => {
                    let other = beside(path, &other);
                    if must_exist || other.exists() {
                        self.deeper(&other, in_group, depth)?;
                    }
                }
                Line::Folder(folder, ending) => {
                    let mut files: Vec<PathBuf> =
                        fs::read_dir(beside(path, &folder)).into_iter().flatten().flatten().map(|e| e.path()).collect();
                    files.retain(|file| file.to_string_lossy().ends_with(ending));
                    files.sort();
                    files.iter().try_for_each(|file| self.deeper(file, in_group, depth))?;
                }
                Line::Option(..) | Line::Empty => {}
            }
        }
        Ok(())
    }

    fn deeper(&mut self, path: &Path, in_group: bool, depth: usize) -> Result<(), EngineError> {
        let Some(depth) = depth.checked_sub(1) else {
            let reason = format!("is included more than {DEPTH} files deep: do they include each other?");
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

/// A file that another one names: relative to its folder.
fn beside(path: &Path, other: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).join(other)
}

/// A value without the quotes around it and a comment behind it.
pub(crate) fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['\'', '"'] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inner.to_owned();
        }
    }
    let comment = value.char_indices().find(|(at, c)| *c == '#' && value[..*at].ends_with(char::is_whitespace));
    value[..comment.map_or(value.len(), |(at, _)| at)].trim().to_owned()
}
