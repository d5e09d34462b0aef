//! sysbench's workloads against any running server.

use super::measure::measure;
use super::oltp_args::{LoadArgs, Weighed, Work};
use super::request::LoadRequest;
use super::rows::{dropped, filled, prepared};
use super::scripts::Statements;
use super::{lines, scripts};
use crate::cli::{Exit, Problem};
use std::time::Instant;
use tare_drive::workload::SessionError;
use tare_drive::workload::oltp::{self, Fill, OltpError, OltpSettings, Tables, Workload};
use tare_drive::workload::{AnyLoad, sessions_on};
use tare_load::Distribution;
use tare_text::count;

pub(crate) fn run(args: &LoadArgs) -> Result<Exit, Problem> {
    // Required by the command line.
    let workload = match &args.workload {
        Some(Work::Oltp(workload)) => *workload,
        Some(Work::File(path)) => {
            let file = Weighed { path: path.clone(), weight: 1 };
            return scripts::run(args, &Statements::Files(std::slice::from_ref(&file)));
        }
        Some(Work::Builtin(name)) => return scripts::run(args, &Statements::Builtin(name)),
        None if args.scripts.file.is_empty() => return Err(no_workload()),
        None => return scripts::run(args, &Statements::Files(&args.scripts.file)),
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
