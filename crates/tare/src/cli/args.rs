//! The command line: every command, with its help text, and its errors in the form of all other errors.

use super::output::quoted_path;
use super::{Exit, Problem};
use crate::config;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser, Subcommand};
use rustix::process::{Resource, getrlimit};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};
use std::path::Path;
use std::process::ExitCode;
use tare_engine::sqlite::{ServeArgs, serve};
use tare_study::language::builtin;
use tare_study::language::made::without_section;

/// NUMA-aware, noise-controlled benchmarking of databases. Zero the scale before you weigh.
///
/// A study says what to run: a database, a workload, factors and their levels. Every combination of levels is a
/// condition; every condition gets several trials, each with a server of its own, in random order. Client and server
/// threads run on the CPUs that the study names, pair by pair, and tare verifies that they stay there.
#[derive(Debug, Parser)]
#[command(name = "tare", version, propagate_version = true, after_help = AFTER_HELP)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start here:
  tare run                           the effect of placement, on embedded SQLite
  tare run --engine mariadb          the same on a private MariaDB
  tare ab --a binary=A --b binary=B  whether build B is slower than build A
  tare doctor                        what disturbs measurements here
  tare studies first-look >my.toml   a study, to start your own from
  tare run my.toml --dry-run         which CPU each thread gets, and the time

A PU is a logical CPU: a core, or one of its hardware threads.

Exit codes: 0 done; 1 a gate failed; 2 wrong usage or study; 3 this machine
cannot do it; 4 a trial failed for good; 5 a gate could not decide;
130 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a study: a file or a built-in name
    Run(super::run::RunArgs),
    /// List the built-in studies, print one, or explain the keys of a study file
    Studies(super::studies::StudiesArgs),
    /// Show the machine's packages, nodes, caches and cores, and which pairings it has
    Topo(super::topo::TopoArgs),
    Show(super::show::Show),
    Ab(Box<super::ab::AbArgs>),
    Bisect(Box<super::bisect::BisectArgs>),
    Find(Box<super::find::FindArgs>),
    Compare(super::compare::Compare),
    History(super::history::History),
    Why(super::why::WhyArgs),
    Reproduce(super::reproduce::ReproduceArgs),
    Report(super::report::Report),
    Export(super::export::Export),
    Shard(super::shard::ShardArgs),
    Slurm(super::slurm::SlurmArgs),
    Merge(super::merge::MergeArgs),
    Repair(super::repair::Repair),
    /// Drive load against any running server, bound thread by thread
    Load(Box<super::load::LoadCommand>),
    /// Measure this machine's noise sources and show how to remove them
    Doctor(super::doctor::DoctorArgs),
    /// Restore machine settings after a run was killed
    Restore(super::restore::RestoreArgs),
    /// Show which programs are installed and which packages contain the others; install them on request
    Setup(super::setup::SetupArgs),
    /// Show disk use and remove prepared data; results only if they are named
    Clean(super::clean::CleanArgs),
    /// Print completions for a shell, to save where that shell looks for them
    Completions(super::man::CompletionsArgs),
    /// Write the manual pages into a directory (for packages)
    #[command(hide = true)]
    Man(super::man::ManArgs),
    /// The clients of a trial on another host (internal)
    #[command(hide = true)]
    ClientAgent(super::client_agent::ClientAgentArgs),
    /// One trial of a run (internal)
    #[command(hide = true)]
    Trial(super::trial::TrialArgs),
    /// The embedded engine as a server (internal)
    #[command(hide = true)]
    SqliteServer(ServeArgs),
    /// A described machine as JSON (internal)
    #[command(hide = true)]
    ReadTopology(super::read_topology::ReadTopologyArgs),
}

/// The commands without internal ones, for completions and manual pages.
fn shown() -> clap::Command {
    let all = Args::command();
    let commands: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    clap::Command::new("tare")
        .version(env!("CARGO_PKG_VERSION"))
        .about(all.get_about().cloned().unwrap_or_default())
        .long_about(all.get_long_about().cloned().unwrap_or_default())
        .after_help(AFTER_HELP)
        .subcommands(commands)
}

