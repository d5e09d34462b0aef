//! Crash points: where a test ends this program as a kill -9 or a power failure would (feature `crash-points`).
//!
//! There is one before and after every step whose effect outlives the process. Without the feature they do nothing.

#[cfg(feature = "crash-points")]
#[path = "crash_on.rs"]
mod on;

/// A crash point: the program may end here. `label` is its name in the log of the test.
#[inline]
pub fn point(label: &'static str) {
    #[cfg(feature = "crash-points")]
    on::point(label);
    #[cfg(not(feature = "crash-points"))]
    let _ = label;
}

/// Runs a step whose points are not counted. Use it for a step that is repeated depending on time: the points after it
/// must have the same numbers in every run.
#[inline]
pub fn uncounted<T>(step: impl FnOnce() -> T) -> T {
    #[cfg(feature = "crash-points")]
    let _silent = on::Silent::begin();
    step()
}
