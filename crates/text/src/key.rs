//! Settings that are set by name. A key is declared once: its name, its help text, type and range of its values, and
//! the field that stores the value. Study files, options, records and reference pages use this declaration.

use crate::Value;
use std::path::PathBuf;

/// One key of the settings `S`.
pub struct Key<S: 'static> {
    /// Its name in a study.
    pub name: &'static str,
    /// Its meaning, one line of help.
    pub help: &'static str,
    /// Further help for authors of studies, printed after `help`.
    pub in_study: &'static str,
    access: Access<S>,
}

/// Declares a key that is stored in one field: `key!(TYPE NAME in FIELD, HELP)`; a whole number has its range before
/// the help. The field of an `optional` key is an `Option`, `None` if the key is not set; the field of a `path` or a
/// `text` always is an `Option`. `words` are read with the `FromStr` of the field's type.
///
/// ```
/// use tare_text::{Key, Keyed, Keys, Value, key};
/// #[derive(Default)]
/// struct Load { pace: Pace }
/// #[derive(Default)]
/// struct Pace { threads: u32, preload: bool }
/// impl Keyed for Load {
///     const KEYS: &'static [Key<Self>] = &[
///         key!(whole "threads" in pace.threads, (1, 100), "clients at the same time"),
///         key!(switch "preload" in pace.preload, "on: everything is read first"),
///     ];
/// }
/// let mut load = Load::default();
/// load.set("threads", &Value::from(8_u64)).unwrap();
/// assert!(load.set("threads", &Value::from(101_u64)).is_err());
/// assert_eq!((load.get("threads"), load.pace.threads), (Some(Value::from(8_u64)), 8));
/// ```
#[macro_export]
macro_rules! key {
    (switch $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::switch($name, $help, |s| Some(s.$($field).+), |s, on| s.$($field).+ = on)
    };
    (optional switch $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::switch($name, $help, |s| s.$($field).+, |s, on| s.$($field).+ = Some(on))
    };
    (whole $name:literal in $($field:ident).+, $range:expr, $help:literal) => {
        $crate::Key::whole($name, $help, $range, |s| Some(s.$($field).+ as u64), |s, v| s.$($field).+ = v as _)
    };
    (optional whole $name:literal in $($field:ident).+, $range:expr, $help:literal) => {
        $crate::Key::whole($name, $help, $range, |s| s.$($field).+.map(|v| v as u64), |s, v| {
            s.$($field).+ = Some(v as _);
        })
    };
    (seconds $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::seconds($name, $help, |s| Some(s.$($field).+), |s, v| s.$($field).+ = v)
    };
    (optional seconds $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::seconds($name, $help, |s| s.$($field).+, |s, v| s.$($field).+ = Some(v))
    };
    (path $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::path($name, $help, |s| s.$($field).+.as_ref(), |s, v| s.$($field).+ = Some(v))
    };
    (text $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::text($name, $help, |s| s.$($field).+.as_ref(), |s, v| s.$($field).+ = Some(v))
    };
    (words $name:literal in $($field:ident).+, $help:literal) => {
        $crate::Key::words($name, $help, |s| Some(s.$($field).+.to_string().into()), |s, v| {
            v.parsed().map(|v| s.$($field).+ = v)
        })
    };
}

/// Type and range of a key's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// A whole number within these limits, both included.
    Whole(u64, u64),
    /// A number above 0 of this unit.
    Positive(&'static str),
    /// Seconds, at most one day.
    Seconds,
    /// A path.
    Path,
    /// Text that the key's own function reads.
    Words,
}

/// Functions that read a value from the settings and store it there.
enum Access<S: 'static> {
    Switch(fn(&S) -> Option<bool>, fn(&mut S, bool)),
    Whole(u64, u64, fn(&S) -> Option<u64>, fn(&mut S, u64)),
    Positive(&'static str, fn(&S) -> Option<f64>, fn(&mut S, f64)),
    Seconds(fn(&S) -> Option<f64>, fn(&mut S, f64)),
    SecondsAbove0(fn(&S) -> Option<f64>, fn(&mut S, f64)),
    Path(fn(&S) -> Option<&PathBuf>, fn(&mut S, PathBuf)),
    Text(fn(&S) -> Option<&String>, fn(&mut S, String)),
    Words(fn(&S) -> Option<Value>, fn(&mut S, &Value) -> Result<(), String>),
}