/// The least size of the stack, bytes; with half of it, parsing a command line exceeds the stack.
const STACK: u64 = 512 << 10;

/// Parses the command line, runs the command, prints its error.
pub fn main() -> ExitCode {
    super::secret::leave_environment();
    let exit = enough_stack().and_then(|()| parsed()).and_then(|exit| {
        // The command has said on standard error how to go on.
        let interrupted = (exit == Exit::Interrupted).then(|| Problem::new(exit, "interrupted"));
        super::output::end(interrupted.as_ref()).map(|()| exit)
    });
    ExitCode::from(exit.unwrap_or_else(|problem| printed(&problem)) as u8)
}

/// Refuses a stack that would be exceeded, because the system would end this program without a reason then.
fn enough_stack() -> Result<(), Problem> {
    match getrlimit(Resource::Stack).current.filter(|bytes| *bytes < STACK) {
        None => Ok(()),
        Some(bytes) => Err(Problem::new(Exit::Machine, format!("the limit of the stack is {} KiB", bytes >> 10))
            .expected(format!("{} KiB or more", STACK >> 10))
            .advice("raise it: ulimit -s 8192")),
    }
}

/// Not a part of `main`, which would then need as much of the stack from its beginning.
#[inline(never)]
fn parsed() -> Result<Exit, Problem> {
    tare_files::close_to_others();
    super::interrupt::take_signals();
    let command = Args::try_parse().unwrap_or_else(|error| refuse(&error)).command;
    configure(&command).and_then(|()| run(command))
}

fn printed(problem: &Problem) -> Exit {
    super::output::note(&problem.to_string());
    // A reader that has gone does not need the error either.
    let _ = super::output::end(Some(problem));
    problem.exit
}

/// Ends with the error of an invalid command line, or with the requested help.
fn refuse(error: &Error) -> ! {
    let Some(problem) = usage_problem(error) else { error.exit() };
    std::process::exit(printed(&problem) as i32)
}

/// Reads the user's defaults for the commands that use them.
fn configure(command: &Command) -> Result<(), Problem> {
    match command {
        // A mistake in the defaults must not prevent restoring settings; `tare doctor` reports it itself.
        Command::Restore(_) | Command::Doctor(_) => {
            let _ = config::load();
            Ok(())
        }
        Command::Completions(_) | Command::Man(_) | Command::SqliteServer(_) | Command::ReadTopology(_) => Ok(()),
        _ => Ok(config::load().map(|_| ())?),
    }
}

fn run(command: Command) -> Result<Exit, Problem> {
    match command {
        Command::Run(args) => super::run::run(&args, super::ab::decide, super::doctor::choose_probe),
        Command::Studies(args) => super::studies::run(&args),
        Command::Topo(args) => super::topo::run(&args),
        Command::Show(args) => super::show::run(args),
        Command::Ab(args) => super::ab::run(&args),
        Command::Bisect(args) => super::bisect::run(&args),
        Command::Find(args) => super::find::run(&args),
        Command::Compare(args) => super::compare::run(args),
        Command::History(args) => super::history::run(args),
        Command::Why(args) => super::why::run(args),
        Command::Reproduce(args) => super::reproduce::run(&args),
        Command::Report(args) => super::report::run(args),
        Command::Export(args) => super::export::run(args),
        Command::Shard(args) => super::shard::run(&args),
        Command::Slurm(args) => super::slurm::run(&args),
        Command::Merge(args) => super::merge::run(&args),
        Command::Repair(args) => super::repair::run(&args),
        Command::Load(args) => super::load::run(&args),
        Command::Doctor(args) => super::doctor::run(&args),
        Command::Restore(args) => super::restore::run(&args),
        Command::Setup(args) => super::setup::run(&args),
        Command::Clean(args) => super::clean::run(&args),
        Command::Completions(args) => super::man::complete(&args, shown()),
        Command::Man(args) => super::man::run(&args, shown()),
        Command::ClientAgent(args) => super::client_agent::run(&args),
        Command::Trial(args) => super::trial::run(&args),
        // Errors of this command go to the server's log.
        Command::SqliteServer(args) => {
            serve(&args).map(|()| Exit::Done).map_err(|e| Problem::new(Exit::Machine, e.to_string()))
        }
        Command::ReadTopology(args) => super::read_topology::run(&args),
    }
}

