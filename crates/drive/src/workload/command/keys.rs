//! Keys of the workload `command`.

use super::CommandSettings;
use crate::workload::program::{Line, Parser};
use crate::workload::{Key, Keyed};
use tare_text::Value;

impl Keyed for CommandSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "command",
            help: "the program and its arguments, as a list or as words of a shell (none is run for it); {socket}, \
                   {socket_directory}, {host}, {port}, {user}, {database}, {password_file}, {engine}, {threads}, \
                   {warmup}, {seconds}, {total}, {seed} and {sample} are filled in",
            get: |s| line(&s.command),
            set: |s, v| read_line(v).map(|line| s.command = line),
        },
        Key {
            name: "shell",
            help: "on: the lines are given to sh -c",
            get: |s| Some(s.shell.into()),
            set: |s, v| v.switch().map(|on| s.shell = on),
        },
        Key {
            name: "environment",
            help: "variables for the program: NAME=VALUE words; placeholders are filled in",
            get: |s| (!s.environment.is_empty()).then(|| Value::Text(joined(&s.environment))),
            set: |s, v| variables(&v.to_string()).map(|variables| s.environment = variables),
        },
        Key {
            name: "directory",
            help: "where the program runs; absent: where tare was started",
            get: |s| s.directory.as_ref().map(|path| path.display().to_string().into()),
            set: |s, v| {
                s.directory = Some(v.to_string().into());
                Ok(())
            },
        },
        Key {
            name: "fill",
            help: "a command that fills a fresh server, run once: its data are kept and copied for every trial",
            get: |s| line(&s.fill),
            set: |s, v| read_line(v).map(|line| s.fill = line),
        },
        Key {
            name: "prepare",
            help: "a command that runs before every sample, unmeasured",
            get: |s| line(&s.prepare),
            set: |s, v| read_line(v).map(|line| s.prepare = line),
        },
        Key {
            name: "cleanup",
            help: "a command that runs after every sample, unmeasured",
            get: |s| line(&s.cleanup),
            set: |s, v| read_line(v).map(|line| s.cleanup = line),
        },
        Key {
            name: "needs_server",
            help: "on: a server is started for it; absent: where a line or variable has a placeholder of a server",
            get: |s| s.server.map(Into::into),
            set: |s, v| v.switch().map(|on| s.server = Some(on)),
        },
        Key {
            name: "warmup_runs",
            help: "runs before the first sample of a trial that are thrown away",
            get: |s| Some(s.warmup_runs.into()),
            set: |s, v| v.whole(0, 100_000).map(|v| s.warmup_runs = v),
        },
        Key {
            name: "timeout_s",
            help: "seconds that one run may take before it is killed and its trial has failed; absent: an hour",
            get: |s| s.timeout_s.map(Into::into),
            set: |s, v| v.positive("seconds").map(|v| s.timeout_s = Some(v)),
        },
        Key {
            name: "metrics",
            help: "what its output holds: sysbench, pgbench, hammerdb, json POINTER as NAME, regex PATTERN as NAME \
                   (one or a list); absent: its time, CPU time, memory, faults and switches are the result",
            get: |s| {
                let words: Vec<String> = s.metrics.iter().map(ToString::to_string).collect();
                (!words.is_empty()).then(|| words.join(" ").into())
            },
            set: |s, v| Parser::list(&v.to_string()).map(|parsers| s.metrics = parsers),
        },
        Key {
            name: "output",
            help: "log: kept below logs/ of the results, up to 64 MiB a run; discard: standard output goes nowhere",
            get: |s| Some(if s.discard { "discard" } else { "log" }.into()),
            set: |s, v| v.one_of(&["log", "discard"]).map(|word| s.discard = word == "discard"),
        },
        Key {
            name: "preload",
            help: "on: every table and every index is read from end to end before the first sample",
            get: |s| Some(s.preload.into()),
            set: |s, v| v.switch().map(|on| s.preload = on),
        },
    ];
}

fn line(line: &Option<Line>) -> Option<Value> {
    // Never a number, whatever it looks like.
    line.as_ref().map(|line| Value::Text(line.text().to_owned()))
}

fn read_line(value: &Value) -> Result<Option<Line>, String> {
    Line::new(&value.to_string()).map(Some)
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
