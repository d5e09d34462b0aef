//! The commands, the metrics read from their output, and the keys of a study for both.

use crate::workload::keys;
use crate::workload::program::{CommandLine, Parser};
use std::path::PathBuf;
use tare_text::{Key, Keyed, Value, key};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandSettings {
    pub command: Option<CommandLine>,
    pub shell: bool,
    pub environment: Vec<(String, String)>,
    /// Working directory; None: the directory where tare was started.
    pub directory: Option<PathBuf>,
    /// Fills a fresh server once; the data are kept.
    pub fill: Option<CommandLine>,
    pub prepare: Option<CommandLine>,
    pub cleanup: Option<CommandLine>,
    /// Whether the program needs a server; None: if a command line mentions one.
    pub server: Option<bool>,
    /// Discarded runs before the first sample.
    pub warmup_runs: usize,
    pub timeout_s: Option<f64>,
    /// Metrics read from its output; if empty, the duration is the result.
    pub metrics: Vec<Parser>,
    pub discard: bool,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl CommandSettings {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &CommandLine> {
        [&self.command, &self.fill, &self.prepare, &self.cleanup].into_iter().flatten()
    }
}

/// A key for a command line. Its value is always text, even if it looks like a number.
macro_rules! command {
    ($name:literal in $field:ident, $help:literal) => {
        Key::words(
            $name,
            $help,
            |s| s.$field.as_ref().map(|line| Value::Text(line.text().to_owned())),
            |s, v| CommandLine::new(&v.to_string()).map(|line| s.$field = Some(line)),
        )
    };
}

impl Keyed for CommandSettings {
    const KEYS: &'static [Key<Self>] = &[
        command!("command" in command,
            "the program and its arguments, as a list or as words quoted for a shell (no shell is run); {socket}, \
             {socket_directory}, {host}, {port}, {user}, {database}, {password_file}, {engine}, {threads}, {warmup}, \
             {seconds}, {total}, {seed} and {sample} are filled in"),
        key!(switch "shell" in shell, "on: the command lines are run by sh -c"),
        Key::words(
            "environment",
            "variables for the program: NAME=VALUE words; placeholders are filled in",
            |s| (!s.environment.is_empty()).then(|| Value::Text(joined(&s.environment))),
            |s, v| variables(&v.to_string()).map(|variables| s.environment = variables),
        ),
        key!(path "directory" in directory, "working directory of the program; absent: that of tare"),
        command!("fill" in fill,
            "a command that fills a fresh server, run once: its data are kept and copied for every trial"),
        command!("prepare" in prepare, "a command that runs before every sample, unmeasured"),
        command!("cleanup" in cleanup, "a command that runs after every sample, unmeasured"),
        key!(optional switch "needs_server" in server,
            "on: a server is started for it; absent: on if a command line or variable has a placeholder of a server"),
        keys::warmup_runs(|s| Some(s.warmup_runs as u64), |s, v| s.warmup_runs = v as usize),
        Key::positive(
            "timeout_s",
            "seconds after which a run is killed and its trial fails; absent: an hour",
            "seconds",
            |s| s.timeout_s,
            |s, v| s.timeout_s = Some(v),
        ),
        Key::words(
            "metrics",
            "what its output contains: sysbench, pgbench, hammerdb, json POINTER as NAME, regex PATTERN as NAME (one \
             or a \
             list); absent: its time, CPU time, memory, faults and switches are the result",
            |s| {
                let words: Vec<String> = s.metrics.iter().map(ToString::to_string).collect();
                (!words.is_empty()).then(|| words.join(" ").into())
            },
            |s, v| Parser::list(&v.to_string()).map(|parsers| s.metrics = parsers),
        ),
        Key::words(
            "output",
            "log: kept in logs/ of the results, up to 64 MiB per run; discard: standard output is discarded",
            |s| Some(if s.discard { "discard" } else { "log" }.into()),
            |s, v| v.one_of(&["log", "discard"]).map(|word| s.discard = word == "discard"),
        ),
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}

fn variables(text: &str) -> Result<Vec<(String, String)>, String> {
    let expected = || "NAME=VALUE words, quoted as in a shell".to_owned();
    let words = shlex::split(text).ok_or_else(expected)?;
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), value.to_owned()))
    };
    words.iter().map(|word| pair(word).ok_or_else(expected)).collect()
}

fn joined(variables: &[(String, String)]) -> String {
    let words: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}
