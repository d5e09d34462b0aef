//! The files of the tree, read and parsed once, and what rules find in them.

use std::{fmt, fs, io, path::Path};

/// A text file of the tree.
pub struct File {
    /// Relative to the top of the tree, with `/`.
    pub path: String,
    /// The whole content, as stored on disk.
    pub text: String,
    /// The syntax tree; none if the file is not Rust, or does not parse (which the compiler reports).
    pub syntax: Option<syn::File>,
}

/// Every text file that belongs to the project.
#[derive(Default)]
pub struct Tree {
    /// The files, sorted by path.
    pub files: Vec<File>,
}

impl File {
    fn new(path: String, text: String) -> Self {
        let syntax = if path.ends_with(".rs") { syn::parse_file(&text).ok() } else { None };
        Self { path, text, syntax }
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is a Rust source file.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it contains only tests, judged by its folder or name.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("_tests.rs") || self.path.ends_with("/tests.rs")
    }
}

impl Tree {
    /// Reads all text files below `root`, except those that `.gitignore` excludes.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let walk = ignore::WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .git_global(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for entry in walk {
            let entry = entry.map_err(io::Error::other)?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let path = entry.path().strip_prefix(root).map_err(io::Error::other)?.to_string_lossy().into_owned();
            if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                files.push(File::new(path, text));
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// An artificial tree of paths and texts, for the tests of rules.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<_> = files.iter().map(|(path, text)| File::new((*path).into(), (*text).into())).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// The Rust files, in the order of their paths.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The file at a path relative to the top.
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|i| &self.files[i])
    }
}

/// A violation of a rule, printed as `file:line: what is wrong and what to do`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the top of the tree, with `/`.
    pub path: String,
    /// Counted from 1; also 1 if it is about the whole file.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl Finding {
    /// A finding at a line of a file.
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Places of findings, for the tests of rules.
#[cfg(test)]
pub(crate) fn places(found: &[Finding]) -> Vec<String> {
    found.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_and_binary_files_are_not_in_the_tree() {
        let top = std::env::temp_dir().join(format!("tidy-tree-{}", std::process::id()));
        fs::create_dir_all(top.join("target")).unwrap();
        for (name, bytes) in [(".gitignore", &b"/target\n"[..]), ("target/a.rs", b"x"), ("b.bin", &[0xff]), ("c", b"c")]
        {
            fs::write(top.join(name), bytes).unwrap();
        }
        let tree = Tree::read(&top).unwrap();
        fs::remove_dir_all(&top).unwrap();
        assert_eq!(tree.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), [".gitignore", "c"]);
        assert_eq!(tree.get("c").map(|file| file.text.as_str()), Some("c"));
    }
}
