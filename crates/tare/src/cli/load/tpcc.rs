//! `tare load tpcc`: TPC-C's transactions against any running server, and the options with their help texts.

use super::lines::{dropped, filled};
use super::measure::measure;
use super::oltp_args::ReportArgs;
use super::options::{Chosen, KeyOption, KeyOptions, RunArgs, ServerArgs};
use super::other_views::{Looked, NOT_OFFICIAL};
use super::request::LoadRequest;
use crate::cli::{Exit, Problem, interrupt, output};
use clap::{Args, ValueEnum};
use std::time::{Duration, Instant};
use tare_drive::workload::tpcc::{self, CONDITIONS, Checked, Fill, TpccError, TpccSettings};
use tare_drive::workload::{AnyLoad, Load, SessionError};
use tare_engine::Session;
use tare_text::count;

/// Prepares, checks, drops or measures, depending on the command.
///
/// # Errors
/// With exit codes 2 (usage), 3 (no connection, placement not possible here), 4 (a transaction failed for good, or a
/// consistency condition does not hold).
pub(crate) fn run(args: &TpccArgs) -> Result<Exit, Problem> {
    let mut values = vec![("workload", "name", "tpcc".into())];
    // A full check reads all tables of the user's server, so only the command `check` runs it.
    values.push(("workload", "conditions", Checked::Off.to_string().into()));
    values.extend(args.keys.values().iter().cloned());
    let request = LoadRequest::new(&args.server, &args.run, values)?;
    let AnyLoad::Tpcc(settings) = request.settings.workload.load else {
        return Err(Problem::new(Exit::Usage, "no workload is given"));
    };
    if args.command != TpccCommand::Run && args.run.out.is_some() {
        return Err(Problem::new(Exit::Usage, "--out stores measurements, but this command measures nothing")
            .advice("leave it out"));
    }
    // From here on Ctrl-C ends every wait for the server.
    interrupt::flag()?;
    match args.command {
        TpccCommand::Run => {
            has_data(&settings, request.engine.connect(&request.target)?.as_mut())?;
            if !args.report.json {
                output::note(&format!("tpcc: {NOT_OFFICIAL}"));
            }
            measure(request, &args.report, false)
        }
        TpccCommand::Prepare => prepare(args, &request, &settings),
        TpccCommand::Check => check(args, &request, &settings),
        TpccCommand::Cleanup => {
            let began = Instant::now();
            let tables = tpcc::cleanup(request.engine.connect(&request.target)?.as_mut()).map_err(failed)?;
            dropped(tables, began, args.report.json)
        }
    }
}

fn failed(error: TpccError) -> Problem {
    Problem::new(Exit::TrialFailed, error.to_string())
}

fn prepare(args: &TpccArgs, request: &LoadRequest<'_>, settings: &TpccSettings) -> Result<Exit, Problem> {
    let (engine, target) = (request.engine, &request.target);
    drop(engine.connect(target)?);
    let fill = Fill {
        sizes: settings.sizes(),
        seed: request.sampling.seed,
        sessions: std::thread::available_parallelism().map_or(1, usize::from),
        dialect: engine.dialect(),
    };
    filled((&count(settings.warehouses as usize, "warehouse"), args.report.json), settings.rows(), |go_on| {
        tpcc::prepare(&fill, &|| engine.connect(target), go_on).map_err(|e| match e {
            TpccError::Session(SessionError::Create { .. }) => {
                failed(e).advice("if earlier tables are in the way: tare load tpcc cleanup")
            }
            other => failed(other),
        })
    })
}

/// One answer may take many minutes; the timeout is needed so that a signal interrupts the wait.
const LONGEST_ANSWER: Duration = Duration::from_secs(24 * 3600);

/// Checks every condition, even after one that does not hold.
fn check(args: &TpccArgs, request: &LoadRequest<'_>, of: &TpccSettings) -> Result<Exit, Problem> {
    let mut session = request.engine.connect(&request.target)?;
    has_data(of, session.as_mut())?;
    session.set_timeout(Some(LONGEST_ANSWER)).map_err(|e| Problem::new(Exit::TrialFailed, e.to_string()))?;
    let mut looked = Vec::new();
    for condition in &CONDITIONS {
        let one = match tpcc::check(session.as_mut(), of.sizes(), condition) {
            Ok(()) => Looked::holds(condition),
            Err(TpccError::Inconsistent { place, left, right, .. }) => {
                Looked::broken(condition, format!("{place}: {left} against {right}"))
            }
            Err(_) if tare_engine::interrupted() => return Err(interrupt::problem("checking the tables")),
            Err(other) => return Err(failed(other)),
        };
        if !args.report.json {
            output::text(&one.line())?;
        }
        looked.push(one);
    }
    let broken = looked.iter().filter(|one| !one.holds).count();
    if args.report.json {
        output::document("tare-load-tpcc-check", &serde_json::json!({ "conditions": looked }))?;
    }
    if broken == 0 {
        return Ok(Exit::Done);
    }
    Err(Problem::new(
        Exit::TrialFailed,
        format!("{broken} of the {} consistency conditions did not hold", CONDITIONS.len()),
    )
    .advice(
        "the server has lost or added rows, or another program changed them; create the tables again with cleanup \
        and prepare",
    ))
}

/// Checks that the tables exist in the requested size.
fn has_data(of: &TpccSettings, session: &mut dyn Session) -> Result<(), Problem> {
    of.check_data(session).map_err(|e| {
        let scale = if of.scale < 1.0 { format!(" --scale {}", of.scale) } else { String::new() };
        let advice = format!("tare load tpcc prepare --warehouses {}{scale}, with the same server", of.warehouses);
        Problem::new(Exit::Usage, e.to_string()).advice(advice)
    })
}

/// Run TPC-C's tables and transactions on any running server; the results are not official TPC-C results and not
/// comparable with them
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, next_line_help = true)]
pub(crate) struct TpccArgs {
    /// run: measure; prepare: create and fill the tables; check: check the standard's consistency conditions; cleanup:
    /// drop the tables
    #[arg(value_name = "COMMAND", value_enum, default_value_t = TpccCommand::Run, hide_possible_values = true)]
    command: TpccCommand,
    #[command(flatten)]
    keys: Chosen<TpccKeys>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug)]
struct TpccKeys;

impl KeyOptions for TpccKeys {
    const OPTIONS: &'static [KeyOption] = &[
        KeyOption::new("warehouses", "workload", "warehouses"),
        KeyOption { value: "SHARE", taken: &["tpcc-scale"], ..KeyOption::new("scale", "workload", "tpcc_scale") },
        KeyOption::new("keying", "workload", "keying"),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TpccCommand {
    /// Measure
    Run,
    /// Create and fill the tables
    Prepare,
    /// Check the standard's twelve consistency conditions in the tables
    Check,
    /// Drop the tables
    Cleanup,
}

const AFTER_HELP: &str = "\
Each progress line has nopm (new orders per minute), transactions of all kinds per second, queries and a percentile of \
all latencies. err/s counts deadlocks and similar errors, after which the same transaction is repeated. The mix is the \
standard's, for every thread: of 100 transactions 45 are new orders, 43 payments and 4 of each other kind.

Examples:
  tare load tpcc prepare --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --warehouses 4
  tare load tpcc --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --warehouses 4 --threads 8 --time 5m
  tare load tpcc check --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --warehouses 4
  tare load tpcc --engine postgresql --host 127.0.0.1 --warehouses 4 \\
      --threads 8 --out before --repeat 5
  tare load tpcc cleanup --engine mariadb --socket /run/mysqld/mysqld.sock";
