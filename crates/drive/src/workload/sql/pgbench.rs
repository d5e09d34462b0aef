//! Converts SQL scripts in pgbench's format to a file of statements: each script becomes a transaction with a weight.

use super::statement::check_names;
use std::collections::BTreeMap;
use tare_load::Distribution;
use tare_text::nearest;
use toml::{Table, Value};

#[derive(Debug, Clone)]
pub struct Script {
    /// Its name in messages; the part before the first dot is the name of its transaction.
    pub file: String,
    /// SQL, and pgbench's `\set` lines.
    pub text: String,
    pub weight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ScriptError {
    /// The script, and the line if the error is in one.
    pub place: String,
    pub what: String,
}

impl Script {
    fn wrong(&self, what: impl Into<String>) -> ScriptError {
        ScriptError { place: self.file.clone(), what: what.into() }
    }

    fn wrong_at(&self, line: usize, what: impl Into<String>) -> ScriptError {
        ScriptError { place: self.at(line), what: what.into() }
    }

    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scripts {
    /// The text of the equivalent file of statements.
    pub text: String,
    /// File and line of every statement, by the name of its metrics.
    pub places: BTreeMap<String, String>,
}

/// Converts scripts. `defined` are constants that they may use.
pub fn of_scripts(scripts: &[Script], defined: &BTreeMap<String, i64>) -> Result<Scripts, ScriptError> {
    let (mut parameters, mut places) = (Table::new(), BTreeMap::new());
    let mut transactions = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for script in scripts {
        let (sql, own) = split(script, defined)?;
        for (name, how) in own {
            let other = parameters.insert(name.clone(), how.clone());
            if other.is_some_and(|other| other != how) {
                return Err(
                    script.wrong(format!(":{name} has another value in another script: rename it in one of them"))
                );
            }
        }
        let name = named(&script.file, &names);
        let statements = with_lines(&sql);
        for (line, sql) in &statements {
            are_set(sql, &parameters).map_err(|what| script.wrong_at(*line, what))?;
        }
        let (one, lines) = transaction(script, &name, statements)?;
        let lines = lines.into_iter().enumerate();
        places.extend(lines.map(|(number, line)| (format!("{name}_{}", number + 1), script.at(line))));
        transactions.push(Value::Table(one));
        names.push(name);
    }
    let mut file = Table::new();
    file.insert("parameters".to_owned(), Value::Table(parameters));
    file.insert("transaction".to_owned(), Value::Array(transactions));
    let text = toml::to_string(&file).map_err(|e| ScriptError {
        place: scripts.iter().map(|script| script.file.as_str()).collect::<Vec<_>>().join(", "),
        what: format!("cannot write the statements: {e}"),
    })?;
    Ok(Scripts { text, places })
}

/// Checks that every variable in a statement has a value.
fn are_set(sql: &str, known: &Table) -> Result<(), String> {
    let is_known = |name: &str| {
        if known.contains_key(name) {
            return Ok(0);
        }
        let near = nearest(name, known.keys().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean :{near}?"));
        Err(format!(":{name} has no value: \\set {name} random(1, 1000) in the script, or -D {name}=NUMBER{near}"))
    };
    check_names(sql, &is_known)
}

/// A script's SQL with its lines unchanged, and its variables as parameters.
fn split(script: &Script, defined: &BTreeMap<String, i64>) -> Result<(String, Table), ScriptError> {
    let mut constants = defined.clone();
    let (mut sql, mut parameters) = (String::new(), Table::new());
    let constant = |value: i64| Value::Table(Table::from_iter([("list".to_owned(), Value::Array(vec![value.into()]))]));
    for (name, value) in defined {
        if script.text.contains(&format!(":{name}")) {
            parameters.insert(name.clone(), constant(*value));
        }
    }
    for (number, line) in script.text.lines().enumerate() {
        let command = line.trim().strip_prefix('\\');
        sql.push_str(if command.is_some() { "" } else { line });
        sql.push('\n');
        let Some(command) = command else { continue };
        let wrong = |what: String| script.wrong_at(number + 1, what);
        let mut words = command.splitn(3, char::is_whitespace);
        let (word, name, how) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        if word != "set" || name.is_empty() {
            return Err(wrong(format!(
                "\\{word} is not supported; supported are \\set NAME VALUE and \\set NAME \
                random(A, B), random_gaussian, random_exponential and random_zipfian(A, B, PARAMETER)"
            )));
        }
        let value = match drawn(how.trim(), &constants).map_err(wrong)? {
            Some(parameter) => Value::Table(parameter),
            None => {
                let value = value_of(how, &constants).map_err(wrong)?;
                constants.insert(name.to_owned(), value);
                constant(value)
            }
        };
        if parameters.insert(name.to_owned(), value).is_some() {
            return Err(wrong(format!(":{name} is set twice: a parameter has one value per transaction")));
        }
    }
    Ok((sql, parameters))
}

/// A call of one of pgbench's random functions as a parameter, within the limits of pgbench; None: the text is no call.
fn drawn(text: &str, constants: &BTreeMap<String, i64>) -> Result<Option<Table>, String> {
    let Some((name, arguments)) = text.strip_suffix(')').and_then(|call| call.split_once('(')) else { return Ok(None) };
    let name = name.trim().to_ascii_lowercase();
    let (distribution, limits) = match name.as_str() {
        "random" => ("uniform", None),
        "random_gaussian" => ("normal", Distribution::limits("normal")),
        "random_exponential" => ("exponential", Distribution::limits("exponential")),
        // Narrower than those of sysbench.
        "random_zipfian" => ("zipfian", Some((1.001..=1000.0, "from 1.001 to 1000"))),
        _ => return Ok(None),
    };
    let words: Vec<&str> = arguments.split(',').collect();
    let (first, last, shape) = match (&words[..], limits) {
        ([first, last], None) => (first, last, None),
        ([first, last, shape], Some(limits)) => (first, last, Some((shape, limits))),
        (_, None) => return Err(format!("{name} has the arguments (A, B)")),
        (_, Some(_)) => return Err(format!("{name} has the arguments (A, B, PARAMETER)")),
    };
    let (first, last) = (value_of(first, constants)?, value_of(last, constants)?);
    if first > last {
        return Err(format!("the range of {name} is empty: {first} is larger than {last}"));
    }
    let mut parameter = Table::from_iter([("range".to_owned(), Value::Array(vec![first.into(), last.into()]))]);
    if let Some((shape, (limits, words))) = shape {
        let number = match shape.trim().parse::<f64>() {
            Ok(number) => number,
            Err(_) => value_of(shape, constants)? as f64,
        };
        if !limits.contains(&number) {
            return Err(format!("the parameter of {name} is {words}, not {number}"));
        }
        parameter.insert("distribution".to_owned(), format!("{distribution}:{number}").into());
    }
    Ok(Some(parameter))
}

fn value_of(text: &str, constants: &BTreeMap<String, i64>) -> Result<i64, String> {
    let expected = || format!("{:?} is not supported; use numbers, :NAME of a constant, + and *", text.trim());
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

/// The name of a transaction from its file name, with a number added if the name is taken.
fn named(file: &str, taken: &[String]) -> String {
    let last = file.rsplit('/').next().unwrap_or(file);
    let stem = last.split('.').next().unwrap_or(last);
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = if name.is_empty() { "script".to_owned() } else { name };
    if taken.contains(&name) { format!("{name}_{}", taken.len() + 1) } else { name }
}

/// Statements between BEGIN and END are one transaction of the server; without these words each is separate.
fn transaction(script: &Script, name: &str, mut sql: Vec<(usize, String)>) -> Result<(Table, Vec<usize>), ScriptError> {
    let first = |(_, statement): &(usize, String), words: &[&str]| {
        let word = statement.split_whitespace().next().unwrap_or("").to_lowercase();
        words.contains(&word.as_str())
    };
    let begins = sql.first().is_some_and(|one| first(one, &["begin", "start"]));
    let ends = sql.last().is_some_and(|one| first(one, &["end", "commit"]));
    if begins && ends && sql.len() > 2 {
        sql = sql[1..sql.len() - 1].to_vec();
    }
    let border = ["begin", "start", "end", "commit", "rollback", "abort"];
    if let Some((line, _)) = sql.iter().find(|one| first(one, &border)) {
        let what = "BEGIN and END are allowed only around all statements of a script";
        return Err(script.wrong_at(*line, what));
    }
    if sql.is_empty() {
        return Err(script.wrong("no statement"));
    }
    let (lines, sql): (Vec<usize>, Vec<String>) = sql.into_iter().unzip();
    let table = Table::from_iter([
        ("name".to_owned(), name.into()),
        ("weight".to_owned(), i64::from(script.weight).into()),
        ("begin".to_owned(), (begins && ends).into()),
        ("statements".to_owned(), sql.into()),
    ]);
    Ok((table, lines))
}

/// Splits a text into statements at semicolons, except semicolons in quotes, in comments and between `$$`.
pub(super) fn statements(text: &str) -> Vec<String> {
    with_lines(text).into_iter().map(|(_, statement)| statement).collect()
}

/// Each statement with the line, from 1, on which it begins.
fn with_lines(text: &str) -> Vec<(usize, String)> {
    let mut found = vec![(1, String::new())];
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => quoted(rest, first),
            '-' if rest.starts_with("--") => until(rest, 2, "\n"),
            '/' if rest.starts_with("/*") => until(rest, 2, "*/"),
            '$' => dollar_quoted(rest).unwrap_or(1),
            ';' => {
                found.push((line, String::new()));
                rest = &rest[1..];
                continue;
            }
            other => other.len_utf8(),
        };
        let (taken, left) = rest.split_at(length);
        // Comments are left out, except MySQL's version comments `/*! ... */`, which the server executes.
        if !taken.starts_with("--")
            && (!taken.starts_with("/*") || taken.starts_with("/*!"))
            && let Some((begins, statement)) = found.last_mut()
        {
            // The space before a statement is not a part of it.
            match statement.is_empty() {
                true if taken.trim_start().is_empty() => {}
                true => (*begins, *statement) = (line, taken.to_owned()),
                false => statement.push_str(taken),
            }
        }
        line += taken.matches('\n').count();
        rest = left;
    }
    let trimmed = found.into_iter().map(|(line, statement)| (line, statement.trim().to_owned()));
    trimmed.filter(|(_, statement)| !statement.is_empty()).collect()
}

/// Bytes up to and including the next `end`; all bytes if there is none.
fn until(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
}

/// A doubled quote is treated as the start of another quoted text, with the same result.
fn quoted(text: &str, quote: char) -> usize {
    until(text, 1, &quote.to_string())
}

/// PostgreSQL's `$tag$ ... $tag$`.
fn dollar_quoted(text: &str) -> Option<usize> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    let is_tag = tag[1..end - 1].chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_tag.then(|| until(text, end, tag))
}

#[cfg(test)]
mod tests {
    use super::super::mix::{FileChanges, Mix};
    use super::*;

