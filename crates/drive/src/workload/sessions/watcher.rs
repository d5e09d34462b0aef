//! Binding, watching and stopping while clients work.

use super::connector::Connections;
use super::settling::settle;
use super::unanswered::{Stuck, Unanswered};
use crate::sut::{Connected, LoadAround, Surroundings};
use crate::workload::{LoadContext, LoadError, Progress};
use std::collections::BTreeSet;
use tare_load::{ClientThread, Interval, Observer, Reading, Rest, RunPhase};

/// Binds threads when all clients are connected, watches every sample, and stops on request. Captures, which would
/// disturb a measurement, run in the additional sample after the measured ones.
pub(super) struct Watcher<'w, 'a> {
    pub stage: &'w mut LoadContext<'a>,
    pub connections: &'w Connections,
    pub rest: Rest,
    /// The data of each sample; empty for the additional one.
    pub around: Vec<Surroundings>,
}

impl Watcher<'_, '_> {
    fn is_extra(&self, sample: usize) -> bool {
        sample >= self.stage.counts.samples
    }

    fn settle(&mut self) -> Result<(), LoadError> {
        if !self.stage.settle.is_requested() {
            return Ok(());
        }
        let settled = settle(self.stage)?;
        if self.stage.settled.as_ref().is_none_or(|before| before.settled) {
            self.stage.settled = Some(settled);
        }
        Ok(())
    }
}

impl Observer for Watcher<'_, '_> {
    type Error = LoadError;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), LoadError> {
        let serving = self.connections.serving();
        let connected: Vec<Connected> =
            threads.iter().zip(serving).map(|(thread, serving)| Connected { client: thread.id, serving }).collect();
        self.stage.watch.connected(&connected)?;
        self.stage.host.progress(Progress::WarmUp { seconds: self.stage.counts.warmup_s });
        Ok(())
    }

    fn sample_start(&mut self, sample: usize) -> Result<(), LoadError> {
        if sample == 0 {
            self.settle()?;
        }
        self.stage.host.progress(Progress::Sample { sample, seconds: self.stage.counts.sample_s });
        if self.is_extra(sample) {
            self.stage.host.begin_captures(&self.stage.watch.sides());
        } else {
            let load = match self.rest {
                Rest::AroundEach => LoadAround::Idle,
                Rest::BeforeFirst if sample == 0 => LoadAround::Follows,
                Rest::BeforeFirst | Rest::Never => LoadAround::GoesOn,
            };
            self.stage.watch.start(load)?;
        }
        Ok(())
    }

    fn parts(&self, sample: usize) -> usize {
        self.stage.turns.filter(|_| !self.is_extra(sample)).unwrap_or(1)
    }

    fn part_start(&mut self) -> Result<(), LoadError> {
        self.stage.host.progress(Progress::Turn);
        Ok(())
    }

    fn sample_end(&mut self, sample: usize) -> Result<(), LoadError> {
        let around = if self.is_extra(sample) {
            self.stage.host.end_captures();
            Surroundings::default()
        } else {
            self.stage.watch.finish()?
        };
        self.around.push(around);
        // Announced before connections close: each closed connection ends a PostgreSQL process, which would disturb
        // the last turns of the other server.
        let counts = &self.stage.counts;
        if self.stage.turns.is_some() && sample + 1 == counts.samples + usize::from(counts.extra) {
            self.stage.host.progress(Progress::Stopping);
        }
        Ok(())
    }

    fn reading(&mut self, reading: Reading) -> Result<(), LoadError> {
        let warming_up = matches!(reading.stage, RunPhase::Warmup);
        self.stage.host.progress(Progress::Reading { tps: reading.tps, second: reading.second, warming_up });
        Ok(())
    }

    fn interval(&mut self, interval: Interval) -> Result<(), LoadError> {
        self.stage.host.interval(&interval);
        Ok(())
    }

    fn unanswered(&mut self, clients: &BTreeSet<usize>, patience_s: f64) -> Result<(), LoadError> {
        let serving = self.connections.serving();
        let stuck = clients.iter().map(|client| Stuck::of(*client, serving.get(*client).copied().flatten())).collect();
        Err(LoadError::own(Unanswered { patience_s, stuck }))
    }

    fn abandon(&mut self) {
        self.connections.interrupt();
    }

    fn is_enough(&mut self) -> bool {
        self.stage.host.is_enough()
    }

    fn poll(&mut self) -> Result<(), LoadError> {
        if self.stage.host.interrupted() { Err(LoadError::Interrupted) } else { Ok(()) }
    }
}
