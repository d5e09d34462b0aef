//! Global counters, without a server: rounds on the requested number of threads in the trial's own fresh process, each
//! thread bound by the placement; the counters and the keys of a study for them.

mod proof;

use self::proof::Eyes;
use super::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, Progress, TrialSize};
use procfs::Current;
use std::sync::OnceLock;
use tare_counters_study::strategies::Strategy;
use tare_counters_study::workload::{Config, Hooks, MemoryScope, Mode, Outcome, Padding, run};
use tare_engine::Server;
use tare_results::metric::{self, Named};
use tare_results::schema::AppliedSetting;
use tare_text::{Key, Keyed, key};
use tare_topology::MemoryPolicy;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountersSettings {
    pub strategy: Strategy,
    pub generator: Mode,
    pub data_work: bool,
    pub rounds: u64,
    pub counter_blocks: usize,
    pub counters_per_block: usize,
    /// Data blocks of 16 KiB.
    pub data_blocks: usize,
    /// Data steps per round; increments of global counters are ten times as many.
    pub steps: u64,
    /// Distance between the shards of a counter.
    pub padding: Padding,
    pub memory_scope: MemoryScope,
}

impl Default for CountersSettings {
    /// The values of "NUMA Smart Global Counter", except its million data blocks (16 GB), which few machines can hold.
    fn default() -> Self {
        Self {
            strategy: Strategy::CounterSet,
            generator: Mode::Corrected,
            data_work: true,
            rounds: 1000,
            counter_blocks: 100,
            counters_per_block: 10,
            data_blocks: 10_000,
            steps: 16,
            padding: Padding::Line,
            memory_scope: MemoryScope::Payload,
        }
    }
}

impl Keyed for CountersSettings {
    const KEYS: &'static [Key<Self>] = &[
        key!(words "strategy" in strategy,
            "how counters are kept: pthread-mutex, atomic, counter-set ... (tare-counters-study lists them; std-mutex is \
             Rust's, and libstdc++'s std::mutex is pthread-mutex)"),
        key!(words "generator" in generator,
            "faithful: libc rand() and its lock, as published; corrected: one generator per thread"),
        key!(switch "data_work" in data_work, "on: a round works on data blocks as published; off: counters only"),
        key!(whole "rounds" in rounds, (1, 1_000_000_000), "rounds per thread and sample"),
        key!(whole "counter_blocks" in counter_blocks, (1, 1_000_000_000), "blocks of global counters"),
        key!(whole "counters_per_block" in counters_per_block, (1, 1_000_000), "global counters per block"),
        key!(whole "data_blocks" in data_blocks, (0, 1_000_000_000_000),
            "data blocks of 16 KiB, each with its own counter"),
        key!(whole "steps" in steps, (1, 1_000_000),
            "data steps per round, and ten times as many increments of global counters"),
        Key::words(
            "padding",
            "bytes from a shard or slot of a counter to the next: 8, 64 (as published) or 128",
            |s| Some(s.padding.bytes().into()),
            |s, v| {
                let bytes = v.whole(1, 128)?;
                s.padding = Padding::of(bytes).ok_or_else(|| "8, 64 or 128 bytes".to_owned())?;
                Ok(())
            },
        ),
        key!(words "memory_scope" in memory_scope,
            "what placement.memory applies to (default: interleaved over all nodes); payload: counters \
             and data, as the published argument numa; process: everything, as numactl --interleave=all"),
    ];
}

/// Total steps per second of all threads with libc's locked random generator: with 24 CPUs ("NUMA Smart Global
/// Counter": 4,650 rounds of 16 steps), and the exponent by which it falls with the number of CPUs that contend for
/// the lock (2 of an AMD EPYC: 9,200 rounds).
const LOCKED_ON_24: f64 = 4600.0 * 16.0;
const LOCKED_FALLS: f64 = 0.28;
/// Bytes per second of first-touch memory: 1.5e9 on a Xeon of 2.1 GHz, 3e9 on an EPYC.
const TOUCHED: f64 = 2.2e9;
/// Seconds from a trial's start to its first round; seconds per sample to start threads and to inspect pages.
const TRIAL_S: f64 = 0.02;
const SAMPLE_S: f64 = 0.005;

/// Data blocks of the timing run, which should be short; data that fits no cache takes a tenth to a sixth longer.
const TIMED_BLOCKS: usize = 300;
const TIMINGS: usize = 3;

/// A timing run, with or without data work, and the CPU seconds of a step that are assumed if it fails: 16 steps take
/// 0.38 ms on a Xeon, 0.17 ms on an EPYC.
struct Timed {
    data_work: bool,
    rounds: u64,
    usual_s: f64,
    found: OnceLock<f64>,
}

static WITH_DATA: Timed = Timed { data_work: true, rounds: 20, usual_s: 2.6e-4 / 16.0, found: OnceLock::new() };
static BARE: Timed = Timed { data_work: false, rounds: 200, usual_s: 1e-5 / 16.0, found: OnceLock::new() };

impl Timed {
    /// CPU seconds of a step on this machine: the differences between machines are too large for a constant. The
    /// minimum of a few runs, as others may use the CPU; once per process, so that all conditions are estimated alike.
    fn step_s(&self) -> f64 {
        *self.found.get_or_init(|| {
            let settings = CountersSettings {
                data_work: self.data_work,
                rounds: self.rounds,
                data_blocks: TIMED_BLOCKS,
                ..CountersSettings::default()
            };
            let config = settings.config(1, 1, Hooks::NONE);
            let taken = (0..TIMINGS).filter_map(|_| Some(run(&config).ok()?.elapsed_s)).fold(f64::INFINITY, f64::min);
            let step_s = taken / (config.rounds * config.steps) as f64;
            if step_s.is_finite() && step_s > 0.0 { step_s } else { self.usual_s }
        })
    }
}

impl CountersSettings {
    fn trial_s(&self, counts: &TrialSize) -> f64 {
        let touched_s = self.memory_bytes(counts.threads) as f64 / TOUCHED;
        TRIAL_S + counts.samples as f64 * (SAMPLE_S + touched_s + self.rounds_s(counts))
    }

    /// Expected seconds of all rounds of a sample.
    fn rounds_s(&self, counts: &TrialSize) -> f64 {
        let steps = self.rounds as f64 * self.steps as f64 * counts.threads as f64;
        let timed = if self.data_work { &WITH_DATA } else { &BARE };
        let at_once = counts.threads.min(counts.cpus).max(1) as f64;
        let locked = LOCKED_ON_24 * (24.0 / at_once).powf(LOCKED_FALLS);
        let least = if self.generator == Mode::Faithful && at_once > 1.0 { steps / locked } else { 0.0 };
        (steps * timed.step_s() / at_once).max(least)
    }
}

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
        let ran = run(&self.config(stage.threads, stage.seed, hooks));
        let sight = eyes.close();
        if host.interrupted() {
            return Err(LoadError::Interrupted);
        }
        // An error of the placement explains more than the failure of the run that follows from it.
        let sight = sight?;
        let outcome = ran.map_err(LoadError::own)?;
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
            run(&of(rounds).config(1, 1, Hooks::NONE)).unwrap();
            used_s() - before
        };
        // CPU time, because a run waits while other programs have its CPU.
        let least = |rounds| (0..20).map(|_| take(rounds)).fold(f64::INFINITY, f64::min);
        let taken = least(61) - least(1);
        assert!(expected / taken < 4.0 && taken / expected < 2.5, "{expected} and {taken}");
    }
}
