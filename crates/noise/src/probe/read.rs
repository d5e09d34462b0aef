//! A probe with its threads' CPUs, and its readings.

use super::chain::{Chain, spin_ns};
use super::wakeup::{bind_here, round_trip_ns};
use crate::error::{NoiseError, Result};
use std::thread::{self, Builder};
use std::time::Duration;
use tare_cpuset::{AffinityError, CpuSet, ThreadRefused};

/// Shares of the parts in the time of a reading.
const CHAIN: f64 = 0.55;
const SPIN: f64 = 0.25;
const WAKEUP: f64 = 0.2;

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
                        let loads = chain.ns(from, length.mul_f64(CHAIN));
                        Ok((loads, spin_ns(length.mul_f64(SPIN))))
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
        let wakeup_ns = round_trip_ns(client.as_ref(), server.as_ref(), length.mul_f64(WAKEUP))
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
    use tare_cpuset::{ThreadRef, affinity_of};

    fn here() -> CpuSet {
        affinity_of(ThreadRef::of_this_thread()).unwrap().first().unwrap().into()
    }

    #[test]
    fn a_reading_takes_about_the_requested_time_and_every_figure_is_a_time() {
        let own = Some(here());
        let cpus = ProbeCpus { workers: vec![own.clone(), None], pair: [own, None] };
        let mut probe = Probe::new(cpus).unwrap();
        let clock = std::time::Instant::now();
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
