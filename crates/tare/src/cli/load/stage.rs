//! What every load at a prompt gets: the stage of a trial, against a server that is not ours.

use super::run_args::RunArgs;
use crate::cli::{Exit, Problem, host};
use crate::state::{self, Host, StateError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tare_drive::sut::{SharedAffinities, SubjectWatch, SystemUnderTest, WatchSettings};
use tare_drive::workload::{self, Counts, LoadError, ServerAt, Stage};
use tare_engine::{ConnectTarget, Engine};
use tare_noise::{HostLock, ThreadAffinities};
use tare_topology::{Machine, Placement, ResolvedPlacement};

/// Drives one sample as a trial does: bound, watched and proved by the same code. What is bound is put back on every
/// way out; after kill -9 by the next start.
///
/// # Errors
/// With exit codes 2 (usage), 3 (placement not possible here), 4 (the load failed).
pub fn measure<T>(
    args: &RunArgs,
    engine: &dyn Engine,
    target: &ConnectTarget,
    prompt: &dyn workload::Host,
    drive: impl FnOnce(Stage<'_>) -> Result<Vec<T>, LoadError>,
) -> Result<T, Problem> {
    let placement = placement(args, target)?;
    let watch = WatchSettings { placement, chance_seed: args.seed, memory: false, schedule: false, probe_share: None };
    let held = AffinityGuard::take(&watch.placement)?;
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
            sample_s: args.sample_s(),
            extra: false,
            threads: args.threads,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        },
        placement: &watch,
        watch: SubjectWatch::new(SystemUnderTest::running(None), watch.clone()).journalled(held.affinities.clone()),
        host: prompt,
        answers: PathBuf::new(),
    };
    let samples = drive(stage);
    held.put_back()?;
    let first = samples?.into_iter().next();
    first.ok_or_else(|| Problem::new(Exit::TrialFailed, "the load gave no sample"))
}

fn placement(args: &RunArgs, target: &ConnectTarget) -> Result<ResolvedPlacement, Problem> {
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

/// The machine while threads of someone else's server are bound: no one else binds, and what was there is journalled.
struct AffinityGuard {
    affinities: Option<SharedAffinities>,
    _host: Option<Host>,
}

impl AffinityGuard {
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
