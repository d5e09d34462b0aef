//! Scripts of SQL, as pgbench reads them, turned into a file of statements: each script is a transaction with a weight.

use std::collections::BTreeMap;
use toml::{Table, Value};

/// A script with what says how often it comes.
#[derive(Debug, Clone)]
pub struct Script {
    /// What messages call it; what stands before its first dot names its transaction.
    pub file: String,
    /// SQL, and pgbench's `\set` lines.
    pub text: String,
    pub weight: u32,
}

/// The text of a file of statements that does what these scripts do. `defined` are constants that they may name.
pub fn of_scripts(scripts: &[Script], defined: &BTreeMap<String, i64>) -> Result<String, String> {
    let mut parameters = Table::new();
    let mut transactions = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for script in scripts {
        let (sql, own) = split(script, defined)?;
        for (name, how) in own {
            let other = parameters.insert(name.clone(), how.clone());
            if other.is_some_and(|other| other != how) {
                let file = &script.file;
                return Err(format!("{file}: :{name} is set otherwise in another script: give it another name in one"));
            }
        }
        let name = named(&script.file, &names);
        transactions.push(Value::Table(transaction(script, &name, statements(&sql))?));
        names.push(name);
    }
    let mut file = Table::new();
    file.insert("parameters".to_owned(), Value::Table(parameters));
    file.insert("transaction".to_owned(), Value::Array(transactions));
    toml::to_string(&file).map_err(|e| format!("cannot write the statements: {e}"))
}

/// A script's SQL, and its variables as parameters.
fn split(script: &Script, defined: &BTreeMap<String, i64>) -> Result<(String, Table), String> {
    let mut constants = defined.clone();
    let (mut sql, mut parameters) = (String::new(), Table::new());
    let constant = |value: i64| Value::Table(Table::from_iter([("list".to_owned(), Value::Array(vec![value.into()]))]));
    for (name, value) in defined {
        if script.text.contains(&format!(":{name}")) {
            parameters.insert(name.clone(), constant(*value));
        }
    }
    for (number, line) in script.text.lines().enumerate() {
        let Some(command) = line.trim().strip_prefix('\\') else {
            sql.push_str(line);
            sql.push('\n');
            continue;
        };
        let wrong = |what: String| format!("{}:{}: {what}", script.file, number + 1);
        let mut words = command.splitn(3, char::is_whitespace);
        let (word, name, how) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        if word != "set" || name.is_empty() {
            return Err(wrong(format!("\\{word} is not understood; \\set NAME VALUE and \\set NAME random(A, B) are")));
        }
        let value = match arguments(how.trim(), "random") {
            Some((first, last)) => {
                let range = [first, last].map(|text| value_of(text, &constants));
                let [first, last] = range.map(|end| end.map(Value::Integer));
                let range = vec![first.map_err(wrong)?, last.map_err(wrong)?];
                Value::Table(Table::from_iter([("range".to_owned(), Value::Array(range))]))
            }
            None => {
                let value = value_of(how, &constants).map_err(wrong)?;
                constants.insert(name.to_owned(), value);
                constant(value)
            }
        };
        if parameters.insert(name.to_owned(), value).is_some() {
            return Err(wrong(format!(":{name} is set twice: a parameter has one value in a transaction")));
        }
    }
    Ok((sql, parameters))
}

/// What stands in `random(A, B)`.
fn arguments<'a>(text: &'a str, function: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(function)?.trim_start().strip_prefix('(')?.strip_suffix(')')?.split_once(',')
}

fn value_of(text: &str, constants: &BTreeMap<String, i64>) -> Result<i64, String> {
    let expected = || format!("{:?} is not understood; numbers, :NAME of a constant, + and * are", text.trim());
    let factor = |word: &str| match word.trim().strip_prefix(':') {
        Some(name) => constants
            .get(name)
            .copied()
            .ok_or_else(|| format!(":{name} has no value here: give it one with -D {name}=NUMBER")),
        None => word.trim().parse().map_err(|_| expected()),
    };
    let product = |text: &str| {
        text.split('*').try_fold(1_i64, |product, word| product.checked_mul(factor(word)?).ok_or_else(expected))
    };
    text.split('+').try_fold(0_i64, |sum, term| sum.checked_add(product(term)?).ok_or_else(expected))
}

/// The file's name as that of a transaction, with a number where another has it.
fn named(file: &str, taken: &[String]) -> String {
    let last = file.rsplit('/').next().unwrap_or(file);
    let stem = last.split('.').next().unwrap_or(last);
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = if name.is_empty() { "script".to_owned() } else { name };
    if taken.contains(&name) { format!("{name}_{}", taken.len() + 1) } else { name }
}

