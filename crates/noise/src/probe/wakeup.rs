//! Measures two threads that wake each other, like a client and its server.

use super::chain::middle;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};
use tare_cpuset::{AffinityError, CpuSet, ThreadRef, ThreadRefused, bind_thread};

/// Nanoseconds of a round trip over a socket between a thread on `first` and one on `second`, measured for about
/// `time`.
pub(super) fn round_trip_ns(
    first: Option<&CpuSet>,
    second: Option<&CpuSet>,
    time: Duration,
) -> Result<io::Result<f64>, AffinityError> {
    let (near, far) = match UnixStream::pair() {
        Ok(pair) => pair,
        Err(error) => return Ok(Err(error)),
    };
    thread::scope(|scope| {
        let answerer = Builder::new().spawn_scoped(scope, move || {
            let bound = bind_here(second);
            // `far` is dropped at the end of this closure, so that the caller sees that no one answers.
            if bound.is_ok() {
                answer(far);
            }
            bound
        });
        let answerer = match answerer {
            Ok(answerer) => answerer,
            Err(refused) => return Ok(Err(io::Error::other(ThreadRefused::from(refused)))),
        };
        // The caller owns the socket, so that the answerer ends when the caller does.
        let caller = move || bind_here(first).map(|()| call(near, time));
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
pub(super) fn bind_here(cpus: Option<&CpuSet>) -> Result<(), AffinityError> {
    cpus.map_or(Ok(()), |cpus| bind_thread(ThreadRef::of_this_thread(), cpus))
}

fn call(mut near: UnixStream, time: Duration) -> io::Result<f64> {
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

fn answer(mut far: UnixStream) {
    let mut byte = [0u8];
    while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
}
