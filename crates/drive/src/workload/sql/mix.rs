//! The parsed file of statements: transactions with weights, and parameters with their distributions.

use super::file::{Data, Errors, File, Repeated, Sizes};
use super::parameter::{self, Counters, Grows, Parameter};
use super::statement::{self, Known, Statement};
use super::step::{self, Step};
use tare_load::Random;

#[derive(Debug)]
pub(super) struct Mix {
    pub transactions: Vec<Transaction>,
    pub parameters: Vec<Parameter>,
    counters: Vec<i64>,
    pub sizes: Sizes,
    pub data: Data,
    pub errors: Errors,
    /// Steps that a trial runs one after the other; empty: all transactions at once.
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FileChanges {
    pub tables: Option<u64>,
    pub rows: Option<u64>,
    /// Names of the transactions that are run, separated by commas; None: all.
    pub transaction: Option<String>,
}

#[derive(Debug)]
pub(super) struct Among {
    pub numbers: Vec<usize>,
    weights: u64,
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub name: String,
    weight: u64,
    pub statements: Vec<Statement>,
    /// Parameters drawn once per transaction, with their numbers of values; each after those on which it depends.
    pub draws: Vec<(usize, usize)>,
    /// Index of its first statement among those of all transactions.
    pub first_statement: usize,
    /// Whether any of its statements does more than read.
    pub writes: bool,
    has_border: bool,
}

impl Transaction {
    /// Whether it runs between BEGIN and COMMIT.
    pub(crate) fn has_border(&self) -> bool {
        self.has_border
    }
}

impl Mix {
    pub(crate) fn read(text: &str, requested: &FileChanges) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|e| {
            let line = text[..e.span().map_or(0, |at| at.start)].matches('\n').count() + 1;
            format!("a file of statements; line {line}: {}", e.message())
        })?;
        if file.transactions.is_empty() {
            return Err("at least one [[transaction]]".to_owned());
        }
        file.check_counts()?;
        let sizes = file.sizes.changed(requested.tables, requested.rows)?;
        let counters: Vec<String> = file.counters.keys().cloned().collect();
        let starts = file.counters.values().map(|start| start.value(sizes)).collect::<Result<_, _>>()?;
        let parameters = parameter::read(file.parameters, sizes, &counters)?;
        let mut known = Known::of(&parameters);
        let mut transactions: Vec<Transaction> = Vec::new();
        for read in file.transactions {
            let transaction = transaction(read, &mut known, &transactions)?;
            transactions.push(transaction);
        }
        let mut mix = Self {
            transactions,
            parameters,
            counters: starts,
            sizes,
            data: file.data,
            errors: file.errors,
            steps: Vec::new(),
        };
        // Transactions that are requested by name run at once, without steps.
        if requested.transaction.is_none() {
            let runs = mix.transactions.iter();
            let runs = runs.map(|one| step::Known { name: &one.name, weight: one.weight, writes: one.writes });
            mix.steps = step::read(file.steps, &runs.collect::<Vec<_>>(), sizes)?;
        }
        mix.choose(requested.transaction.as_deref())?;
        Ok(mix)
    }

    fn choose(&mut self, names: Option<&str>) -> Result<(), String> {
        if let Some(names) = names {
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            if let Some(unknown) = names.iter().find(|name| self.transactions.iter().all(|one| one.name != **name)) {
                let known: Vec<&str> = self.transactions.iter().map(|one| one.name.as_str()).collect();
                let near = tare_text::nearest(unknown, known.iter().copied());
                let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                return Err(format!("transactions of the file: {}{near}", known.join(", ")));
            }
            self.transactions.retain(|one| names.contains(&one.name.as_str()));
        }
        let mut first = 0;
        for one in &mut self.transactions {
            one.first_statement = first;
            first += one.statements.len();
        }
        if self.transactions.iter().all(|one| one.weight == 0) {
            Err("a weight above 0 for at least one transaction".to_owned())
        } else {
            Ok(())
        }
    }

    /// A set of transactions, by number, from which the next one is drawn.
    pub(crate) fn among(&self, numbers: Vec<usize>) -> Among {
        let weights = numbers.iter().map(|number| self.transactions[*number].weight).sum();
        Among { numbers, weights }
    }

    /// The number of the next of these transactions, drawn by weight.
    pub(crate) fn draw(&self, among: &Among, random: &mut Random) -> usize {
        let mut left = random.below(among.weights);
        for number in &among.numbers {
            let weight = self.transactions[*number].weight;
            if left < weight {
                return *number;
            }
            left -= weight;
        }
        0
    }

    /// Whether the transactions touch more tables with more tables, and more rows with more rows: some range from which
    /// they draw grows, and none stays as it is.
    pub(crate) fn touches_more(&self) -> Grows {
        let of = |transaction: &Transaction| {
            let of_statements = transaction.statements.iter().flat_map(|statement| statement.draws.iter().copied());
            transaction.draws.iter().copied().chain(of_statements).collect::<Vec<_>>()
        };
        let ranges = || {
            let drawn = self.transactions.iter().flat_map(of);
            drawn.filter_map(|(number, _)| self.parameters[number].grows)
        };
        let all = ranges().all(|grows| grows.tables || grows.rows);
        Grows { tables: all && ranges().any(|grows| grows.tables), rows: all && ranges().any(|grows| grows.rows) }
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters::starting(&self.counters)
    }

    /// The statements of all transactions, in the order of the file.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.transactions.iter().flat_map(|transaction| &transaction.statements)
    }

    /// Whether any of its transactions does more than read.
    pub(crate) fn writes(&self) -> bool {
        self.transactions.iter().any(|transaction| transaction.writes)
    }
}

