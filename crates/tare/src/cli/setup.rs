//! `tare setup`: what is here, what would be installed, and installing it on request.

use super::tools::{Found, TOOLS, Tool};
use super::{Exit, Problem, output};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use std::process::Command;

/// Options of `tare setup`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Which programs; all of them when none is named
    #[arg(value_name = "WHAT", value_parser = PossibleValuesParser::new(TOOLS.iter().map(|tool| tool.name)))]
    what: Vec<String>,
    /// Install what is missing; without it nothing is changed
    #[arg(long, requires = "what")]
    install: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SetupJson {
    #[serde(flatten)]
    found: Found,
    /// The command that installs it; none when it is here or no package of it is known.
    install: Option<String>,
}

/// Says for every program whether it is here and what would install it; with `--install` does so.
///
/// # Errors
/// [`Problem`] when there is no package of it here, or installing it failed.
pub fn run(args: &SetupArgs) -> Result<Exit, Problem> {
    let named = |tool: &&Tool| args.what.is_empty() || args.what.iter().any(|name| name == tool.name);
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let mut told = Vec::new();
    for tool in TOOLS.iter().filter(named) {
        let mut found = tool.find();
        let command = tool.install(&release).map(as_root).filter(|_| found.path.is_none());
        if args.install && found.path.is_none() {
            install(tool.name, command.as_deref())?;
            found = tool.find();
        }
        told.push(SetupJson { install: command.map(|words| words.join(" ")).filter(|_| found.path.is_none()), found });
    }
    if args.json {
        output::document("tare-setup", &serde_json::json!({ "programs": told }))?
    } else {
        output::text(&text(&told))?
    }
    let missing = args.install && told.iter().any(|tool| tool.found.path.is_none());
    Ok(if missing { Exit::Machine } else { Exit::Done })
}

/// Packages are installed by root.
fn as_root(words: Vec<&'static str>) -> Vec<&'static str> {
    let sudo = if rustix::process::geteuid().is_root() { None } else { Some("sudo") };
    sudo.into_iter().chain(words).collect()
}

fn install(name: &str, command: Option<&[&str]>) -> Result<(), Problem> {
    let Some([program, arguments @ ..]) = command else {
        return Err(Problem::new(Exit::Machine, format!("no package of {name} is known for this system"))
            .at("/etc/os-release")
            .expected("Debian, Ubuntu, Fedora or a relative of theirs")
            .advice("install it as its own documentation says; binary = \"PATH\" under [engine] names a program"));
    };
    let words = format!("{program} {}", arguments.join(" "));
    output::note(&format!("running: {words}"));
    // Databases that packages bring must not start by themselves: tare starts its own, private ones.
    let status = Command::new(program)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("RUNLEVEL", "1")
        .stdout(std::io::stderr())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::new(Exit::Machine, format!("{words}: {status}"))
            .advice("read what it says above; `apt-get update` helps when package lists are old")),
        Err(error) => Err(Problem::new(Exit::Machine, format!("cannot run {program}: {error}"))
            .advice(format!("as root, type: {}", arguments.join(" ")))),
    }
}

fn text(told: &[SetupJson]) -> String {
    let mut text = String::new();
    for SetupJson { found, install } in told {
        let place = match (&found.path, install) {
            (Some(path), _) => format!("here: {}", path.display()),
            (None, Some(command)) => format!("missing; `tare setup {} --install` runs: {command}", found.name),
            (None, None) => "missing, and no package of it is known for this system".to_owned(),
        };
        text.push_str(&format!("{:9} {}\n          for {}\n", found.name, place, found.purpose));
    }
    text
}
