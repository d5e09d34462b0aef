//! What the load of a trial tells it: progress, and when captures may begin.

use super::Trial;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use tare_cpuset::ThreadRef;
use tare_drive::capture::place::{Captured, Place};
use tare_drive::capture::sample::CaptureSample;
use tare_drive::workload::{Extra, Host, Progress};
use tare_engine::Server;
use tare_results::captures;
use tare_results::schema::{self, TrialRecord};

/// The trial as its load sees it.
pub struct TrialHost<'a> {
    trial: &'a Trial<'a>,
    server: Option<&'a dyn Server>,
    captures: Mutex<Option<CaptureSample>>,
}

impl<'a> TrialHost<'a> {
    /// The host of a load that drives `server`, where it drives one.
    pub fn new(trial: &'a Trial<'a>, server: Option<&'a dyn Server>) -> Self {
        Self { trial, server, captures: Mutex::new(None) }
    }

    /// The captures, still to be made readable.
    pub fn into_captures(self) -> Option<CaptureSample> {
        self.captures.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for TrialHost<'_> {
    fn progress(&self, step: Progress) {
        (self.trial.tell)(step);
    }

    fn interrupted(&self) -> bool {
        self.trial.interrupted.load(Ordering::Relaxed)
    }

    fn log(&self, name: &str) -> Option<PathBuf> {
        let (trial, attempt) = (self.trial.task.planned.trial, self.trial.attempt);
        Some(self.trial.directory.path().join("logs").join(format!("{name}-{trial:05}-{attempt}.log")))
    }

    fn begin_captures(&self, connections: &[ThreadRef]) {
        let Some(server) = self.server else { return };
        let (task, settings) = (&self.trial.task, &self.trial.task.condition.settings);
        let threads = settings.workload.threads;
        let (trial, attempt) = (task.planned.trial, self.trial.attempt);
        let place = Place::new(self.trial.directory.path(), trial, attempt, threads, task.sampling.sample_s);
        let begun = CaptureSample::begin(&settings.capture, place, server, connections);
        *self.captures.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    fn end_captures(&self) {
        if let Some(captures) = self.captures.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            captures.end();
        }
    }
}

/// Makes the captures readable and notes them. Call it when the server has stopped: it takes as long as recording did.
pub fn note_captures(captures: Option<CaptureSample>, extra: Option<Extra>, record: &mut TrialRecord) {
    let Captured { files, missing } = captures.map(CaptureSample::finish).unwrap_or_default();
    record.captures.extend(files);
    record.captures_missing.extend(missing);
    record.capture_sample = extra.map(|extra| schema::CaptureSample {
        elapsed_s: extra.elapsed_s,
        tps: extra.tps,
        tps_ratio: extra.tps_ratio,
    });
}

/// Notes that this load has no capture sample, where one was requested.
pub fn note_no_captures(trial: &Trial<'_>, reason: &str, record: &mut TrialRecord) {
    let asked = trial.task.condition.settings.capture;
    let all = [
        (asked.profile, captures::PROFILE),
        (asked.waits, captures::WAITS),
        (asked.wakes, captures::WAKES),
        (asked.locks, captures::LOCKS),
        (asked.status, captures::STATUS),
    ];
    for (_, name) in all.into_iter().filter(|(asked, _)| *asked) {
        record.captures_missing.insert(name.to_owned(), reason.to_owned());
    }
}
