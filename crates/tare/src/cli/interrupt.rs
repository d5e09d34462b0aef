//! Ctrl-C and SIGTERM as a flag that loops look at.

use super::{Exit, Problem};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The flag; the handlers are installed by the first call. A second Ctrl-C changes nothing: what is left to do by then
/// is putting things back, which takes seconds.
pub fn flag() -> Result<&'static AtomicBool, Problem> {
    if FLAG.get().is_none() {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .map_err(|e| Problem::new(Exit::Machine, format!("cannot handle signals: {e}")))?;
        }
        let _ = FLAG.set(flag);
    }
    FLAG.get().map(AsRef::as_ref).ok_or_else(|| Problem::new(Exit::Machine, "cannot handle signals"))
}
