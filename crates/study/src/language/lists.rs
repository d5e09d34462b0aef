//! Lists as the value of a key: SQL statements, or a program with its arguments, which is never run by a shell.

use tare_text::Value;

/// Reads a list of statements from its JSON text; any other text except `none` is one statement.
pub(crate) fn statements(value: &Value) -> Result<Vec<String>, String> {
    let text = value.to_string();
    let statements: Vec<String> = match text.trim() {
        "none" => Vec::new(),
        list if list.starts_with('[') => serde_json::from_str(list).map_err(|_| EXPECTED)?,
        one => vec![one.to_owned()],
    };
    match statements.iter().any(|statement| statement.trim().is_empty()) {
        true => Err(EXPECTED.to_owned()),
        false => Ok(statements),
    }
}

const EXPECTED: &str = "a list of statements, for example [\"VACUUM ANALYZE\"], or none";

/// Reads a program and its arguments from their JSON text, or from words separated by blanks.
pub(crate) fn arguments(value: &Value, example: &str) -> Result<Vec<String>, String> {
    let text = value.to_string();
    let expected = || format!("a program and its arguments, for example {example}");
    let words: Vec<String> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(&text).map_err(|_| expected())?,
        false => text.split_whitespace().map(str::to_owned).collect(),
    };
    if words.first().is_some_and(|program| !program.is_empty()) { Ok(words) } else { Err(expected()) }
}

/// The list as a text that both functions read; none if it is empty.
pub(crate) fn text(list: &[String]) -> Option<Value> {
    (!list.is_empty()).then(|| Value::Text(serde_json::json!(list).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_as_it_was_written_and_one_text_is_one_statement() {
        let list = ["SET a = '[1, 2]'".to_owned(), "VACUUM".to_owned()];
        assert_eq!(statements(&text(&list).unwrap()).unwrap(), list);
        assert_eq!(statements(&"VACUUM ANALYZE t".into()).unwrap(), ["VACUUM ANALYZE t"]);
        assert_eq!(statements(&"none".into()).unwrap(), Vec::<String>::new());
        for wrong in ["", "[1]", "[\"\"]", "[\"a\""] {
            assert!(statements(&wrong.into()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_restart_is_a_list_of_arguments_and_never_a_shell_line() {
        let restart = |words: &str| arguments(&words.into(), "[]");
        assert_eq!(restart("systemctl restart mariadb").unwrap(), ["systemctl", "restart", "mariadb"]);
        assert_eq!(restart(r#"["sh", "-c", "a; b"]"#).unwrap(), ["sh", "-c", "a; b"]);
        let written = text(&["systemctl".to_owned(), "restart".to_owned(), "it".to_owned()]).unwrap();
        assert_eq!(arguments(&written, "[]").unwrap().len(), 3);
        assert!(restart("[1]").is_err() && restart("  ").is_err());
    }
}
