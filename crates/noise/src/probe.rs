//! Probes: time a few milliseconds of known work (dependent loads, a spin that accesses no memory, two threads that
//! wake each other), to measure how fast the machine is at this moment.

use crate::error::{NoiseError, Result};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};
use tare_cpuset::{AffinityError, CpuSet, ThreadRef, ThreadRefused, bind_thread};

/// Memory of the chain, bytes: more than a PU's share of the last-level cache.
const BYTES: usize = 128 << 20;
/// The chain takes at most one part in this many of the machine's memory.
const OF_MEMORY: u64 = 32;
/// Loads per reading of the clock: about 50 to 300 us.
const LOADS: usize = 1_000;
/// Steps of the spin per reading of the clock: about 100 us.
const SPIN_STEPS: u64 = 100_000;

/// A cache line with the number of the next one.
#[repr(align(64))]
struct Line(u32);

/// A ring through all lines, in an order that a prefetcher cannot predict.
struct Chain {
    lines: Vec<Line>,
}

impl Chain {
    /// Allocates it on the NUMA node of the calling thread's PU.
    pub(super) fn new() -> Self {
        let memory = (rustix::system::sysinfo().totalram as u64) / OF_MEMORY;
        let bytes = BYTES.min(usize::try_from(memory).unwrap_or(BYTES)).max(1 << 20);
        let count = (bytes / size_of::<Line>()).next_power_of_two() as u32;
        // A congruential generator of full period (Hull & Dobell 1962: an odd increment, a multiplier of 1 modulo 4)
        // visits every number below a power of two once.
        let next = |i: u32| i.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & (count - 1);
        Self { lines: (0..count).map(|i| Line(next(i))).collect() }
    }

    /// The line at which reader `part` of `of` begins, so that readers begin at different places.
    pub(super) fn at(&self, part: usize, of: usize) -> u32 {
        (self.lines.len() / of.max(1) * part) as u32
    }

    /// Nanoseconds per load, measured for about `time`; `from` is set to the line where it ended.
    pub(super) fn ns(&self, from: &mut u32, time: Duration) -> f64 {
        steady(time, LOADS as f64, || {
            let mut at = *from;
            for _ in 0..LOADS {
                at = self.lines[at as usize].0;
            }
            *from = black_box(at);
        })
    }
}

