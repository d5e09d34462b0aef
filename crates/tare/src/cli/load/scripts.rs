//! `tare load FILE`: the user's own statements against any running server.

use super::measure::measure;
use super::oltp_args::{LoadArgs, Weighed};
use super::request::{LoadRequest, Places};
use crate::cli::{Exit, Problem};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tare_drive::workload::sql::{LARGEST, Script, ScriptError, SqlSettings, of_scripts, read_statements};
use tare_study::language::load_name::LoadName;
use tare_study::language::made::KeyValue;
use tare_text::{Keyed, Value};

pub(crate) enum Statements<'a> {
    Files(&'a [Weighed]),
    /// The name of a file of statements that comes with tare.
    Builtin(&'a str),
}

impl Statements<'_> {
    /// Whether the files are SQL or pgbench scripts, as opposed to one file of statements in TOML.
    fn are_scripts(&self) -> bool {
        match self {
            Self::Builtin(_) => false,
            Self::Files([one]) => matches!(LoadName::of_file(&one.path), LoadName::Script(_)),
            Self::Files(_) => true,
        }
    }
}

pub(crate) fn run(args: &LoadArgs, files: &Statements<'_>) -> Result<Exit, Problem> {
    let usage = |what: &str| Problem::new(Exit::Usage, what);
    if args.prepares() || args.cleans_up() {
        let how = match files {
            Statements::Builtin("microbenchmarks") => {
                "their tables are sysbench's: tare load point_select --prepare, with the same --tables and --rows"
            }
            _ => "make the tables with the server's own client first; a study that starts a server makes those of TOML",
        };
        return Err(
            usage("with a file of statements, tare does not create or drop tables on a running server").advice(how)
        );
    }
    // Sizes belong to files of statements (docs/sql.md); scripts have constants of their own (-D).
    let sizes_of_scripts = files.are_scripts() && !args.make_up.keys.values().is_empty();
    if args.reconnect || args.make_up.is_of_sysbench() || sizes_of_scripts {
        return Err(usage(
            "--reconnect and the options of sysbench's transactions have no effect on a file of statements",
        ));
    }
    if !files.are_scripts() && !args.scripts.define.is_empty() {
        return Err(
            usage("-D has no effect on a file of statements in TOML").expected("--rows or --tables (docs/sql.md)")
        );
    }
    let (values, places) = values(args, files)?;
    let mut request = LoadRequest::new(&args.server, &args.run, values)?;
    request.places = places;
    measure(request, &args.report, false)
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
        None => "name an existing file; loads that need no file: tare load --help".to_owned(),
    })
}

/// The keys that the statements set, and the place of each statement if known.
fn values(args: &LoadArgs, statements: &Statements<'_>) -> Result<(Vec<KeyValue>, Places), Problem> {
    let mut values: Vec<KeyValue> = vec![("workload", "name", "sql".into())];
    values.extend(
        args.scripts.transaction.as_ref().map(|names| ("workload", "transaction", Value::from(names.as_str()))),
    );
    values.extend(args.make_up.keys.values().iter().cloned());
    let files = match statements {
        Statements::Files(files) => files,
        Statements::Builtin(name) => {
            values.push(("workload", "builtin", Value::from(*name)));
            return Ok((values, Places { names: vec![(*name).to_owned()], ..Places::default() }));
        }
    };
    let names: Vec<String> = files.iter().map(Weighed::to_string).collect();
    if let ([one], false) = (files, statements.are_scripts()) {
        let text = read_statements(&one.path, LARGEST).map_err(|e| unreadable(&one.path, &e))?;
        let folder = folder_of(&one.path)?;
        is_whole(&one.path, &text, &values)?;
        // The keys that `workload.file` sets as well.
        values.push(("workload", "statements", text.into()));
        values.push(("workload", "data_directory", folder.display().to_string().into()));
        return Ok((values, Places { names, file: Some(one.path.clone()), ..Places::default() }));
    }
    let script = |file: &Weighed| {
        let name = file.path.display().to_string();
        let text = read_statements(&file.path, LARGEST).map_err(|e| unreadable(&file.path, &e))?;
        Ok(Script { file: name, text, weight: file.weight })
    };
    let scripts = files.iter().map(script).collect::<Result<Vec<_>, Problem>>()?;
    let defined: BTreeMap<String, i64> = args.scripts.define.iter().cloned().collect();
    let made = of_scripts(&scripts, &defined)?;
    values.push(("workload", "statements", made.text.into()));
    Ok((values, Places { names, lines: made.places, file: None }))
}

/// The directory that relative paths in a file of statements start from.
fn folder_of(path: &Path) -> Result<PathBuf, Problem> {
    let whole = std::path::absolute(path)
        .map_err(|e| Problem::new(Exit::Usage, e.to_string()).at(path.display().to_string()))?;
    Ok(whole.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Checks that a file of statements is valid with the requested sizes and transactions.
fn is_whole(path: &Path, text: &str, values: &[KeyValue]) -> Result<(), Problem> {
    let mut settings = SqlSettings::default();
    for key in SqlSettings::KEYS {
        // An invalid value is ignored here; it is refused later like that of any other key.
        let given = values.iter().find(|(_, name, _)| *name == key.name);
        let _ = given.map(|(_, _, value)| key.set(&mut settings, value));
    }
    settings.set_text(text).map_err(|what| {
        Problem::new(Exit::Usage, "the file of statements cannot be used")
            .at(path.display().to_string())
            .expected(what.trim_end())
            .advice("correct the file; its format: docs/sql.md")
    })
}

impl From<ScriptError> for Problem {
    fn from(error: ScriptError) -> Self {
        Self::new(Exit::Usage, error.what)
            .at(error.place)
            .advice("correct the script; a file of statements can do what scripts cannot (docs/sql.md)")
    }
}
