//! A command line of a study: words, and placeholders that are filled in for every run; their values for the server of
//! a trial, and files for its programs.

use super::ProgramError;
use crate::workload::LoadContext;
use rustix::fs::Access;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tare_engine::{Address, ConnectTarget, ListedFolder};
use tare_files::AnonymousFile;
use tare_text::Value;

const PLACEHOLDERS: &[(&str, &str)] = &[
    ("socket", "path of the server's Unix socket"),
    ("socket_directory", "the directory of that socket, which PostgreSQL's clients take as the host"),
    ("host", "address of a server that listens on TCP"),
    ("port", "port of the server; for a socket of PostgreSQL the number in its name"),
    ("database", "database that sessions start in"),
    ("user", "account of the server"),
    ("password_file", "a private file that holds the password and nothing else"),
    ("engine", "name of the engine"),
    ("threads", "workload.threads"),
    ("warmup", "seconds of load before the measurement"),
    ("seconds", "seconds that are measured (sampling.sample_s)"),
    ("total", "both together"),
    ("seed", "seed of this trial"),
    ("sample", "number of the sample, from 0"),
];

const OF_SERVER: [&str; 8] =
    ["socket", "socket_directory", "host", "port", "database", "user", "password_file", "engine"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine(String);

impl CommandLine {
    /// Splits words as a shell would, without running one.
    pub fn new(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("words as in a shell, every quote closed")?;
        if words.is_empty() || text.contains('\0') {
            return Err("a program and its arguments".to_owned());
        }
        for name in names(text) {
            if !PLACEHOLDERS.iter().any(|(known, _)| *known == name) {
                let known = || PLACEHOLDERS.iter().map(|(known, _)| *known);
                let near =
                    tare_text::nearest(name, known()).map_or(String::new(), |n| format!(" (did you mean {{{n}}}?)"));
                let known: Vec<String> = known().map(|known| format!("{{{known}}}")).collect();
                return Err(format!(
                    "one of {} in place of {{{name}}}{near}; {{{{{name}}}}} is literal text in braces",
                    known.join(", ")
                ));
            }
        }
        Ok(Self(text.to_owned()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn needs_server(&self) -> bool {
        names(&self.0).any(|name| OF_SERVER.contains(&name))
    }

    pub(crate) fn program(&self) -> Option<String> {
        shlex::split(&self.0)?.into_iter().next()
    }

    /// The program, and the text after it as it is written, which may be a shell's.
    pub fn program_and_rest(&self) -> Option<(String, &str)> {
        let text = self.0.trim_start();
        let ends = text.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(at, _)| at).chain([text.len()]);
        ends.map(|end| text.split_at(end)).find_map(|(word, rest)| match shlex::split(word)?.as_slice() {
            [program] => Some((program.clone(), rest)),
            _ => None,
        })
    }

    /// The words with all placeholders filled in; `sh -c` and one word if a shell is requested.
    pub(crate) fn words(&self, shell: bool, values: &Values) -> Result<Vec<String>, ProgramError> {
        if shell {
            return Ok(vec!["sh".to_owned(), "-c".to_owned(), values.fill(&self.0)?]);
        }
        shlex::split(&self.0).unwrap_or_default().iter().map(|word| values.fill(word)).collect()
    }
}

/// Parts of a text: literal text, or the name of a placeholder.
enum Part<'a> {
    Plain(&'a str),
    Name(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    // Searched once: a text may have as many unclosed braces as characters.
    let last_end = text.rfind("}}").unwrap_or(0);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        parts.push(Part::Plain(before));
        let is_in_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let name = &from[1..from[1..].find(|c| !is_in_name(c)).map_or(from.len(), |end| 1 + end)];
        let inner = from.strip_prefix("{{").filter(|inner| text.len() - inner.len() <= last_end);
        if let Some(inner) = inner {
            let end = inner.find("}}").unwrap_or_default();
            // Without the outer brace on each side.
            parts.push(Part::Plain(&from[1..end + 3]));
            rest = &inner[end + 2..];
        } else if !name.is_empty() && from[1 + name.len()..].starts_with('}') {
            parts.push(Part::Name(name));
            rest = &from[name.len() + 2..];
        } else {
            parts.push(Part::Plain("{"));
            rest = &from[1..];
        }
    }
    parts.push(Part::Plain(rest));
    parts
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Plain(_) => None,
    })
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Values(BTreeMap<&'static str, String>);

impl Values {
    pub(crate) fn set(&mut self, name: &'static str, value: impl ToString) {
        self.0.insert(name, value.to_string());
    }

    /// Sets the values of a server; a password is in a file.
    pub(crate) fn server(&mut self, engine: &str, target: &ConnectTarget, password_file: &Path) {
        self.set("engine", engine);
        self.set("user", &target.user);
        self.set("database", target.database.as_deref().unwrap_or_default());
        self.set("password_file", password_file.display());
        match &target.address {
            Address::Socket(path) => {
                self.set("socket", path.display());
                self.set("socket_directory", path.parent().unwrap_or(path).display());
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if let Some(port) = name.strip_prefix(".s.PGSQL.") {
                    self.set("port", port);
                }
            }
            Address::Tcp(host, port) => {
                self.set("host", host);
                self.set("port", port);
            }
        }
    }

    pub(crate) fn fill(&self, text: &str) -> Result<String, ProgramError> {
        let mut filled = String::new();
        for part in parts(text) {
            match part {
                Part::Plain(plain) => filled.push_str(plain),
                Part::Name(name) => match self.0.get(name) {
                    Some(value) => filled.push_str(value),
                    None => return Err(missing(name)),
                },
            }
        }
        Ok(filled)
    }
}

fn missing(name: &str) -> ProgramError {
    let reason = match name {
        "host" | "port" => "the server listens on a Unix socket; set engine.transport = \"tcp\", or use {socket}",
        "socket" | "socket_directory" => {
            "the server listens on TCP; leave out engine.transport = \"tcp\", or use {host} and {port}"
        }
        _ => "there is no server here; set workload.needs_server = true",
    };
    let placeholder = PLACEHOLDERS.iter().map(|(known, _)| *known).find(|known| *known == name).unwrap_or("?");
    ProgramError::Placeholder { placeholder, reason: reason.to_owned() }
}

/// Whether a program of this name or path exists.
pub(crate) fn is_there(program: &str) -> bool {
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => file_of(program, &std::env::var_os("PATH").unwrap_or_default()).is_some(),
    }
}

/// Whether this user may run an existing program.
pub(crate) fn may_run(program: &str) -> bool {
    let file = file_of(program, &std::env::var_os("PATH").unwrap_or_default());
    file.is_some_and(|file| rustix::fs::access(file, Access::EXEC_OK).is_ok())
}

/// The file of a program: the given path, or the first file of this name in the directories of `path`.
pub(super) fn file_of(program: &str, path: &OsStr) -> Option<PathBuf> {
    match program.contains('/') {
        true => Some(PathBuf::from(program)),
        false => std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file()),
    }
}

pub(crate) fn option_words(value: &Value) -> Result<Vec<String>, String> {
    shlex::split(&value.to_string()).ok_or_else(|| "words as on a command line, every quote closed".to_owned())
}

/// Joins words into one text, quoted for a shell.
pub(crate) fn joined(words: &[String]) -> String {
    // Only a zero byte cannot be quoted, and words that were split contain none.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

/// The values for a server; its password file is removed on drop.
#[derive(Default)]
pub(crate) struct ServerValues {
    pub values: Values,
    secrets: RefCell<BTreeMap<&'static str, SecretFile>>,
    folder: OnceCell<ListedFolder>,
}

impl ServerValues {
    /// Values for a server, with a file for its password that no other user can read.
    pub(crate) fn of(engine: &str, target: &ConnectTarget) -> Result<Self, ProgramError> {
        let mut made = Self::default();
        let password = made.secret("password", &target.password)?;
        made.values.server(engine, target, &password);
        Ok(made)
    }

    /// Creates a file with this text that only this user can read; it replaces the previous one of this name.
    pub(crate) fn secret(&self, name: &'static str, text: &str) -> Result<PathBuf, ProgramError> {
        let file = SecretFile::with(text)?;
        let path = file.path();
        self.secrets.borrow_mut().insert(name, file);
        Ok(path)
    }

    /// A private directory for files that programs write, created on first use.
    pub(crate) fn folder(&self) -> Result<&Path, ProgramError> {
        match self.folder.get() {
            Some(folder) => Ok(folder.path()),
            None => {
                let made = folder()?;
                Ok(self.folder.get_or_init(|| made).path())
            }
        }
    }
}

pub(crate) fn of_stage(stage: &LoadContext<'_>) -> Result<ServerValues, ProgramError> {
    let mut of = match stage.server {
        Some(server) => ServerValues::of(stage.engine, server.target())?,
        None => ServerValues::default(),
    };
    of.values.set("threads", stage.threads);
    of.values.set("seed", stage.seed);
    Ok(of)
}

/// A file that programs of this user can read, removed on drop.
enum SecretFile {
    /// In memory: nothing remains if this process is killed.
    Anonymous(AnonymousFile),
    /// In a directory that the next start removes, for systems where programs cannot open an anonymous file.
    Listed(Box<ListedFolder>),
}

const NAME: &str = "secret";

impl SecretFile {
    fn with(text: &str) -> Result<Self, ProgramError> {
        match AnonymousFile::with(text.as_bytes()) {
            Ok(file) => Ok(Self::Anonymous(file)),
            Err(_) => Self::listed(text),
        }
    }

    fn listed(text: &str) -> Result<Self, ProgramError> {
        let folder = folder()?;
        let path = folder.path().join(NAME);
        // The directory is private to this user; libpq requires this of the file too.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(Self::Listed(Box::new(folder))),
            Err(source) => Err(ProgramError::File { doing: "write", path, source }),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Anonymous(file) => file.path(),
            Self::Listed(folder) => folder.path().join(NAME),
        }
    }
}

/// A directory in the temporary directory: files that programs write there grow with the length of a run.
pub(super) fn folder() -> Result<ListedFolder, ProgramError> {
    ListedFolder::create(&std::env::temp_dir()).map_err(|source| ProgramError::Folder { source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_in_without_a_shell() {
        let line = CommandLine::new("awk '{print $1}' {threads} \"a {seed}\" '{{socket}}' ${HOME}").unwrap();
        let mut values = Values::default();
        values.set("threads", 4);
        values.set("seed", "x y");
        let words = line.words(false, &values).unwrap();
        assert_eq!(words, ["awk", "{print $1}", "4", "a x y", "{socket}", "${HOME}"]);
        assert!(!line.needs_server());
        let words = line.words(true, &values).unwrap();
        assert_eq!((words[1].as_str(), words.len()), ("-c", 3));
    }

    /// If each brace searched for its end again, this would take hours.
    #[test]
    fn unclosed_braces_are_parsed_in_linear_time() {
        for braces in
            ["{".repeat(1 << 20), "{a".repeat(1 << 19), "{{a".repeat(1 << 18), "}}".to_owned() + &"{{".repeat(1 << 19)]
        {
            assert!(CommandLine::new(&braces).is_ok());
        }
        assert_eq!(Values::default().fill("{{{a}} {{ }}{").unwrap(), "{{a} { }{");
    }

    #[test]
    fn mistakes_in_a_command_line_are_reported_with_a_suggestion() {
        let error = CommandLine::new("client {sockt}").unwrap_err();
        assert!(error.contains("did you mean {socket}?") && error.contains("{{sockt}}"), "{error}");
        for wrong in ["", "  ", "a 'b"] {
            assert!(CommandLine::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_server_on_a_socket_has_no_port_unless_its_name_has() {
        let target = |address| ConnectTarget::to(address, "u");
        let filled = |address, text: &str| {
            let mut values = Values::default();
            values.server("e", &target(address), Path::new("/p"));
            values.fill(text)
        };
        let socket = |name: &str| Address::Socket(format!("/run/x/{name}").into());
        assert_eq!(filled(socket("s"), "{socket} {user}").unwrap(), "/run/x/s u");
        assert_eq!(filled(socket(".s.PGSQL.5432"), "{socket_directory} {port}").unwrap(), "/run/x 5432");
        assert!(filled(socket("s"), "{port}").unwrap_err().to_string().contains("engine.transport"));
        let tcp = || Address::Tcp("127.0.0.1".into(), 7);
        assert_eq!(filled(tcp(), "{host}:{port}").unwrap(), "127.0.0.1:7");
        assert!(filled(tcp(), "{socket}").is_err() && CommandLine::new("a {port}").unwrap().needs_server());
    }

    #[test]
    fn a_password_is_stored_in_no_folder_and_a_planted_name_does_no_harm() {
        // As another user might plant it, for every process id.
        let guessed = std::env::temp_dir().join(format!("tare-client-{}", std::process::id()));
        let _planted = std::fs::File::create(&guessed);
        let target = ConnectTarget::to(Address::Socket("/s".into()), "u");
        let target = ConnectTarget { password: "secret".into(), ..target };
        let of = ServerValues::of("e", &target);
        let _ = std::fs::remove_file(&guessed);
        let of = of.unwrap();
        let path = PathBuf::from(of.values.fill("{password_file}").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
        assert!(path.starts_with("/proc"), "{} is on a disk", path.display());
        let folder = of.folder().unwrap().to_owned();
        assert_eq!(of.folder().unwrap(), folder);
        drop(of);
        assert!(!path.exists() && !folder.exists());
    }

    #[test]
    fn without_anonymous_files_the_secret_file_is_removed_with_its_folder() {
        let secret = SecretFile::listed("p").unwrap();
        let path = secret.path();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "p");
        drop(secret);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }
}
