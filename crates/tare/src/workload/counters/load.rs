//! What a trial does with counters: rounds on as many threads as asked, each bound where the placement says.

use super::CountersSettings;
use crate::subject::SubjectError;
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, Progress, Stage};
use std::sync::{Mutex, PoisonError};
use tare_counters::workload::{Config, Mode, Outcome};
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

/// CPU time of a round on data blocks, seconds: 0.38 ms here (Xeon, 2.1 GHz).
const ROUND_S: f64 = 4e-4;
/// The same without: 160 increments and 320 draws.
const BARE_ROUND_S: f64 = 1e-5;
/// Rounds a second of all threads together that libc's locked generator lets through (article C: 4,650 on 24 CPUs).
const LOCKED: f64 = 4600.0;
/// Bytes a second of memory that is touched for the first time.
const TOUCHED: f64 = 1.5e9;

impl CountersSettings {
    /// Expected seconds of all rounds of a sample.
    fn rounds_s(&self, counts: &Counts) -> f64 {
        let rounds = self.rounds as f64 * counts.threads as f64;
        let one = if self.data_work { ROUND_S } else { BARE_ROUND_S };
        let at_once = counts.threads.min(counts.cpus).max(1) as f64;
        let least = if self.generator == Mode::Faithful && at_once > 1.0 { rounds / LOCKED } else { 0.0 };
        (rounds * one / at_once).max(least)
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

    fn memory_bytes(&self, threads: usize) -> u64 {
        let bytes = tare_counters::workload::memory_bytes(&self.config(threads, 0, &|_| {}));
        u64::try_from(bytes).unwrap_or(u64::MAX)
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

    /// Rounds, not seconds, are given: what they take on an ordinary machine.
    fn expected_s(&self, counts: &Counts) -> f64 {
        0.1 + counts.samples as f64 * (self.rounds_s(counts) + self.memory_bytes(counts.threads) as f64 / TOUCHED)
    }

    /// Machines differ, strategies more: ten times as long is still no reason to end it.
    fn limit_s(&self, counts: &Counts) -> f64 {
        10.0 * self.expected_s(counts)
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
        stage.watch.start()?;
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
