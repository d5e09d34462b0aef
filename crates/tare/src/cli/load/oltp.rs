//! sysbench's workloads against any running server.

use super::asked::Asked;
use super::lines::{self, Prompt};
use super::oltp_args::{LoadArgs, Weighed, Work};
use super::rows::Rows;
use super::subject::Subject;
use super::{scripts, search, stage};
use crate::cli::{Exit, Problem, interrupt, output};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use tare_drive::workload::oltp::{self, Fill, OltpSettings, Reconnect, Tables, Workload};
use tare_drive::workload::sessions::judge;
use tare_drive::workload::{AnyLoad, sessions_on};
use tare_load::Distribution;
use tare_text::count;

/// Makes, drops or measures, as the options say.
///
/// # Errors
/// With exit codes 2 (usage), 3 (no connection, placement not possible here), 4 (a transaction failed for good).
pub fn run(args: &LoadArgs) -> Result<Exit, Problem> {
    // The argument table asks for it.
    let workload = match &args.workload {
        Some(Work::Oltp(workload)) => *workload,
        Some(Work::File(path)) => return scripts::run(args, &[Weighed { path: path.clone(), weight: 1 }]),
        None if args.scripts.file.is_empty() => return Err(no_workload()),
        None => return scripts::run(args, &args.scripts.file),
    };
    let mut values = vec![("workload", "name", workload.name().into())];
    values.extend(args.make_up.values());
    let asked = Asked::new(&args.server, &args.run, values)?;
    let AnyLoad::Oltp(settings) = asked.settings.workload.load else { return Err(no_workload()) };
    let failed = |e: oltp::OltpError| Problem::new(Exit::TrialFailed, e.to_string());
    // One that is refused is refused alike, whatever was to be done.
    let mut session = asked.engine.connect(&asked.target)?;
    if args.prepares() {
        drop(session);
        return prepare(args, &asked, &settings).map_err(failed);
    }
    let dropped = match settings.workload {
        Workload::BulkInsert => Tables { tables: asked.threads(), ..settings.tables },
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
    match &args.run.out {
        Some(out) => asked.keep(out, args.said.json),
        None => measure(args, &asked, &settings),
    }
}

fn no_workload() -> Problem {
    Problem::new(Exit::Usage, "which workload?")
}

fn measure(args: &LoadArgs, asked: &Asked<'_>, settings: &OltpSettings) -> Result<Exit, Problem> {
    let (again, engine) = (asked.target.clone(), asked.engine);
    let reconnect = args.reconnect.then(|| Reconnect::new(move || engine.connect(&again)));
    let subject = Subject::of(asked)?;
    let prompt = Prompt::new(&args.said, &args.run)?;
    if args.run.searches() {
        return search::run(asked, &prompt, &subject, args.said.json);
    }
    let (sample, around) =
        stage::measure(asked, &prompt, |stage| oltp::run_through(settings, stage, reconnect.as_ref()))?;
    let outage = reconnect.map(|reconnect| reconnect.outage());
    if args.said.json {
        output::document("tare-load", &super::view::Document::of(&sample, &around, &subject, outage, &args.said))?
    } else {
        super::view::print(&sample, &around, &subject, outage, &args.said)?
    }
    if let Some(exit) = lines::ended(sample.elapsed_s) {
        return Ok(exit);
    }
    judge(settings.pace, &sample).map_err(|e| {
        Problem::new(Exit::TrialFailed, e.to_string())
            .advice("ask for less, or give the clients or the server more CPUs")
    })?;
    if let Some(outage) = outage.filter(|outage| outage.still_away > 0) {
        let what = format!("{} of {} clients had no server at the end", outage.still_away, asked.threads());
        return Err(Problem::new(Exit::TrialFailed, what).advice("start the server again, and look at its log"));
    }
    Ok(Exit::Done)
}

fn prepare(args: &LoadArgs, asked: &Asked<'_>, settings: &OltpSettings) -> Result<Exit, oltp::OltpError> {
    let (engine, target) = (asked.engine, &asked.target);
    let refused = |e: tare_engine::EngineError| oltp::OltpError::Connect(e.into());
    if settings.workload == Workload::BulkInsert {
        let mut session = engine.connect(target).map_err(refused)?;
        oltp::prepare_bulk(session.as_mut(), asked.threads(), engine.dialect())?;
        return Ok(Exit::Done);
    }
    let interrupted = interrupt::flag().map_err(|e| oltp::OltpError::Connect(e.to_string().into()))?;
    let is_said = args.make_up.keys.get("distribution").is_some();
    let fill = Fill {
        tables: settings.tables,
        distribution: if is_said { settings.distribution } else { Distribution::default() },
        seed: asked.sampling.seed,
        sessions: sessions_on(std::thread::available_parallelism().map_or(1, usize::from)),
        dialect: engine.dialect(),
    };
    let rows = Rows::of(Some(settings.tables.tables as u64 * settings.tables.rows));
    let progress = |added| {
        rows.add(added);
        if interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let made = oltp::prepare(&fill, &|| engine.connect(target), &progress);
    match made {
        Err(oltp::OltpError::Interrupted) => return Ok(Exit::Interrupted),
        other => other?,
    }
    rows.end(&count(settings.tables.tables, "table"));
    Ok(Exit::Done)
}
