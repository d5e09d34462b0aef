//! What a file of statements comes to: transactions with weights, and parameters with how they are drawn.

use super::file::{Data, Errors, File, Parameter};
use tare_engine::Dialect;
use tare_load::{Distribution, Draw, Random};

/// Transactions that are drawn by weight.
#[derive(Debug)]
pub(super) struct Mix {
    pub transactions: Vec<Transaction>,
    pub parameters: Vec<(String, Drawing)>,
    pub data: Data,
    pub errors: Errors,
    weights: u64,
}

/// Statements that are run together, checked.
#[derive(Debug)]
pub(super) struct Transaction {
    pub name: String,
    weight: u64,
    pub statements: Vec<Statement>,
    /// Parameters that it draws, each once.
    pub draws: Vec<usize>,
    /// Place of its first statement among those of all transactions.
    pub first_statement: usize,
    /// Whether any of its statements does more than read.
    pub writes: bool,
    has_border: bool,
}

/// A statement, between whose parts its parameters stand.
#[derive(Debug)]
pub(super) struct Statement {
    /// Transaction and number, as metrics have it.
    pub name: String,
    parts: Vec<String>,
    /// Numbers of its parameters, in their order.
    pub parameters: Vec<usize>,
    /// Whether it gives back rows and locks none.
    pub reads: bool,
}

/// How a parameter gets its value.
#[derive(Debug)]
pub(super) enum Drawing {
    Range(i64, Draw),
    List(Vec<Drawn>),
    Letters(usize),
}

/// A value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Drawn {
    Int(i64),
    Text(String),
}

impl Drawing {
    pub fn draw(&self, random: &mut Random) -> Drawn {
        match self {
            Self::Range(first, draw) => Drawn::Int(first + draw.draw(random).cast_signed()),
            Self::List(values) => values[random.below(values.len() as u64) as usize].clone(),
            Self::Letters(count) => {
                Drawn::Text((0..*count).map(|_| char::from(b'a' + random.below(26) as u8)).collect())
            }
        }
    }
}

impl Statement {
    /// Its text, with the engine's own placeholders.
    pub fn sql(&self, dialect: &dyn Dialect) -> String {
        let mut sql = self.parts[0].clone();
        for (number, part) in self.parts[1..].iter().enumerate() {
            sql.push_str(&dialect.placeholder(number + 1));
            sql.push_str(part);
        }
        sql
    }
}

impl Transaction {
    /// Whether BEGIN and COMMIT stand around it.
    pub fn has_border(&self) -> bool {
        self.has_border
    }
}

impl Mix {
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|e| format!("a file of statements: {e}"))?;
        if file.transactions.is_empty() {
            return Err("at least one [[transaction]]".to_owned());
        }
        let parameters = file.parameters.into_iter();
        let parameters: Vec<(String, Drawing)> =
            parameters.map(|(name, how)| Ok((name.clone(), drawing(&name, how)?))).collect::<Result<_, String>>()?;
        let mut transactions: Vec<Transaction> = Vec::new();
        for read in file.transactions {
            let is_word = !read.name.is_empty() && read.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_word || transactions.iter().any(|t| t.name == read.name) {
                return Err(format!("transaction {}: a name of its own, of letters, digits and _", read.name));
            }
            if read.statements.is_empty() {
                return Err(format!("transaction {}: at least one statement", read.name));
            }
            let numbered = read.statements.iter().enumerate();
            let statements: Vec<Statement> = numbered
                .map(|(number, sql)| statement(&read.name, number + 1, sql, &parameters))
                .collect::<Result<_, _>>()?;
            let mut draws: Vec<usize> = statements.iter().flat_map(|s| s.parameters.iter().copied()).collect();
            draws.sort_unstable();
            draws.dedup();
            let writes = !statements.iter().all(|statement| statement.reads);
            let first_statement = transactions.iter().map(|before| before.statements.len()).sum();
            let (name, weight) = (read.name, read.weight.into());
            let has_border = read.begin.unwrap_or(statements.len() > 1);
            transactions.push(Transaction { name, weight, statements, draws, first_statement, writes, has_border });
        }
        let weights = transactions.iter().map(|t| t.weight).sum();
        if weights == 0 {
            return Err("a weight above 0 for at least one transaction".to_owned());
        }
        Ok(Self { transactions, parameters, data: file.data, errors: file.errors, weights })
    }

    /// The number of the next transaction, drawn by weight.
    pub fn draw(&self, random: &mut Random) -> usize {
        let mut left = random.below(self.weights);
        for (number, transaction) in self.transactions.iter().enumerate() {
            if left < transaction.weight {
                return number;
            }
            left -= transaction.weight;
        }
        0
    }

    /// Every statement, with the number of its transaction.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.transactions.iter().flat_map(|transaction| &transaction.statements)
    }
}

