//! `tare load`: the load generator alone, against any running server.

use super::{Exit, Problem, host, interrupt, output, secret};
use crate::state::{self, Host, StateError};
use crate::subject::{SharedAffinities, Subject, SubjectWatch, Surroundings, WatchSettings};
use crate::workload::oltp::{self, Fill, OltpSettings, Reconnect, Tables, Workload};
use crate::workload::{self, Counts, Progress, Stage};
use clap::Args;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tare_engine::{ConnectTarget, DEFAULT_DATABASE, Engine, Login, TlsMode, engine_by_name, target_of};
use tare_load::{Distribution, MOST_THREADS};
use tare_noise::{HostLock, ThreadAffinities};
use tare_topology::{Bind, Machine, Pairing, Placement, ResolvedPlacement, Side};

/// Options of `tare load`.
#[derive(Debug, Args)]
#[command(after_help = "Example, on tables that sysbench prepared too:
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock --user me --tables 4 --rows 100000 --prepare
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock --user me --tables 4 --rows 100000 --threads 8")]
pub struct LoadArgs {
    /// point_select, read_only, read_write, write_only, update_index or update_non_index, with or without sysbench's
    /// `oltp_` before it
    #[arg(value_name = "WORKLOAD", value_parser = workload)]
    workload: Workload,
    /// The server's kind: mariadb, mysql, postgresql or sqlite
    #[arg(long, default_value = "mariadb")]
    engine: String,
    /// Unix socket of the server [default: that of ~/.my.cnf, or of PGSERVICE]
    #[arg(long, value_name = "PATH", conflicts_with = "host")]
    socket: Option<PathBuf>,
    /// Host of the server, for TCP
    #[arg(long)]
    host: Option<String>,
    /// Port of the server, for TCP [default: the engine's usual one]
    #[arg(long)]
    port: Option<u16>,
    /// Account [default: the engine's usual one: root, or postgres]
    #[arg(long)]
    user: Option<String>,
    /// Ask for the password; without this it comes from TARE_PASSWORD, ~/.my.cnf or ~/.pgpass
    #[arg(long)]
    ask_password: bool,
    /// Refused: every user of the machine could read it
    #[arg(long, hide = true, value_name = "PASSWORD")]
    password: Option<String>,
    /// Refused: login paths are not read
    #[arg(long, hide = true, value_name = "NAME")]
    login_path: Option<String>,
    /// MySQL's option file in place of ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    option_file: Option<PathBuf>,
    /// Service of PostgreSQL's pg_service.conf [default: PGSERVICE]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// TLS: off, preferred, required, verify-ca or verify-full, or the words of MySQL and PostgreSQL [default: as
    /// ~/.my.cnf, the service or PGSSLMODE says, else off]
    #[arg(long, value_name = "MODE", visible_aliases = ["ssl-mode", "sslmode"])]
    tls: Option<TlsMode>,
    /// Certificates (PEM) of the authorities that are believed [default: those of the system]
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-ca", "sslrootcert"])]
    tls_ca: Option<PathBuf>,
    /// The client's own certificate (PEM)
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-cert", "sslcert"])]
    tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-key", "sslkey"])]
    tls_key: Option<PathBuf>,
    /// Database that holds the tables
    #[arg(long, default_value = DEFAULT_DATABASE)]
    database: String,
    /// Number of tables sbtest1, sbtest2 ...
    #[arg(long, default_value_t = 1)]
    tables: usize,
    /// Rows a table
    #[arg(long, default_value_t = 10_000, visible_alias = "table-size")]
    rows: u64,
    /// How ids are drawn: uniform, zipfian, special, pareto or gaussian [default: uniform, where sysbench has
    /// special; with --prepare: special]
    #[arg(long, visible_alias = "rand-type")]
    distribution: Option<Distribution>,
    /// Client threads, one connection each
    #[arg(long, default_value_t = 1, value_parser = threads)]
    threads: usize,
    /// Length of the measurement, for example 60s or 2m
    #[arg(long, default_value = "60s", value_parser = seconds)]
    time: f64,
    /// Load before the measurement, left out of the figures [default: 10s, and no longer than --time]
    #[arg(long, value_parser = seconds)]
    warmup: Option<f64>,
    /// Seconds between two lines while it runs; 0: none
    #[arg(long, value_name = "N", default_value_t = 1)]
    report_interval: u64,
    /// Transactions a second over all threads (open loop, latency from the intended start) [default: closed loop]
    #[arg(long)]
    rate: Option<f64>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the client threads run, for example node:0.core:0-1, or float
    #[arg(long, value_name = "LOCATION", default_value = "float")]
    client: Side,
    /// Where the server threads run; needs a server on this machine
    #[arg(long, value_name = "LOCATION", default_value = "float")]
    server: Side,
    /// Where the server threads run that serve no connection; they are put back afterwards, as all threads are
    #[arg(long, value_name = "LOCATION", default_value = "float")]
    background: Side,
    /// set: all threads of a side share its CPUs; thread: each thread its own PU
    #[arg(long, default_value = "set")]
    bind: Bind,
    /// Where a server thread sits relative to its client thread (same-pu, smt-sibling, same-core, same-cache,
    /// other-cache, same-node, other-node); needs --bind thread
    #[arg(long, default_value = "none")]
    pairing: Pairing,
    /// Survive a restart of the server: clients that lose it wait for it, and what was lost and for how long is said
    #[arg(long, conflicts_with_all = ["server", "pairing", "prepare", "cleanup"])]
    reconnect: bool,
    /// Make and fill the tables in place of a run
    #[arg(long, conflicts_with = "cleanup")]
    prepare: bool,
    /// Drop the tables in place of a run
    #[arg(long)]
    cleanup: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Load before a measurement, seconds, where nobody says it.
const WARMUP_S: f64 = 10.0;

/// A workload by its own name or that of sysbench's script.
fn workload(text: &str) -> Result<Workload, String> {
    text.strip_prefix("oltp_").unwrap_or(text).parse().map_err(|e: tare_text::UnknownWord| e.to_string())
}

/// As many as there may be.
fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_THREADS).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_THREADS}"))
}

