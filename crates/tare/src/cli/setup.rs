//! `tare setup`: lists what is installed and what would be installed, and installs it on request.

use super::interrupt::{self, unless_interrupted};
use super::tools::{self, Fetch, Found, Symbols, TOOLS, Tool};
use super::{Exit, Problem, output};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde::Serialize;
use std::io::{self, ErrorKind};
use std::process::{Command, ExitStatus};
use tare_engine::{engine_name, symbol_file};

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The programs, or the servers' debug symbols [default: all]
    #[arg(value_name = "WHAT", value_parser = PossibleValuesParser::new(names().map(possible)))]
    what: Vec<String>,
    /// Install what is missing; without this option nothing is changed
    #[arg(long, requires = "what")]
    install: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Limits for files of a debug symbol server, bytes and seconds; the largest such file has a third of these bytes.
const LARGEST: u64 = 4 << 30;
const LONGEST_S: u32 = 1_800;

#[derive(Serialize)]
struct SetupJson {
    #[serde(flatten)]
    found: Found,
    /// The command that installs it; `None` if it is installed or no package is known.
    install: Option<String>,
    /// Whether the user must type the command: `--install` adds no archive.
    by_hand: bool,
}

/// Prints for every program whether it is installed and what would install it; with `--install` installs it.
pub(crate) fn run(args: &SetupArgs) -> Result<Exit, Problem> {
    let named = |tool: &&Tool| args.what.is_empty() || args.what.iter().any(|name| engine_name(name) == tool.name);
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    interrupt::stop()?;
    let mut programs = Vec::new();
    for tool in TOOLS.iter().filter(named) {
        let Some(mut found) = unless_interrupted(Ok(tool.find()))? else { return Ok(Exit::Interrupted) };
        let command = tool.install(&release).map(as_root).filter(|_| found.path.is_none());
        if args.install && found.path.is_none() {
            install(tool.name, command.as_deref())?;
            found = tool.find();
        }
        let install = command.map(|words| words.join(" ")).filter(|_| found.path.is_none());
        programs.push(SetupJson { install, by_hand: false, found });
    }
    if args.what.is_empty() || args.what.iter().any(|name| name == tools::DEBUG_SYMBOLS) {
        let all = unless_interrupted(Ok(tools::all_symbols(&release)))?;
        let Some(all) = all else { return Ok(Exit::Interrupted) };
        for mut symbols in all {
            if args.install && symbols.found.path.is_none() {
                fetch(&symbols)?;
                symbols.found.path = symbol_file(&symbols.program);
                if symbols.found.path.is_none() {
                    output::note(&format!("the fetched package does not contain {}", symbols.found.purpose));
                }
            }
            let by_hand = matches!(symbols.fetch, Some(Fetch::Type(_)));
            let install = symbols.fetch.filter(|_| symbols.found.path.is_none()).map(|fetch| line(&fetch));
            programs.push(SetupJson { found: symbols.found, install, by_hand });
        }
    }
    if args.json {
        output::document("tare-setup", &serde_json::json!({ "programs": programs }))?
    } else {
        output::text(&text(&programs))?
    }
    let missing = args.install && programs.iter().any(|tool| tool.found.path.is_none());
    Ok(if missing { Exit::Machine } else { Exit::Done })
}

fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name).chain([tools::DEBUG_SYMBOLS])
}

/// A name; an engine may be called what `--engine` calls it.
fn possible(name: &'static str) -> PossibleValue {
    const SHORT: &str = "postgres";
    let value = PossibleValue::new(name);
    if name == engine_name(SHORT) { value.alias(SHORT) } else { value }
}

fn as_root(words: Vec<&str>) -> Vec<&str> {
    let sudo = if rustix::process::geteuid().is_root() { None } else { Some("sudo") };
    sudo.into_iter().chain(words).collect()
}

/// The command that gets symbols, as one line of a shell.
fn line(fetch: &Fetch) -> String {
    match fetch {
        Fetch::Run { words, as_root: false } => words.join(" "),
        Fetch::Run { words, as_root: true } => as_root(words.iter().map(String::as_str).collect()).join(" "),
        Fetch::Type(lines) => lines.join(" && "),
    }
}

