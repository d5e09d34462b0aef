//! SQL statements as the value of a key: a list.

use tare_text::Value;

/// Reads a list of statements from its JSON text; any other text but `none` is one statement.
pub fn read(value: &Value) -> Result<Vec<String>, String> {
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

/// The list as one text that [`read`] reads.
pub fn text(statements: &[String]) -> Value {
    Value::Text(serde_json::json!(statements).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_as_it_was_written_and_one_text_is_one_statement() {
        let list = ["SET a = '[1, 2]'".to_owned(), "VACUUM".to_owned()];
        assert_eq!(read(&text(&list)).unwrap(), list);
        assert_eq!(read(&"VACUUM ANALYZE t".into()).unwrap(), ["VACUUM ANALYZE t"]);
        assert_eq!(read(&"none".into()).unwrap(), Vec::<String>::new());
        for wrong in ["", "[1]", "[\"\"]", "[\"a\""] {
            assert!(read(&wrong.into()).is_err(), "{wrong}");
        }
    }
}
