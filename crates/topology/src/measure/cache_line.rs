//! Measures the round trip of a cache line between two threads.

use super::error::MeasureError;
use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_cpuset::{ThreadRef, bind_thread};

/// Round trips per reading of the clock.
const BATCH: u64 = 200;
/// The value that ends the measurement; counters of passes stay far below.
const OVER: u64 = u64::MAX;

/// A counter in a cache line of its own, together with the adjacent line that a prefetcher would also fetch.
#[repr(align(128))]
struct Line(AtomicU64);

/// Nanoseconds for a line to move from one CPU to another and back: the minimum of all batches: disturbances only add
/// time.
pub(super) fn round_trip_ns(first: u32, second: u32, time: Duration) -> Result<f64, MeasureError> {
    let line = Line(AtomicU64::new(0));
    let ready = Barrier::new(2);
    thread::scope(|scope| {
        let answerer = thread::Builder::new().spawn_scoped(scope, || {
            let bound = bind_thread(ThreadRef::of_this_thread(), &second.into());
            ready.wait();
            if bound.is_ok() {
                answer(&line);
            }
            bound
        });
        let answerer = answerer.map_err(|e| MeasureError::Thread(e.to_string()))?;
        let caller = thread::Builder::new().spawn_scoped(scope, || {
            let bound = bind_thread(ThreadRef::of_this_thread(), &first.into());
            ready.wait();
            let best = if bound.is_ok() { call(&line, time) } else { f64::INFINITY };
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
fn call(line: &Line, time: Duration) -> f64 {
    let mut best = f64::INFINITY;
    let began = Instant::now();
    let mut pass = 0;
    while began.elapsed() < time || best.is_infinite() {
        let batch = Instant::now();
        let per_trip = |trips: u64| batch.elapsed().as_nanos() as f64 / trips as f64;
        for trip in 0..BATCH {
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
        best = best.min(per_trip(BATCH));
    }
    best
}

/// Replaces every odd number by the next even one.
fn answer(line: &Line) {
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
