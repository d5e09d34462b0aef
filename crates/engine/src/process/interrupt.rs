//! The end of this program is wanted: every wait for a server or a program looks here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static FLAG: OnceLock<&'static AtomicBool> = OnceLock::new();

/// Whoever handles the signals of this process says once which flag they set. From then on its servers are ended as
/// soon as the flag is up, and whatever waits for one returns.
pub fn interrupted_by(flag: &'static AtomicBool) {
    let _ = FLAG.set(flag);
}

/// Whether the flag is up.
pub fn interrupted() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
