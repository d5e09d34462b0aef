//! Times accesses: the round trip of a cache line between two threads, and latency and bandwidth of a node's memory
//! from CPUs of a node, whose cache lines form one random ring.

use crate::bind::{BindError, Placed};
use crate::{MemoryPolicy, Nodes};
use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_cpuset::{AffinityError, ThreadRef, bind_thread};

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A measuring thread could not be bound to its CPU.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// Its memory could not be bound to its node.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A thread could not be started, or ended early.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
}

/// Round trips per reading of the clock.
const ROUND_TRIPS_AT_ONCE: u64 = 200;
/// The value that ends the measurement; counters of passes stay far below.
const OVER: u64 = u64::MAX;

/// A counter in a cache line of its own, together with the adjacent line that a prefetcher would also fetch.
#[repr(align(128))]
struct SharedLine(AtomicU64);

/// Nanoseconds for a line to move from one CPU to another and back: the minimum of all batches: disturbances only add
/// time.
pub(super) fn round_trip_ns(first: u32, second: u32, time: Duration) -> Result<f64, MeasureError> {
    let line = SharedLine(AtomicU64::new(0));
    let ready = Barrier::new(2);
    thread::scope(|scope| {
        let answerer = thread::Builder::new().spawn_scoped(scope, || {
            let bound = bind_thread(ThreadRef::of_this_thread(), &second.into());
            ready.wait();
            if bound.is_ok() {
                answer_trips(&line);
            }
            bound
        });
        let answerer = answerer.map_err(|e| MeasureError::Thread(e.to_string()))?;
        let caller = thread::Builder::new().spawn_scoped(scope, || {
            let bound = bind_thread(ThreadRef::of_this_thread(), &first.into());
            ready.wait();
            let best = if bound.is_ok() { count_trips(&line, time) } else { f64::INFINITY };
            line.0.store(OVER, Ordering::Release);
            bound.map(|()| best)
        });
        // Without a caller, the answerer would wait at the barrier forever.
        let caller = caller.map_err(|e| {
            ready.wait();
            line.0.store(OVER, Ordering::Release);
            MeasureError::Thread(e.to_string())
        })?;
        let died = |_| MeasureError::Thread("it panicked".to_owned());
        let best = caller.join().map_err(died)?;
        answerer.join().map_err(died)??;
        Ok(best?)
    })
}

/// Stores odd numbers and waits for even ones. Returns nanoseconds per round trip of the fastest batch; infinite
/// without any round trip.
fn count_trips(line: &SharedLine, time: Duration) -> f64 {
    let mut best = f64::INFINITY;
    let began = Instant::now();
    let mut pass = 0;
    while began.elapsed() < time || best.is_infinite() {
        let batch = Instant::now();
        let per_trip = |trips: u64| batch.elapsed().as_nanos() as f64 / trips as f64;
        for trip in 0..ROUND_TRIPS_AT_ONCE {
            line.0.store(pass + 1, Ordering::Release);
            while line.0.load(Ordering::Acquire) != pass + 2 {
                // An answerer that could not be bound never answers; one that waits for a CPU takes milliseconds.
                if batch.elapsed() > time + Duration::from_secs(1) {
                    return if trip > 0 { best.min(per_trip(trip)) } else { best };
                }
                spin_loop();
            }
            pass += 2;
        }
        best = best.min(per_trip(ROUND_TRIPS_AT_ONCE));
    }
    best
}

/// Replaces every odd number by the next even one.
fn answer_trips(line: &SharedLine) {
    loop {
        match line.0.load(Ordering::Acquire) {
            OVER => return,
            pass if pass % 2 == 1 => {
                // Fails only if the measurement is over.
                let _ = line.0.compare_exchange(pass, pass + 1, Ordering::AcqRel, Ordering::Acquire);
            }
            _ => spin_loop(),
        }
    }
}

/// Loads per reading of the clock.
const LOADS_AT_ONCE: usize = 20_000;

