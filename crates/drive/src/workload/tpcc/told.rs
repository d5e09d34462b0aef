//! Telling how many new orders a minute there were, interval by interval.

use super::Kind;
use crate::workload::{Host, Progress};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tare_cpuset::ThreadRef;
use tare_load::{Interval, Intervals};

/// Takes note of an interval, and of the new orders a minute in it.
pub type Hear<'a> = dyn Fn(&Interval, f64) + Sync + 'a;

/// What each client has done since it began: only it writes its own, in cache lines of its own.
pub struct Counted(Vec<OfClient>);

#[derive(Default)]
#[repr(align(128))]
struct OfClient {
    new_orders: AtomicU64,
    all: AtomicU64,
}

impl Counted {
    pub(super) fn new(clients: usize) -> Self {
        Self((0..clients).map(|_| OfClient::default()).collect())
    }

    pub(super) fn done(&self, client: usize, kind: Kind) {
        let add = |counter: &AtomicU64, n| counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
        add(&self.0[client].all, 1);
        add(&self.0[client].new_orders, u64::from(kind == Kind::NewOrder));
    }

    /// New orders, and transactions of all kinds.
    fn sums(&self) -> (u64, u64) {
        let sum = |of: fn(&OfClient) -> &AtomicU64| self.0.iter().map(|c| of(c).load(Ordering::Relaxed)).sum();
        (sum(|client| &client.new_orders), sum(|client| &client.all))
    }
}

/// A host that hears of new orders too.
pub(super) struct OrderListener<'a> {
    host: &'a dyn Host,
    counted: &'a Counted,
    hear: &'a Hear<'a>,
    /// New orders and transactions that earlier intervals have told.
    before: Mutex<(u64, u64)>,
}

impl<'a> OrderListener<'a> {
    /// Alongside `host`, about what is counted there.
    pub fn new(host: &'a dyn Host, counted: &'a Counted, hear: &'a Hear<'a>) -> Self {
        Self { host, counted, hear, before: Mutex::default() }
    }

    fn replace(&self, now: (u64, u64)) -> (u64, u64) {
        std::mem::replace(&mut self.before.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

impl Host for OrderListener<'_> {
    fn progress(&self, step: Progress) {
        if matches!(step, Progress::Sample { .. }) {
            // What came before is in no interval of it.
            self.replace(self.counted.sums());
        }
        self.host.progress(step);
    }

    fn interrupted(&self) -> bool {
        self.host.interrupted()
    }

    fn log(&self, name: &str) -> Option<PathBuf> {
        self.host.log(name)
    }

    fn events(&self) -> Option<u64> {
        self.host.events()
    }

    fn intervals(&self) -> Option<Intervals> {
        self.host.intervals()
    }

    fn interval(&self, interval: &Interval) {
        let (new_orders, all) = self.counted.sums();
        let before = self.replace((new_orders, all));
        let share = (new_orders - before.0) as f64 / (all - before.1).max(1) as f64;
        (self.hear)(interval, 60.0 * interval.tps * share);
    }

    fn begin_captures(&self, connections: &[ThreadRef]) {
        self.host.begin_captures(connections);
    }

    fn end_captures(&self) {
        self.host.end_captures();
    }
}
