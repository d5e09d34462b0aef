//! What a running server says of its build and of all its settings.

use crate::{EngineError, Session};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSetting {
    pub value: String,
    /// What the program has compiled in, where the server tells.
    pub default: Option<String>,
    /// Where the value comes from, in the server's words.
    pub source: Option<String>,
    /// What the value counts, where the server says it apart from it: `8kB`.
    pub unit: Option<String>,
}

impl ServerSetting {
    /// Whether someone set it to something else than the program's own value, as far as can be told.
    pub fn is_changed(&self) -> bool {
        match (&self.default, &self.source) {
            (Some(default), _) => !default.eq_ignore_ascii_case(&self.value),
            (None, Some(source)) => !["COMPILED", "COMPILE-TIME", "AUTO", "default"].contains(&source.as_str()),
            (None, None) => false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfReport {
    pub settings: BTreeMap<String, ServerSetting>,
    pub build: BTreeMap<String, String>,
    pub option_files: Vec<String>,
    /// Memory for pages of tables, bytes.
    pub buffer_pool_bytes: Option<u64>,
}

impl SelfReport {
    /// Reads what a statement tells: a row of name, value, default, source, unit and option file for each setting.
    pub(crate) fn read(session: &mut dyn Session, sql: &str) -> Result<Self, EngineError> {
        let rows = session.query(sql).map_err(|source| EngineError::Sql { statement: sql.to_owned(), source })?;
        let mut files = BTreeSet::new();
        let mut settings = BTreeMap::new();
        for row in rows {
            let [Some(name), Some(value), default, source, unit, file] = row.as_slice() else { continue };
            files.extend(file.clone().filter(|file| !file.is_empty()));
            let (default, source, unit) = (default.clone(), source.clone(), unit.clone());
            let setting = ServerSetting { value: value.clone(), default, source, unit };
            settings.insert(name.to_lowercase(), setting);
        }
        Ok(Self { settings, option_files: files.into_iter().collect(), ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_is_what_differs_from_the_programs_own_value_or_was_given() {
        let setting = |value: &str, default: Option<&str>, source: Option<&str>| ServerSetting {
            value: value.to_owned(),
            default: default.map(str::to_owned),
            source: source.map(str::to_owned),
            unit: None,
        };
        assert!(setting("2", Some("1"), None).is_changed());
        assert!(!setting("ON", Some("on"), Some("CONFIG")).is_changed());
        assert!(setting("2", None, Some("COMMAND_LINE")).is_changed());
        assert!(!setting("2", None, Some("COMPILED")).is_changed());
        assert!(!setting("2", None, None).is_changed());
    }
}