/// Converts an error of clap; `None` if clap shows help that was requested or that replaces missing arguments.
fn usage_problem(error: &Error) -> Option<Problem> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let mut problem = Problem::new(Exit::Usage, what(error));
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.as_deref().map(|usage| usage.trim_start_matches("Usage:").trim());
    let values = words(error, ContextKind::ValidValue);
    let command = command(usage);
    let key = key(error, &command);
    let pgbench = of_pgbench(error, &command);
    let expected = match error.source() {
        Some(source) if source.is::<ParseIntError>() => Some("a whole number".to_owned()),
        Some(source) if source.is::<ParseFloatError>() => Some("a number".to_owned()),
        Some(source) => {
            let text = source.to_string();
            // clap writes a range as Rust does.
            Some(match text.split_once(" is not in ") {
                Some((_, range)) => format!("a whole number from {}", range.replace("..=", " to ")),
                None => text,
            })
        }
        // clap's usage line shows both arguments, as if they could be used together.
        None if is_repeated(error) => Some("the option once".to_owned()),
        None if !words(error, ContextKind::PriorArg).is_empty() => Some("one of the two".to_owned()),
        None if values.is_empty() => {
            usage.filter(|_| key.is_none() && pgbench.is_none() && !is_far_fetched(error)).map(str::to_owned)
        }
        None => Some(values.join(", ")),
    };
    if let Some(expected) = expected {
        problem = problem.expected(expected);
    }
    let help = format!("see the options with `{command} --help`");
    Some(problem.advice(match (key, pgbench.or_else(|| near(error)), study(error)) {
        (Some(key), ..) => format!("set the study's key: --set {key}=VALUE. Else {help}"),
        (_, Some(name), _) => format!("did you mean `{name}`? Else {help}"),
        (.., Some(study)) => format!("to run a study: tare run {study}. Else {help}"),
        _ => help,
    }))
}

fn what(error: &Error) -> String {
    // A shell expands patterns to file names, so an argument may be a file name with control characters.
    let word = |kind| words(error, kind).iter().map(|word| tare_text::shown_name(word)).collect::<Vec<_>>().join(", ");
    let argument = word(ContextKind::InvalidArg);
    match (error.kind(), word(ContextKind::InvalidValue)) {
        (ErrorKind::UnknownArgument, _) if argument.starts_with('-') && argument.parse::<f64>().is_ok() => {
            format!("unexpected argument '{argument}': no option takes a negative number")
        }
        (ErrorKind::UnknownArgument, _) => format!("unexpected argument '{argument}'"),
        // clap takes a surplus word for a command.
        (ErrorKind::ArgumentConflict, _) if argument.is_empty() => {
            format!("unexpected argument '{}'", word(ContextKind::InvalidSubcommand))
        }
        (ErrorKind::InvalidSubcommand, _) => format!("there is no command '{}'", word(ContextKind::InvalidSubcommand)),
        (ErrorKind::MissingRequiredArgument, _) => format!("missing: {argument}"),
        (ErrorKind::ArgumentConflict, _) if is_repeated(error) => format!("'{argument}' was given more than once"),
        (ErrorKind::ArgumentConflict, _) => {
            format!("'{argument}' cannot be used with '{}'", word(ContextKind::PriorArg))
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, value) if !value.is_empty() => {
            format!("invalid value '{value}' for '{argument}'")
        }
        (ErrorKind::InvalidValue, _) => format!("'{argument}' needs a value"),
        (ErrorKind::InvalidUtf8, _) => not_utf8(std::env::args_os()),
        (kind, _) => format!("{}: '{argument}'", kind.as_str().unwrap_or("wrong usage")),
    }
}

