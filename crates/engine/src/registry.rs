//! The engine of a name.

use super::{Engine, Mariadb, Sqlite};
use tare_text::nearest;

/// Every engine that can be named in a study.
pub const ENGINE_NAMES: [&str; 2] = ["mariadb", "sqlite"];

/// A name that no engine has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine \"{name}\"{}; engines: {}", .nearest.map(|n| format!(", did you mean \"{n}\"?")).unwrap_or_default(), ENGINE_NAMES.join(", "))]
pub struct UnknownEngine {
    /// The name.
    pub name: String,
    /// The most similar right one, where one is similar.
    pub nearest: Option<&'static str>,
}

/// The engine called `name`.
///
/// # Errors
/// [`UnknownEngine`] with the nearest right name.
pub fn engine_by_name(name: &str) -> Result<Box<dyn Engine>, UnknownEngine> {
    match name {
        "mariadb" => Ok(Box::new(Mariadb)),
        "sqlite" => Ok(Box::new(Sqlite)),
        _ => Err(UnknownEngine { name: name.to_owned(), nearest: nearest(name, ENGINE_NAMES) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_an_engine() {
        for name in ENGINE_NAMES {
            assert_eq!(engine_by_name(name).unwrap().name(), name);
        }
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one_or_none() {
        assert_eq!(engine_by_name("MariaBD").err().unwrap().nearest, Some("mariadb"));
        assert_eq!(engine_by_name("sqlite3").err().unwrap().nearest, Some("sqlite"));
        let far = engine_by_name("oracle").err().unwrap();
        assert_eq!(far.nearest, None);
        assert!(far.to_string().contains("mariadb, sqlite"));
    }
}
