//! Lock waits inside the server.

use super::place::{Captured, Place};
use tare_engine::{Diagnostics, LockWait, Unavailable, WaitKind};
use tare_results::captures::{self, LOCKS, LockShare, LocksFile};
use tare_results::schema::SCHEMA;

/// Locks listed in a record; a server has some hundreds of kinds, most of them without a wait.
const LISTED: usize = 100;

pub(super) struct Locks {
    source: String,
}

impl Locks {
    pub fn begin(diagnostics: &mut dyn Diagnostics) -> Result<Self, Unavailable> {
        Ok(Self { source: diagnostics.watch_locks()? })
    }

    pub fn end(self, diagnostics: &mut dyn Diagnostics, elapsed_s: f64, place: &Place, captured: &mut Captured) {
        match diagnostics.lock_waits() {
            Ok(waits) => {
                let file = LocksFile {
                    schema: SCHEMA,
                    source: self.source,
                    elapsed_s,
                    threads: place.threads,
                    waits: shares(waits, elapsed_s * place.threads as f64),
                };
                place.write_json(captured, LOCKS, "locks.json", &file);
            }
            Err(e) => drop(captured.missing.insert(LOCKS.to_owned(), e.to_string())),
        }
    }
}

/// The longest waits first. `thread_s`: time of all connections' threads together.
fn shares(waits: Vec<LockWait>, thread_s: f64) -> Vec<LockShare> {
    let mut shares: Vec<LockShare> = waits
        .into_iter()
        .map(|wait| LockShare {
            kind: kind(wait.kind),
            name: wait.name,
            count: wait.count,
            wait_ms: wait.wait_s * 1000.0,
            wait_fraction: if thread_s > 0.0 { wait.wait_s / thread_s } else { 0.0 },
        })
        .collect();
    shares.sort_by(|a, b| b.wait_ms.total_cmp(&a.wait_ms).then_with(|| a.name.cmp(&b.name)));
    shares.truncate(LISTED);
    shares
}

fn kind(kind: WaitKind) -> captures::WaitKind {
    match kind {
        WaitKind::Lock => captures::WaitKind::Lock,
        WaitKind::Row => captures::WaitKind::Row,
        WaitKind::Log => captures::WaitKind::Log,
        WaitKind::File => captures::WaitKind::File,
        WaitKind::Pause => captures::WaitKind::Pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_is_first_and_a_share_of_all_threads() {
        let wait = |name: &str, wait_s| LockWait { kind: WaitKind::Lock, name: name.into(), count: 7, wait_s };
        let found = shares(vec![wait("short", 0.1), wait("long", 2.0)], 8.0);
        assert_eq!(found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["long", "short"]);
        assert_eq!((found[0].wait_ms, found[0].wait_fraction, found[0].count), (2000.0, 0.25, 7));
        assert_eq!(shares(vec![wait("x", 1.0)], 0.0)[0].wait_fraction, 0.0);
    }
}
