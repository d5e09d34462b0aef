//! `tare load`: the load generator alone, against any running server.

use super::load_args::LoadArgs;
use super::load_lines::{self, Prompt};
use super::{Exit, Problem, host, interrupt, load_study, output, secret};
use crate::state::{self, Host, StateError};
use crate::subject::{SharedAffinities, Subject, SubjectWatch, Surroundings, WatchSettings};
use crate::workload::oltp::{self, Fill, OltpSettings, Reconnect, Tables, Workload};
use crate::workload::{Counts, Load, ServerAt, Stage};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use tare_engine::{ConnectTarget, Engine, Login, engine_by_name, target_of};
use tare_noise::{HostLock, ThreadAffinities};
use tare_topology::{Machine, Placement, ResolvedPlacement};

/// Makes, drops or measures, as the options say.
///
/// # Errors
/// With exit codes 2 (usage), 3 (no connection, placement not possible here), 4 (a transaction failed for good).
pub fn run(args: &LoadArgs) -> Result<Exit, Problem> {
    match work(args) {
        // What fails while everything is being stopped is no problem of the server's.
        Err(_) if tare_engine::interrupted() => Ok(Exit::Interrupted),
        ended => ended,
    }
}

fn work(args: &LoadArgs) -> Result<Exit, Problem> {
    let engine = engine_by_name(&args.server.engine).map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
    let settings = settings(args)?;
    let target = target(args, engine)?;
    let failed = |e: oltp::OltpError| Problem::new(Exit::TrialFailed, e.to_string());
    if args.prepares() {
        return prepare(args, engine, &target, &settings).map_err(failed);
    }
    let mut session = engine.connect(&target)?;
    let dropped = match settings.workload {
        Workload::BulkInsert => Tables { tables: args.threads, ..settings.tables },
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
        load_lines::not_as_sysbench(args);
    }
    if let Some(out) = &args.out {
        return load_study::run(args, &settings, &target, out);
    }
    let again = target.clone();
    let reconnect = args.reconnect.then(|| Reconnect::new(move || engine.connect(&again)));
    let (sample, around) = measure(args, engine, &target, &settings, reconnect.as_ref())?;
    let outage = reconnect.map(|reconnect| reconnect.outage());
    if args.said.json {
        output::json(&super::load_view::Document::of(&sample, &around, outage, &args.said))?
    } else {
        super::load_view::print(&sample, &around, outage, &args.said)?
    }
    oltp::judge(&settings, &sample)
        .map_err(|e| failed(e).advice("ask for less, or give the clients or the server more CPUs"))?;
    if let Some(outage) = outage.filter(|outage| outage.still_away > 0) {
        let what = format!("{} of {} clients had no server at the end", outage.still_away, args.threads);
        return Err(Problem::new(Exit::TrialFailed, what).advice("start the server again, and look at its log"));
    }
    Ok(Exit::Done)
}

/// What is asked of the load, as a study would.
fn settings(args: &LoadArgs) -> Result<OltpSettings, Problem> {
    let usage = |e: String| Problem::new(Exit::Usage, e);
    let settings = OltpSettings {
        tables: Tables { tables: args.make_up.tables, rows: args.make_up.rows },
        distribution: args.distribution(),
        counts: args.make_up.counts(),
        rate: args.rate,
        prepared: args.make_up.db_ps_mode == "auto",
        skip_transactions: args.make_up.skip_trx,
        ..OltpSettings::new(args.workload)
    };
    settings.tables.check().map_err(|e| usage(e.to_string()))?;
    settings
        .check(args.threads)
        .map_err(|expected| usage("the options do not fit together".into()).expected(expected))?;
    Ok(settings)
}

