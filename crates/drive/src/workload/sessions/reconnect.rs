//! How clients reconnect to a lost server, and what they observed of the outage.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tare_engine::{EngineError, Session};

/// Opens a connection, on any thread; may take any time.
type Open = Arc<dyn Fn() -> Result<Box<dyn Session>, EngineError> + Send + Sync>;

pub struct Reconnect {
    pub(in crate::workload) open: Open,
    seen: Mutex<Outages>,
}

#[derive(Default)]
pub(in crate::workload) struct Outages {
    pub lost: u64,
    pub back: u64,
    pub away: Vec<(Instant, Instant)>,
    pub still_away: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Outage {
    /// Transactions in progress when their connection was lost; each was run again.
    pub lost: u64,
    pub reconnected: u64,
    /// Seconds in which at least one client had no server; overlapping times count once.
    pub away_s: f64,
    pub still_away: usize,
}

impl Reconnect {
    pub fn new(open: impl Fn() -> Result<Box<dyn Session>, EngineError> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), seen: Mutex::default() }
    }

    /// Sum over the clients that have ended.
    pub fn outage(&self) -> Outage {
        let seen = self.seen();
        let mut away = seen.away.clone();
        away.sort();
        let (mut total, mut end) = (Duration::ZERO, None::<Instant>);
        for (from, to) in away {
            let from = end.map_or(from, |end| from.max(end));
            total += to.saturating_duration_since(from);
            end = Some(end.map_or(to, |end| end.max(to)));
        }
        Outage { lost: seen.lost, reconnected: seen.back, away_s: total.as_secs_f64(), still_away: seen.still_away }
    }

    pub(in crate::workload) fn seen(&self) -> MutexGuard<'_, Outages> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