fn transaction(
    read: super::file::FileTransaction,
    known: &mut Known<'_>,
    before: &[Transaction],
) -> Result<Transaction, String> {
    if !step::is_word(&read.name) || before.iter().any(|t| t.name == read.name) {
        return Err(format!("transaction {}: a unique name of letters, digits and _", read.name));
    }
    if read.statements.is_empty() {
        return Err(format!("transaction {}: at least one statement", read.name));
    }
    let written: Vec<Repeated> = read.statements.into_iter().map(Into::into).collect();
    let several = written.len() > 1 || written.iter().any(|one| one.times > 1);
    let mut statements: Vec<Statement> = written
        .iter()
        .enumerate()
        .map(|(number, sql)| statement::read(&read.name, number + 1, sql, known))
        .collect::<Result<_, _>>()?;
    let parameters = known.parameters;
    for statement in &mut statements {
        statement.draws = needs([&*statement], parameters, |parameter| parameter.each_statement);
    }
    let draws = needs(&statements, parameters, |parameter| !parameter.each_statement);
    Ok(Transaction {
        writes: !statements.iter().all(|statement| statement.reads),
        name: read.name,
        weight: read.weight.into(),
        draws,
        first_statement: 0,
        has_border: read.begin.unwrap_or(several),
        statements,
    })
}

