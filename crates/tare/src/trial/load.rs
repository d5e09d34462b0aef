//! The load of one trial against its server: a trial of a study, or `tare load`, which is the first trial of its own
//! study, with a host that prints a line per interval.

use crate::state;
use tare_drive::sut::{SharedAffinities, SutWatch, SystemUnderTest, WatchSettings};
use tare_drive::workload::{Driven, Host, Load, LoadContext, LoadError, ServerAt};
use tare_engine::{Server, Spinning};
use tare_results::probe::ProbeUse;
use tare_study::language::settings::{Sampling, Settings};
use tare_study::plan::estimate::counts;
use tare_topology::ResolvedPlacement;

#[derive(Clone, Copy)]
pub(crate) struct TrialLoad<'a> {
    pub settings: &'a Settings,
    pub sampling: &'a Sampling,
    pub placement: &'a ResolvedPlacement,
    /// The number of the trial, from 0.
    pub trial: usize,
    /// Number of turns per sample, between which clients pause while another server is measured; `None` without one.
    pub turns: Option<usize>,
}

impl TrialLoad<'_> {
    pub(crate) fn seed(&self) -> u64 {
        self.sampling.seed.wrapping_add(self.trial as u64)
    }

    pub(crate) fn watch_settings(&self) -> WatchSettings {
        let capture = &self.settings.capture;
        WatchSettings {
            placement: self.placement.clone(),
            chance_seed: self.seed().wrapping_add(1),
            memory: capture.memory,
            schedule: capture.schedule,
            cache: capture.cache,
            probe_share: (self.sampling.probe_use() != ProbeUse::Off).then_some(self.sampling.probe_share),
            spinning: self.settings.client.spin.then(Spinning::default),
        }
    }

    /// Warms up and measures. `load` is that of the settings, or one part of it; affinities of the threads of a server
    /// that tare did not start are restored by the caller.
    pub(crate) fn drive(
        &self,
        load: &dyn Load,
        server: Option<&dyn Server>,
        affinities: Option<SharedAffinities>,
        host: &dyn Host,
    ) -> Result<Driven, LoadError> {
        let Self { settings, sampling, turns, .. } = *self;
        let placement = self.watch_settings();
        let sut = match server {
            None => SystemUnderTest::own_process(),
            Some(server) if server.is_ours() => SystemUnderTest::started(server),
            Some(_) => SystemUnderTest::running(None),
        };
        load.drive(LoadContext {
            engine: settings.engine.kind.name(),
            dialect: settings.engine.kind.dialect(),
            server,
            connect: &|| {
                let mut session = server.ok_or(LoadError::NoServer)?.connect()?;
                session.set_spinning(placement.spinning.clone());
                Ok(session)
            },
            server_at: server.map_or(ServerAt::Here, |server| ServerAt::of(&server.target().address)),
            threads: settings.workload.threads,
            seed: self.seed(),
            counts: counts(settings, sampling),
            settle: &settings.workload.settle,
            turns,
            settled: None,
            placement: &placement,
            watch: SutWatch::new(sut, placement.clone()).journalled(affinities),
            host,
            cache: state::cache_directory().map_err(LoadError::own)?,
        })
    }
}
