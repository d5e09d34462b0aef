//! Gives inputs to a parser and checks its behaviour.

use crate::fuzz::mutation::{Chance, mutated};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The longest acceptable CPU time for one input. On a busy machine it takes many times as long.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest acceptable time, for what waits.
const WAITED: Duration = Duration::from_secs(120);
/// Memory limit of all targets together, bytes: the kernel refuses more, and the test aborts.
const MEMORY: u64 = 1 << 30;

/// Inputs of an ordinary target; other targets use a multiple or a fraction.
pub fn inputs() -> usize {
    std::env::var("TARE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// Gives `read` the valid inputs and then mutated ones.
pub fn fuzz(name: &str, corpus: &[Vec<u8>], inputs: usize, mut read: impl FnMut(&[u8])) {
    setrlimit(Resource::Data, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).unwrap();
    let mut chance = Chance::new();
    let (began, mut longest) = (Instant::now(), Duration::ZERO);
    for number in 0..inputs.max(corpus.len()) {
        let input = match corpus.get(number) {
            Some(good) => good.clone(),
            None => mutated(corpus, &mut chance),
        };
        let (clock, used) = (Instant::now(), cpu_time());
        let held = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let (waited, took) = (clock.elapsed(), cpu_time().saturating_sub(used));
        longest = longest.max(took);
        let ended = held.is_ok() && took < LONGEST && waited < WAITED;
        assert!(ended, "{name}, input {number} after {took:?} in {waited:?}: {}", input.escape_ascii());
    }
    let (all, peak) = (began.elapsed(), peak_bytes() >> 20);
    println!("{name}: {inputs} inputs in {all:.1?}, the longest {longest:.1?}; all targets so far {peak} MiB at most");
}

pub fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The peak memory use of this process.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
