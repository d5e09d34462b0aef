//! Settings by their names: what a key of the base or a level of a factor changes, and all settings as a flat list of
//! typed values with names `section.key`, the form in which a plan stores them.

use super::fields;
use super::key::{BUILD, Field};
use super::settings::Settings;
use std::collections::BTreeMap;
use tare_results::factor;
use tare_text::Value;
use thiserror::Error;

/// Prefix of the names of engine options, which are open-ended.
const OPTION: &str = "engine.options.";

/// An invalid value: the plan was edited, or written by another version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the plan's {name} = {value}: expected {expected}")]
pub struct ValueError {
    pub name: String,
    pub value: String,
    pub expected: String,
}

pub fn to_values(settings: &Settings) -> BTreeMap<String, Value> {
    let fields = fields::all();
    let mut values: BTreeMap<String, Value> =
        fields.filter_map(|field| Some((format!("{}.{}", field.section, field.key), field.get(settings)?))).collect();
    let options = settings.engine.options.iter();
    values.extend(options.map(|(name, value)| (format!("{OPTION}{name}"), Value::Text(value.clone()))));
    values
}

/// The settings that [`to_values`] wrote.
pub fn from_values(values: &BTreeMap<String, Value>) -> Result<Settings, ValueError> {
    let mut settings = Settings::default();
    let wrong = |name: &str, value: &Value, expected: String| ValueError {
        name: name.to_owned(),
        value: value.to_string(),
        expected,
    };
    // In the order of the table: the name of a load precedes its keys.
    for field in fields::all() {
        let name = format!("{}.{}", field.section, field.key);
        if let Some(value) = values.get(&name) {
            field.set(&mut settings, value).map_err(|expected| wrong(&name, value, expected))?;
        }
    }
    for (name, value) in values {
        if let Some(option) = name.strip_prefix(OPTION) {
            settings.engine.options.insert(option.to_owned(), value.to_string());
        } else if name.split_once('.').and_then(|(section, key)| fields::find(section, key)).is_none() {
            return Err(wrong(name, value, "a key of this version's studies".into()));
        }
    }
    Ok(settings)
}

/// One setting of a condition, named either by a key of a study's table or by a factor.
#[derive(Clone, PartialEq)]
pub enum Target {
    Key(Field),
    Option(String),
}

impl Target {
    /// What `section.key` of the base sets; none for a key that is not part of a condition (`sampling.trials`).
    pub(crate) fn of_key(section: &str, key: &str) -> Option<Self> {
        if section == "engine" { Self::of_build_key(key) } else { fields::find(section, key).map(Self::Key) }
    }

    /// The setting that a key of a named placement or build changes.
    pub(crate) fn of_named(factor: &str, key: &str) -> Option<Self> {
        if factor == BUILD { Self::of_build_key(key) } else { Self::of_key(factor, key) }
    }

    /// One of `[engine]`, or `options.NAME`.
    fn of_build_key(key: &str) -> Option<Self> {
        match key.strip_prefix("options.") {
            Some(option) => Some(Self::Option(option.to_owned())),
            None => fields::find("engine", key).map(Self::Key),
        }
    }

    /// The setting that a factor changes, if it is neither a named placement nor a named build; none for no factor.
    pub(crate) fn of_factor(name: &str) -> Option<Self> {
        match factor::option(name) {
            Some(option) => Some(Self::Option(option.to_owned())),
            None => fields::factor(name).map(Self::Key),
        }
    }

    /// The error describes what was expected.
    pub(crate) fn set(&self, settings: &mut Settings, value: &Value) -> Result<(), String> {
        match self {
            Self::Key(field) => field.set(settings, value),
            Self::Option(option) => {
                settings.engine.options.insert(option.clone(), value.to_string());
                Ok(())
            }
        }
    }
}

/// The key that allows a run without those settings that this machine does not support.
pub(crate) const WHERE_POSSIBLE: &str = "where_possible";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin::BUILTIN;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::design::conditions;

    #[test]
    fn every_condition_of_every_study_comes_back_from_its_values() {
        let own = "name = \"own\"\n[engine]\nname = \"mariadb\"\nbinary = \"/x y\"\n[engine.options]\nx = 007\n\
                   [workload]\nname = \"dbt3\"\nscale = 0.5\npreload = true\n[process]\naslr = \"layout:7\"\n\
                   environment_bytes = 64\n[capture]\nlocks = true\n[machine]\nthp = \"never\"\n\
                   [factors]\nqueries = [\"1-3\", \"all\"]\nnuma_balancing = [\"on\", \"as-found\"]\n";
        let own = own.replace("007", "7");
        for text in BUILTIN.iter().map(|study| study.text).chain([own.as_str()]) {
            let study = parse(Source { origin: "test", text }, &Overrides::default()).unwrap();
            for condition in conditions(&study).unwrap() {
                let values = to_values(&condition.settings);
                let json = serde_json::to_string(&values).unwrap();
                let read: BTreeMap<String, Value> = serde_json::from_str(&json).unwrap();
                assert_eq!(from_values(&read).unwrap(), condition.settings, "{json}");
            }
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let of = |name: &str, value: Value| from_values(&BTreeMap::from([(name.to_owned(), value)])).unwrap_err();
        let error = of("workload.threads", Value::Whole(0)).to_string();
        assert_eq!(error, "the plan's workload.threads = 0: expected a whole number from 1 to 65536");
        assert!(of("workload.colour", "red".into()).to_string().contains("a key of this version's studies"));
        assert!(of("machine.thp", "sometimes".into()).to_string().contains("never"));
    }
}
