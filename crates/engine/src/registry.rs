//! Finds an engine by its name.

use crate::{Engine, Mariadb, Mysql, Postgresql, Sqlite};
use tare_text::nearest;

/// Every engine that a study can name, one line each.
static ENGINES: &[&dyn Engine] = &[
    &Mariadb,
    &Mysql,
    &Postgresql,
    &Sqlite,
    #[cfg(test)]
    &crate::fake::Fake,
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine \"{name}\"{}; engines: {}", .nearest.map(|n| format!(", did you mean \"{n}\"?")).unwrap_or_default(), engine_names().join(", "))]
pub struct UnknownEngine {
    pub name: String,
    /// The most similar valid name, if one is similar.
    pub nearest: Option<&'static str>,
}

pub fn engines() -> &'static [&'static dyn Engine] {
    ENGINES
}

pub fn engine_names() -> Vec<&'static str> {
    ENGINES.iter().map(|engine| engine.name()).collect()
}

/// The registered name for `name`: PostgreSQL's server program and Docker image are called `postgres`.
pub fn engine_name(name: &str) -> &str {
    if name == "postgres" { "postgresql" } else { name }
}

pub fn engine_by_name(name: &str) -> Result<&'static dyn Engine, UnknownEngine> {
    let found = ENGINES.iter().copied().find(|engine| engine.name() == engine_name(name));
    found.ok_or_else(|| UnknownEngine { name: name.to_owned(), nearest: nearest(name, engine_names()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_added_with_a_folder_and_one_line() {
        // `fake` is compiled only into the tests and registered like any other.
        let engine = engine_by_name("fake").unwrap();
        assert!(engine_names().contains(&"fake"));
        assert_eq!(engine.dialect().placeholder(2), ":p2");
        let mut server = engine.start(&crate::fake::request()).unwrap();
        assert_eq!(server.connect().unwrap().run("anything"), Ok(0));
        assert_eq!(server.pid(), std::process::id());
        assert!(server.lock_wait_setting().is_none());
        server.stop(std::time::Duration::ZERO).unwrap();
    }

    #[test]
    fn no_two_engines_have_one_name() {
        let mut names = engine_names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ENGINES.len());
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one_or_none() {
        assert_eq!(engine_by_name("MariaBD").err().unwrap().nearest, Some("mariadb"));
        assert_eq!(engine_by_name("sqlite3").err().unwrap().nearest, Some("sqlite"));
        assert_eq!(engine_by_name("postgres").unwrap().name(), "postgresql");
        let far = engine_by_name("oracle").err().unwrap();
        assert_eq!(far.nearest, None);
        assert!(far.to_string().contains("mariadb, mysql, postgresql, sqlite"));
    }
}
