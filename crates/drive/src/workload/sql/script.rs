//! SQL text, statement by statement.

/// The statements of a text, without the semicolons between them: those in quotes, in comments and between `$$` are
/// part of a statement.
pub(super) fn statements(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => quoted(rest, first),
            '-' if rest.starts_with("--") => until(rest, 2, "\n"),
            '/' if rest.starts_with("/*") => until(rest, 2, "*/"),
            '$' => dollar_quoted(rest).unwrap_or(1),
            ';' => {
                found.push(String::new());
                rest = &rest[1..];
                continue;
            }
            other => other.len_utf8(),
        };
        let (taken, left) = rest.split_at(length);
        // Comments are left out; only hints of MySQL are statements.
        if !taken.starts_with("--")
            && (!taken.starts_with("/*") || taken.starts_with("/*!"))
            && let Some(statement) = found.last_mut()
        {
            statement.push_str(taken);
        }
        rest = left;
    }
    found.into_iter().map(|statement| statement.trim().to_owned()).filter(|statement| !statement.is_empty()).collect()
}

/// Bytes up to and with the next `end`; all, where there is none.
fn until(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
}

/// A doubled quote begins another quoted text at once, which comes to the same.
fn quoted(text: &str, quote: char) -> usize {
    until(text, 1, &quote.to_string())
}

/// `$tag$ ... $tag$` of PostgreSQL.
fn dollar_quoted(text: &str) -> Option<usize> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    let is_tag = tag[1..end - 1].chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_tag.then(|| until(text, end, tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_inside_of_something_end_no_statement() {
        let text = "CREATE TABLE t (a INT); -- not; this\nINSERT INTO t VALUES ('x;''y;'); /* nor; this */\n\
                    CREATE FUNCTION f() AS $b$ BEGIN; END; $b$;;\n/*!50000 SET x=1 */; SELECT \"a;b\" ";
        let expected = [
            "CREATE TABLE t (a INT)",
            "INSERT INTO t VALUES ('x;''y;')",
            "CREATE FUNCTION f() AS $b$ BEGIN; END; $b$",
            "/*!50000 SET x=1 */",
            "SELECT \"a;b\"",
        ];
        assert_eq!(statements(text), expected);
        for odd in ["", ";", "'", "/*", "$", "--", "$é$;", "'é"] {
            let _ = statements(odd);
        }
    }
}