fn drawing(name: &str, how: Parameter) -> Result<Drawing, String> {
    let expected = || {
        format!(
            "parameter {name}: one of range = [FIRST, LAST] (with distribution = \"zipfian\" if wanted), \
             list = [VALUE, ...] or letters = COUNT"
        )
    };
    let Parameter { range, distribution, list, letters } = how;
    match (range, list, letters) {
        (Some([first, last]), None, None) if first <= last => {
            let distribution: Distribution = match distribution {
                Some(word) => word.parse().map_err(|e| format!("parameter {name}: {e}"))?,
                None => Distribution::Uniform,
            };
            Ok(Drawing::Range(first, distribution.over(0, last.abs_diff(first))))
        }
        (None, Some(values), None) if !values.is_empty() && distribution.is_none() => {
            let value = |value: toml::Value| match value {
                toml::Value::Integer(number) => Ok(Drawn::Int(number)),
                toml::Value::String(text) => Ok(Drawn::Text(text)),
                toml::Value::Float(number) => Ok(Drawn::Text(number.to_string())),
                other => Err(format!("parameter {name}: numbers and texts in its list, not {other}")),
            };
            Ok(Drawing::List(values.into_iter().map(value).collect::<Result<_, _>>()?))
        }
        (None, None, Some(count)) if count <= 65_536 && distribution.is_none() => Ok(Drawing::Letters(count)),
        _ => Err(expected()),
    }
}

/// `:name` is a parameter; `::` is a cast of PostgreSQL's, and nothing in quotes is one.
fn statement(of: &str, number: usize, sql: &str, known: &[(String, Drawing)]) -> Result<Statement, String> {
    let (mut parts, mut parameters) = (vec![String::new()], Vec::new());
    let mut quote = None;
    let mut rest = sql.trim().trim_end_matches(';').char_indices().peekable();
    let text = sql.trim().trim_end_matches(';');
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        let follows = |c: &char| c.is_ascii_alphabetic() || *c == '_';
        let starts = c == ':' && quote.is_none() && before != ':' && rest.peek().is_some_and(|(_, c)| follows(c));
        before = c;
        if !starts {
            match quote {
                Some(open) if open == c => quote = None,
                None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
                _ => {}
            }
            if let Some(part) = parts.last_mut() {
                part.push(c);
            }
            continue;
        }
        let name: String = text[at + 1..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let found = known.iter().position(|(parameter, _)| *parameter == name).ok_or_else(|| {
            let names = known.iter().map(|(parameter, _)| parameter.as_str());
            let near =
                tare_text::nearest(&name, names.clone()).map_or(String::new(), |n| format!("; did you mean :{n}?"));
            format!(
                "transaction {of}, statement {number}: :{name} is none of [parameters] ({}){near}",
                names.collect::<Vec<_>>().join(", ")
            )
        })?;
        parameters.push(found);
        parts.push(String::new());
        for _ in 0..name.len() {
            rest.next();
        }
    }
    if text.is_empty() {
        return Err(format!("transaction {of}, statement {number}: SQL"));
    }
    let reads = reads(&parts);
    Ok(Statement { name: format!("{of}_{number}"), parts, parameters, reads })
}

