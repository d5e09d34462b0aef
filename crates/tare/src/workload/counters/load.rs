//! What a trial does with counters: rounds on as many threads as asked, each bound where the placement says.

use super::CountersSettings;
use crate::subject::SubjectError;
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, Progress, Stage};
use std::sync::{Mutex, PoisonError};
use tare_counters::workload::{Config, Outcome};
use tare_engine::Server;
use tare_results::metric::{self, Named};
use tare_topology::ThreadRef;
use tare_topology::bind::{self, BindError};

impl CountersSettings {
    /// What `workload.name` says in a study.
    pub const NAMES: &'static [&'static str] = &["counters"];

    /// The load of this name, as a study finds it when it says nothing else.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(Self::default)
    }

    fn config<'a>(&self, threads: usize, seed: u64, bind: &'a (dyn Fn(usize) + Sync)) -> Config<'a> {
        Config {
            strategy: self.strategy,
            threads,
            rounds: self.rounds,
            counter_blocks: self.counter_blocks,
            counters_per_block: self.counters_per_block,
            data_blocks: self.data_blocks,
            mode: self.generator,
            data_work: self.data_work,
            seed,
            bind,
        }
    }
}

impl Load for CountersSettings {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn needs_server(&self) -> bool {
        false
    }

    fn available(&self, threads: usize) -> Result<(), String> {
        self.strategy.available().map_err(|e| e.to_string())?;
        self.config(threads, 0, &|_| {}).check().map_err(|e| e.to_string())
    }

    fn dataset(&self, _seed: u64) -> String {
        String::new()
    }

    fn fill(&self, _job: &FillJob<'_>, _server: &dyn Server) -> Result<(), FillError> {
        Ok(())
    }

    fn drive(&self, mut stage: Stage<'_>) -> Result<Driven, LoadError> {
        let samples =
            (0..stage.counts.samples).map(|sample| self.sample(sample, &mut stage)).collect::<Result<_, _>>()?;
        Ok(Driven { samples, ..Driven::default() })
    }

    /// Rounds, not seconds, are given: a guess until the first trials have been timed.
    fn expected_s(&self, counts: &Counts) -> f64 {
        counts.samples as f64 + 0.1
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some("this workload has no server")
    }
}

impl CountersSettings {
    fn sample(&self, sample: usize, stage: &mut Stage<'_>) -> Result<Measured, LoadError> {
        if stage.host.interrupted() {
            return Err(LoadError::Interrupted);
        }
        stage.host.progress(Progress::Sample { sample, seconds: 0.0 });
        let not_bound: Mutex<Option<BindError>> = Mutex::new(None);
        let placement = &stage.placement.placement;
        let bind = |thread: usize| {
            if let Some(set) = placement.client_cpus(thread)
                && let Err(e) = bind::bind_thread(ThreadRef::of_this_thread(), set)
            {
                not_bound.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            }
        };
        stage.watch.start();
        let outcome =
            tare_counters::workload::run(&self.config(stage.threads, stage.seed, &bind)).map_err(LoadError::own)?;
        let surroundings = stage.watch.finish()?;
        match not_bound.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(SubjectError::Bind(error).into()),
            None => Ok(Measured {
                elapsed_s: outcome.elapsed_s,
                metrics: metrics(&outcome),
                surroundings,
                ..Measured::default()
            }),
        }
    }
}

fn metrics(outcome: &Outcome) -> Vec<(Named, f64)> {
    let mut metrics = vec![
        (metric::ROUNDS_PER_S, outcome.rounds_per_s),
        (metric::NS_PER_INCREMENT, outcome.ns_per_increment),
        (metric::LOSS, outcome.loss()),
        (metric::BYTES_PER_COUNTER, outcome.bytes_per_counter),
        (metric::FULL_READ_NS, outcome.full_read_ns),
    ];
    metrics.extend(outcome.generator_share.map(|share| (metric::GENERATOR_FRACTION, share)));
    metrics
}
