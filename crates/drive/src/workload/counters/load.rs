//! A trial with counters: rounds on the requested number of threads, each bound by the placement.

use super::proof::Eyes;
use super::{CountersSettings, proof};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, Progress, TrialSize};
use procfs::Current;
use tare_counters_study::workload::{Config, Hooks, Outcome};
use tare_engine::Server;
use tare_results::metric::{self, Named};
use tare_results::schema::AppliedSetting;
use tare_topology::MemoryPolicy;

impl CountersSettings {
    pub(super) fn config<'a>(&self, threads: usize, seed: u64, hooks: Hooks<'a>) -> Config<'a> {
        Config {
            strategy: self.strategy,
            threads,
            rounds: self.rounds,
            counter_blocks: self.counter_blocks,
            counters_per_block: self.counters_per_block,
            data_blocks: self.data_blocks,
            mode: self.generator,
            data_work: self.data_work,
            steps: self.steps,
            padding: self.padding,
            memory_scope: self.memory_scope,
            seed,
            available_bytes: available_bytes(),
            hooks,
        }
    }
}

/// The memory that the kernel can still give without swapping, or less if a control group of this process leaves less.
fn available_bytes() -> u64 {
    let machine = procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available);
    [machine, tare_noise::own_memory_left_bytes()].into_iter().flatten().min().unwrap_or(u64::MAX)
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
        self.config(threads, 0, Hooks::NONE).check().map_err(|e| e.to_string())
    }

    fn memory_bytes(&self, threads: usize) -> u64 {
        let bytes = tare_counters_study::workload::memory_bytes(&self.config(threads, 0, Hooks::NONE));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    fn dataset(&self, _seed: u64) -> String {
        String::new()
    }

    fn fill(&self, _job: &FillJob<'_>, _server: &dyn Server) -> Result<(), FillError> {
        Ok(())
    }

    fn drive(&self, mut stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let (mut samples, mut applied) = (Vec::new(), Vec::new());
        for sample in 0..stage.counts.samples {
            let (measured, memory) = self.sample(sample, &mut stage)?;
            samples.push(measured);
            // Taken from the first sample: a policy that a later sample does not get ends the trial.
            if applied.is_empty() {
                applied.push(memory);
            }
        }
        Ok(Driven { samples, applied, ..Driven::default() })
    }

    /// The number of rounds is given: this is their duration on this machine, even if another one is described.
    fn expected_s(&self, counts: &TrialSize) -> f64 {
        self.trial_s(counts)
    }

    /// Durations differ between machines, and more between strategies: ten times the expected duration is allowed.
    fn limit_s(&self, counts: &TrialSize) -> f64 {
        10.0 * self.expected_s(counts)
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some("this workload has no server")
    }
}

impl CountersSettings {
    fn sample(&self, sample: usize, stage: &mut LoadContext<'_>) -> Result<(Measured, AppliedSetting), LoadError> {
        if stage.host.interrupted() {
            return Err(LoadError::Interrupted);
        }
        stage.host.progress(Progress::Sample { sample, seconds: 0.0 });
        let (placement, host) = (&stage.placement.placement, stage.host);
        let eyes = Eyes::new(&mut stage.watch, placement);
        let (bind, set_policy) = (|thread| eyes.bind(thread), || eyes.set_policy());
        let hooks = Hooks {
            bind: &bind,
            // Without a policy the memory is interleaved over all nodes, as in "NUMA Smart Global Counter".
            memory: (placement.memory != MemoryPolicy::Default).then_some(&set_policy),
            ready: &|| eyes.ready(),
            done: &|| eyes.done(),
            stopped: &|| host.interrupted(),
        };
        let run = tare_counters_study::workload::run(&self.config(stage.threads, stage.seed, hooks));
        let sight = eyes.close();
        if host.interrupted() {
            return Err(LoadError::Interrupted);
        }
        // An error of the placement explains more than the failure of the run that follows from it.
        let sight = sight?;
        let outcome = run.map_err(LoadError::own)?;
        let memory = proof::memory(self.memory_scope, &placement.memory, &outcome, sight.policy.as_ref())?;
        let (elapsed_s, metrics) = (outcome.elapsed_s, metrics(&outcome));
        let covariates = proof::covariates(&outcome);
        let surroundings = sight.surroundings;
        Ok((Measured { elapsed_s, metrics, covariates, surroundings, ..Measured::default() }, memory))
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_counters_study::workload::Mode;

    fn counts(threads: usize) -> TrialSize {
        TrialSize { samples: 1, warmup_s: 0.0, sample_s: 0.0, extra: false, threads, cpus: 24 }
    }

    #[test]
    fn the_expected_time_follows_rounds_steps_and_threads() {
        let article =
            CountersSettings { rounds: 10_000, generator: Mode::Faithful, data_blocks: 0, ..Default::default() };
        let expected = article.expected_s(&counts(256));
        // "NUMA Smart Global Counter", 256 threads on 24 vCPUs: 549 s with atomics, 625 s with mutexes.
        assert!((400.0..800.0).contains(&expected), "{expected}");
        assert!(article.limit_s(&counts(256)) > 10.0 * 549.0);
        let doubled = [
            CountersSettings { rounds: 20_000, ..article }.expected_s(&counts(256)),
            CountersSettings { steps: 32, ..article }.expected_s(&counts(256)),
            article.expected_s(&counts(512)),
        ];
        assert!(doubled.iter().all(|s| (s / expected - 2.0).abs() < 0.01), "{doubled:?} {expected}");
        let memory = CountersSettings { data_blocks: 1_000_000, ..article };
        assert!(memory.expected_s(&counts(1)) > article.expected_s(&counts(1)) + 5.0, "16 GB are not there at once");
    }

    #[test]
    fn two_cpus_wait_less_for_the_lock_than_twenty_four_and_small_trials_are_not_all_overhead() {
        let quick = CountersSettings { rounds: 50, data_blocks: 1000, ..Default::default() };
        let at = |generator, threads, cpus| {
            CountersSettings { generator, ..quick }.expected_s(&TrialSize { cpus, ..counts(threads) })
        };
        // 0.038 s each on two CPUs of an EPYC; no machine is expected to take four times as long.
        for threads in [1, 2] {
            let trial_s = at(Mode::Corrected, threads, 2);
            assert!((0.02..0.16).contains(&trial_s), "{trial_s}");
        }
        // 12,800 rounds: 1.39 s at 9,200 per second, 2.78 s at 4,600.
        let rounds = |cpus| at(Mode::Faithful, 256, cpus);
        assert!(rounds(2) >= 1.3, "{}", rounds(2));
        assert!((2.7..3.5).contains(&rounds(24)), "{}", rounds(24));
    }

    #[test]
    fn the_expected_time_of_rounds_is_near_the_measured_time() {
        let of = |rounds| CountersSettings { rounds, data_blocks: 300, ..Default::default() };
        let expected = of(61).expected_s(&counts(1)) - of(1).expected_s(&counts(1));
        let used_s = || {
            let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
        };
        let take = |rounds| {
            let before = used_s();
            tare_counters_study::workload::run(&of(rounds).config(1, 1, Hooks::NONE)).unwrap();
            used_s() - before
        };
        // CPU time, because a run waits while other programs have its CPU.
        let least = |rounds| (0..20).map(|_| take(rounds)).fold(f64::INFINITY, f64::min);
        let taken = least(61) - least(1);
        assert!(expected / taken < 4.0 && taken / expected < 2.5, "{expected} and {taken}");
    }
}
