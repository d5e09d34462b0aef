//! Settings as a flat list of typed values with names `section.key`, and back: the form in which a plan stores them.

use super::settings::Settings;
use super::{fields, machine};
use std::collections::BTreeMap;
use tare_text::Value;
use thiserror::Error;

/// Prefix of the names of engine options, which are open-ended.
const OPTION: &str = "engine.options.";
/// Prefix of the names of machine settings.
const MACHINE: &str = "machine.";

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
    let machine = settings.machine.iter();
    values.extend(machine.map(|level| (format!("{MACHINE}{}", level.setting().name()), level.text().into())));
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
        } else if let Some(setting) = name.strip_prefix(MACHINE) {
            machine::set(&mut settings, setting, value).map_err(|expected| wrong(name, value, expected))?;
        } else if name.split_once('.').and_then(|(section, key)| fields::find(section, key)).is_none() {
            return Err(wrong(name, value, "a key of this version's studies".into()));
        }
    }
    Ok(settings)
}

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
