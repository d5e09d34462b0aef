//! The user's defaults: `config.toml` in `$XDG_CONFIG_HOME/tare` or `~/.config/tare`. Command-line options and studies
//! take precedence over the environment, the environment over this file, and this file over built-in defaults.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tare_engine::{engine_names, prefer_programs};
use tare_files::{Access, FilesError, PrivateFolder};
use tare_study::language::document::{Source, StudyError};
use tare_text::Value;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const NAME: &str = "config.toml";
/// Largest size of the file that is read, bytes.
const LARGEST: u64 = 1 << 20;
const KEYS: [&str; 3] = ["cache", "colour", "engines"];
/// The embedded engine, which has no program of its own.
const EMBEDDED: &str = "sqlite";

#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    /// The file names programs and paths, so it must belong to the user, and no one else may write to it.
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Wrong(#[from] StudyError),
}

/// The content of the file; empty if there is no file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub file: Option<PathBuf>,
    /// Server programs by the name of their engine, for studies that name none.
    pub engines: BTreeMap<String, PathBuf>,
    pub cache: Option<PathBuf>,
    /// Whether tables are coloured, regardless of standard output.
    pub colour: Option<bool>,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

/// Reads the file on the first call; from then on, engines are first looked for at the paths in it.
pub(crate) fn load() -> Result<&'static Config, ConfigError> {
    if let Some(known) = CONFIG.get() {
        return Ok(known);
    }
    let config = folder().map_or_else(|| Ok(Config::default()), |folder| read(&folder))?;
    prefer_programs(config.engines.clone());
    Ok(CONFIG.get_or_init(|| config))
}

/// The result of [`load`]; empty if it was not called or failed.
pub(crate) fn get() -> &'static Config {
    static NONE: Config = Config { file: None, engines: BTreeMap::new(), cache: None, colour: None };
    CONFIG.get().unwrap_or(&NONE)
}

/// The directory that may contain the file; `None` if no environment variable names one.
pub(crate) fn folder() -> Option<PathBuf> {
    place(CONFIG_BASE, |name| std::env::var_os(name), rustix::process::geteuid().is_root(), is_roots)
}

/// The variable that names a base directory, and the directory below `HOME` otherwise.
pub(crate) type Base = (&'static str, &'static str);

const CONFIG_BASE: Base = ("XDG_CONFIG_HOME", ".config");

/// The directory of tare in a base directory: for root, never in the home of the user who called sudo.
pub(crate) fn place(
    (variable_of_base, below_home): Base,
    variable: impl Fn(&str) -> Option<OsString>,
    root: bool,
    is_roots: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|place| place.is_absolute());
    let own = |base: &PathBuf| !root || is_roots(base);
    let base = set(variable_of_base).filter(own).or_else(|| Some(set("HOME").filter(own)?.join(below_home)));
    base.map(|base| base.join("tare"))
}

/// Whether a directory belongs to root, and not to another user. False for a missing directory.
pub(crate) fn is_roots(path: &Path) -> bool {
    tare_files::owner_of(path).is_ok_and(|owner| owner == 0)
}

fn read(folder: &Path) -> Result<Config, ConfigError> {
    let Some(private) = PrivateFolder::open(folder, Access::Closed)? else { return Ok(Config::default()) };
    let Some(bytes) = private.read(NAME, LARGEST)? else { return Ok(Config::default()) };
    let file = private.path().join(NAME);
    let config = parse(&String::from_utf8_lossy(&bytes), &file)?;
    Ok(Config { file: Some(file), ..config })
}

fn parse(text: &str, file: &Path) -> Result<Config, StudyError> {
    let origin = file.display().to_string();
    let source = Source { origin: &origin, text };
    let mut config = Config::default();
    let root = source.table()?;
    for (key, value) in root.get_ref() {
        match key.get_ref().as_ref() {
            "cache" => config.cache = Some(path(source, "cache", value)?),
            "colour" => config.colour = colour(source, value)?,
            "engines" => config.engines = engines(source, source.as_table("engines", value)?)?,
            other => return Err(source.unknown(key.span(), "key", other, &KEYS)),
        }
    }
    Ok(config)
}

fn engines(source: Source<'_>, table: &DeTable<'_>) -> Result<BTreeMap<String, PathBuf>, StudyError> {
    let known: Vec<&str> = engine_names().into_iter().filter(|name| *name != EMBEDDED).collect();
    let mut engines = BTreeMap::new();
    for (name, value) in table {
        let engine = name.get_ref().as_ref();
        if !known.contains(&engine) {
            return Err(source.unknown(name.span(), "engine", engine, &known));
        }
        engines.insert(engine.to_owned(), path(source, engine, value)?);
    }
    Ok(engines)
}

fn colour(source: Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Option<bool>, StudyError> {
    let word = source.scalar("colour", value)?;
    match word.one_of(&["auto", "always", "never"]) {
        Ok("always") => Ok(Some(true)),
        Ok("never") => Ok(Some(false)),
        Ok(_) => Ok(None),
        Err(expected) => Err(source.error(value.span(), format!("colour = {word}"), expected)),
    }
}

/// An absolute path, or one below the home directory.
fn path(source: Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<PathBuf, StudyError> {
    let wrong = |what: String| source.error(value.span(), what, "an absolute path, or one that begins with ~/");
    let Value::Text(text) = source.scalar(name, value)? else {
        return Err(wrong(format!("`{name}` is not a path")));
    };
    let whole = match text.strip_prefix("~/") {
        Some(below) => std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below)),
        None => Some(PathBuf::from(&text)),
    };
    whole.filter(|path| path.is_absolute()).ok_or_else(|| wrong(format!("{name} = {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_mistake_is_reported_with_its_place() {
        let wrong = |text: &str| parse(text, Path::new("/c/config.toml")).unwrap_err();
        let unknown = wrong("colour = \"never\"\n  cahce = \"/x\"\n");
        assert_eq!((unknown.line, unknown.column, unknown.nearest.as_deref()), (2, 3, Some("cache")));
        assert_eq!(unknown.origin, "/c/config.toml");
        let engine = wrong("[engines]\nmariadbb = \"/x\"\n");
        assert_eq!((engine.line, engine.column, engine.nearest.as_deref()), (2, 1, Some("mariadb")));
        assert!(wrong("[engines]\nsqlite = \"/x\"\n").what.contains("unknown engine"));
        for (text, column) in [("cache = \"here\"", 9), ("cache = 7", 9), ("colour = \"green\"", 10), ("cache = [", 10)]
        {
            let error = wrong(text);
            assert_eq!((error.line, error.column), (1, column), "{text}: {error}");
        }
    }

    #[test]
    fn root_reads_no_configuration_of_the_user_who_called_sudo() {
        let of = |variables: &[(&str, &str)], root| {
            let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            place(CONFIG_BASE, find, root, |path| path.starts_with("/admin")).map(|place| place.display().to_string())
        };
        assert_eq!(of(&[("HOME", "/users/u")], false).as_deref(), Some("/users/u/.config/tare"));
        assert_eq!(of(&[("HOME", "/users/u"), ("XDG_CONFIG_HOME", "/c")], false).as_deref(), Some("/c/tare"));
        assert_eq!(of(&[("HOME", "/users/u"), ("XDG_CONFIG_HOME", "/c")], true), None);
        assert_eq!(of(&[("HOME", "/admin")], true).as_deref(), Some("/admin/.config/tare"));
        assert_eq!(of(&[("XDG_CONFIG_HOME", "relative")], false), None);
    }
}
