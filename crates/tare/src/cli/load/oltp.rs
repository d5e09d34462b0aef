//! sysbench's workloads against any running server.

use super::lines::{self, Prompt};
use super::oltp_args::LoadArgs;
use super::{stage, study};
use crate::cli::{Exit, Problem, interrupt, output};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use tare_drive::workload::oltp::{self, Fill, OltpSettings, Reconnect, Tables, Workload};
use tare_drive::workload::sessions::{Pace, judge};
use tare_drive::workload::{Load, sessions_on};
use tare_engine::{ConnectTarget, Engine};

/// Makes, drops or measures, as the options say.
///
/// # Errors
/// With exit codes 2 (usage), 3 (no connection, placement not possible here), 4 (a transaction failed for good).
pub fn run(args: &LoadArgs) -> Result<Exit, Problem> {
    let engine = args.server.engine()?;
    let settings = settings(args)?;
    let target = args.server.target(engine)?;
    let failed = |e: oltp::OltpError| Problem::new(Exit::TrialFailed, e.to_string());
    if args.prepares() {
        return prepare(args, engine, &target, &settings).map_err(failed);
    }
    let mut session = engine.connect(&target)?;
    let dropped = match settings.workload {
        Workload::BulkInsert => Tables { tables: args.run.threads, ..settings.tables },
        _ => settings.tables,
    };
    if args.cleans_up() {
        oltp::cleanup(session.as_mut(), &dropped).map_err(failed)?;
        return Ok(Exit::Done);
    }
    oltp::check_for(session.as_mut(), &settings.tables, settings.workload).map_err(|e| {
        Problem::new(Exit::Usage, e.to_string()).advice("make the tables with the same options and --prepare")
    })?;
    drop(session);
    if !args.said.json {
        lines::not_as_sysbench(args, &settings);
    }
    if let Some(out) = &args.run.out {
        return study::run(&args.server, &args.run, &settings, &target, (out, args.said.json));
    }
    let again = target.clone();
    let reconnect = args.reconnect.then(|| Reconnect::new(move || engine.connect(&again)));
    let prompt = Prompt::new(&args.said, &args.run, interrupt::flag()?);
    let (sample, around) = stage::measure(&args.run, engine, &target, &prompt, |stage| {
        oltp::run_through(&settings, stage, reconnect.as_ref())
    })?;
    let outage = reconnect.map(|reconnect| reconnect.outage());
    if args.said.json {
        output::json(&super::view::Document::of(&sample, &around, outage, &args.said))?
    } else {
        super::view::print(&sample, &around, outage, &args.said)?
    }
    judge(settings.pace, &sample).map_err(|e| {
        Problem::new(Exit::TrialFailed, e.to_string())
            .advice("ask for less, or give the clients or the server more CPUs")
    })?;
    if let Some(outage) = outage.filter(|outage| outage.still_away > 0) {
        let what = format!("{} of {} clients had no server at the end", outage.still_away, args.run.threads);
        return Err(Problem::new(Exit::TrialFailed, what).advice("start the server again, and look at its log"));
    }
    Ok(Exit::Done)
}

/// What is asked of the load, as a study would.
fn settings(args: &LoadArgs) -> Result<OltpSettings, Problem> {
    // The argument table asks for it.
    let workload = args.workload.ok_or_else(|| Problem::new(Exit::Usage, "which workload?"))?;
    let usage = |e: String| Problem::new(Exit::Usage, e);
    let settings = OltpSettings {
        tables: Tables { tables: args.make_up.tables, rows: args.make_up.rows },
        distribution: args.distribution(),
        counts: args.make_up.counts(),
        pace: Pace::of_rate(args.run.rate),
        prepared: args.make_up.db_ps_mode == "auto",
        skip_transactions: args.make_up.skip_trx,
        ..OltpSettings::new(workload)
    };
    settings.tables.check().map_err(|e| usage(e.to_string()))?;
    settings
        .check(args.run.threads)
        .map_err(|expected| usage("the options do not fit together".into()).expected(expected))?;
    Ok(settings)
}

fn prepare(
    args: &LoadArgs,
    engine: &dyn Engine,
    target: &ConnectTarget,
    settings: &OltpSettings,
) -> Result<Exit, oltp::OltpError> {
    let refused = |e: tare_engine::EngineError| oltp::OltpError::Connect(e.into());
    if settings.workload == Workload::BulkInsert {
        let mut session = engine.connect(target).map_err(refused)?;
        oltp::prepare_bulk(session.as_mut(), args.run.threads, engine.dialect())?;
        return Ok(Exit::Done);
    }
    let interrupted = interrupt::flag().map_err(|e| oltp::OltpError::Connect(e.to_string().into()))?;
    let fill = Fill {
        tables: settings.tables,
        distribution: args.make_up.distribution.unwrap_or_default(),
        seed: args.run.seed,
        sessions: sessions_on(std::thread::available_parallelism().map_or(1, usize::from)),
        dialect: engine.dialect(),
    };
    let progress = |_| match interrupted.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    match oltp::prepare(&fill, &|| engine.connect(target), &progress) {
        Err(oltp::OltpError::Interrupted) => Ok(Exit::Interrupted),
        other => other.map(|()| Exit::Done),
    }
}
