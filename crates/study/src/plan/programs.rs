//! The server programs of a study, each asked once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tare_engine::{Binary, engine_by_name, engine_names};

/// The engine that is no server of its own: any program would do for it.
const EMBEDDED: &str = "sqlite";

/// An engine, and the path of its program where a study names one.
type Asked = (String, Option<PathBuf>);

#[derive(Debug, Default)]
pub struct Programs {
    asked: RefCell<BTreeMap<Asked, Result<Binary, String>>>,
}

impl Programs {
    /// The program of an engine, at a path or where such programs usually are.
    pub fn of(&self, engine: &str, path: Option<&Path>) -> Result<Binary, String> {
        let key = (engine.to_owned(), path.map(Path::to_owned));
        if let Some(known) = self.asked.borrow().get(&key) {
            return known.clone();
        }
        let engine = engine_by_name(engine).map_err(|e| e.to_string())?;
        let told = engine.binary(path).map_err(|e| e.to_string());
        self.asked.borrow_mut().insert(key, told.clone());
        told
    }

    /// The engine that a program is of: `expected` where it fits, else the one that it says itself.
    pub fn engine_of(&self, expected: &str, path: &Path) -> Option<&'static str> {
        let all = engine_names();
        let first = all.iter().copied().filter(|name| *name == expected && *name != EMBEDDED);
        let others = all.iter().copied().filter(|name| *name != expected && *name != EMBEDDED);
        first.chain(others).find(|name| self.of(name, Some(path)).is_ok())
    }
}
