//! Runs a load of `tare load` as a trial does, against a server that tare did not start.

use super::request::LoadRequest;
use crate::cli::{Exit, Problem, host};
use crate::state::Host;
use crate::trial::running;
use tare_drive::sut::{SharedAffinities, SutWatch, SystemUnderTest, WatchSettings};
use tare_drive::workload::{self, Driven, LoadContext, ServerAt, TrialSize};
use tare_engine::Spinning;
use tare_topology::{Machine, ResolvedPlacement};

/// Drives one sample with the code of a trial, which binds threads, watches them and verifies their placement.
/// Affinities are restored on every return, and after kill -9 by the next start.
pub(crate) fn measure(request: &LoadRequest<'_>, prompt: &dyn workload::Host) -> Result<Driven, Problem> {
    let LoadRequest { args, engine, target, .. } = request;
    let (placement, threads, seed) = (placement(request)?, request.threads(), request.sampling.seed);
    let spinning = request.settings.client.spin.then(Spinning::default);
    let watch = WatchSettings {
        placement,
        chance_seed: seed,
        memory: false,
        schedule: false,
        cache: false,
        probe_share: None,
        spinning: spinning.clone(),
    };
    let held = AffinityGuard::take(&watch.placement)?;
    let stage = LoadContext {
        engine: engine.name(),
        dialect: engine.dialect(),
        server: None,
        connect: &|| {
            let mut session = engine.connect(target)?;
            session.set_spinning(spinning.clone());
            Ok(session)
        },
        server_at: ServerAt::of(&target.address),
        threads,
        seed,
        counts: TrialSize {
            samples: 1,
            warmup_s: args.warmup_s(),
            sample_s: args.sample_s(),
            extra: false,
            threads,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        },
        settle: &workload::Settle::default(),
        turns: None,
        settled: None,
        placement: &watch,
        watch: SutWatch::new(SystemUnderTest::running(None), watch.clone()).journalled(held.affinities.clone()),
        host: prompt,
        cache: crate::state::cache_directory()?,
    };
    let driven = request.settings.workload.load.load().drive(stage);
    running::put_back(held.affinities.as_ref())?;
    driven.map_err(|e| request.failed(e))
}

fn placement(LoadRequest { settings, target, .. }: &LoadRequest<'_>) -> Result<ResolvedPlacement, Problem> {
    let placement = settings
        .placement
        .resolve(&Machine::this()?, settings.workload.threads)
        .map_err(|e| Problem::new(Exit::Machine, e.to_string()).advice("see what this machine has with: tare topo"))?;
    if running::binds_server(&placement) && !target.address.is_here() {
        return Err(Problem::new(
            Exit::Usage,
            format!("--server places threads, but {} is another host", target.address),
        )
        .expected("a server on this machine, by its socket or a loopback address")
        .advice("leave out --server, --background and --pairing, or run tare on the server's machine"));
    }
    Ok(placement)
}

/// Held while threads of another user's server are bound: locks the machine and journals the original affinities.
struct AffinityGuard {
    affinities: Option<SharedAffinities>,
    _host: Option<Host>,
}

impl AffinityGuard {
    /// Locks the machine if the placement binds server threads; first restores what a killed run left.
    fn take(placement: &ResolvedPlacement) -> Result<Self, Problem> {
        let host = if running::binds_server(placement) { Some(host::take()?) } else { None };
        Ok(Self { affinities: running::affinities(placement)?, _host: host })
    }
}