/// Statements between BEGIN and END are one transaction of the server's; without these words each is by itself.
fn transaction(script: &Script, name: &str, mut sql: Vec<String>) -> Result<Table, String> {
    let first = |statement: &String, words: &[&str]| {
        let word = statement.split_whitespace().next().unwrap_or("").to_lowercase();
        words.contains(&word.as_str())
    };
    let begins = sql.first().is_some_and(|one| first(one, &["begin", "start"]));
    let ends = sql.last().is_some_and(|one| first(one, &["end", "commit"]));
    if begins && ends && sql.len() > 2 {
        sql = sql[1..sql.len() - 1].to_vec();
    }
    if sql.iter().any(|one| first(one, &["begin", "start", "end", "commit", "rollback", "abort"])) {
        let file = &script.file;
        return Err(format!("{file}: BEGIN and END may stand around all statements of a script, and nowhere else"));
    }
    if sql.is_empty() {
        return Err(format!("{}: no statement", script.file));
    }
    Ok(Table::from_iter([
        ("name".to_owned(), name.into()),
        ("weight".to_owned(), i64::from(script.weight).into()),
        ("begin".to_owned(), (begins && ends).into()),
        ("statements".to_owned(), sql.into()),
    ]))
}

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
    use super::super::mix::{Asked, Mix};
    use super::*;

    const TPCB: &str = "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
        UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
        SELECT abalance FROM pgbench_accounts\n  WHERE aid = :aid; -- a comment\nEND;\n";

    fn script(file: &str, text: &str) -> Script {
        Script { file: file.to_owned(), text: text.to_owned(), weight: 1 }
    }

    fn of(scripts: &[Script]) -> Result<Mix, String> {
        of_scripts(scripts, &BTreeMap::from([("scale".to_owned(), 3)]))
            .and_then(|text| Mix::read(&text, &Asked::default()))
    }

    #[test]
    fn a_script_of_pgbench_is_a_transaction_with_its_parameters() {
        let text = of_scripts(&[script("tpcb.sql", TPCB)], &BTreeMap::from([("scale".to_owned(), 3)])).unwrap();
        let file: Table = text.parse().unwrap();
        assert_eq!(file["parameters"]["aid"]["range"].as_array().unwrap()[1].as_integer(), Some(300_000));
        let mix = Mix::read(&text, &Asked::default()).unwrap();
        let tpcb = &mix.transactions[0];
        assert_eq!((tpcb.name.as_str(), tpcb.statements.len(), tpcb.has_border()), ("tpcb", 2, true));
        assert_eq!(tpcb.statements[0].values.len(), 2);
    }

    #[test]
    fn weights_and_names_are_kept_and_statements_without_begin_are_each_by_themselves() {
        let mut two = script("dir/a-b.sql", "SELECT 1;\nSELECT 2;\n");
        two.weight = 3;
        let text = of_scripts(&[two, script("a-b.sql", "select 3")], &BTreeMap::new()).unwrap();
        let mix = Mix::read(&text, &Asked::default()).unwrap();
        let names: Vec<&str> = mix.transactions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a_b", "a_b_2"]);
        assert!(!mix.transactions[0].has_border() && text.contains("weight = 3"), "{text}");
        let one = of(&[script("one.sql", "BEGIN; UPDATE t SET a = 1; COMMIT;")]).unwrap();
        assert!(one.transactions[0].has_border());
    }

    #[test]
    fn what_is_not_understood_is_refused_with_file_and_line() {
        let wrong = |text: &str| of(&[script("x.sql", text)]).unwrap_err();
        assert!(wrong("SELECT 1;\n\\sleep 5 ms\n").starts_with("x.sql:2: \\sleep is not understood"));
        assert!(
            wrong("\\set a random(1, :clients)\nSELECT :a")
                .starts_with("x.sql:1: :clients has no value here: give it one with -D clients=")
        );
        assert!(wrong("\\set a random_zipfian(1, 5, 1.2)\nSELECT :a").starts_with("x.sql:1: "));
        assert!(wrong("\\set a 1\n\\set a 2\nSELECT :a").contains("x.sql:2: :a is set twice"));
        assert!(wrong("SELECT 1; BEGIN; SELECT 2; END").contains("around all statements"));
        assert!(wrong("-- nothing").contains("no statement"));
        assert!(wrong("SELECT :b").contains(":b is none of [parameters]"));
        let both = [script("x.sql", "\\set a 1\nSELECT :a"), script("y.sql", "\\set a 2\nSELECT :a")];
        assert!(of(&both).unwrap_err().contains("y.sql: :a is set otherwise"));
    }

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