/// `60s`, `2m`, `500ms` or a bare number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let (number, factor) = match text {
        t if t.ends_with("ms") => (&t[..t.len() - 2], 0.001),
        t if t.ends_with('s') => (&t[..t.len() - 1], 1.0),
        t if t.ends_with('m') => (&t[..t.len() - 1], 60.0),
        t => (t, 1.0),
    };
    match number.parse::<f64>() {
        Ok(n) if n.is_finite() && n >= 0.0 => Ok(n * factor),
        _ => Err("expected a time such as 60s, 2m or 500ms".into()),
    }
}

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
    let engine = engine_by_name(&args.engine).map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
    let target = target(args, engine)?;
    let tables = Tables { tables: args.tables, rows: args.rows };
    tables.check().map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
    let failed = |e: oltp::OltpError| Problem::new(Exit::TrialFailed, e.to_string());
    if args.prepare {
        return prepare(args, engine, &target, tables).map_err(failed);
    }
    let mut session = engine.connect(&target)?;
    if args.cleanup {
        oltp::cleanup(session.as_mut(), &tables).map_err(failed)?;
        return Ok(Exit::Done);
    }
    oltp::check(session.as_mut(), &tables).map_err(|e| {
        Problem::new(Exit::Usage, e.to_string()).advice("make the tables with the same options and --prepare")
    })?;
    drop(session);
    let again = target.clone();
    let reconnect = args.reconnect.then(|| Reconnect::new(move || engine.connect(&again)));
    let (settings, sample, around) = measure(args, engine, &target, tables, reconnect.as_ref())?;
    let outage = reconnect.map(|reconnect| reconnect.outage());
    if args.json {
        output::json(&super::load_view::Document::of(&sample, &around, outage))?
    } else {
        super::load_view::print(&sample, &around, outage)?
    }
    oltp::judge(&settings, &sample)
        .map_err(|e| failed(e).advice("ask for less, or give the clients or the server more CPUs"))?;
    if let Some(outage) = outage.filter(|outage| outage.still_away > 0) {
        let what = format!("{} of {} clients had no server at the end", outage.still_away, args.threads);
        return Err(Problem::new(Exit::TrialFailed, what).advice("start the server again, and look at its log"));
    }
    Ok(Exit::Done)
}

fn target(args: &LoadArgs, engine: &dyn Engine) -> Result<ConnectTarget, Problem> {
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
    tables: Tables,
) -> Result<Exit, oltp::OltpError> {
    let interrupted = interrupt::flag().map_err(|e| oltp::OltpError::Connect(e.to_string().into()))?;
    let fill = Fill {
        tables,
        distribution: args.distribution.unwrap_or_default(),
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
    tables: Tables,
    reconnect: Option<&Reconnect>,
) -> Result<(OltpSettings, tare_load::Sample, Surroundings), Problem> {
    let placement = placement(args, target)?;
    let settings = OltpSettings {
        tables,
        distribution: args.distribution.unwrap_or(Distribution::Uniform),
        rate: args.rate,
        ..OltpSettings::new(args.workload)
    };
    let watch = WatchSettings { placement, chance_seed: args.seed, memory: false, schedule: false, probe_share: None };
    let prompt = Prompt { interrupted: interrupt::flag()?, every_s: if args.json { 0 } else { args.report_interval } };
    // What is bound is put back when this is dropped, on every way out; after kill -9 by the next start.
    let held = Held::take(&watch.placement)?;
    let stage = Stage {
        engine: engine.name(),
        dialect: engine.dialect(),
        server: None,
        connect: &|| Ok(engine.connect(target)?),
        server_is_here: target.address.is_here(),
        threads: args.threads,
        seed: args.seed,
        counts: Counts {
            samples: 1,
            warmup_s: args.warmup.unwrap_or(WARMUP_S.min(args.time)),
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
    let samples = oltp::run_through(&settings, stage, reconnect);
    held.put_back()?;
    let first = samples?.into_iter().next().map(|(sample, around)| (settings, sample, around));
    first.ok_or_else(|| Problem::new(Exit::TrialFailed, "the load gave no sample"))
}

fn placement(args: &LoadArgs, target: &ConnectTarget) -> Result<ResolvedPlacement, Problem> {
    let placement = Placement {
        client: args.client.clone(),
        server: args.server.clone(),
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

/// Somebody at a prompt, who sees a line a second.
struct Prompt<'a> {
    interrupted: &'a AtomicBool,
    /// Seconds between two lines; 0: none.
    every_s: u64,
}

impl workload::Host for Prompt<'_> {
    fn progress(&self, step: Progress) {
        if let Progress::Reading { tps, second, warming_up } = step
            && self.every_s > 0
            && second.is_multiple_of(self.every_s)
        {
            let stage = if warming_up { "warm-up" } else { "measure" };
            output::note(&format!("{stage} {second:4} s  {tps:10.0} tps"));
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
