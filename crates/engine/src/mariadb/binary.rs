//! Finds the server program, the script that creates its data directories, and the files that belong to a server
//! program: those in its own tree, never those of another build.

use super::arguments::path;
use crate::data::directories::small_file;
use crate::programs::ask::{self_reported, start};
use crate::programs::program::{check_may_run, existing, is_program, named, places};
use crate::{Binary, EngineError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "mariadb";

pub(super) const INSTALL: &str = "sudo apt-get install mariadb-server";
pub(crate) const PRODUCT: &str = "MariaDB";
/// File names of the server program: the second is used by versions before 10.5 and by every MySQL.
pub(super) const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];
/// Scripts that create a data directory, of versions from 10.5 on and of older ones.
const SCRIPTS: [&str; 2] = ["mariadb-install-db", "mysql_install_db"];

/// The server program: `explicit`, otherwise `mariadbd` in PATH and the usual places.
pub(super) fn find(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let path = match named(explicit, NAME) {
        Some(path) => existing(path),
        None => search(PROGRAMS[0], &[]).or_else(|missing| {
            // MySQL's server has this name too.
            let mut others = places(&[]).into_iter().map(|place| place.join(PROGRAMS[1]));
            others.find(|path| is_program(path) && version_of(path).is_ok()).ok_or(missing)
        }),
    }?;
    check_may_run(&path)?;
    let path = fs::canonicalize(&path).map_err(|source| EngineError::io("resolve", &path, source))?;
    let (version, libraries) =
        if is_safe_script(&path) { version_of(&behind_safe_script(&path)?)? } else { version_of(&path)? };
    let build = Layout::of(&path).build_facts();
    Ok(Binary { build, ..Binary::identified(path, PRODUCT, version, libraries)? })
}

/// The script that creates data directories, and its interpreter. It is from the same installation or build: a script
/// of another version creates tables that this server cannot use, or none.
pub(super) fn install_script(server: &Path) -> Result<(PathBuf, Interpreter), EngineError> {
    let places: Vec<PathBuf> = match server.parent() {
        Some(bin) => ["", "../bin", "../scripts"].iter().map(|place| bin.join(place)).collect(),
        None => Vec::new(),
    };
    let all = places.iter().flat_map(|place| SCRIPTS.map(|name| place.join(name)));
    let Some(script) = all.into_iter().find(|path| path.is_file()) else {
        let reason = format!(
            "has no {} next to it (searched: {}); name the server of a complete installation, archive or build tree: \
             the script of another version creates tables that this version cannot use",
            SCRIPTS.join(" or "),
            places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ")
        );
        return Err(EngineError::BinaryUnusable { path: server.to_owned(), reason });
    };
    let script = fs::canonicalize(&script).map_err(|source| EngineError::io("resolve", &script, source))?;
    let runs = interpreter(&fs::read(&script).map_err(|source| EngineError::io("read", &script, source))?);
    Ok((script, runs))
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub program: PathBuf,
    /// Its arguments before the script's name.
    pub arguments: Vec<String>,
}

/// The words after `#!`: so a script without execute permission can run too.
fn interpreter(script: &[u8]) -> Interpreter {
    let first = script.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let mut words = first.strip_prefix("#!").unwrap_or_default().split_whitespace();
    let program = PathBuf::from(words.next().unwrap_or("/bin/sh"));
    Interpreter { program, arguments: words.map(str::to_owned).collect() }
}

/// Whether this is mariadbd-safe, MariaDB's script that starts the server and stays running to restart it.
pub(super) fn is_safe_script(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "mariadbd-safe" || name == "mysqld_safe")
}

/// The server that the script starts, found as the script does: in folders relative to itself. The script cannot be
/// asked for the version, since it would start that server on the system's own data directory.
fn behind_safe_script(script: &Path) -> Result<PathBuf, EngineError> {
    let bin = script.parent().unwrap_or(Path::new("/"));
    let places = ["", "../sbin", "../libexec"].map(|place| bin.join(place));
    let found = PROGRAMS.iter().flat_map(|name| places.iter().map(move |place| place.join(name)));
    found.into_iter().find(|path| is_program(path)).ok_or_else(|| missing(PROGRAMS[0], places.to_vec()))
}

fn search(program: &str, first: &[PathBuf]) -> Result<PathBuf, EngineError> {
    let places = places(first);
    let found = places.iter().map(|place| place.join(program)).find(|candidate| is_program(candidate));
    found.ok_or_else(|| missing(program, places))
}

fn missing(program: &str, searched: Vec<PathBuf>) -> EngineError {
    EngineError::BinaryMissing { engine: NAME, program: program.to_owned(), searched, install: INSTALL }
}

