//! A command line that is none, in the shape of every other error.

use super::{Exit, Problem};
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// What clap says of a command line, as a problem; none of the help that no error is the reason for.
pub fn problem(error: &Error) -> Option<Problem> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let mut problem = Problem::new(Exit::Usage, what(error));
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.as_deref().map(|usage| usage.trim_start_matches("Usage:").trim());
    let expected = match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(source), _) => Some(source.to_string()),
        (None, Some(ContextValue::Strings(values))) if !values.is_empty() => Some(values.join(", ")),
        (None, _) => usage.map(str::to_owned),
    };
    if let Some(expected) = expected {
        problem = problem.expected(expected);
    }
    let help = format!("see the options with `{} --help`", command(usage));
    Some(match near(error) {
        Some(name) => problem.advice(format!("did you mean `{name}`? Else {help}")),
        None => problem.advice(help),
    })
}

/// The paragraph that clap's error begins with, on one line, without the reason and the values that follow it.
fn what(error: &Error) -> String {
    let text = error.to_string();
    let lines =
        text.lines().map(str::trim).take_while(|line| !line.is_empty() && !line.starts_with("[possible values"));
    let all = lines.collect::<Vec<_>>().join(" ");
    let all = all.strip_prefix("error: ").unwrap_or(&all);
    let reason = error.source().map(|source| format!(": {}", source.to_string().replace('\n', " ")));
    reason.and_then(|reason| all.strip_suffix(reason.as_str())).unwrap_or(all).to_owned()
}

/// The option, command or value that was probably meant. Of commands only one whose name is as near as for every other
/// word: clap takes `metrics` for `completions`.
fn near(error: &Error) -> Option<String> {
    let one = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.clone()),
        Some(ContextValue::Strings(names)) => names.first().cloned(),
        _ => None,
    };
    let said = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
    let named = one(ContextKind::SuggestedSubcommand)
        .filter(|name| said.is_none_or(|said| tare_text::nearest(&said, [name.as_str()]).is_some()));
    named.or_else(|| one(ContextKind::SuggestedArg)).or_else(|| one(ContextKind::SuggestedValue))
}

/// `tare ab` of its usage, else of the words that were typed.
fn command(usage: Option<&str>) -> String {
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let typed: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = match usage {
        Some(usage) => usage.split_whitespace().skip(1).take_while(is_word).collect(),
        None => typed.first().map(String::as_str).into_iter().filter(is_word).collect(),
    };
    [&["tare"], words.as_slice()].concat().join(" ")
}