/// Whether an option that takes one value was given again: clap calls this a conflict with itself.
fn is_repeated(error: &Error) -> bool {
    let given = words(error, ContextKind::InvalidArg);
    !given.is_empty() && given == words(error, ContextKind::PriorArg)
}

/// clap does not name the argument.
fn not_utf8(arguments: impl Iterator<Item = OsString>) -> String {
    let wrong = arguments.filter(|argument| argument.to_str().is_none()).map(|argument| format!("{argument:?}"));
    format!("not UTF-8: {}", wrong.collect::<Vec<_>>().join(", "))
}

fn words(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => Vec::new(),
    }
}

/// Whether clap's usage line shows an option that was not meant.
fn is_far_fetched(error: &Error) -> bool {
    error.get(ContextKind::SuggestedArg).is_some() && near(error).is_none()
}

/// What was probably meant, if its name is close enough. clap alone would suggest `completions` for `metrics`.
fn near(error: &Error) -> Option<String> {
    let one = |kind| words(error, kind).into_iter().next();
    let pairs = [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    pairs.into_iter().find_map(|(given, meant)| {
        let (given, meant) = (one(given)?, one(meant)?);
        tare_text::nearest(&given, [meant.as_str()]).map(str::to_owned)
    })
}

/// Short options of pgbench and psql, and what `tare load` calls them.
const OF_PGBENCH: [(&str, &str); 9] = [
    ("-c", "--threads"),
    ("-j", "--threads"),
    ("-T", "--time"),
    ("-R", "--rate"),
    ("-M", "--db-ps-mode"),
    ("-i", "--prepare"),
    ("-U", "--user"),
    ("-p", "--port"),
    ("-d", "--database"),
];

fn of_pgbench(error: &Error, command: &str) -> Option<String> {
    let option = words(error, ContextKind::InvalidArg).into_iter().next().filter(|_| command == "tare load")?;
    OF_PGBENCH.iter().find(|(short, _)| *short == option).map(|(_, long)| (*long).to_owned())
}

/// The key of a study with the name of an unknown option, or that an option of `tare load` with this name sets, if the
/// command sets keys.
fn key(error: &Error, command: &str) -> Option<String> {
    let sets = matches!(command, "tare run" | "tare ab" | "tare find" | "tare bisect" | "tare shard" | "tare slurm");
    let option = words(error, ContextKind::InvalidArg).into_iter().next().filter(|_| sets)?;
    // Measured programs have an option of their own for a warm-up.
    let is_meant = error.kind() == ErrorKind::UnknownArgument && (option != "--warmup" || !measures_a_program());
    let option = option.strip_prefix("--").filter(|option| is_meant && *option != "name")?;
    let name = option.replace('-', "_");
    without_section(&name).or_else(|| super::load::key_of(option)).map(|(section, key)| format!("{section}.{key}"))
}

fn measures_a_program() -> bool {
    std::env::args_os().any(|word| word == "--command")
}

/// The name of a study, or a file, in place of a command.
fn study(error: &Error) -> Option<String> {
    let word = words(error, ContextKind::InvalidSubcommand).into_iter().next();
    let path = word.as_deref().filter(|_| error.kind() == ErrorKind::InvalidSubcommand).map(Path::new)?;
    (path.to_str().is_some_and(|name| builtin::find(name).is_some()) || path.is_file()).then(|| quoted_path(path))
}

/// The command whose help to show: from the usage text, or else from the arguments.
fn command(usage: Option<&str>) -> String {
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let typed: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = match usage {
        Some(usage) => usage.split_whitespace().skip(1).take_while(is_word).collect(),
        None => typed.first().map(String::as_str).into_iter().filter(is_word).collect(),
    };
    [&["tare"], words.as_slice()].concat().join(" ")
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
