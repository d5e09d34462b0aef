//! What the name of a load on a command line means.

use std::path::{Path, PathBuf};
use tare_drive::workload::AnyLoad;
use tare_drive::workload::oltp::Workload;
use tare_drive::workload::sql::BUILTIN_NAMES;

/// A load as `--load` and `tare load` take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadName {
    /// A load, a workload, or a file of statements that comes with tare; possibly misspelt.
    Name(String),
    /// A file of statements in TOML, with the data that they need.
    Statements(PathBuf),
    /// A file of SQL or a script of pgbench, which has no data of its own.
    Script(PathBuf),
}

impl LoadName {
    /// A known name is never a file; another one is if it has the ending or the path of one, or if there is one.
    pub fn parse(text: &str) -> Self {
        let is_known =
            AnyLoad::names().contains(&text) || Workload::of_script(text).is_ok() || BUILTIN_NAMES.contains(&text);
        let path = Path::new(text);
        let is_file = || ["toml", "sql"].iter().any(|ending| has(path, ending)) || text.contains('/') || path.is_file();
        if is_known || !is_file() { Self::Name(text.to_owned()) } else { Self::of_file(path) }
    }

    pub fn of_file(path: &Path) -> Self {
        if has(path, "toml") { Self::Statements(path.to_owned()) } else { Self::Script(path.to_owned()) }
    }
}

fn has(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_are_distinguished_by_one_rule() {
        for name in ["read_write", "oltp_read_only", "dbt3", "tpcc", "insert-benchmark", "point_selekt"] {
            assert_eq!(LoadName::parse(name), LoadName::Name(name.to_owned()));
        }
        for path in ["mix.toml", "/tmp/a b/mix.toml"] {
            assert_eq!(LoadName::parse(path), LoadName::Statements(path.into()));
        }
        for path in ["mine.sql", "./mine", "scripts/mine.pgbench"] {
            assert_eq!(LoadName::parse(path), LoadName::Script(path.into()));
        }
        // Tests run in the folder of the crate, which is no file.
        assert_eq!(LoadName::parse("src"), LoadName::Name("src".to_owned()));
        assert_eq!(LoadName::of_file(Path::new("mine")), LoadName::Script("mine".into()));
    }
}