/// Nanoseconds of a load that misses every cache: the minimum over all batches, because disturbances only add time.
pub(super) fn latency_ns(set: &WorkingSet, cpu: u32, time: Duration) -> Result<f64, MeasureError> {
    on_cpu(cpu, || {
        let mut best = f64::INFINITY;
        let mut at = 0;
        let began = Instant::now();
        while began.elapsed() < time || best.is_infinite() {
            let batch = Instant::now();
            at = black_box(set.chase(at, LOADS_AT_ONCE));
            best = best.min(batch.elapsed().as_nanos() as f64 / LOADS_AT_ONCE as f64);
        }
        best
    })
}

/// Bytes per second that these CPUs read together, one thread each: the maximum over all passes.
pub(super) fn bandwidth_bytes_per_s(set: &WorkingSet, cpus: &[u32], time: Duration) -> Result<f64, MeasureError> {
    let parts: Vec<&[RingLine]> = set.parts(cpus.len()).collect();
    let bytes: usize = parts.iter().map(|part| size_of_val(*part)).sum();
    let mut best = Duration::MAX;
    let began = Instant::now();
    while began.elapsed() < time || best == Duration::MAX {
        best = best.min(pass(&parts, cpus)?);
    }
    Ok(bytes as f64 / best.as_secs_f64().max(1e-9))
}

/// Reads all parts at the same time, each by a thread on its CPU. Returns the time of the slowest.
fn pass(parts: &[&[RingLine]], cpus: &[u32]) -> Result<Duration, MeasureError> {
    // Number of threads that have not yet reached the gate.
    let gate = AtomicUsize::new(parts.len());
    let read = |cpu: u32, part: &[RingLine]| {
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

/// Words of 8 bytes in a cache line of 64.
const WORDS: usize = 8;

/// The words of one cache line.
pub(super) type RingLine = [u64; WORDS];

/// Memory in which the first word of each line is the number of the next line.
pub(super) struct WorkingSet {
    lines: Vec<RingLine>,
}

impl WorkingSet {
    /// Allocates and writes it on a node, independent of the calling thread's CPU.
    pub(super) fn on_node(node: u32, bytes: usize) -> Result<Self, BindError> {
        let placed = Placed::apply(None, &MemoryPolicy::Bind(Nodes::These(node.into())))?;
        let count = (bytes / size_of::<RingLine>()).max(2);
        let mut lines: Vec<RingLine> = (0..count as u64).map(|i| [i, 1, 1, 1, 1, 1, 1, 1]).collect();
        placed.restore()?;
        // Sattolo's algorithm: exchanging each entry with an earlier one, never with itself, yields a single ring.
        let mut random = SplitMix(0x7461_7265);
        for i in (1..count).rev() {
            let j = (random.next() % i as u64) as usize;
            let (low, high) = lines.split_at_mut(i);
            std::mem::swap(&mut low[j][0], &mut high[0][0]);
        }
        Ok(Self { lines })
    }

    /// Follows the ring: each load depends on the previous one.
    pub(super) fn chase(&self, from: usize, steps: usize) -> usize {
        let mut at = from;
        for _ in 0..steps {
            at = self.lines[at][0] as usize;
        }
        at
    }

    pub(super) fn parts(&self, readers: usize) -> impl Iterator<Item = &[RingLine]> {
        self.lines.chunks(self.lines.len().div_ceil(readers.max(1)))
    }
}

/// Reads every word, with independent sums so that loads can overlap.
pub(super) fn sum(lines: &[RingLine]) -> u64 {
    let mut sums = [0u64; WORDS];
    for line in lines {
        for (sum, word) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Vigna's SplitMix64: any order suffices that a prefetcher cannot predict.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_goes_through_every_line_once() {
        let Some(node) = crate::Machine::this().unwrap().memory_nodes().first() else { panic!("no memory") };
        let count = 1000;
        let set = WorkingSet::on_node(node, count * 64).unwrap();
        let mut seen = vec![false; count];
        let mut at = 0;
        for _ in 0..count {
            assert!(!std::mem::replace(&mut seen[at], true), "line {at} twice");
            at = set.chase(at, 1);
        }
        assert_eq!(at, 0);
        assert_eq!(set.parts(3).map(<[_]>::len).sum::<usize>(), count);
        let numbers: u64 = (0..count as u64).sum();
        assert_eq!(set.parts(3).map(sum).fold(0, u64::wrapping_add), numbers + 7 * count as u64);
    }
}
