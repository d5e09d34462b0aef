//! Latency and bandwidth of a node's memory from CPUs of another.

use super::error::MeasureError;
use super::working_set::{Line, WorkingSet, sum};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;
use tare_cpuset::bind_thread;

/// Loads between two looks at the clock.
const BATCH: usize = 20_000;

/// Nanoseconds of a load that misses every cache: the best batch, since disturbance only adds.
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

/// Bytes a second that these CPUs read together, one thread each: the best pass.
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

/// All parts read at once, each by a thread on its CPU: how long the slowest takes.
fn pass(parts: &[&[Line]], cpus: &[u32]) -> Result<Duration, MeasureError> {
    // So many are still to come to the gate.
    let gate = AtomicUsize::new(parts.len());
    let read = |cpu: u32, part: &[Line]| {
        let bound = bind_thread(ThreadRef::of_this_thread(), &cpu.into());
        // One that could not be bound must not leave the others waiting.
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
                    // Nor must those that were never started.
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

/// Runs something on a thread of its own that is bound to a CPU.
fn on_cpu<T: Send>(cpu: u32, work: impl FnOnce() -> T + Send) -> Result<T, MeasureError> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .spawn_scoped(scope, || bind_thread(ThreadRef::of_this_thread(), &cpu.into()).map(|()| work()))
            .map_err(|e| MeasureError::Thread(e.to_string()))?;
        Ok(worker.join().map_err(|_| MeasureError::Thread("it panicked".to_owned()))??)
    })
}
