//! The files that belong to a server program: those in its own tree, never those of another build.

use super::arguments::path;
use crate::data::directories::small_file;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const SYSTEM: &str = "/usr";
/// The entry of CMake's cache that names the source tree.
const SOURCE: &str = "CMAKE_HOME_DIRECTORY:INTERNAL=";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A package of the system: it finds everything in the paths for which it was built.
    System,
    /// An unpacked archive, an installation under another prefix, or packages unpacked into a folder.
    Tree(PathBuf),
    /// The tree in which CMake built it; messages and tables are there or in the source tree.
    Build { build: PathBuf, source: PathBuf },
}

impl Layout {
    pub(crate) fn of(program: &Path) -> Self {
        let Some(base) = program.parent().and_then(Path::parent) else { return Self::System };
        if let Some(source) = source_of(base) {
            return Self::Build { build: base.to_owned(), source };
        }
        if base == Path::new(SYSTEM) { Self::System } else { Self::Tree(base.to_owned()) }
    }

    /// Paths that the server needs as options: a relocated server looks for its messages, character sets and plugins
    /// in its configured installation path, where it may find those of another version.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let (base, shares, plugins) = match self {
            Self::System => return Vec::new(),
            Self::Tree(base) => (
                base,
                ["share/mysql", "share/mariadb", "share/mysql-8.0", "share"].map(|place| base.join(place)).to_vec(),
                ["lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin", "lib/mariadb/plugin"]
                    .map(|place| base.join(place))
                    .to_vec(),
            ),
            Self::Build { build, source } => (
                build,
                [build, source].iter().flat_map(|top| [top.join("sql/share"), top.join("share")]).collect(),
                vec![build.join("plugin_output_directory")],
            ),
        };
        let messages = shares.iter().find(|share| share.join("english/errmsg.sys").is_file()).cloned();
        let sets = shares.iter().map(|share| share.join("charsets")).find(|path| path.join("Index.xml").is_file());
        [
            Some(path("basedir", base)),
            messages.map(|messages| path("lc-messages-dir", &messages)),
            sets.map(|sets| path("character-sets-dir", &sets)),
            plugins.into_iter().find(|plugins| plugins.is_dir()).map(|plugins| path("plugin-dir", &plugins)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Folders of libraries in the same tree, for a program whose libraries the loader does not find by itself.
    pub(crate) fn libraries(&self) -> Vec<PathBuf> {
        let top = match self {
            Self::System => return Vec::new(),
            Self::Tree(base) => base,
            Self::Build { build, .. } => build,
        };
        let places = ["lib", "libs", "lib64", "lib/private", "lib64/private", "library_output_directory"];
        places.iter().map(|place| top.join(place)).filter(|place| holds_libraries(place)).collect()
    }

    /// How the build was configured, if its tree records it: CMake's cache, or the INFO_BIN file of an archive.
    pub(crate) fn build_facts(&self) -> BTreeMap<String, String> {
        match self {
            Self::System => BTreeMap::new(),
            Self::Tree(base) => facts(&base.join("docs/INFO_BIN"), ':'),
            Self::Build { build, .. } => facts(&build.join("CMakeCache.txt"), '='),
        }
    }
}

fn source_of(build: &Path) -> Option<PathBuf> {
    let cache = small_file(&build.join("CMakeCache.txt"))?;
    cache.lines().find_map(|line| line.strip_prefix(SOURCE)).map(PathBuf::from)
}

fn holds_libraries(place: &Path) -> bool {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().contains(".so"))
}

/// The lines about the compiler and its flags.
fn facts(file: &Path, separator: char) -> BTreeMap<String, String> {
    let text = small_file(file).unwrap_or_default();
    let wanted = ["CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_C_FLAGS", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS"];
    let line = |line: &str| {
        let (name, value) = line.split_once(separator)?;
        let name = name.split(':').next()?.trim();
        let suffix = wanted.iter().find_map(|wanted| name.strip_prefix(wanted))?;
        let is_named = ["", "_DEBUG", "_RELEASE", "_RELWITHDEBINFO"].contains(&suffix);
        (is_named && !value.trim().is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn ends(found: &[OsString], ends: &[&str]) {
        assert_eq!(found.len(), ends.len(), "{found:?}");
        assert!(found.iter().zip(ends).all(|(found, end)| found.to_string_lossy().ends_with(end)), "{found:?}");
    }

    #[test]
    fn the_files_of_an_unpacked_archive_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["share/english/errmsg.sys", "share/charsets/Index.xml", "lib/plugin/x.so", "lib/libssl.so.3"] {
            file(&folder.path().join(place), "");
        }
        file(&folder.path().join("docs/INFO_BIN"), "CMAKE_BUILD_TYPE : Release\nCMAKE_C_FLAGS : -O3 -g:1\nOther : 1\n");
        let layout = Layout::of(&folder.path().join("bin/mysqld"));
        ends(&layout.arguments(), &["", "/share", "/share/charsets", "/lib/plugin"]);
        assert_eq!(layout.libraries(), [folder.path().join("lib")]);
        let facts = [("CMAKE_BUILD_TYPE", "Release"), ("CMAKE_C_FLAGS", "-O3 -g:1")];
        assert_eq!(layout.build_facts(), facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert!(Layout::of(Path::new("/usr/sbin/mysqld")).arguments().is_empty());
    }

    #[test]
    fn a_build_tree_takes_what_it_did_not_make_from_its_sources() {
        let folder = tempfile::tempdir().unwrap();
        let (build, source) = (folder.path().join("build"), folder.path().join("source"));
        file(
            &build.join("CMakeCache.txt"),
            &format!("CMAKE_CXX_FLAGS_DEBUG:STRING=-g\n{SOURCE}{}\nCMAKE_C_FLAGS:STRING=\n", source.display()),
        );
        file(&build.join("sql/share/english/errmsg.sys"), "");
        file(&source.join("sql/share/charsets/Index.xml"), "");
        let layout = Layout::of(&build.join("sql/mariadbd"));
        assert_eq!(layout, Layout::Build { build, source });
        ends(&layout.arguments(), &["/build", "/build/sql/share", "/source/sql/share/charsets"]);
        assert_eq!(layout.build_facts(), [("CMAKE_CXX_FLAGS_DEBUG".to_owned(), "-g".to_owned())].into());
    }
}
