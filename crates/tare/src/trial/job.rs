//! The input of a trial, and what its load reports to it: progress, and when captures may begin.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tare_drive::capture::place::{Captured, Place};
use tare_drive::capture::sample::CaptureSample;
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::sut::SideThreads;
use tare_drive::workload::{Extra, Host, Progress};
use tare_engine::Server;
use tare_files::{FilesError, Folder, LogFile};
use tare_results::cache_lines::LINES;
use tare_results::captures;
use tare_results::events::EVENTS;
use tare_results::schema::{self, Plan, TrialRecord};
use tare_results::store::{LOGS, Writer};
use tare_study::plan::task::Task;

#[derive(Clone)]
pub(crate) struct Trial<'a> {
    pub directory: &'a Folder,
    pub plan: &'a Plan,
    pub task: Task,
    /// The first attempt is 1.
    pub attempt: u32,
    /// The writer in whose file the record goes; `None`: the local run.
    pub writer: Option<Writer>,
    /// Password for a running server, from the environment or a prompt.
    pub password: Option<String>,
    /// Set when the trial must stop.
    pub interrupted: &'a AtomicBool,
    /// Called at the start of every step.
    pub report: &'a (dyn Fn(Progress) + Sync),
}

impl Trial<'_> {
    pub(super) fn log(&self, name: &str) -> tare_files::Result<LogFile> {
        self.directory.make_sub(LOGS)?.log(name)
    }
}

/// Captures that were started, or why there is no place for them.
pub(crate) type Begun = Result<CaptureSample, FilesError>;

pub(crate) struct TrialHost<'a> {
    trial: &'a Trial<'a>,
    server: Option<&'a dyn Server>,
    captures: Mutex<Option<Begun>>,
}

impl<'a> TrialHost<'a> {
    /// The host of a load that drives `server`, if it drives one.
    pub(crate) fn new(trial: &'a Trial<'a>, server: Option<&'a dyn Server>) -> Self {
        Self { trial, server, captures: Mutex::new(None) }
    }

    pub(crate) fn into_captures(self) -> Option<Begun> {
        self.captures.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for TrialHost<'_> {
    fn progress(&self, step: Progress) {
        (self.trial.report)(step);
    }

    fn interrupted(&self) -> bool {
        self.trial.interrupted.load(Ordering::Relaxed)
    }

    fn log(&self, name: &str) -> tare_files::Result<Option<LogFile>> {
        let (trial, attempt) = (self.trial.task.planned.trial, self.trial.attempt);
        self.trial.log(&format!("{name}-{trial:05}-{attempt}.log")).map(Some)
    }

    fn begin_captures(&self, seen: &SideThreads) {
        let Some(server) = self.server else { return };
        let (task, settings) = (&self.trial.task, &self.trial.task.condition.settings);
        let threads = settings.workload.threads;
        let (trial, attempt) = (task.planned.trial, self.trial.attempt);
        let place = Place::make(self.trial.directory, trial, attempt, threads, task.sampling.sample_s);
        let requested = if server.is_ours() { settings.capture } else { settings.capture.only_reading() };
        let begun = place.map(|place| CaptureSample::begin(&requested, place, server, seen));
        *self.captures.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    fn end_captures(&self) {
        if let Some(Ok(captures)) = self.captures.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            captures.end();
        }
    }
}

/// Converts captures to readable files. Call it after the server has stopped: it takes as long as recording did.
pub(crate) fn note_captures(captures: Option<Begun>, extra: Option<Extra>, record: &mut TrialRecord) {
    let Captured { files, missing, events, lines } = match captures {
        Some(Ok(begun)) => begun.finish(),
        Some(Err(e)) => Captured { missing: [("captures".to_owned(), e.to_string())].into(), ..Captured::default() },
        None => Captured::default(),
    };
    record.captures.extend(files);
    record.captures_missing.extend(missing);
    record.capture_sample = extra.map(|extra| schema::CaptureSample {
        elapsed_s: extra.elapsed_s,
        tps: extra.tps,
        tps_ratio: extra.tps_ratio,
        statement_us: extra.statement_us,
        events,
        lines,
    });
}

/// Records why these captures are missing.
pub(crate) fn note_no_captures(requested: CaptureSettings, reason: &str, record: &mut TrialRecord) {
    let all = [
        (requested.profile, captures::PROFILE),
        (requested.waits, captures::WAITS),
        (requested.wakes, captures::WAKES),
        (requested.locks, captures::LOCKS),
        (requested.events, EVENTS),
        (requested.lines, LINES),
        (requested.status, captures::STATUS),
    ];
    for (_, name) in all.into_iter().filter(|(requested, _)| *requested) {
        record.captures_missing.insert(name.to_owned(), reason.to_owned());
    }
}