impl<S: 'static> Key<S> {
    /// On or off; `get` returns `None` if it is not set.
    pub const fn switch(
        name: &'static str,
        help: &'static str,
        get: fn(&S) -> Option<bool>,
        set: fn(&mut S, bool),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Switch(get, set) }
    }

    /// A whole number from `least` to `most`; `get` returns `None` if it is not set.
    pub const fn whole(
        name: &'static str,
        help: &'static str,
        (least, most): (u64, u64),
        get: fn(&S) -> Option<u64>,
        set: fn(&mut S, u64),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Whole(least, most, get, set) }
    }

    /// A number above 0, with a unit; `get` returns `None` if it is not set.
    pub const fn positive(
        name: &'static str,
        help: &'static str,
        unit: &'static str,
        get: fn(&S) -> Option<f64>,
        set: fn(&mut S, f64),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Positive(unit, get, set) }
    }

    /// Seconds, 0 included; `get` returns `None` if it is not set.
    pub const fn seconds(
        name: &'static str,
        help: &'static str,
        get: fn(&S) -> Option<f64>,
        set: fn(&mut S, f64),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Seconds(get, set) }
    }

    /// Seconds above 0; `get` returns `None` if it is not set.
    pub const fn seconds_above_0(
        name: &'static str,
        help: &'static str,
        get: fn(&S) -> Option<f64>,
        set: fn(&mut S, f64),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::SecondsAbove0(get, set) }
    }

    /// A path; `get` returns `None` if it is not set.
    pub const fn path(
        name: &'static str,
        help: &'static str,
        get: fn(&S) -> Option<&PathBuf>,
        set: fn(&mut S, PathBuf),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Path(get, set) }
    }

    /// Any text; `get` returns `None` if it is not set.
    pub const fn text(
        name: &'static str,
        help: &'static str,
        get: fn(&S) -> Option<&String>,
        set: fn(&mut S, String),
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Text(get, set) }
    }

    /// Text that `set` reads; its error says what it expected. `get` returns `None` if it is not set.
    pub const fn words(
        name: &'static str,
        help: &'static str,
        get: fn(&S) -> Option<Value>,
        set: fn(&mut S, &Value) -> Result<(), String>,
    ) -> Self {
        Self { name, help, in_study: "", access: Access::Words(get, set) }
    }

    /// Adds further help for authors of studies.
    #[must_use]
    pub const fn in_study(mut self, words: &'static str) -> Self {
        self.in_study = words;
        self
    }

    /// Type and range of its values.
    fn kind(&self) -> Kind {
        match self.access {
            Access::Switch(..) => Kind::Switch,
            Access::Whole(least, most, ..) => Kind::Whole(least, most),
            Access::Positive(unit, ..) => Kind::Positive(unit),
            Access::Seconds(..) | Access::SecondsAbove0(..) => Kind::Seconds,
            Access::Path(..) => Kind::Path,
            Access::Text(..) | Access::Words(..) => Kind::Words,
        }
    }

    /// The present value; `None` if it is not set.
    pub fn get(&self, settings: &S) -> Option<Value> {
        match self.access {
            Access::Switch(get, _) => get(settings).map(Into::into),
            Access::Whole(_, _, get, _) => get(settings).map(Into::into),
            Access::Positive(_, get, _) | Access::Seconds(get, _) | Access::SecondsAbove0(get, _) => {
                get(settings).map(Into::into)
            }
            Access::Path(get, _) => get(settings).map(|path| path.display().to_string().into()),
            Access::Text(get, _) => get(settings).map(|text| text.as_str().into()),
            Access::Words(get, _) => get(settings),
        }
    }

    /// Sets a value after checking its type and range.
    ///
    /// # Errors
    /// The type and range that were expected.
    pub fn set(&self, settings: &mut S, value: &Value) -> Result<(), String> {
        match self.access {
            Access::Switch(_, set) => set(settings, value.switch()?),
            Access::Whole(least, most, _, set) => set(settings, value.whole(least, most)?),
            Access::Positive(unit, _, set) => set(settings, value.positive(unit)?),
            Access::Seconds(_, set) => set(settings, value.seconds()?),
            Access::SecondsAbove0(_, set) => match value.seconds()? {
                0.0 => return Err("a number of seconds above 0".into()),
                seconds => set(settings, seconds),
            },
            Access::Path(_, set) => set(settings, value.to_string().into()),
            Access::Text(_, set) => set(settings, value.to_string()),
            Access::Words(_, set) => return set(settings, value),
        }
        Ok(())
    }

    /// The declaration, without access to settings.
    pub fn info(&self) -> KeyInfo {
        KeyInfo { name: self.name, help: self.help, in_study: self.in_study, kind: self.kind() }
    }
}

/// The declaration of a key, without access to settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyInfo {
    /// Its name in a study.
    pub name: &'static str,
    /// Its meaning, one line of help.
    pub help: &'static str,
    /// Further help for authors of studies, printed after `help`.
    pub in_study: &'static str,
    /// Type and range of its values.
    pub kind: Kind,
}

/// Settings whose keys are declared.
pub trait Keyed: Sized + 'static {
    /// Their keys, in the order in which a study lists them.
    const KEYS: &'static [Key<Self>];
}

/// Access to settings by the names of their keys, independent of their type.
pub trait Keys {
    /// The declarations of all keys, in the order in which a study lists them.
    fn keys(&self) -> Vec<KeyInfo>;
    /// The present value of a key; `None` if it is not set or does not exist.
    fn get(&self, key: &str) -> Option<Value>;
    /// Sets the value of a key.
    ///
    /// # Errors
    /// What was expected: a type and range, or one of the known keys.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), String>;
}

impl<S: Keyed> Keys for S {
    fn keys(&self) -> Vec<KeyInfo> {
        S::KEYS.iter().map(Key::info).collect()
    }

    fn get(&self, name: &str) -> Option<Value> {
        S::KEYS.iter().find(|key| key.name == name).and_then(|key| key.get(self))
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match S::KEYS.iter().find(|key| key.name == name) {
            Some(key) => key.set(self, value),
            None => Err(format!("one of {}", S::KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", "))),
        }
    }
}
