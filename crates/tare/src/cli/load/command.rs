//! `tare load`: the loads that have options of their own, the help text for all, and sysbench's workloads or the user's
//! own statements against any running server.

use super::lines::{self, dropped, filled, prepared};
use super::measure::measure;
use super::oltp_args::{LoadArgs, MakeUpKeys, Weighed, Work};
use super::options::{KeyOptions, RunKeys, ServerKeys};
use super::request::{LoadRequest, Places};
use super::tpcc::{self, TpccArgs};
use crate::cli::{Exit, Problem, output};
use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tare_drive::workload::oltp::{self, Fill, OltpError, OltpSettings, Tables, Workload};
use tare_drive::workload::sql::{LARGEST, Script, ScriptError, SqlSettings, of_scripts, read_statements};
use tare_drive::workload::{AnyLoad, SessionError, sessions_on};
use tare_load::Distribution;
use tare_study::language::load_name::LoadName;
use tare_study::language::made::KeyValue;
use tare_text::{Keyed, Value, count};

/// What follows `tare load`: one of sysbench's workloads with its options, or another load with its own.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(next_line_help = true)]
#[command(disable_help_subcommand = true, subcommand_help_heading = "Another load", override_usage = USAGE)]
pub(crate) struct LoadCommand {
    #[command(subcommand)]
    pub other: Option<OtherLoad>,
    #[command(flatten)]
    pub oltp: LoadArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OtherLoad {
    Tpcc(Box<TpccArgs>),
}

const USAGE: &str = "tare load [OPTIONS] <WORKLOAD> [COMMAND]
       tare load tpcc [OPTIONS] [COMMAND]";

const AFTER_HELP: &str = "\
Defaults that differ from sysbench's, which are in brackets:
  ids are drawn uniformly (--rand-type=special)
  up to 10 s of warm-up are not measured (none)
  the measurement takes 60 s (10 s), with a line per second (no lines)
  the same numbers are drawn every time (--rand-seed=0: others)
  a transaction is rolled back before it is repeated (a new one begins,
  which commits half of the old one after a lock timeout)
The statements and their number per transaction are sysbench's own.

insert, delete and bulk_insert change the number of rows: on a running server only --cleanup and --prepare \
reset it.

Examples, on tables that sysbench prepared too:
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --user me --tables 4 --rows 100000 --prepare
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --user me --tables 4 --rows 100000 --threads 8
  tare load oltp_read_write --socket /run/mysqld/mysqld.sock \\
      --tables=4 --table-size=100000 --time=60 --db-ps-mode=disable
  tare load read_only --socket /run/mysqld/mysqld.sock --rows 100000 \\
      --out before --repeat 5";

/// The section and the key of a study that an option of `tare load` sets, by any of its names without `--`.
pub(crate) fn key_of(option: &str) -> Option<(&'static str, &'static str)> {
    let all = [RunKeys::OPTIONS, MakeUpKeys::OPTIONS, ServerKeys::OPTIONS];
    all.into_iter().flatten().find(|known| known.is_named(option)).map(|known| known.key)
}

pub(crate) fn run(command: &LoadCommand) -> Result<Exit, Problem> {
    let ended = match command {
        LoadCommand { other: Some(OtherLoad::Tpcc(args)), .. } => tpcc::run(args),
        LoadCommand { other: None, oltp } => run_oltp(oltp),
    };
    match ended {
        // Errors while everything is being stopped do not come from the server.
        Err(_) if tare_engine::interrupted() => {
            output::note(
                "interrupted without figures: no sample had begun, or its last transactions had no answer in time",
            );
            Ok(Exit::Interrupted)
        }
        ended => ended,
    }
}

pub(crate) fn run_oltp(args: &LoadArgs) -> Result<Exit, Problem> {
    // Required by the command line.
    let workload = match &args.workload {
        Some(Work::Oltp(workload)) => *workload,
        Some(Work::File(path)) => {
            let file = Weighed { path: path.clone(), weight: 1 };
            return run_statements(args, &Statements::Files(std::slice::from_ref(&file)));
        }
        Some(Work::Builtin(name)) => return run_statements(args, &Statements::Builtin(name)),
        None if args.scripts.file.is_empty() => return Err(no_workload()),
        None => return run_statements(args, &Statements::Files(&args.scripts.file)),
    };
    let scripts = [("--transaction", args.scripts.transaction.is_some()), ("-D", !args.scripts.define.is_empty())];
    if let Some((option, _)) = scripts.iter().find(|(_, is_set)| *is_set) {
        return Err(Problem::new(Exit::Usage, format!("{option}: {workload} is not a file of statements"))
            .advice(format!("leave {option} out, or name a file in place of {workload}")));
    }
    let mut values = vec![("workload", "name", workload.name().into())];
    values.extend(args.make_up.values());
    let request = LoadRequest::new(&args.server, &args.run, values)?;
    let AnyLoad::Oltp(settings) = request.settings.workload.load else { return Err(no_workload()) };
    // Connects first, so that a connection error is reported in the same way for every command.
    let mut session = request.engine.connect(&request.target)?;
    if args.prepares() {
        drop(session);
        return prepare(args, &request, &settings);
    }
    let there = match settings.workload {
        Workload::BulkInsert => Tables { tables: request.threads(), ..settings.tables },
        _ => settings.tables,
    };
    if args.cleans_up() {
        let began = Instant::now();
        let tables = oltp::cleanup(session.as_mut(), &there).map_err(failed)?;
        return dropped(tables, began, args.report.json);
    }
    oltp::check(session.as_mut(), &settings.tables, settings.workload).map_err(|e| {
        let advice = match e {
            OltpError::TableSize { .. } => OTHER_SIZE,
            OltpError::TableChanged { .. } => ANEW,
            _ => "create the tables with the same options and --prepare",
        };
        Problem::new(Exit::Usage, e.to_string()).advice(advice)
    })?;
    drop(session);
    if !args.report.json {
        lines::not_as_sysbench(args, &settings);
    }
    measure(request, &args.report, args.reconnect)
}

const OTHER_SIZE: &str = "give the same --tables and --rows as for --prepare, or create the tables again: first \
    --cleanup, then --prepare, each with the options of this load";
const ANEW: &str = "create the tables again: first --cleanup, then --prepare, each with the options of this load";
const IN_THE_WAY: &str = "if earlier tables are in the way, remove them: the same with --cleanup instead of --prepare";

fn failed(error: OltpError) -> Problem {
    let problem = Problem::new(Exit::TrialFailed, error.to_string());
    if matches!(error, OltpError::Session(SessionError::Create { .. })) { problem.advice(IN_THE_WAY) } else { problem }
}

fn no_workload() -> Problem {
    Problem::new(Exit::Usage, "no workload is given")
        .expected("a workload such as point_select, or a file of statements")
        .advice("list the workloads: tare load --help")
}

fn prepare(args: &LoadArgs, request: &LoadRequest<'_>, settings: &OltpSettings) -> Result<Exit, Problem> {
    let (engine, target) = (request.engine, &request.target);
    if settings.workload == Workload::BulkInsert {
        let (mut session, began) = (engine.connect(target)?, Instant::now());
        oltp::prepare_bulk(session.as_mut(), request.threads(), engine.dialect()).map_err(failed)?;
        return prepared(0, began, args.report.json);
    }
    let is_set = args.make_up.keys.get("distribution").is_some();
    let fill = Fill {
        tables: settings.tables,
        distribution: if is_set { settings.distribution } else { Distribution::default() },
        seed: request.sampling.seed,
        sessions: sessions_on(std::thread::available_parallelism().map_or(1, usize::from)),
        dialect: engine.dialect(),
    };
    let tables = settings.tables;
    filled((&count(tables.tables, "table"), args.report.json), Some(tables.all_rows()), |go_on| {
        oltp::prepare(&fill, &|| engine.connect(target), go_on).map_err(failed)
    })
}

enum Statements<'a> {
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

fn run_statements(args: &LoadArgs, files: &Statements<'_>) -> Result<Exit, Problem> {
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
    let (values, places) = statement_values(args, files)?;
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
fn statement_values(args: &LoadArgs, statements: &Statements<'_>) -> Result<(Vec<KeyValue>, Places), Problem> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{SqlError, SqlErrorKind};

    #[test]
    fn only_a_table_that_cannot_be_created_gets_the_advice_to_remove_it() {
        let (sql, source) = ("CREATE".to_owned(), SqlError::own(SqlErrorKind::Other, "no"));
        let [made, filled] = [
            failed(SessionError::Create { sql: sql.clone(), source: source.clone() }.into()),
            failed(SessionError::Statement { sql, source }.into()),
        ];
        assert_eq!((made.what.as_str(), made.advice.as_deref()), ("CREATE: no", Some(IN_THE_WAY)));
        assert_eq!((filled.what.as_str(), filled.advice), ("CREATE: no", None));
    }
}