fn reads(parts: &[String]) -> bool {
    let first = parts.first().and_then(|part| part.split_whitespace().next()).unwrap_or_default();
    first.eq_ignore_ascii_case("select") && !parts.iter().any(|part| part.to_lowercase().contains("for update"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::Purpose;

    const TEXT: &str = "[parameters]\nid = { range = [-5, 5] }\nname = { list = [\"a\", 7] }\nword = { letters = 3 }\n\
        [[transaction]]\nname = \"one\"\nstatements = [\"SELECT ':id', a::text FROM t WHERE id = :id AND b=:name;\"]\n\
        [[transaction]]\nname = \"two\"\nweight = 3\nstatements = [\"UPDATE t SET a = :word WHERE id = :id OR k = :id\", \"SELECT 1\"]\n";

    #[test]
    fn parameters_are_found_outside_quotes_and_drawn_within_their_ranges() {
        let mix = Mix::read(TEXT).unwrap();
        let dialect = tare_engine::engine_by_name("postgresql").unwrap().dialect();
        let of = |t: usize, s: usize| mix.transactions[t].statements[s].sql(dialect);
        assert_eq!(of(0, 0), "SELECT ':id', a::text FROM t WHERE id = $1 AND b=$2");
        assert_eq!(of(1, 0), "UPDATE t SET a = $1 WHERE id = $2 OR k = $3");
        assert!(mix.transactions[1].has_border() && mix.transactions[1].writes && !mix.transactions[0].writes);
        let mut random = Random::new(1, Purpose::Transactions, 0);
        let two = (0..4000).filter(|_| mix.draw(&mut random) == 1).count();
        assert!((2850..3150).contains(&two), "{two}");
        for (name, drawing) in &mix.parameters {
            let fits = (0..100).all(|_| match (name.as_str(), drawing.draw(&mut random)) {
                ("id", Drawn::Int(number)) => (-5..=5).contains(&number),
                ("name", drawn) => [Drawn::Text("a".into()), Drawn::Int(7)].contains(&drawn),
                ("word", Drawn::Text(text)) => text.len() == 3,
                _ => false,
            });
            assert!(fits, "{name}");
        }
    }

    #[test]
    fn what_a_statement_does_is_known_from_reading_the_file() {
        let text = "[[transaction]]\nname = \"a\"\nstatements = [\" select 1\", \"SELECT 1 For Update\", \"UPDATE t SET a = 1\"]\n\
            [[transaction]]\nname = \"b\"\nstatements = [\"SELECT 1\", \"SELECT 2\"]\n";
        let mut mix = Mix::read(text).unwrap();
        // What is known does not come from the words any more, which the client's thread would have to look through.
        mix.transactions.iter_mut().flat_map(|t| &mut t.statements).for_each(|s| s.parts[0].clear());
        let reads: Vec<bool> = mix.statements().map(|statement| statement.reads).collect();
        assert_eq!(reads, [true, false, false, true, true]);
        assert_eq!([mix.transactions[0].writes, mix.transactions[1].writes], [true, false]);
    }

    #[test]
    fn mistakes_say_where_they_are() {
        let wrong = |from: &str, to: &str| Mix::read(&TEXT.replace(from, to)).unwrap_err();
        assert!(wrong("b=:name", "b=:nam").contains("transaction one, statement 1: :nam is none"));
        assert!(wrong("b=:name", "b=:nam").contains("did you mean :name?"));
        assert!(wrong("weight = 3", "wieght = 3").contains("line 10"), "{}", wrong("weight = 3", "wieght = 3"));
        assert!(wrong("[-5, 5]", "[5, -5]").contains("parameter id"));
        assert!(wrong("letters = 3", "letters = 3, distribution = \"uniform\"").contains("parameter word"));
        assert!(wrong("\"two\"", "\"one\"").contains("a name of its own"));
        assert!(Mix::read("transaction = []").is_err() && Mix::read("x").is_err());
    }
}