/// Parameters of some kind that statements need, and those on which they depend, in the order in which they are drawn.
fn needs<'a>(
    statements: impl IntoIterator<Item = &'a Statement>,
    parameters: &[Parameter],
    is_meant: impl Fn(&Parameter) -> bool,
) -> Vec<(usize, usize)> {
    let mut counts = vec![0; parameters.len()];
    for (parameter, count) in statements.into_iter().flat_map(Statement::needs) {
        counts[parameter] = counts[parameter].max(count);
    }
    for (number, parameter) in parameters.iter().enumerate().rev() {
        if let parameter::Drawing::After(of, _) = parameter.drawing {
            counts[of] = counts[of].max(counts[number]);
        }
    }
    let all = counts.into_iter().enumerate();
    all.filter(|(number, count)| *count > 0 && is_meant(&parameters[*number])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parameter::Drawn;
    use super::*;
    use tare_load::Purpose;

    const TEXT: &str = "[parameters]\nid = { range = [-5, 5] }\nname = { list = [\"a\", 7] }\nword = { letters = 3 }\n\
        [[transaction]]\nname = \"one\"\nstatements = [\"SELECT ':id', a::text FROM t WHERE id = :id AND b=:name;\"]\n\
        [[transaction]]\nname = \"two\"\nweight = 3\nstatements = [\"UPDATE t SET a = :word WHERE id = :id OR k = :id\", \"SELECT 1\"]\n";

    fn read(text: &str) -> Result<Mix, String> {
        Mix::read(text, &FileChanges::default())
    }

    #[test]
    fn parameters_are_found_outside_quotes_and_drawn_within_their_ranges() {
        let mix = read(TEXT).unwrap();
        let dialect = tare_engine::engine_by_name("postgresql").unwrap().dialect();
        let of = |t: usize, s: usize| mix.transactions[t].statements[s].sql(dialect, 0);
        assert_eq!(of(0, 0), "SELECT ':id', a::text FROM t WHERE id = $1 AND b=$2");
        assert_eq!(of(1, 0), "UPDATE t SET a = $1 WHERE id = $2 OR k = $3");
        assert!(mix.transactions[1].has_border() && mix.transactions[1].writes && !mix.transactions[0].writes);
        let mut random = Random::new(1, Purpose::Transactions, 0);
        let both = mix.among(vec![0, 1]);
        let two = (0..4000).filter(|_| mix.draw(&both, &mut random) == 1).count();
        assert!((2850..3150).contains(&two), "{two}");
        for parameter in &mix.parameters {
            let name = parameter.name.as_str();
            let mut draw = || {
                let mut drawn = Vec::new();
                parameter.draw(&mut drawn, 1, &[], &mix.counters(), &mut random);
                drawn.remove(0)
            };
            let fits = (0..100).all(|_| match (name, draw()) {
                ("id", Drawn::Int(number)) => (-5..=5).contains(&number),
                ("name", drawn) => [Drawn::Text("a".into()), Drawn::Int(7)].contains(&drawn),
                ("word", Drawn::Text(text)) => text.len() == 3,
                _ => false,
            });
            assert!(fits, "{name}");
        }
    }

    #[test]
    fn the_file_of_statements_determines_which_of_them_read() {
        let text = "[[transaction]]\nname = \"a\"\nstatements = [\" select 1\", \"SELECT 1 For Update\", \"UPDATE t SET a = 1\"]\n\
            [[transaction]]\nname = \"b\"\nstatements = [\"SELECT 1\", \"SELECT 2\"]\n";
        let mix = read(text).unwrap();
        let reads: Vec<bool> = mix.statements().map(|statement| statement.reads).collect();
        assert_eq!(reads, [true, false, false, true, true]);
        assert_eq!([mix.transactions[0].writes, mix.transactions[1].writes], [true, false]);
        let reads = |sql: &str| {
            let text = format!("[[transaction]]\nname = \"a\"\nstatements = ['''{sql}''']\n");
            !read(&text).unwrap().writes()
        };
        for sql in [
            "WITH t AS (SELECT 1) SELECT * FROM t",
            "values (1)",
            "TABLE t",
            "SELECT 'for update', \"into\" FROM t -- for share",
            "SELECT updated, insert(a, 1, 1, 'x') FROM t",
        ] {
            assert!(reads(sql), "{sql}");
        }
        for sql in [
            "WITH t AS (DELETE FROM a RETURNING id) SELECT * FROM t",
            "WITH t AS (SELECT 1) UPDATE a SET b = 1",
            "SELECT a FROM t FOR\n  UPDATE",
            "SELECT a FROM t FOR SHARE",
            "SELECT a FROM t FOR NO KEY UPDATE",
            "SELECT a FROM t FOR KEY SHARE SKIP LOCKED",
            "SELECT a FROM t LOCK IN SHARE MODE",
            "SELECT a INTO b FROM t",
        ] {
            assert!(!reads(sql), "{sql}");
        }
    }

    const LISTS: &str = "[sizes]\nrows = 1000\n[counters]\nadded = \"rows\"\n[parameters]\n\
        table = { range = [1, \"tables\"] }\nid = { range = [1, \"rows\"], draw = \"statement\" }\n\
        to = { after = \"id\", plus = 99 }\nhot = { range = [\"rows / 2 + 1\", \"rows / 2 + 1\"], count = 3, step = 1 }\n\
        new = { next = \"added\" }\nc = { template = \"##-@@\" }\n\
        [[transaction]]\nname = \"lists\"\nstatements = [\"SELECT c FROM t{table} WHERE id IN (:hot) OR id BETWEEN :id AND :to\"]\n\
        [[transaction]]\nname = \"rows\"\nstatements = [{ sql = \"INSERT INTO t{table} (id, c) VALUES (:new, :c)\", rows = 2, times = 3 }]\n";

    #[test]
    fn lists_rows_and_numbers_in_a_text_are_written_out_for_every_table() {
        let mix = Mix::read(LISTS, &FileChanges { tables: Some(2), ..FileChanges::default() }).unwrap();
        let dialect = tare_engine::engine_by_name("postgresql").unwrap().dialect();
        let lists = &mix.transactions[0].statements[0];
        assert_eq!(lists.texts(), (1, 2));
        assert_eq!(lists.sql(dialect, 2), "SELECT c FROM t2 WHERE id IN ($1, $2, $3) OR id BETWEEN $4 AND $5");
        let rows = &mix.transactions[1].statements[0];
        assert_eq!(rows.sql(dialect, 1), "INSERT INTO t1 (id, c) VALUES ($1, $2), ($3, $4)");
        assert!(mix.transactions[1].has_border(), "three statements are one transaction");
        let number = |name: &str| mix.parameters.iter().position(|one| one.name == name).unwrap();
        // A parameter that depends on another one is drawn after it, at the same time.
        assert_eq!(lists.draws, [(number("id"), 1), (number("to"), 1)]);
        assert_eq!(mix.transactions[1].draws, [(number("c"), 2), (number("new"), 2), (number("table"), 1)]);
    }

    #[test]
    fn values_of_lists_sizes_and_counters_are_what_the_file_says() {
        let mix = Mix::read(LISTS, &FileChanges { rows: Some(2000), ..FileChanges::default() }).unwrap();
        let (counters, mut random) = (mix.counters(), Random::new(3, Purpose::Transactions, 0));
        let mut values = vec![Vec::new(); mix.parameters.len()];
        let number = |name: &str| mix.parameters.iter().position(|one| one.name == name).unwrap();
        for (name, count) in [("id", 1), ("to", 1), ("hot", 3), ("new", 2), ("c", 1)] {
            let mut into = Vec::new();
            mix.parameters[number(name)].draw(&mut into, count, &values, &counters, &mut random);
            values[number(name)] = into;
        }
        let of = |name: &str| values[number(name)].clone();
        assert_eq!(of("hot"), [1001, 1002, 1003].map(Drawn::Int));
        assert_eq!(of("new"), [2001, 2002].map(Drawn::Int));
        let (Drawn::Int(id), Drawn::Int(to)) = (of("id")[0].clone(), of("to")[0].clone()) else { panic!("numbers") };
        assert_eq!(to, id + 99);
        let Drawn::Text(c) = of("c")[0].clone() else { panic!("a text") };
        assert!(
            c.len() == 5
                && c[..2].chars().all(|c| c.is_ascii_digit())
                && c[3..].chars().all(|c| c.is_ascii_lowercase())
        );
    }

    #[test]
    fn statements_that_name_their_rows_touch_no_more_of_them_with_more_rows() {
        let of = |text: &str, names: &str| {
            let changes = FileChanges { transaction: Some(names.into()), ..FileChanges::default() };
            let Grows { tables, rows } = Mix::read(text, &changes).unwrap().touches_more();
            [tables, rows]
        };
        let text = "[parameters]\ntable = { range = [1, \"tables\"] }\nid = { range = [1, \"rows\"] }\n\
            middle = { range = [\"rows / 2\", \"rows / 2\"] }\nfew = { range = [1, 2] }\nword = { letters = 3 }\n\
            each = { range = [1, \"rows\"], draw = \"statement\" }\n";
        let transactions = [
            ("one", "UPDATE t{table} SET c = :word WHERE id = :id", [true, true]),
            ("each", "UPDATE t SET c = :word WHERE id = :each", [false, true]),
            ("fixed", "UPDATE t SET c = :word WHERE id = 1", [false, false]),
            // One row, wherever it is; and two rows next to many.
            ("middle", "UPDATE t SET c = :word WHERE id = :middle", [false, false]),
            ("few", "UPDATE t SET c = :word WHERE id = :few OR id = :id", [false, false]),
        ];
        let text = transactions.iter().fold(text.to_owned(), |text, (name, sql, _)| {
            format!("{text}[[transaction]]\nname = \"{name}\"\nstatements = [\"{sql}\"]\n")
        });
        for (name, _, expected) in transactions {
            assert_eq!(of(&text, name), expected, "{name}");
        }
    }

    #[test]
    fn only_the_requested_transactions_are_used() {
        let of =
            |names: &str| Mix::read(LISTS, &FileChanges { transaction: Some(names.into()), ..FileChanges::default() });
        let chosen = of("rows").unwrap();
        assert_eq!((chosen.transactions.len(), chosen.transactions[0].first_statement, chosen.writes()), (1, 0, true));
        assert!(!of("lists").unwrap().writes());
        assert!(of("list").unwrap_err().ends_with("lists, rows; did you mean lists?"));
    }

    #[test]
    fn mistakes_of_lists_and_rows_say_where_they_are() {
        let wrong = |from: &str, to: &str| read(&LISTS.replace(from, to)).unwrap_err();
        assert!(wrong("t{table} WHERE", "t{tabel} WHERE").contains("did you mean :table?"));
        assert!(wrong("[1, \"tables\"]", "[1, 20000]").contains("at most 10000 numbers"));
        assert!(wrong("VALUES (:new, :c)", "VALUES (:hot, :c)").contains(":hot is a list, which a row cannot contain"));
        assert!(
            wrong("VALUES (:new, :c)", "SELECT :new, :c").contains("rows needs an INSERT that ends in VALUES (...)")
        );
        assert!(wrong("next = \"added\"", "next = \"aded\"").contains("not one of [counters] (added)"));
        assert!(wrong("after = \"id\"", "after = \"c\"").contains("not a parameter with a range or a counter"));
        assert!(wrong("rows / 2 + 1", "rows / two").contains("rows, tables, and + - * /"));
    }

    #[test]
    fn a_hostile_file_of_statements_cannot_exceed_the_limits() {
        let of = |head: &str, statement: &str| {
            read(&format!("{head}[[transaction]]\nname = \"a\"\nstatements = [{statement}]\n"))
        };
        let (rows, id) = ("rows = 1_000_000", "[parameters]\nid = { range = [1, 2] }\n");
        let long = "x".repeat(1 << 20);
        for (head, statement) in [
            ("", format!("{{ sql = \"INSERT INTO t VALUES (1)\", {rows} }}")),
            (id, format!("{{ sql = \"INSERT INTO t VALUES (:id, '{long}')\", rows = 65 }}")),
            (
                "[parameters]\nid = { letters = 65536 }\n",
                "{ sql = \"INSERT INTO t VALUES (:id)\", rows = 1025 }".into(),
            ),
        ] {
            let refused = of(head, &statement).unwrap_err();
            assert!(refused.ends_with("at most 64 MiB for all statements, rows and values"), "{refused}");
        }
        assert!(
            of(id, &format!("\"SELECT {}1\"", ":id, ".repeat(65_536))).unwrap_err().contains("at most 65535 values")
        );
        let many = |of: &dyn Fn(usize) -> String| (0..=5000).map(of).collect::<String>();
        let parameters = many(&|number| format!("p{number} = {{ letters = 1 }}\n"));
        let steps = many(&|number| format!("[[step]]\nname = \"s{number}\"\nroles.a = {{ run = [\"a\"] }}\n"));
        let transactions = many(&|number| format!("[[transaction]]\nname = \"t{number}\"\nstatements = [\"x\"]\n"));
        for (head, statements, most) in [
            (format!("[counters]\n{}", many(&|number| format!("c{number} = 1\n"))), "\"x\"".into(), "5000 counters"),
            (format!("[parameters]\n{parameters}"), "\"x\"".into(), "5000 parameters"),
            (transactions, "\"x\"".into(), "500 transactions"),
            (String::new(), many(&|_| "\"x\",".into()), "500 statements"),
            (steps, "\"x\"".into(), "500 steps"),
        ] {
            let refused = of(&head, &statements).unwrap_err();
            assert!(refused.starts_with(&format!("at most {most}, not 500")), "{refused}");
        }
    }

    #[test]
    fn numbers_of_the_widest_range_are_drawn() {
        let wide = |statement: &str| {
            let parameter = format!("[parameters]\nid = {{ range = [{}, {}] }}\n", i64::MIN, i64::MAX);
            read(&format!("{parameter}[[transaction]]\nname = \"a\"\nstatements = [\"{statement}\"]\n"))
        };
        assert!(wide("SELECT {id}").unwrap_err().contains("at most 10000 numbers"));
        let (mix, mut random, mut drawn) =
            (wide("SELECT :id").unwrap(), Random::new(1, Purpose::Transactions, 0), Vec::new());
        mix.parameters[0].draw(&mut drawn, 1000, &[], &mix.counters(), &mut random);
        let below = drawn.iter().filter(|value| matches!(value, Drawn::Int(number) if *number < 0)).count();
        assert!((400..600).contains(&below), "{below}");
    }

    #[test]
    fn mistakes_say_where_they_are() {
        let wrong = |from: &str, to: &str| read(&TEXT.replace(from, to)).unwrap_err();
        assert!(wrong("b=:name", "b=:nam").contains("transaction one, statement 1: :nam is not one"));
        assert!(wrong("b=:name", "b=:nam").contains("did you mean :name?"));
        assert!(wrong("weight = 3", "wieght = 3").contains("line 10"), "{}", wrong("weight = 3", "wieght = 3"));
        assert!(wrong("[-5, 5]", "[5, -5]").contains("parameter id"));
        assert!(wrong("letters = 3", "letters = 3, distribution = \"uniform\"").contains("parameter word"));
        assert!(wrong("\"two\"", "\"one\"").contains("a unique name of letters"));
        assert!(read("transaction = []").is_err() && read("x").is_err());
    }
}