    const TPCB: &str = "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
        UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
        SELECT abalance FROM pgbench_accounts\n  WHERE aid = :aid; -- a comment\nEND;\n";

    fn script(file: &str, text: &str) -> Script {
        Script { file: file.to_owned(), text: text.to_owned(), weight: 1 }
    }

    fn of(scripts: &[Script]) -> Result<Mix, String> {
        let made = of_scripts(scripts, &BTreeMap::from([("scale".to_owned(), 3)])).map_err(|e| e.to_string())?;
        Mix::read(&made.text, &FileChanges::default())
    }

    #[test]
    fn a_script_of_pgbench_is_a_transaction_with_its_parameters() {
        let text = of_scripts(&[script("tpcb.sql", TPCB)], &BTreeMap::from([("scale".to_owned(), 3)])).unwrap().text;
        let file: Table = text.parse().unwrap();
        assert_eq!(file["parameters"]["aid"]["range"].as_array().unwrap()[1].as_integer(), Some(300_000));
        let mix = Mix::read(&text, &FileChanges::default()).unwrap();
        let tpcb = &mix.transactions[0];
        assert_eq!((tpcb.name.as_str(), tpcb.statements.len(), tpcb.has_border()), ("tpcb", 2, true));
        assert_eq!(tpcb.statements[0].values.len(), 2);
    }

