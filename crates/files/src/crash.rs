//! Crash points: where a test ends this program as a kill -9 or a power cut would (feature `crash-points`).
//!
//! One stands before and after every step whose effect outlives the process. In a program that is not built for tests
//! they are nothing.

#[cfg(feature = "crash-points")]
#[path = "crash_on.rs"]
mod on;

/// A step that a crash may leave undone, or as the last one done. `label` is how a test counts it.
#[inline]
pub fn point(label: &'static str) {
    #[cfg(feature = "crash-points")]
    on::point(label);
    #[cfg(not(feature = "crash-points"))]
    let _ = label;
}

/// Runs a step whose points do not count: it is done again as often as the clock wants, and points behind it must have
/// the same number in every run.
#[inline]
pub fn uncounted<T>(step: impl FnOnce() -> T) -> T {
    #[cfg(feature = "crash-points")]
    let _silent = on::Silent::begin();
    step()
}