fn fetch(symbols: &Symbols) -> Result<(), Problem> {
    match &symbols.fetch {
        Some(Fetch::Run { words, as_root: root }) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            // A package must not be left half installed: the installer gets Ctrl-C itself and ends in its own way.
            match root {
                true => run_command(&as_root(words), |mut command| command.status()),
                false => run_command(&words, within_limits),
            }
        }
        Some(Fetch::Type(lines)) => {
            Err(Problem::new(Exit::Machine, "no known apt archive has the debug symbols of this build")
                .at("/etc/apt/sources.list.d")
                .expected(format!("a package for {}", symbols.found.purpose))
                .advice(format!("as root, type: {}", lines.join(" && "))))
        }
        None => install(symbols.found.name, None),
    }
}

fn install(name: &str, command: Option<&[&str]>) -> Result<(), Problem> {
    let Some(words) = command else {
        let problem = Problem::new(Exit::Machine, format!("tare knows no package of {name} for this system"))
            .at("/etc/os-release");
        return Err(match without_package(name) {
            Some(how) => problem.advice(format!("install it with: {how}")),
            None => problem.expected("Debian, Ubuntu, Fedora or a distribution based on them").advice(
                "install it as its documentation describes; binary = \"PATH\" under [engine] names the program",
            ),
        });
    };
    run_command(words, |mut command| command.status())
}

fn without_package(name: &str) -> Option<&'static str> {
    TOOLS.iter().find(|tool| tool.name == name).and_then(Tool::without_package)
}

/// Runs a command that fetches from a foreign server; it ends with this program. Limits that the user has set are kept.
fn within_limits(mut command: Command) -> io::Result<ExitStatus> {
    for (name, limit) in [("DEBUGINFOD_MAXSIZE", LARGEST), ("DEBUGINFOD_MAXTIME", LONGEST_S.into())] {
        if std::env::var_os(name).is_none() {
            command.env(name, limit.to_string());
        }
    }
    tare_engine::dies_with_parent(&mut command);
    let mut child = command.spawn()?;
    // Some clients check the length that a server announces and then accept more. The child may have ended already.
    let _ = prlimit(
        Some(Pid::from_child(&child)),
        Resource::Fsize,
        Rlimit { current: Some(LARGEST), maximum: Some(LARGEST) },
    );
    child.wait()
}

fn run_command(
    command: &[&str],
    wait: impl FnOnce(Command) -> io::Result<ExitStatus> + Send + 'static,
) -> Result<(), Problem> {
    let [program, arguments @ ..] = command else { return Ok(()) };
    let words = command.join(" ");
    output::note(&format!("running: {words}"));
    // Database servers must not start when their packages are installed: tare starts private ones.
    let mut installs = Command::new(program);
    installs.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").stdout(io::stderr());
    match interrupt::awaited(move || wait(installs)) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::new(Exit::Machine, format!("{words}: {status}"))
            .advice("see its output above; `apt-get update` helps if package lists are old")),
        Err(error) if error.kind() == ErrorKind::Interrupted => {
            Err(interrupt::problem(&format!("{program} was running")))
        }
        Err(error) => Err(Problem::new(Exit::Machine, format!("cannot run {program}: {error}"))
            .advice(format!("as root, type: {}", arguments.join(" ")))),
    }
}

fn text(programs: &[SetupJson]) -> String {
    let mut text = String::new();
    for SetupJson { found, install, by_hand } in programs {
        let place = match (&found.path, install) {
            (Some(path), _) => format!("here: {}", path.display()),
            (None, Some(command)) if *by_hand => format!("missing; as root, type: {command}"),
            (None, Some(command)) => format!("missing; `tare setup {} --install` runs: {command}", found.name),
            (None, None) => match without_package(found.name) {
                Some(how) => format!("missing; install it with: {how}"),
                None => "missing; tare knows no package of it for this system".to_owned(),
            },
        };
        text.push_str(&format!("{:9} {}\n          for {}\n", found.name, place, found.purpose));
    }
    text
}