    #[test]
    fn the_random_functions_of_pgbench_are_distributions_of_parameters() {
        let text = "\\set a random_zipfian(1, 10 * :scale, 1.07)\n\\set b Random_Gaussian(-5, 5, :scale)\n\
                    \\set c random_exponential(1, 9, 1e-3)\nSELECT :a, :b, :c;\n";
        let scripts = [script("x.sql", text)];
        let made = of_scripts(&scripts, &BTreeMap::from([("scale".to_owned(), 3)])).unwrap();
        let file: Table = made.text.parse().unwrap();
        for (name, range, distribution) in
            [("a", [1, 30], "zipfian:1.07"), ("b", [-5, 5], "normal:3"), ("c", [1, 9], "exponential:0.001")]
        {
            let parameter = file["parameters"][name].as_table().unwrap();
            assert_eq!(parameter["range"], Value::Array(range.map(Value::from).to_vec()), "{name}");
            assert_eq!(parameter["distribution"].as_str(), Some(distribution), "{name}");
        }
        assert!(Mix::read(&made.text, &FileChanges::default()).is_ok());
    }

    #[test]
    fn weights_and_names_are_kept_and_statements_without_begin_are_each_by_themselves() {
        let mut two = script("dir/a-b.sql", "SELECT 1;\nSELECT 2;\n");
        two.weight = 3;
        let text = of_scripts(&[two, script("a-b.sql", "select 3")], &BTreeMap::new()).unwrap().text;
        let mix = Mix::read(&text, &FileChanges::default()).unwrap();
        let names: Vec<&str> = mix.transactions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a_b", "a_b_2"]);
        assert!(!mix.transactions[0].has_border() && text.contains("weight = 3"), "{text}");
        let one = of(&[script("one.sql", "BEGIN; UPDATE t SET a = 1; COMMIT;")]).unwrap();
        assert!(one.transactions[0].has_border());
    }

