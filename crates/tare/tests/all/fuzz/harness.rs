//! Gives inputs to a reader, and judges it.

use crate::fuzz::mutation::{Chance, mutated};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Nothing that people wait for may take longer on one input.
const LONGEST: Duration = Duration::from_secs(10);
/// What all targets together may hold in memory, bytes: more is refused by the kernel, and aborts the test.
const MEMORY: u64 = 1 << 30;

/// Inputs of an ordinary target; the others take a multiple or a part.
pub fn inputs() -> usize {
    std::env::var("TARE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// Gives `read` the good inputs and then mutated ones.
pub fn fuzz(name: &str, corpus: &[Vec<u8>], inputs: usize, mut read: impl FnMut(&[u8])) {
    setrlimit(Resource::Data, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).unwrap();
    let mut chance = Chance::new();
    let (began, mut longest) = (Instant::now(), Duration::ZERO);
    for number in 0..inputs.max(corpus.len()) {
        let input = match corpus.get(number) {
            Some(good) => good.clone(),
            None => mutated(corpus, &mut chance),
        };
        let clock = Instant::now();
        let held = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let took = clock.elapsed();
        longest = longest.max(took);
        assert!(held.is_ok() && took < LONGEST, "{name}, input {number} after {took:?}: {}", input.escape_ascii());
    }
    let (all, peak) = (began.elapsed(), peak_bytes() >> 20);
    println!("{name}: {inputs} inputs in {all:.1?}, the longest {longest:.1?}; all targets so far {peak} MiB at most");
}

pub fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The most that this process has had in memory.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
