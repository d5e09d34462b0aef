//! Telling how many new orders a minute there were, interval by interval.

use super::{Kind, Tally};
use crate::workload::sessions::Tallies;
use crate::workload::{Host, Progress};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tare_load::{Interval, Intervals};

/// Takes note of an interval, and of the new orders a minute in it.
pub type Hear<'a> = dyn Fn(&Interval, f64) + Sync + 'a;

/// A host that hears of new orders too.
pub(super) struct Told<'a> {
    host: &'a dyn Host,
    tallies: &'a Tallies<Tally>,
    hear: &'a Hear<'a>,
    /// New orders and transactions that earlier intervals have told.
    before: Mutex<(u64, u64)>,
}

impl<'a> Told<'a> {
    /// Beside `host`, about what is counted in these tallies.
    pub fn new(host: &'a dyn Host, tallies: &'a Tallies<Tally>, hear: &'a Hear<'a>) -> Self {
        Self { host, tallies, hear, before: Mutex::default() }
    }

    fn replace(&self, now: (u64, u64)) -> (u64, u64) {
        std::mem::replace(&mut self.before.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

impl Host for Told<'_> {
    fn progress(&self, step: Progress) {
        if matches!(step, Progress::Sample { .. }) {
            // The tallies begin anew with it.
            self.replace((0, 0));
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
        let new_orders = self.tallies.sum(|tally| tally.took(Kind::NewOrder).count());
        let all = self.tallies.sum(Tally::count);
        let before = self.replace((new_orders, all));
        let share = (new_orders - before.0.min(new_orders)) as f64 / (all - before.1.min(all)).max(1) as f64;
        (self.hear)(interval, 60.0 * interval.tps * share);
    }

    fn begin_captures(&self) {
        self.host.begin_captures();
    }

    fn end_captures(&self) {
        self.host.end_captures();
    }
}
