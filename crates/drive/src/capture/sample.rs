//! The capture sample: one additional sample after the measured ones, for recordings that would disturb a measurement.
//!
//! A capture that fails never fails its trial: the record states why it is missing, and the other captures continue.

use super::place::{Captured, Place};
use super::{
    events::Events,
    lines::Lines,
    profile::Profile,
    server::{Locks, Status},
    waits::{self, Waits},
    wakes::Wakes,
};
use crate::capture::settings::CaptureSettings;
use crate::sut::SideThreads;
use std::time::Instant;
use tare_engine::{Diagnostics, Server, Unavailable};
use tare_results::cache_lines::LINES;
use tare_results::captures;
use tare_results::events::{EVENTS, NO_COUNTERS};
use tare_results::waits::WaitsFile;

/// The captures of one trial, from the start of its capture sample until the server has stopped.
pub struct CaptureSample {
    place: Place,
    began: Instant,
    diagnostics: Option<Box<dyn Diagnostics>>,
    profile: Option<Profile>,
    waits: Option<Waits>,
    wakes: Option<Wakes>,
    events: Option<Events>,
    lines: Option<Lines>,
    time: Option<WaitsFile>,
    locks: Option<Locks>,
    status: Option<Status>,
    captured: Captured,
}

impl CaptureSample {
    pub fn begin(settings: &CaptureSettings, place: Place, server: &dyn Server, threads: &SideThreads) -> Self {
        let mut sample = Self {
            place,
            began: Instant::now(),
            diagnostics: None,
            profile: None,
            waits: None,
            wakes: None,
            events: None,
            lines: None,
            time: None,
            locks: None,
            status: None,
            captured: Captured::default(),
        };
        if settings.profile {
            let started = Profile::begin(&sample.place, settings.call_graph, server.pid(), &threads.connections);
            sample.profile = sample.note(captures::PROFILE, started);
        }
        if settings.wakes {
            let started = Wakes::begin(&sample.place, settings.call_graph, server.pid(), &threads.connections);
            sample.wakes = sample.note(captures::WAKES, started);
        }
        if settings.lines {
            let started = Lines::begin(&sample.place, server.pid(), threads);
            sample.lines = sample.note(LINES, started);
        }
        if settings.waits {
            // For a server that tare did not start, only the processes that serve the clients are known.
            let known = threads.connections.first().map_or(0, |thread| thread.pid.unsigned_abs());
            let pid = if server.is_ours() { server.pid() } else { known };
            let stacks = sample.wakes.as_ref().is_none_or(|wakes| wakes.callers.is_err());
            let started = Waits::begin(pid, &threads.connections, stacks);
            sample.waits = sample.note(captures::WAITS, started);
        }
        if settings.events {
            let started = Events::begin(&sample.place, &threads.clients, &threads.connections);
            sample.events = sample.note(EVENTS, started);
        }
        // Started last, because it takes least time: its figures should cover only this sample.
        if settings.locks || settings.status {
            sample.ask_server(settings, server);
        }
        sample.began = Instant::now();
        sample
    }

    /// Starts the captures that the server itself reports. The status counters begin last and end first, so that they
    /// do not count the statements of the lock capture.
    fn ask_server(&mut self, settings: &CaptureSettings, server: &dyn Server) {
        let mut diagnostics = match server.diagnostics() {
            Ok(diagnostics) => diagnostics,
            Err(e) => {
                let requested = [(settings.locks, captures::LOCKS), (settings.status, captures::STATUS)];
                let missing = requested.into_iter().filter(|(requested, _)| *requested);
                self.captured.missing.extend(missing.map(|(_, name)| (name.to_owned(), e.to_string())));
                return;
            }
        };
        if settings.locks {
            let begun = Locks::begin(diagnostics.as_mut());
            self.locks = self.note(captures::LOCKS, begun);
        }
        if settings.status {
            self.status = Some(Status::begin(diagnostics.as_mut()));
        }
        self.diagnostics = Some(diagnostics);
    }

    fn note<T>(&mut self, name: &str, begun: Result<T, Unavailable>) -> Option<T> {
        begun.map_err(|e| self.captured.missing.insert(name.to_owned(), e.to_string())).ok()
    }

    /// Ends all captures, in the reverse order of their start.
    pub fn end(&mut self) {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        if let Some(diagnostics) = self.diagnostics.as_deref_mut() {
            if let Some(status) = self.status.take() {
                status.end(diagnostics, elapsed_s, &self.place, &mut self.captured);
            }
            if let Some(locks) = self.locks.take() {
                locks.end(diagnostics, elapsed_s, &self.place, &mut self.captured);
            }
        }
        self.diagnostics = None;
        let ended = self.events.take().map(|events| events.end(&self.place.patience));
        if let Some((counted, missing)) = ended.and_then(|ended| self.note(EVENTS, ended)) {
            self.captured.events = Some(counted);
            self.captured.missing.extend(missing.map(|why| (NO_COUNTERS.to_owned(), why)));
        }
        let seen = self.waits.take().map(Waits::end).and_then(|ended| self.note(captures::WAITS, ended));
        let ended = self.lines.take().map(|mut lines| lines.end().map(|()| lines));
        self.lines = ended.and_then(|ended| self.note(LINES, ended));
        let ended = self.wakes.take().map(|mut wakes| wakes.end().map(|()| wakes));
        self.wakes = ended.and_then(|ended| self.note(captures::WAKES, ended));
        let ended = self.profile.take().map(|mut profile| profile.end().map(|()| profile));
        self.profile = ended.and_then(|ended| self.note(captures::PROFILE, ended));
        // Names are resolved last: until perf has ended, it would record that work too.
        self.time = seen.map(|seen| seen.named());
    }

    /// Processes the recordings. Called after the server has stopped, because it takes as long as the recording did.
    pub fn finish(mut self) -> Captured {
        let mut ran = None;
        if let Some(profile) = self.profile.take() {
            ran = self.time.as_ref().and_then(|_| profile.of_connections());
            profile.finish(&mut self.captured);
        }
        let wakes = self.wakes.take().and_then(|wakes| wakes.finish(&self.place, &mut self.captured));
        if let Some(lines) = self.lines.take() {
            lines.finish(&mut self.captured);
        }
        if let Some(file) = self.time.take() {
            self.place.write_json(&mut self.captured, captures::WAITS, "waits.json", &file);
            waits::write_wall(&file, wakes.as_ref(), ran, &self.place, &mut self.captured);
        }
        self.place.remove_empty();
        self.captured
    }
}
