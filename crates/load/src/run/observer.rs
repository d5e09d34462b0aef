//! Who hears how a run goes, and can end it.

use crate::client::ClientThread;
use std::convert::Infallible;

/// The part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Before the first sample.
    Warmup,
    /// In sample number n, from 0.
    Sample(usize),
}

/// The throughput of the last second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Whether this belongs to a sample.
    pub stage: RunPhase,
    /// Whole seconds since the stage began: 1 for the first reading.
    pub second: u64,
    /// Transactions a second since the reading before.
    pub tps: f64,
}

/// What happened since the interval before, where [`super::LoadSettings::intervals`] asks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Whether this belongs to a sample.
    pub stage: RunPhase,
    /// Whole seconds since the stage began, at the end of the interval.
    pub second: u64,
    /// Client threads that the run has, idle ones too.
    pub threads: usize,
    /// Transactions a second that were completed, by all threads.
    pub tps: f64,
    /// Queries a second that gave back rows.
    pub reads_per_s: f64,
    /// Queries a second that changed rows.
    pub writes_per_s: f64,
    /// Other queries a second.
    pub others_per_s: f64,
    /// The percentile that was requested of the latencies, milliseconds, within 1.6%; none without transactions.
    pub latency_ms: Option<f64>,
    /// Attempts a second that the database asked to run again.
    pub restarts_per_s: f64,
    /// Connections a second that were lost and opened anew.
    pub reconnects_per_s: f64,
    /// What clients count for themselves ([`crate::Client::counted`]), a second.
    pub counted_per_s: f64,
}

/// Hears how a run goes, on the thread that called [`crate::run()`]. Every hook can end the run by an error, which
/// comes back as [`crate::RunError::Observer`]. By default they do nothing.
pub trait Observer {
    /// Why the run is to end.
    type Error;

    /// All clients are connected and wait, none has sent anything. Here server threads are found and both sides bound.
    ///
    /// # Errors
    /// Ends the run.
    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), Self::Error> {
        let _ = threads;
        Ok(())
    }

    /// Right before sample number `sample` begins, under load unless clients rest.
    ///
    /// # Errors
    /// Ends the run.
    fn sample_start(&mut self, sample: usize) -> Result<(), Self::Error> {
        let _ = sample;
        Ok(())
    }

    /// In how many parts of equal length a sample is measured, 1 or more: clients rest between them, where they rest
    /// around samples ([`super::Rest::AroundEach`]).
    fn parts(&self, sample: usize) -> usize {
        let _ = sample;
        1
    }

    /// Right before each part of a sample but the first, while clients rest: the time that it takes belongs to no
    /// sample.
    ///
    /// # Errors
    /// Ends the run.
    fn part_start(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Right after it has ended. The clients go on, unrecorded, until the next sample or the end of the run, unless
    /// they rest.
    ///
    /// # Errors
    /// Ends the run.
    fn sample_end(&mut self, sample: usize) -> Result<(), Self::Error> {
        let _ = sample;
        Ok(())
    }

    /// Once a second, in the warm-up too.
    ///
    /// # Errors
    /// Ends the run.
    fn reading(&mut self, reading: Reading) -> Result<(), Self::Error> {
        let _ = reading;
        Ok(())
    }

    /// As often as [`super::LoadSettings::intervals`] says, in the warm-up too.
    ///
    /// # Errors
    /// Ends the run.
    fn interval(&mut self, interval: Interval) -> Result<(), Self::Error> {
        let _ = interval;
        Ok(())
    }

    /// Client threads are to end and still wait for an answer a while after they were told: end what they wait for.
    /// It is called once, and then they are waited for however long that takes.
    fn abandon(&mut self) {}

    /// Whether a sample that is under way may end now, with what was measured until here; asked as often as
    /// [`Observer::poll`].
    fn is_enough(&mut self) -> bool {
        false
    }

    /// About ten times a second whatever happens: the place to look at a Ctrl-C flag or a time limit.
    ///
    /// # Errors
    /// Ends the run.
    fn poll(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// For runs to which no one listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    type Error = Infallible;
}
