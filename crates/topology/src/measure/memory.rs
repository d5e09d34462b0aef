//! Measures latency and bandwidth of a node's memory from CPUs of a node.

use super::error::MeasureError;
use super::working_set::{Line, WorkingSet, sum};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_cpuset::{ThreadRef, bind_thread};

/// Loads per reading of the clock.
const BATCH: usize = 20_000;

/// Nanoseconds of a load that misses every cache: the minimum over all batches, because disturbances only add time.
pub(super) fn latency_ns(set: &WorkingSet, cpu: u32, time: Duration) -> Result<f64, MeasureError> {
    on_cpu(cpu, || {
        let mut best = f64::INFINITY;
        let mut at = 0;
        let began = Instant::now();
        while began.elapsed() < time || best.is_infinite() {
            let batch = Instant::now();
            at = black_box(set.chase(at, BATCH));
            best = best.min(batch.elapsed().as_nanos() as f64 / BATCH as f64);
        }
        best
    })
}

/// Bytes per second that these CPUs read together, one thread each: the maximum over all passes.
pub(super) fn bandwidth_bytes_per_s(set: &WorkingSet, cpus: &[u32], time: Duration) -> Result<f64, MeasureError> {
    let parts: Vec<&[Line]> = set.parts(cpus.len()).collect();
    let bytes: usize = parts.iter().map(|part| size_of_val(*part)).sum();
    let mut best = Duration::MAX;
    let began = Instant::now();
    while began.elapsed() < time || best == Duration::MAX {
        best = best.min(pass(&parts, cpus)?);
    }
    Ok(bytes as f64 / best.as_secs_f64().max(1e-9))
}

/// Reads all parts at the same time, each by a thread on its CPU. Returns the time of the slowest.
fn pass(parts: &[&[Line]], cpus: &[u32]) -> Result<Duration, MeasureError> {
    // Number of threads that have not yet reached the gate.
    let gate = AtomicUsize::new(parts.len());
    let read = |cpu: u32, part: &[Line]| {
        let bound = bind_thread(ThreadRef::of_this_thread(), &cpu.into());
        // Counted even if binding failed, so that the others do not wait forever.
        gate.fetch_sub(1, Ordering::AcqRel);
        while gate.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        let began = Instant::now();
        black_box(sum(black_box(part)));
        bound.map(|()| began.elapsed())
    };
    thread::scope(|scope| {
        let mut readers = Vec::with_capacity(parts.len());
        for (cpu, part) in cpus.iter().zip(parts) {
            match thread::Builder::new().spawn_scoped(scope, || read(*cpu, part)) {
                Ok(reader) => readers.push(reader),
                Err(e) => {
                    // Threads that were never started must not keep the others waiting.
                    gate.fetch_sub(parts.len() - readers.len(), Ordering::AcqRel);
                    return Err(MeasureError::Thread(e.to_string()));
                }
            }
        }
        let took = readers.into_iter().map(|reader| {
            let took = reader.join().map_err(|_| MeasureError::Thread("it panicked".to_owned()))?;
            Ok::<Duration, MeasureError>(took?)
        });
        took.collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().max().unwrap_or_default())
    })
}

/// Runs a function on a new thread that is bound to a CPU.
fn on_cpu<T: Send>(cpu: u32, work: impl FnOnce() -> T + Send) -> Result<T, MeasureError> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .spawn_scoped(scope, || bind_thread(ThreadRef::of_this_thread(), &cpu.into()).map(|()| work()))
            .map_err(|e| MeasureError::Thread(e.to_string()))?;
        Ok(worker.join().map_err(|_| MeasureError::Thread("it panicked".to_owned()))??)
    })
}
