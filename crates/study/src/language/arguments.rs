//! A program with its arguments as the value of a key: a list, and never a line for a shell.

use tare_text::Value;

/// Reads a list of arguments from its JSON text, or words separated by blanks; none where there is no program.
pub fn read(value: &Value) -> Option<Vec<String>> {
    let text = value.to_string();
    let words: Vec<String> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(&text).ok()?,
        false => text.split_whitespace().map(str::to_owned).collect(),
    };
    words.first().is_some_and(|program| !program.is_empty()).then_some(words)
}

/// The list as one text that [`read`] reads; none where it is empty.
pub fn text(words: &[String]) -> Option<Value> {
    if words.is_empty() {
        return None;
    }
    serde_json::to_string(words).ok().map(Value::Text)
}
