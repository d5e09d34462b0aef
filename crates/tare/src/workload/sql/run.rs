//! Warm-up and samples: a connection a client thread, its server thread found and bound.

use super::client::SqlClient;
use super::mix::Mix;
use super::tally::Tally;
use crate::subject::{Connected, Surroundings};
use crate::workload::{LoadError, Progress, Stage};
use std::sync::{Arc, Mutex, PoisonError};
use tare_engine::{Dialect, Interrupter, Session};
use tare_load::{
    Arrivals, ClientThread, Connect, LoadSettings, Observer, Pace, Reading, RunError, Sample, Stage as Phase,
};
use tare_topology::{ResolvedPlacement, ThreadRef, bind};

/// One sample with what was seen beside it.
pub(super) struct Ran {
    pub sample: Sample,
    pub around: Surroundings,
    pub tally: Tally,
}

/// Runs warm-up and samples.
pub(super) fn run(mix: &Arc<Mix>, rate: Option<f64>, stage: Stage<'_>) -> Result<Vec<Ran>, LoadError> {
    let counts = stage.counts;
    let settings = LoadSettings {
        threads: stage.threads,
        seed: stage.seed,
        pace: rate.map_or(Pace::Closed, |rate| Pace::Open { rate, arrivals: Arrivals::default() }),
        warmup_s: counts.warmup_s,
        samples: counts.samples,
        sample_s: counts.sample_s,
        rest: stage.watch.probes(),
        ..LoadSettings::default()
    };
    let statements = mix.statements().count();
    let tallies = (0..stage.threads).map(|_| Arc::new(Mutex::new(Tally::new(statements)))).collect();
    let placement = stage.placement.placement.clone();
    let connector = Connector {
        mix,
        stage: StageParts { connect: stage.connect, dialect: stage.dialect, here: stage.server_is_here },
        placement,
        tallies,
        serving: Mutex::new(vec![None; stage.threads]),
        interrupters: Mutex::default(),
    };
    let mut watcher = Watcher { stage, connector: &connector, around: Vec::new() };
    let samples = tare_load::run(&settings, &connector, &mut watcher).map_err(|e| match e {
        RunError::Observer(e) | RunError::Connect { source: e, .. } | RunError::Transaction { source: e, .. } => e,
        other => LoadError::Generator(other.to_string()),
    })?;
    let around = watcher.around;
    Ok(samples.into_iter().zip(around).map(|(sample, (around, tally))| Ran { sample, around, tally }).collect())
}

/// What is needed of the stage in other threads.
struct StageParts<'a> {
    connect: &'a (dyn Fn() -> Result<Box<dyn Session>, LoadError> + Sync),
    dialect: &'static dyn Dialect,
    here: bool,
}

struct Connector<'a> {
    mix: &'a Arc<Mix>,
    stage: StageParts<'a>,
    placement: ResolvedPlacement,
    /// What each client counts.
    tallies: Vec<Arc<Mutex<Tally>>>,
    serving: Mutex<Vec<Option<ThreadRef>>>,
    interrupters: Mutex<Vec<Interrupter>>,
}

impl Connector<'_> {
    /// What all have counted since the last call.
    fn take(&self) -> Tally {
        let mut sum = Tally::new(self.mix.statements().count());
        for tally in &self.tallies {
            let fresh = Tally::new(sum.statements.len());
            sum.merge(std::mem::replace(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner), fresh));
        }
        sum
    }
}

impl Connect for Connector<'_> {
    type Client = SqlClient;
    type Error = LoadError;

    fn bind(&self, thread: ClientThread) -> Result<(), LoadError> {
        match self.placement.client_cpus(thread.index) {
            Some(cpus) => bind::bind_thread(thread.id, cpus).map_err(|e| LoadError::Subject(e.into())),
            None => Ok(()),
        }
    }

    fn connect(&self, thread: ClientThread) -> Result<SqlClient, LoadError> {
        let mut session = (self.stage.connect)()?;
        session.set_timeout(None).map_err(LoadError::own)?;
        self.interrupters.lock().unwrap_or_else(PoisonError::into_inner).extend(session.interrupter());
        let serving = match self.stage.here.then(|| session.server_thread()) {
            Some(Err(e)) if !self.placement.server.is_empty() => return Err(LoadError::own(e)),
            Some(Ok(serving)) => serving,
            _ => None,
        };
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)[thread.index] = serving;
        let (mix, tally) = (Arc::clone(self.mix), Arc::clone(&self.tallies[thread.index]));
        SqlClient::new(session, self.stage.dialect, mix, tally).map_err(LoadError::own)
    }
}

/// Binds when all are connected, watches every sample, stops when asked.
struct Watcher<'a> {
    stage: Stage<'a>,
    connector: &'a Connector<'a>,
    around: Vec<(Surroundings, Tally)>,
}

impl Observer for Watcher<'_> {
    type Error = LoadError;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), LoadError> {
        let serving = self.connector.serving.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let pairs: Vec<Connected> =
            threads.iter().zip(serving).map(|(thread, serving)| Connected { client: thread.id, serving }).collect();
        self.stage.watch.connected(&pairs)?;
        self.stage.host.progress(Progress::WarmUp { seconds: self.stage.counts.warmup_s });
        Ok(())
    }

    fn sample_start(&mut self, sample: usize) -> Result<(), LoadError> {
        self.stage.host.progress(Progress::Sample { sample, seconds: self.stage.counts.sample_s });
        self.stage.watch.start()?;
        self.connector.take();
        Ok(())
    }

    fn sample_end(&mut self, _sample: usize) -> Result<(), LoadError> {
        let tally = self.connector.take();
        self.around.push((self.stage.watch.finish()?, tally));
        Ok(())
    }

    fn reading(&mut self, reading: Reading) -> Result<(), LoadError> {
        let warming_up = matches!(reading.stage, Phase::Warmup);
        self.stage.host.progress(Progress::Reading { tps: reading.tps, second: reading.second, warming_up });
        Ok(())
    }

    fn abandon(&mut self) {
        let sessions = self.connector.interrupters.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().for_each(Interrupter::interrupt);
    }

    fn poll(&mut self) -> Result<(), LoadError> {
        if self.stage.host.interrupted() { Err(LoadError::Interrupted) } else { Ok(()) }
    }
}
