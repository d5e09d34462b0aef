//! The command line as help shows it, and as other text prints it.

use super::*;
use regex_lite::Regex;
use std::path::PathBuf;

#[test]
fn help_examples_fit_a_terminal_of_80_columns() {
    fn judge(command: &clap::Command) -> usize {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.lines().filter(|line| line.starts_with("  tare ") || line.starts_with("      --"));
        // clap wraps longer paragraphs; line breaks within them would stay.
        let broken = help.lines().find(|line| line.chars().count() > 80 && !line.ends_with('.'));
        assert_eq!(broken, None);
        examples.inspect(|line| assert!(line.chars().count() <= 80, "{line}")).count()
            + command.get_subcommands().map(judge).sum::<usize>()
    }
    assert!(judge(&shown()) > 30);
}

#[test]
fn a_limit_of_time_has_both_names_in_every_command() {
    let mut names = Vec::new();
    for command in shown().get_subcommands() {
        for limit in command.get_arguments().filter(|own| matches!(own.get_long(), Some("within" | "budget"))) {
            let other = if limit.get_long() == Some("within") { "budget" } else { "within" };
            assert_eq!(limit.get_all_aliases(), Some(vec![other]), "{}", command.get_name());
            names.push(command.get_name().to_owned());
        }
    }
    assert_eq!(names, ["run", "ab", "bisect", "find", "why", "reproduce", "shard", "slurm"]);
}

/// The Rust files of a folder, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_source = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".rs") && !name.ends_with("_tests.rs")
    };
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| is_source(path))
        .collect()
}

/// The text literals of a source without its tests and comments, with continued lines joined.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap().lines();
    let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
    let literal = Regex::new(r#""((?:[^"\\]|\\[\s\S])*)""#).unwrap();
    let joined = Regex::new(r"\\\n\s*").unwrap();
    let whole = |text: &str| joined.replace_all(text, "").replace("\\n", "\n").replace("\\\"", "\"");
    literal.captures_iter(&code.join("\n").replace("'\"'", "' '")).map(|found| whole(&found[1])).collect()
}

/// What a literal prints as commands: after a colon, in backticks, on lines of their own, or as a whole.
fn printed_in(literal: &str) -> Vec<String> {
    let introduced = Regex::new(r"(?:: |`|\n  )(tare [a-z{][^`;\n]*)").unwrap();
    let ends = Regex::new(r" \(|,? (?:and|if|or|which|as) |, |\. |\s{2,}|\.$").unwrap();
    let whole = Regex::new(r"^tare [a-z]+ [{-]").unwrap().find(literal).map(|_| literal.to_owned());
    let all = introduced.captures_iter(literal).map(|found| found[1].to_owned()).chain(whole);
    all.map(|text| ends.split(&text).next().unwrap().trim().to_owned()).collect()
}

/// A command with words for what is put in when it is printed.
fn filled_in(command: &str) -> Vec<String> {
    let number = Regex::new(r"\{[a-z_]*:\.0\}|\{(?:one|first|within_s)\}").unwrap();
    let text = Regex::new(r"\{[^}]*\}").unwrap();
    let command = number.replace_all(command, "1").replace("{budget}", "--budget 1h").replace("{scale}", "");
    let command = command.replace("setup {}", "setup symbols");
    text.replace_all(&command, "x").split_whitespace().map(str::to_owned).collect()
}

/// Help is left out, whose examples are run by a test of their own. A word in capitals would be a placeholder, which a
/// user has to guess.
#[test]
fn every_printed_command_can_be_typed_as_it_is() {
    let folders = ["findings/src", "report/src", "tare/src", "study/src/plan", "noise/src/doctor"];
    let folders = folders.map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder));
    let is_placeholder = |word: &String| {
        let last = word.rsplit('=').next().unwrap_or_default();
        last.starts_with(char::is_uppercase) && last.chars().all(|c| c.is_uppercase() || c == ',')
    };
    let commands = Args::command();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in folders.iter().flat_map(|folder| sources(folder)) {
        let source = std::fs::read_to_string(&path).unwrap();
        let is_help = |text: &String| {
            text.contains("Examples") || text.contains("[OPTIONS]") || text.contains("\n  tare ") && !text.contains('{')
        };
        let texts = literals(&source).into_iter().filter(|text| !is_help(text));
        for command in texts.flat_map(|text| printed_in(&text)) {
            let words = filled_in(&command);
            let known = commands.get_subcommands().any(|known| known.get_name() == words[1]);
            // A name of a command alone is no command line. The sentence before a part of one names the other options.
            if !known || words.len() == 2 || command.contains("$(") {
                continue;
            }
            let parsed = Args::try_parse_from(&words).err().filter(|error| error.kind() != ErrorKind::DisplayHelp);
            if parsed.is_some() || words.iter().any(is_placeholder) {
                wrong.push(format!("{}: {command}", path.display()));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty() && count >= 50, "{count} commands, of which wrong: {wrong:#?}");
}
