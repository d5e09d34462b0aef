//! A load's own keys of a study, under `[workload]`.

use tare_text::Value;

/// One key, over the settings of the load that it belongs to.
pub struct Key<S: 'static> {
    /// As it stands in a study.
    pub name: &'static str,
    /// What it means, for the reference.
    pub help: &'static str,
    /// The present value, none when it is not set.
    pub get: fn(&S) -> Option<Value>,
    /// Sets a value; the error says what was expected.
    pub set: fn(&mut S, &Value) -> Result<(), String>,
}

/// What is known of a key without its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyInfo {
    /// As it stands in a study.
    pub name: &'static str,
    /// What it means, for the reference.
    pub help: &'static str,
}

/// Settings that are set by keys: what a load declares.
pub trait Keyed: Sized + 'static {
    /// Its keys, in the order in which a study is written.
    const KEYS: &'static [Key<Self>];
}

/// What is asked of settings whose keys are declared, whatever their type.
pub trait Keys {
    /// Its own keys of a study, in the order in which they are written.
    fn keys(&self) -> Vec<KeyInfo>;
    /// The present value of a key; none when it is not set, or no key of this load.
    fn get(&self, key: &str) -> Option<Value>;
    /// Sets one of its keys.
    ///
    /// # Errors
    /// What was expected.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), String>;
}

impl<S: Keyed> Keys for S {
    fn keys(&self) -> Vec<KeyInfo> {
        S::KEYS.iter().map(|key| KeyInfo { name: key.name, help: key.help }).collect()
    }

    fn get(&self, name: &str) -> Option<Value> {
        S::KEYS.iter().find(|key| key.name == name).and_then(|key| (key.get)(self))
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match S::KEYS.iter().find(|key| key.name == name) {
            Some(key) => (key.set)(self, value),
            None => Err(format!("one of {}", S::KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", "))),
        }
    }
}