fn target(args: &LoadArgs, engine: &dyn Engine) -> Result<ConnectTarget, Problem> {
    let args = &args.server;
    if args.password.is_some() {
        return Err(Problem::new(
            Exit::Usage,
            "a password on the command line can be read by every user of this machine",
        )
        .advice("put it into TARE_PASSWORD, ~/.my.cnf or ~/.pgpass, or let --ask-password ask for it; and change it"));
    }
    if args.login_path.is_some() {
        return Err(Problem::new(Exit::Usage, "login paths (~/.mylogin.cnf of mysql_config_editor) are not read")
            .advice("write user and password under [client] into a file that you alone can read: --option-file FILE"));
    }
    let login = Login {
        socket: args.socket.clone(),
        host: args.host.clone(),
        port: args.port,
        user: args.user.clone(),
        password: secret::password(args.ask_password)?,
        database: Some(args.database.clone()),
        tls: args.tls,
        tls_ca: args.tls_ca.clone(),
        tls_cert: args.tls_cert.clone(),
        tls_key: args.tls_key.clone(),
        option_file: args.option_file.clone(),
        service: args.service.clone(),
    };
    target_of(login, engine).map_err(|e| Problem::new(Exit::Usage, e.to_string()))
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
        oltp::prepare_bulk(session.as_mut(), args.threads, engine.dialect())?;
        return Ok(Exit::Done);
    }
    let interrupted = interrupt::flag().map_err(|e| oltp::OltpError::Connect(e.to_string().into()))?;
    let fill = Fill {
        tables: settings.tables,
        distribution: args.make_up.distribution.unwrap_or_default(),
        seed: args.seed,
        sessions: std::thread::available_parallelism().map_or(1, usize::from),
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

/// The load of a trial, against a server that is not ours: bound, watched and proved by the same code.
fn measure(
    args: &LoadArgs,
    engine: &dyn Engine,
    target: &ConnectTarget,
    settings: &OltpSettings,
    reconnect: Option<&Reconnect>,
) -> Result<(tare_load::Sample, Surroundings), Problem> {
    let placement = placement(args, target)?;
    let watch = WatchSettings { placement, chance_seed: args.seed, memory: false, schedule: false, probe_share: None };
    let prompt = Prompt::new(&args.said, interrupt::flag()?);
    // What is bound is put back when this is dropped, on every way out; after kill -9 by the next start.
    let held = Held::take(&watch.placement)?;
    let stage = Stage {
        engine: engine.name(),
        dialect: engine.dialect(),
        server: None,
        connect: &|| Ok(engine.connect(target)?),
        server_at: ServerAt::of(&target.address),
        threads: args.threads,
        seed: args.seed,
        counts: Counts {
            samples: 1,
            warmup_s: args.warmup_s(),
            sample_s: args.time,
            extra: false,
            threads: args.threads,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        },
        placement: &watch,
        watch: SubjectWatch::new(Subject::running(None), watch.clone()).journalled(held.affinities.clone()),
        host: &prompt,
        answers: PathBuf::new(),
    };
    let samples = oltp::run_through(settings, stage, reconnect);
    held.put_back()?;
    let first = samples?.into_iter().next();
    first.ok_or_else(|| Problem::new(Exit::TrialFailed, "the load gave no sample"))
}

fn placement(args: &LoadArgs, target: &ConnectTarget) -> Result<ResolvedPlacement, Problem> {
    let placement = Placement {
        client: args.client.clone(),
        server: args.server_side.clone(),
        background: args.background.clone(),
        bind: args.bind,
        pairing: args.pairing,
        ..Placement::default()
    };
    let placement = placement
        .resolve(&Machine::this()?, args.threads.max(1))
        .map_err(|e| Problem::new(Exit::Machine, e.to_string()))?;
    if (!placement.server.is_empty() || placement.background.is_some()) && !target.address.is_here() {
        return Err(Problem::new(Exit::Usage, format!("--server places threads, and {} is elsewhere", target.address))
            .expected("a server on this machine, by its socket or a loopback address")
            .advice("leave out --server, --background and --pairing, or run tare on the server's machine"));
    }
    Ok(placement)
}

/// The machine while threads of somebody else's server are bound: nobody else binds, and what was there is journalled.
struct Held {
    affinities: Option<SharedAffinities>,
    _host: Option<Host>,
}

impl Held {
    /// Takes the machine where the placement binds threads of the server; what a killed run left is put back first.
    fn take(placement: &ResolvedPlacement) -> Result<Self, Problem> {
        if placement.server.is_empty() && placement.background.is_none() {
            return Ok(Self { affinities: None, _host: None });
        }
        let host = host::take()?;
        let lock = HostLock::of_parent(&HostLock::default_dir()).map_err(StateError::from)?;
        let affinities = Arc::new(Mutex::new(ThreadAffinities::new(&state::directory()?, &lock)));
        Ok(Self { affinities: Some(affinities), _host: Some(host) })
    }

    /// Puts every affinity back, and makes sure of it.
    fn put_back(&self) -> Result<(), Problem> {
        let Some(affinities) = &self.affinities else { return Ok(()) };
        let report = affinities.lock().unwrap_or_else(PoisonError::into_inner).put_back();
        Ok(report.and_then(|report| report.check()).map_err(StateError::from)?)
    }
}