    #[test]
    fn an_unsupported_script_command_is_refused_with_file_and_line() {
        let wrong = |text: &str| of(&[script("x.sql", text)]).unwrap_err();
        assert!(wrong("SELECT 1;\n\\sleep 5 ms\n").starts_with("x.sql:2: \\sleep is not supported"));
        assert!(
            wrong("\\set a random(1, :clients)\nSELECT :a")
                .starts_with("x.sql:1: :clients has no value here: give it one with -D clients=")
        );
        for (how, expected) in [
            ("random_zipfian(1, 5, 1)", "the parameter of random_zipfian is from 1.001 to 1000, not 1"),
            ("random_gaussian(1, 5, 1.9)", "the parameter of random_gaussian is at least 2, not 1.9"),
            ("random_exponential(1, 5, 0)", "the parameter of random_exponential is above 0, not 0"),
            ("random_exponential(1, 5)", "random_exponential has the arguments (A, B, PARAMETER)"),
            ("random(5, 1)", "the range of random is empty: 5 is larger than 1"),
            ("permute(1, 5)", "\"permute(1, 5)\" is not supported"),
        ] {
            let error = wrong(&format!("\\set a {how}\nSELECT :a"));
            assert!(error.starts_with(&format!("x.sql:1: {expected}")), "{error}");
        }
        assert!(wrong("\\set a 1\n\\set a 2\nSELECT :a").contains("x.sql:2: :a is set twice"));
        assert!(wrong("SELECT 1; BEGIN; SELECT 2; END").contains("around all statements"));
        assert!(wrong("-- nothing").contains("no statement"));
        assert!(wrong("\\set a 1\n\nSELECT :b").starts_with("x.sql:3: :b has no value: "));
        let second = wrong("\\set aid 1\nSELECT 'a;\n'; SELECT\n:aidd");
        assert!(second.starts_with("x.sql:3: :aidd ") && second.ends_with("did you mean :aid?"), "{second}");
        let both = [script("x.sql", "\\set a 1\nSELECT :a"), script("y.sql", "\\set a 2\nSELECT :a")];
        assert!(of(&both).unwrap_err().contains("y.sql: :a has another value"));
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

    /// Neither the length of the space in a script nor the number of its variables may be squared.
    #[test]
    fn a_script_of_spaces_and_a_script_of_variables_are_read_in_linear_time() {
        let space = " ".repeat(1 << 18);
        assert_eq!(statements(&format!("{space}a{space}b{space};{space}")), [format!("a{space}b")]);
        let many = |of: &dyn Fn(usize) -> String| (0..30_000).map(of).collect::<String>();
        let text = format!("{}{}", many(&|n| format!("\\set v{n} 1\n")), many(&|n| format!("SELECT :v{n};\n")));
        assert!(of(&[script("x.sql", &text)]).unwrap_err().starts_with("at most 5000 parameters"));
    }
}