/// Nanoseconds of a hundred dependent steps in registers, measured for about `time`.
pub(super) fn spin_ns(time: Duration) -> f64 {
    steady(time, SPIN_STEPS as f64 / 100.0, || {
        let mut x = black_box(1u64);
        for _ in 0..SPIN_STEPS {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        black_box(x);
    })
}

/// Repeats a piece of work for about `time` and returns nanoseconds per unit, as the mean of the middle half of all
/// pieces, so that preemptions of the thread do not affect the result.
pub(super) fn steady(time: Duration, units: f64, mut piece: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut took = Vec::with_capacity(64);
    let mut last = began;
    while took.is_empty() || last - began < time {
        piece();
        let now = Instant::now();
        took.push((now - last).as_nanos() as f64 / units);
        last = now;
    }
    middle(took)
}

/// Mean of the middle half of the values.
pub(super) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 4;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

/// Nanoseconds of a round trip over a socket between a thread on `first` and one on `second`, measured for about
/// `time`.
fn round_trip_ns(
    first: Option<&CpuSet>,
    second: Option<&CpuSet>,
    time: Duration,
) -> std::result::Result<io::Result<f64>, AffinityError> {
    let (near, far) = match UnixStream::pair() {
        Ok(pair) => pair,
        Err(error) => return Ok(Err(error)),
    };
    thread::scope(|scope| {
        let answerer = Builder::new().spawn_scoped(scope, move || {
            let bound = bind_here(second);
            // `far` is dropped at the end of this closure, so that the caller sees that no one answers.
            if bound.is_ok() {
                answer_near(far);
            }
            bound
        });
        let answerer = match answerer {
            Ok(answerer) => answerer,
            Err(refused) => return Ok(Err(io::Error::other(ThreadRefused::from(refused)))),
        };
        // The caller owns the socket, so that the answerer ends when the caller does.
        let caller = move || bind_here(first).map(|()| call_far(near, time));
        let caller = match Builder::new().spawn_scoped(scope, caller) {
            Ok(caller) => caller,
            Err(refused) => return Ok(Err(io::Error::other(ThreadRefused::from(refused)))),
        };
        let called = caller.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        answerer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        called
    })
}

/// Binds this thread; with `None` the OS places it.
fn bind_here(cpus: Option<&CpuSet>) -> std::result::Result<(), AffinityError> {
    cpus.map_or(Ok(()), |cpus| bind_thread(ThreadRef::of_this_thread(), cpus))
}

fn call_far(mut near: UnixStream, time: Duration) -> io::Result<f64> {
    let began = Instant::now();
    let mut took = Vec::with_capacity(256);
    let mut last = began;
    let mut byte = [0u8];
    while took.is_empty() || last - began < time {
        near.write_all(&byte)?;
        near.read_exact(&mut byte)?;
        let now = Instant::now();
        took.push((now - last).as_nanos() as f64);
        last = now;
    }
    Ok(middle(took))
}

fn answer_near(mut far: UnixStream) {
    let mut byte = [0u8];
    while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
}

/// Shares of the parts in the time of a reading.
const CHAIN_SHARE: f64 = 0.55;
const SPIN_SHARE: f64 = 0.25;
const WAKEUP_SHARE: f64 = 0.2;

/// The CPUs of a probe's threads: those of the work that it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeCpus {
    /// One thread for each element, which loads and spins, all at the same time; `None` if the OS places the thread.
    pub workers: Vec<Option<CpuSet>>,
    /// Two threads that wake each other: first the client's CPUs, then the server's.
    pub pair: [Option<CpuSet>; 2],
}

/// Times of the known work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// A dependent load from memory: nanoseconds, mean over the threads.
    pub chain_ns: f64,
    /// A hundred dependent steps in registers: nanoseconds, mean over the threads.
    pub spin_ns: f64,
    /// A round trip of waking the other thread and being woken by it, over a socket: nanoseconds.
    pub wakeup_ns: f64,
}

impl Reading {
    /// The mean of two readings.
    pub fn between(&self, other: &Self) -> Self {
        Self {
            chain_ns: f64::midpoint(self.chain_ns, other.chain_ns),
            spin_ns: f64::midpoint(self.spin_ns, other.spin_ns),
            wakeup_ns: f64::midpoint(self.wakeup_ns, other.wakeup_ns),
        }
    }
}

/// Known work, ready to be timed.
pub struct Probe {
    cpus: ProbeCpus,
    chain: Chain,
    /// The line at which each worker continues.
    from: Vec<u32>,
}

