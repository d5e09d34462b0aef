//! Options that set keys of the study behind a load. Meaning, type, range and default of each come from the key.

use crate::cli::output;
use crate::cli::problem::expectation;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use std::marker::PhantomData;
use tare_study::language::made::{KeyValue, check_value, declared};
use tare_text::{Kind, Value};

#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyOption {
    /// The name of the option, without `--`.
    pub long: &'static str,
    pub key: (&'static str, &'static str),
    /// Other names that help shows.
    pub also: &'static [&'static str],
    pub taken: &'static [&'static str],
    /// The placeholder of the value in the help; empty: derived from the type of the key.
    pub value: &'static str,
    /// Text that follows the key's own help, in place of its default.
    pub more: &'static str,
    pub not_with: Option<&'static str>,
    /// The part of the help that lists it; empty: determined by the section of the key.
    pub heading: &'static str,
    /// Whether the value is a time with a unit. The range of a time is checked when the study is made.
    pub is_time: bool,
}

impl KeyOption {
    /// An option whose help, type, range and default come from the key alone.
    pub(crate) const fn new(long: &'static str, section: &'static str, key: &'static str) -> Self {
        let key = (section, key);
        Self { long, key, also: &[], taken: &[], value: "", more: "", not_with: None, heading: "", is_time: false }
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.long == name || self.also.contains(&name) || self.taken.contains(&name)
    }

    fn arg(self) -> Arg {
        let (section, key) = self.key;
        let declared = declared(section, key);
        let kind = declared.as_ref().map_or(Kind::Words, |declared| declared.info.kind);
        let default = declared.as_ref().and_then(|declared| declared.default.as_ref());
        let more = match (self.more, default) {
            ("", Some(default)) => format!(" [default: {default}]"),
            (more, _) => more.to_owned(),
        };
        let help = declared.as_ref().map_or("", |declared| declared.info.help);
        let heading = match (self.heading, section) {
            ("", "engine") => Some(SERVER),
            ("", "placement" | "client") => Some("Placement"),
            (heading, _) => Some(heading).filter(|heading| !heading.is_empty()),
        };
        let arg = Arg::new(self.long)
            .long(self.long)
            .help_heading(heading)
            .visible_aliases(self.also.iter().copied())
            .aliases(self.taken.iter().copied())
            // sysbench accepts its options with - or _ between words.
            .aliases(self.long.contains('-').then_some(key))
            .help(capital(help) + &more)
            .value_name(if self.value.is_empty() { value_name(kind) } else { self.value })
            .value_parser(move |text: &str| self.parse(kind, text));
        let arg = match kind {
            Kind::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("on"),
            _ => arg.action(ArgAction::Set),
        };
        match self.not_with {
            Some(other) => arg.conflicts_with(other),
            None => arg,
        }
    }

    fn parse(self, kind: Kind, text: &str) -> Result<Value, String> {
        if self.is_time {
            let seconds = output::seconds(text).filter(|seconds| *seconds >= 0.0);
            return seconds.map(Value::Number).ok_or_else(|| "expected a time such as 60s, 2m or 500ms".into());
        }
        let value = match kind {
            Kind::Switch => Value::Switch(switch(text)?),
            _ => Value::of_word(text),
        };
        let (section, key) = self.key;
        check_value(section, key, &value).map_err(|expected| format!("expected {}", expectation(expected)))?;
        Ok(value)
    }
}

/// Heading of the options that say which server it is, and how to log in.
pub(crate) const SERVER: &str = "Server";

pub(crate) trait KeyOptions {
    /// In the order of the help.
    const OPTIONS: &'static [KeyOption];
}

/// The keys that were set by the options of a group.
#[derive(Debug)]
pub(crate) struct Chosen<T> {
    values: Vec<KeyValue>,
    group: PhantomData<T>,
}

impl<T> Chosen<T> {
    pub(crate) fn values(&self) -> &[KeyValue] {
        &self.values
    }

    /// The value of a key; `None` if it was not set.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(_, name, _)| *name == key).map(|(.., value)| value)
    }
}

impl<T: KeyOptions> FromArgMatches for Chosen<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let values = T::OPTIONS.iter().filter_map(|option| {
            let value = matches.try_get_one::<Value>(option.long).ok().flatten()?;
            Some((option.key.0, option.key.1, value.clone()))
        });
        Ok(Self { values: values.collect(), group: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: KeyOptions> Args for Chosen<T> {
    fn augment_args(command: Command) -> Command {
        T::OPTIONS.iter().fold(command, |command, option| command.arg(option.arg()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "on|off",
        Kind::Whole(..) | Kind::Positive(_) => "N",
        Kind::Seconds => "TIME",
        Kind::Path => "FILE",
        Kind::Words => "NAME",
    }
}

/// Capitalises the first letter; a first word that ends with a colon is a value of the option and stays as it is.
fn capital(words: &str) -> String {
    if words.split(' ').next().is_some_and(|first| first.ends_with(':')) {
        return words.to_owned();
    }
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("expected on or off".into()),
    }
}
