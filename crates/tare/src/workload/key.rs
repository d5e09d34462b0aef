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

/// The key called `name`; none when the load has no such key.
fn find<S>(keys: &'static [Key<S>], name: &str) -> Option<&'static Key<S>> {
    keys.iter().find(|key| key.name == name)
}

/// What the keys of a load are.
pub fn infos<S>(keys: &'static [Key<S>]) -> Vec<KeyInfo> {
    keys.iter().map(|key| KeyInfo { name: key.name, help: key.help }).collect()
}

/// The present value of a key.
pub fn get<S>(keys: &'static [Key<S>], settings: &S, name: &str) -> Option<Value> {
    find(keys, name).and_then(|key| (key.get)(settings))
}

/// Sets a key of this load.
///
/// # Errors
/// What was expected.
pub fn set<S>(keys: &'static [Key<S>], settings: &mut S, name: &str, value: &Value) -> Result<(), String> {
    match find(keys, name) {
        Some(key) => (key.set)(settings, value),
        None => Err(format!("one of {}", keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", "))),
    }
}
