//! No backend loses an add. The same add without its restartable section does lose some, which shows that the test can
//! fail.
//!
//! `crates/counters/ci.sh exact` makes 10^9 adds per backend, which takes one second with rseq and up to ten with
//! atomics that two CPUs contend for; without `--release` it makes 10^8, to keep the suite short.

use crate::moved_threads::{COUNTERS, ROTATING, tally};
use std::process::Command;
use std::sync::Arc;
use tare_counters::{BACKEND_VARIABLE, Backend, CounterSet};

/// Environment variable for another number of adds, for an emulator, where these take too long.
const ADDS_VARIABLE: &str = "EXACT_ADDS";
const ADDS: u64 = if cfg!(debug_assertions) { 100_000_000 } else { 1_000_000_000 };
/// The mutant's test stops at the first loss. This is its maximum number of attempts, because a move must fall into a
/// window of a few instructions.
const MUTANT_ATTEMPTS: u64 = 400;

fn adds() -> u64 {
    std::env::var(ADDS_VARIABLE).map_or(ADDS, |adds| adds.parse().unwrap())
}

/// Maximum attempts until the threads of the first counter have moved: on a busy machine they may stay where they are.
const ATTEMPTS: usize = 5;

fn is_exact(backend: Backend) {
    let moved = (0..ATTEMPTS).any(|_| is_exact_and_moved(backend));
    assert!(moved, "no thread moved in {ATTEMPTS} attempts");
}

fn is_exact_and_moved(backend: Backend) -> bool {
    let set = CounterSet::with_backend(COUNTERS, backend).unwrap();
    let tally = tally(&set, adds(), CounterSet::increment);
    println!("{backend}: {tally:?}");
    assert_eq!(tally.counted, tally.expected, "{backend} lost or invented adds");
    assert_eq!(tally.counted_by_signal, tally.signals, "{backend} lost adds of the signal handler");
    assert!(tally.signals > 0, "no signal arrived: the test proved less than it says");
    let per_cpu = set.per_cpu(0);
    assert_eq!(per_cpu.cpus.iter().sum::<u64>() + per_cpu.unattributed, tally.expected / ROTATING as u64);
    backend == Backend::Striped || per_cpu.cpus.iter().filter(|&&part| part > 0).count() >= 2
}

/// The fastest rseq backend that works here.
fn rseq() -> Backend {
    let found = [Backend::RseqGlibc, Backend::RseqSelf].into_iter().find(|backend| backend.available().is_ok());
    found.unwrap_or_else(|| panic!("this test needs rseq: {:?}", Backend::RseqSelf.available()))
}

#[test]
fn rseq_loses_nothing() {
    is_exact(rseq());
}

#[test]
fn cpu_atomic_loses_nothing() {
    is_exact(Backend::CpuAtomic);
}

#[test]
fn striped_loses_nothing() {
    is_exact(Backend::Striped);
}

#[test]
fn without_the_restartable_section_adds_are_lost() {
    let set = CounterSet::with_backend(COUNTERS, rseq()).unwrap();
    let mut before = 0;
    for attempt in 1..=MUTANT_ATTEMPTS {
        let tally = tally(&set, adds().min(100_000_000), CounterSet::increment_without_section);
        let counted = tally.counted - before;
        if counted < tally.expected {
            println!("attempt {attempt}: {} of {} lost", tally.expected - counted, tally.expected);
            return;
        }
        before = tally.counted;
    }
    panic!("the mutant lost nothing in {MUTANT_ATTEMPTS} attempts: the tests of exactness prove nothing here");
}

/// Runs one of the ignored tests of this file in a process of its own, with glibc's rseq disabled (musl ignores the
/// setting).
fn in_child(test: &str, environment: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("exact::{test}"), "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .env_remove(BACKEND_VARIABLE)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    print!("{text}");
}

#[test]
fn with_glibcs_rseq_off_this_crates_own_area_loses_nothing() {
    in_child("child_own_area", &[]);
}

#[test]
#[ignore = "run by with_glibcs_rseq_off_this_crates_own_area_loses_nothing"]
fn child_own_area() {
    assert!(Backend::RseqGlibc.available().is_err());
    assert_eq!(Backend::current().unwrap(), Backend::RseqSelf);
    is_exact(Backend::RseqSelf);
    threads_that_come_and_go();
}

thread_local!(static LAST: std::cell::OnceCell<LastWords> = const { std::cell::OnceCell::new() });

/// Adds in a thread-local destructor.
struct LastWords(Arc<CounterSet>);

impl Drop for LastWords {
    fn drop(&mut self) {
        self.0.increment(1);
    }
}

/// A thread unregisters its area before the memory is freed; otherwise the kernel would write to freed memory.
/// Destructors run in the reverse order of first use, so one created before the first add runs after the area was
/// unregistered. Its add must count, and must not go to the row of a CPU.
fn threads_that_come_and_go() {
    let set = Arc::new(CounterSet::new(2).unwrap());
    for _ in 0..200 {
        let thread = || {
            LAST.with(|last| last.set(LastWords(Arc::clone(&set))).is_ok().then_some(()).unwrap());
            set.increment(0);
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(thread))));
    }
    assert_eq!(set.sum(0), 1600);
    assert_eq!(set.per_cpu(0).unattributed, 0, "some thread could not register");
    // A scope waits for its closures, not for the thread-local destructors of their threads.
    while Arc::strong_count(&set) > 1 {
        std::thread::yield_now();
    }
    assert_eq!((set.sum(1), set.per_cpu(1).unattributed), (1600, 1600), "an area was still registered");
}

#[test]
fn the_environment_overrides_the_probe() {
    for (name, test) in
        [("striped", "child_says_striped"), ("cpu-atomic", "child_says_cpu_atomic"), ("no-such", "child_says_unknown")]
    {
        in_child(test, &[(BACKEND_VARIABLE, name)]);
    }
}

#[test]
#[ignore = "run by the_environment_overrides_the_probe"]
fn child_says_striped() {
    assert_eq!(CounterSet::new(1).unwrap().backend(), Backend::Striped);
}

#[test]
#[ignore = "run by the_environment_overrides_the_probe"]
fn child_says_cpu_atomic() {
    assert_eq!(CounterSet::new(1).unwrap().backend(), Backend::CpuAtomic);
}

#[test]
#[ignore = "run by the_environment_overrides_the_probe"]
fn child_says_unknown() {
    let message = CounterSet::new(1).unwrap_err().to_string();
    assert!(message.contains("no-such") && message.contains("rseq-glibc"), "{message}");
    let counter = tare_counters::Counter::new();
    counter.add(5);
    assert_eq!((counter.sum(), counter.backend()), (5, None), "a counter counts even so");
}