impl Probe {
    /// Creates a probe, with its memory on the node of the first worker. Takes about 0.1 s.
    ///
    /// # Errors
    /// [`NoiseError::Bind`] when this process may not run on the CPUs; [`NoiseError::Thread`] when a thread cannot be
    /// started.
    pub fn new(cpus: ProbeCpus) -> Result<Self> {
        let first = cpus.workers.first().cloned().flatten();
        let made = thread::scope(|scope| {
            let maker = || bind_here(first.as_ref()).map(|()| Chain::new());
            let maker = Builder::new().spawn_scoped(scope, maker).map_err(ThreadRefused::from)?;
            Ok::<_, ThreadRefused>(maker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        let chain = made.map_err(|source| refused(&cpus, source))?;
        let count = cpus.workers.len();
        let from = (0..count).map(|part| chain.at(part, count)).collect();
        Ok(Self { cpus, chain, from })
    }

    /// Times the work, for about `length` in total.
    ///
    /// # Errors
    /// [`NoiseError::Bind`] when a thread cannot be bound; [`NoiseError::Thread`] when it cannot be started;
    /// [`NoiseError::Probe`] when the two threads cannot communicate.
    pub fn read(&mut self, length: Duration) -> Result<Reading> {
        let chain = &self.chain;
        let worked = thread::scope(|scope| {
            let workers: std::result::Result<Vec<_>, ThreadRefused> = self
                .cpus
                .workers
                .iter()
                .zip(&mut self.from)
                .map(|(own, from)| {
                    let work = move || {
                        bind_here(own.as_ref())?;
                        let loads = chain.ns(from, length.mul_f64(CHAIN_SHARE));
                        Ok((loads, spin_ns(length.mul_f64(SPIN_SHARE))))
                    };
                    Ok(Builder::new().spawn_scoped(scope, work)?)
                })
                .collect();
            let joined =
                workers?.into_iter().map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            Ok::<_, ThreadRefused>(joined.collect::<std::result::Result<Vec<(f64, f64)>, AffinityError>>())
        })?;
        let worked = worked.map_err(|source| refused(&self.cpus, source))?;
        let mean = |of: fn(&(f64, f64)) -> f64| worked.iter().map(of).sum::<f64>() / worked.len().max(1) as f64;
        let [client, server] = &self.cpus.pair;
        let wakeup_ns = round_trip_ns(client.as_ref(), server.as_ref(), length.mul_f64(WAKEUP_SHARE))
            .map_err(|source| refused(&self.cpus, source))?
            .map_err(NoiseError::Probe)?;
        Ok(Reading { chain_ns: mean(|w| w.0), spin_ns: mean(|w| w.1), wakeup_ns })
    }
}

fn refused(cpus: &ProbeCpus, source: AffinityError) -> NoiseError {
    let cpu = cpus.workers.iter().flatten().find_map(CpuSet::first).unwrap_or_default();
    NoiseError::Bind { cpu, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_cpuset::affinity_of;

    #[test]
    fn the_chain_goes_through_every_line_once() {
        let chain = Chain::new();
        let mut seen = vec![false; chain.lines.len()];
        let mut at = 0u32;
        for _ in 0..chain.lines.len() {
            assert!(!std::mem::replace(&mut seen[at as usize], true), "line {at} twice");
            at = chain.lines[at as usize].0;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn the_middle_half_ignores_what_stands_out() {
        assert_eq!(middle(vec![1.0, 2.0, 4.0, 1e9]), 3.0);
        assert_eq!((middle(vec![7.0]), middle(vec![1.0, 3.0])), (7.0, 2.0));
    }

    #[test]
    fn loads_from_memory_take_longer_than_a_step_in_registers() {
        let (chain, mut from) = (Chain::new(), 0);
        let load = chain.ns(&mut from, Duration::from_millis(20));
        let step = spin_ns(Duration::from_millis(20)) / 100.0;
        assert!(load > step && step > 0.0 && from > 0, "{load} ns a load, {step} ns a step");
    }

    fn here() -> CpuSet {
        affinity_of(ThreadRef::of_this_thread()).unwrap().first().unwrap().into()
    }

    #[test]
    fn a_reading_takes_about_the_requested_time_and_every_figure_is_a_time() {
        let own = Some(here());
        let cpus = ProbeCpus { workers: vec![own.clone(), None], pair: [own, None] };
        let mut probe = Probe::new(cpus).unwrap();
        let clock = Instant::now();
        let reading = probe.read(Duration::from_millis(40)).unwrap();
        let took = clock.elapsed();
        assert!(took >= Duration::from_millis(38) && took < Duration::from_secs(2), "{took:?}");
        assert!(
            [reading.chain_ns, reading.spin_ns, reading.wakeup_ns].iter().all(|ns| *ns > 0.0 && ns.is_finite()),
            "{reading:?}"
        );
        let other = Reading { chain_ns: 3.0 * reading.chain_ns, ..reading };
        assert!((reading.between(&other).chain_ns / reading.chain_ns - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_probe_on_a_missing_cpu_names_it_in_the_error() {
        let own = Some(CpuSet::from(1_000));
        let error = Probe::new(ProbeCpus { workers: vec![own], pair: [None, None] }).err().unwrap();
        assert!(error.to_string().contains("CPU 1000"), "{error}");
    }
}
