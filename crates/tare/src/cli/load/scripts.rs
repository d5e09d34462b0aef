//! `tare load FILE`: statements of the user's own against any running server.

use super::asked::Asked;
use super::measure::measure;
use super::oltp_args::{LoadArgs, Weighed};
use crate::cli::{Exit, Problem};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use tare_drive::workload::sql::{LARGEST, Script, of_scripts, read_statements};
use tare_study::language::made::KeyValue;
use tare_text::Value;

pub enum Statements<'a> {
    Files(&'a [Weighed]),
    /// In a file that comes with the program, by its name.
    Builtin(&'a str),
}

impl Statements<'_> {
    /// Whether they are SQL or pgbench's scripts, and not one file of statements with keys.
    fn are_scripts(&self) -> bool {
        match self {
            Self::Builtin(_) => false,
            Self::Files([one]) => one.path.extension().is_none_or(|extension| extension != "toml"),
            Self::Files(_) => true,
        }
    }
}

pub fn run(args: &LoadArgs, files: &Statements<'_>) -> Result<Exit, Problem> {
    let usage = |what: &str| Problem::new(Exit::Usage, what);
    if args.prepares() || args.cleans_up() {
        return Err(usage("a file of statements makes and drops no tables on a server that runs already").advice(
            "the tables of microbenchmarks are sysbench's: tare load point_select --prepare, with the same \
                     --tables and --rows",
        ));
    }
    // Sizes are what a file of statements (docs/sql.md) names; scripts have their own constants (-D).
    let sizes_of_scripts = files.are_scripts() && !args.make_up.keys.values().is_empty();
    if args.reconnect || args.make_up.is_of_sysbench() || sizes_of_scripts {
        return Err(usage(
            "--reconnect and what makes up sysbench's transactions mean nothing to statements of a file",
        ));
    }
    measure(Asked::new(&args.server, &args.run, values(args, files)?)?, &args.said, false)
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let problem = Problem::new(Exit::Usage, format!("cannot read the statements: {error}"))
        .at(path.display().to_string())
        .expected("a file of SQL, a script of pgbench, or a file of statements (docs/sql.md)");
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let names =
        std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|e| e.file_name().into_string().ok());
    let names: Vec<String> = names.filter(|name| name.contains('.')).collect();
    let wrong = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    problem.advice(match tare_text::nearest(&wrong, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", path.with_file_name(near).display()),
        None => "name a file that is there; loads without a file of yours: tare load --help".to_owned(),
    })
}

fn values(args: &LoadArgs, statements: &Statements<'_>) -> Result<Vec<KeyValue>, Problem> {
    let mut values: Vec<KeyValue> = vec![("workload", "name", "sql".into())];
    values.extend(
        args.scripts.transaction.as_ref().map(|names| ("workload", "transaction", Value::from(names.as_str()))),
    );
    values.extend(args.make_up.keys.values().iter().cloned());
    let files = match statements {
        Statements::Files(files) => files,
        Statements::Builtin(name) => {
            values.push(("workload", "builtin", Value::from(*name)));
            return Ok(values);
        }
    };
    if let ([one], false) = (files, statements.are_scripts()) {
        values.push(("workload", "file", one.path.display().to_string().into()));
        return Ok(values);
    }
    let script = |file: &Weighed| {
        let name = file.path.display().to_string();
        let text = read_statements(&file.path, LARGEST).map_err(|e| unreadable(&file.path, &e))?;
        Ok(Script { file: name, text, weight: file.weight })
    };
    let scripts = files.iter().map(script).collect::<Result<Vec<_>, Problem>>()?;
    let defined: BTreeMap<String, i64> = args.scripts.define.iter().cloned().collect();
    let text = of_scripts(&scripts, &defined).map_err(|what| {
        Problem::new(Exit::Usage, what)
            .advice("correct the script; what scripts cannot say, a file of statements can (docs/sql.md)")
    })?;
    values.push(("workload", "statements", text.into()));
    Ok(values)
}