/// The version, and the libraries that the program needs to report it.
fn version_of(path: &Path) -> Result<(String, Option<String>), EngineError> {
    let report = ProgramReport::by(path)?;
    match report.version {
        Some(version) if report.product == PRODUCT => Ok((version, report.libraries)),
        Some(version) => {
            let reason = format!("is {} {version}: use engine mysql", report.product);
            Err(EngineError::BinaryUnusable { path: path.to_owned(), reason })
        }
        None => {
            let reason = format!("is not a MariaDB server: --version prints {:?}", start(&report.text));
            Err(EngineError::BinaryUnusable { path: path.to_owned(), reason })
        }
    }
}

/// What a server program reports about itself. Servers of MariaDB, MySQL and its forks can share file names.
pub(crate) struct ProgramReport {
    pub product: &'static str,
    /// None if it is none of these servers.
    pub version: Option<String>,
    pub text: String,
    pub libraries: Option<String>,
}

impl ProgramReport {
    pub(crate) fn by(path: &Path) -> Result<Self, EngineError> {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (text, libraries) = self_reported(path, &["--no-defaults", "--version"], &Layout::of(&real).libraries())?;
        let product = product_of(&text);
        // The word after "Ver".
        let version = text.split_once("Ver ").and_then(|(_, rest)| rest.split_whitespace().next());
        let version = version.filter(|version| version.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned);
        if version.is_some() && is_client(&text) {
            let reason = format!("is a client, not a server ({}): name mariadbd or mysqld", start(&text));
            return Err(EngineError::BinaryUnusable { path: path.to_owned(), reason });
        }
        Ok(Self { product, version, text, libraries })
    }
}

/// The product of a server with this version text.
pub(crate) fn product_of(message: &str) -> &'static str {
    match message {
        message if message.contains(PRODUCT) => PRODUCT,
        message if message.contains("Percona") => "Percona Server",
        _ => "MySQL",
    }
}

/// Whether this is the version text of a client that comes with a server: clients print their own version and that of
/// the distribution, or have a client's name.
fn is_client(text: &str) -> bool {
    let name = text.split_whitespace().next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    text.contains(" Distrib ") || text.contains(", client ") || CLIENTS.contains(&name)
}

const CLIENTS: [&str; 4] = ["mysql", "mariadb", "mysqldump", "mysqladmin"];

/// Major and minor number of a version: data directories are compatible within such a series.
pub(crate) fn series(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

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

    #[test]
    fn a_series_is_the_first_two_numbers() {
        assert_eq!(series("10.11.19-MariaDB-0+deb12u1"), Some((10, 11)));
        assert_eq!(series("11.4.2-MariaDB"), Some((11, 4)));
        assert_eq!(series("MariaDB"), None);
    }

    #[test]
    fn a_client_program_is_not_accepted_as_a_server() {
        for text in [
            "mysql  Ver 15.1 Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64) using  EditLine wrapper",
            "mariadb from 11.4.2-MariaDB, client 15.2 for Linux (x86_64)",
            "/usr/bin/mysql  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)",
        ] {
            assert!(is_client(text), "{text}");
        }
        for text in [
            "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
            "/opt/my-build/sql/server-a  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)",
        ] {
            assert!(!is_client(text), "{text}");
        }
        let error = find(Some(Path::new("/usr/bin/mariadb"))).unwrap_err().to_string();
        assert!(error.contains("is a client, not a server"), "{error}");
    }

    #[test]
    fn a_named_program_that_does_not_exist_is_none_to_install() {
        let error = find(Some(Path::new("/nonexistent/mariadbd"))).unwrap_err().to_string();
        assert!(error.starts_with("/nonexistent/mariadbd: ") && !error.contains(INSTALL), "{error}");
    }

    #[test]
    fn another_program_is_no_server() {
        let error = find(Some(Path::new("/bin/sh"))).unwrap_err();
        assert!(matches!(error, EngineError::BinaryUnusable { .. }), "{error}");
    }

    #[test]
    fn the_script_of_another_build_is_never_taken() {
        let folder = tempfile::tempdir().unwrap();
        let server = folder.path().join("bin/mariadbd");
        let error = install_script(&server).unwrap_err().to_string();
        assert!(error.contains("has no mariadb-install-db") && error.contains("another version"), "{error}");
        fs::create_dir_all(folder.path().join("scripts")).unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("scripts/mysql_install_db"), "#!/usr/bin/env perl\n").unwrap();
        let (script, runs) = install_script(&server).unwrap();
        assert!(script.ends_with("scripts/mysql_install_db"), "{}", script.display());
        assert_eq!(
            (runs.program.as_path(), runs.arguments.as_slice()),
            (Path::new("/usr/bin/env"), &["perl".into()][..])
        );
        assert_eq!(interpreter(b"echo").program, Path::new("/bin/sh"));
    }

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
