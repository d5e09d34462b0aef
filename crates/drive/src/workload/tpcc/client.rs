//! One connection that runs the five transactions.

use super::input::{Deck, Input, Terminal};
use super::prepared::{Failed, Prepared};
use super::transactions::{Ended, run};
use super::{Constants, Kind, SessionError, Sizes, TpccError};
use crate::workload::LoadError;
use crate::workload::sessions::{Clock, Merge, Tallies};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_engine::{Dialect, Session};
use tare_load::{Attempt, Client, Latencies, Random};

/// A terminal of one warehouse with a connection of its own.
pub struct TpccClient {
    on: Prepared,
    dialect: &'static dyn Dialect,
    terminal: Terminal,
    deck: Deck,
    keying: bool,
    chosen: Option<Kind>,
    last: Option<Kind>,
    /// The transaction that is being retried, and the time of its first attempt.
    again: Option<(Kind, Input, Instant)>,
    tally: Tally,
    tallies: Arc<Tallies<Tally>>,
    new_orders: u64,
}

impl TpccClient {
    /// Prepares all statements on the session, for the client thread of this number.
    pub fn new(
        session: Box<dyn Session>,
        dialect: &'static dyn Dialect,
        thread: usize,
        sizes: Sizes,
        constants: Constants,
        tallies: Arc<Tallies<Tally>>,
    ) -> Result<Self, TpccError> {
        let on = Prepared::new(session, dialect).map_err(|(sql, source)| SessionError::statement(&sql, source))?;
        let terminal = Terminal::of_thread(thread, sizes, constants);
        let (deck, keying) = (Deck::default(), false);
        let (tally, new_orders) = (tallies.empty(), 0);
        Ok(Self {
            on,
            dialect,
            terminal,
            deck,
            keying,
            chosen: None,
            last: None,
            again: None,
            tally,
            tallies,
            new_orders,
        })
    }

    /// Whether the client waits between transactions for keying and thinking times.
    #[must_use]
    pub(crate) fn with_keying(self, keying: bool) -> Self {
        Self { keying, ..self }
    }

    fn error(&self, kind: Kind, failed: Failed) -> LoadError {
        LoadError::own(match failed {
            Failed::Border(sql, source) => SessionError::statement(sql, source).into(),
            Failed::Statement(of, source) => SessionError::statement(&of.sql(self.dialect, 1), source).into(),
            Failed::Answer(statement, expected, found) => {
                TpccError::Answer { kind: kind.to_string(), statement, expected, found }
            }
        })
    }
}

impl Client for TpccClient {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, LoadError> {
        let (kind, input, since) = self.again.take().unwrap_or_else(|| {
            let kind = self.chosen.take().unwrap_or_else(|| self.deck.draw(random));
            (kind, self.terminal.asks(kind, random), Instant::now())
        });
        match run(&self.terminal, kind, &input, &mut self.on) {
            Ok(ended) => {
                self.tally.done(kind, since.elapsed(), ended);
                self.new_orders += u64::from(kind == Kind::NewOrder);
                self.last = Some(kind);
                Ok(Attempt::Done(self.on.sent))
            }
            Err(failed) if failed.can_be_retried() => {
                let sent = self.on.sent;
                self.on.roll_back().map_err(|failed| self.error(kind, failed))?;
                self.tally.retried(kind);
                self.again = Some((kind, input, since));
                Ok(Attempt::Restart(sent))
            }
            Err(failed) => Err(self.error(kind, failed)),
        }
    }

    fn pause(&mut self, random: &mut Random) -> Duration {
        if !self.keying {
            return Duration::ZERO;
        }
        let thinking = self.last.map_or(Duration::ZERO, |last| last.thinking(random));
        let next = self.deck.draw(random);
        self.chosen = Some(next);
        thinking + next.keying()
    }

    fn counted(&self) -> u64 {
        self.new_orders
    }

    fn sample_begins(&mut self) {
        self.tally.clear();
        self.tally.clock.start();
    }

    fn sample_ended(&mut self, sample: usize) {
        self.tally.clock.stop();
        self.tallies.hand_over(sample, &mut self.tally);
    }
}

#[derive(Debug, Clone, Default)]
pub struct Tally {
    took: [Latencies; 5],
    /// New orders that ended with an unknown item: rolled back as the standard requires.
    pub(super) rolled_back: u64,
    /// By kind: attempts that the database asked to run again.
    pub(super) retries: [u64; 5],
    pub(super) clock: Clock,
}

impl Tally {
    pub(super) fn done(&mut self, kind: Kind, took: Duration, ended: Ended) {
        self.took[kind as usize].record(took.as_nanos() as u64);
        self.rolled_back += u64::from(ended == Ended::RolledBack);
    }

    pub(super) fn retried(&mut self, kind: Kind) {
        self.retries[kind as usize] += 1;
    }

    /// Latencies of transactions of a kind, including restarts.
    pub fn took(&self, kind: Kind) -> &Latencies {
        &self.took[kind as usize]
    }

    pub fn count(&self) -> u64 {
        self.took.iter().map(Latencies::count).sum()
    }

    /// New orders per minute at this number of transactions of all kinds per second.
    pub(crate) fn new_orders_a_minute(&self, tps: f64) -> f64 {
        60.0 * tps * self.took(Kind::NewOrder).count() as f64 / self.count().max(1) as f64
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        self.took.iter_mut().zip(&other.took).for_each(|(sum, other)| sum.merge(other));
        self.rolled_back += other.rolled_back;
        self.retries.iter_mut().zip(&other.retries).for_each(|(sum, other)| *sum += other);
        self.clock.merge(&other.clock);
    }

    fn clear(&mut self) {
        self.took.iter_mut().for_each(Latencies::clear);
        (self.rolled_back, self.retries) = (0, [0; 5]);
        self.clock.clear();
    }
}
