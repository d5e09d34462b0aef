//! Errors of the command line, in the form of all other errors.

use super::output::quoted_path;
use super::{Exit, Problem};
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};
use std::path::Path;
use tare_study::language::builtin;
use tare_study::language::made::without_section;

/// Converts an error of clap; `None` if clap shows help that was requested or that replaces missing arguments.
pub(crate) fn problem(error: &Error) -> Option<Problem> {
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
