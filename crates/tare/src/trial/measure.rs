//! One trial, in a process of its own: apply settings, start, bind, load, verify, stop, restore, append one record.

use super::error::{Began, server_error};
use super::job::{Begun, TrialHost, note_captures, note_no_captures};
use super::load::TrialLoad;
use super::server_start::{self, TrialData};
use super::settings::{apply_machine, how_settled, verify_charset, verify_option, verify_process};
use super::two_hosts::{Clients, Job};
use super::{Trial, TrialError, running, samples};
use crate::state::{self, StateError};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tare_drive::capture;
use tare_drive::capture::interference::OthersSeen;
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::sut::{SharedAffinities, SutWatch, SystemUnderTest};
use tare_drive::workload::{Driven, Load, LoadError, Measured, Progress};
use tare_engine::{Server, program_sha1};
use tare_files::check_room;
use tare_noise::host_name;
use tare_results::covariate::CLIENT_HOST;
use tare_results::metric::Named;
use tare_results::schema::{AppliedSetting, Outcome, PoolRecord, RanOn, SampleRecord, TrialRecord, Turns};
use tare_results::{disturbed, store};
use tare_study::plan::estimate::counts;
use tare_study::plan::limits;
use tare_study::plan::task::{Task, same_machine};
use tare_topology::{Fingerprint, Machine};

/// How long a server may take to shut down before it is killed.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a pause checks whether it must end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Least size of the logs of a trial, bytes: one of the trial, one of its server, one of a client.
const LOGS_BYTES: u64 = 32 << 10;

impl Trial<'_> {
    /// Makes sure that the data of this condition is in the cache, and that there is a working copy.
    pub(crate) fn prepare(&self) -> Result<(), TrialError> {
        let settings = &self.task.condition.settings;
        if !settings.workload.load.load().needs_server() {
            return Ok(());
        }
        if settings.engine.running.is_requested() {
            return running::check_data(self);
        }
        // Making the first copy is not part of a trial. If it fails, the first trial reports the error and stops.
        drop(TrialData::take(server_start::prepared_data(self)?));
        Ok(())
    }

    /// Measures and appends the record, also of a failure; one record for each trial of `rest` if they share its
    /// server. Returns false when interrupted: then the current trial has no record.
    pub(crate) fn run(&self, rest: &[Task]) -> Result<bool, TrialError> {
        if let Some(number) = self.task.planned.lifetime {
            return self.run_lifetime(number, rest);
        }
        let began = Began::now();
        let mut record = self.new_record();
        let mut disturbed = Vec::new();
        let ended = self.measure(&mut record, &mut disturbed);
        self.end_record(record, ended, &disturbed, &began)
    }

    pub(super) fn new_record(&self) -> TrialRecord {
        let levels = self.task.condition.levels.clone();
        TrialRecord::new(&self.task.planned, self.attempt, levels, tare_results::now())
    }

    /// Appends the record with its outcome. Returns false if there must be no record.
    pub(super) fn end_record(
        &self,
        mut record: TrialRecord,
        ended: Result<(), TrialError>,
        disturbed: &[String],
        began: &Began,
    ) -> Result<bool, TrialError> {
        // A rung of a ladder is not repeated: the repeat would run on a server of its own, which is another condition.
        let is_rung = record.lifetime.is_some();
        let attempts = if is_rung { record.attempt } else { self.task.sampling.attempts };
        match ended {
            Ok(()) => samples::mark_disturbed(&mut record, disturbed, attempts),
            Err(e) if e.is_interrupted() => return Ok(false),
            Err(e) if e.is_orphaned() => return Err(e),
            // The run stops, and can be resumed as if this attempt had not been made.
            Err(e) if e.stops_run() => return Err(e),
            // Errors while everything is being stopped say nothing about the condition.
            Err(_) if self.interrupted.load(Ordering::Relaxed) => return Ok(false),
            Err(e) => {
                record.outcome = Outcome::Failed;
                record.reason = Some(began.reason(&e));
            }
        }
        record.elapsed_s = began.clock.elapsed().as_secs_f64();
        match &self.writer {
            Some(writer) => store::append_trial_of(self.directory, writer, &record)?,
            None => store::append_trial(self.directory, &record)?,
        }
        Ok(true)
    }

    /// Checks that the machine is that of the plan, then pauses as the study requests before each trial.
    pub(super) fn same_machine(&self, record: &mut TrialRecord) -> Result<(), TrialError> {
        (self.report)(Progress::Starting);
        let machine = Fingerprint::of(&Machine::this()?);
        same_machine(self.plan, &machine)?;
        record.ran_on = Some(RanOn { host: host_name(), boot_id: machine.boot_id });
        self.check_room()?;
        self.pause(record)
    }

    /// Waits for `pause_s`, unless interrupted.
    pub(super) fn pause(&self, record: &mut TrialRecord) -> Result<(), TrialError> {
        let pause_s = self.task.sampling.pause_s;
        if pause_s <= 0.0 {
            return Ok(());
        }
        let clock = Instant::now();
        while let Some(left_s) = Some(pause_s - clock.elapsed().as_secs_f64()).filter(|left| *left > 0.0) {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(LoadError::Interrupted.into());
            }
            std::thread::sleep(Duration::from_secs_f64(left_s).min(LOOK_EVERY));
        }
        let verified = format!("rested {:.1} s", clock.elapsed().as_secs_f64());
        record.settings.push(AppliedSetting::new("sampling.pause_s", pause_s, verified));
        Ok(())
    }

    fn measure(&self, record: &mut TrialRecord, disturbed: &mut Vec<String>) -> Result<(), TrialError> {
        self.same_machine(record)?;
        let settings = &self.task.condition.settings;
        let load = settings.workload.load.load();
        let data = match settings.starts_a_server() {
            true => Some(TrialData::take(server_start::prepared_data(self)?)?),
            false => None,
        };
        record.data = data.as_ref().and_then(TrialData::record);
        // Restored on drop, so on every return from here.
        let mut machine = apply_machine(settings, &server_start::memory_confines(self)?)?;
        record.settings.append(&mut machine.applied);
        if let Some(reason) = load.no_captures() {
            note_no_captures(settings.capture, reason, record);
        }
        let parts = load.parts();
        let driven = match data {
            Some(data) if parts.is_empty() => self.measure_server(&data, load, record)?,
            Some(data) => self.measure_parts(&parts, data, record)?,
            None if load.needs_server() => self.measure_running(load, record)?,
            None => self.drive(load, None, None)?.0,
        };
        self.take_in(driven, record, disturbed)?;
        machine.restore().map_err(StateError::from)?;
        Ok(())
    }

    pub(super) fn take_in(
        &self,
        driven: Driven,
        record: &mut TrialRecord,
        reasons: &mut Vec<String>,
    ) -> Result<(), TrialError> {
        record.settings.extend(driven.applied);
        (record.warm_up, record.plans) = (driven.warm_up, driven.plans);
        record.searches = driven.searches;
        if let Some(settled) = &driven.settled {
            record.settings.push(how_settled(&self.task.condition.settings.workload.settle, settled));
        }
        record.settled = driven.settled;
        record.pool = driven.pool.map(|(before, after)| PoolRecord {
            data_pages: before.data_pages,
            held_pages_before: before.held_pages,
            held_pages_after: after.held_pages,
            resident_fraction: before.fraction().min(after.fraction()),
        });
        let mut samples = driven.samples.into_iter();
        for (number, mut sample) in samples.by_ref().take(self.task.sampling.drop_samples).enumerate() {
            samples::note_client(std::mem::take(&mut sample.programs), record)?;
            record.dropped.push(self.sample(number, sample).0);
        }
        let threads = self.task.condition.settings.workload.threads;
        for (number, mut sample) in samples.enumerate() {
            samples::note_client(std::mem::take(&mut sample.programs), record)?;
            let done = sample.operations.map(|(_, count)| count);
            let (sample, reason, programs) = self.sample(number, sample);
            samples::check_figures(&sample, done, threads)?;
            record.samples.push(sample);
            reasons.extend(reason);
            disturbed::note(&mut record.disturbed_by, programs.into_iter());
        }
        Ok(())
    }

    /// Checks the room for files in the results directory; the copy of the data is checked where it is made.
    fn check_room(&self) -> Result<(), TrialError> {
        let task = &self.task;
        let sampling = &task.sampling;
        let samples = sampling.samples + sampling.drop_samples;
        let record = limits::record_bytes(&task.condition.settings, samples, sampling.sample_s);
        Ok(check_room(self.directory.path(), "the record of a trial with its logs", record + LOGS_BYTES)?)
    }

    pub(super) fn measure_server(
        &self,
        data: &TrialData,
        load: &dyn Load,
        record: &mut TrialRecord,
    ) -> Result<Driven, TrialError> {
        let mut clients = Clients::reach(self, record)?;
        let mut started = server_start::start(self, data, clients.as_ref(), record)?;
        let server = &mut started.server;
        self.verify_server(server.as_ref(), record)?;
        let driven = match &mut clients {
            Some(clients) => self.drive_from_there(server.as_ref(), clients),
            None => self.drive(load, Some(server.as_ref()), None),
        };
        (self.report)(Progress::Stopping);
        let (mut driven, captures) = match driven {
            Ok(driven) => driven,
            Err(error) => return Err(server_error(error, server.as_mut())),
        };
        record.settings.extend(clients.map(Clients::close).unwrap_or_default());
        self.note_server(server.as_ref(), record)?;
        server.stop(STOP_TIMEOUT)?;
        record.outlived = server.outlived().to_vec();
        note_captures(captures, driven.extra.take(), record);
        Ok(driven)
    }

    /// Measures on a running server. Its affinities are restored on every return.
    fn measure_running(&self, load: &dyn Load, record: &mut TrialRecord) -> Result<Driven, TrialError> {
        let server = running::begin(self, record)?;
        let requested = self.task.condition.settings.capture;
        let others = CaptureSettings { waits: false, locks: false, status: false, ..requested };
        note_no_captures(others, "for a running server, only waits, locks and status can be captured", record);
        let affinities = running::affinities(&self.task.placement)?;
        let driven = self.drive(load, Some(&server), affinities.clone());
        running::put_back(affinities.as_ref())?;
        let (mut driven, captures) = driven.map_err(|error| running::load_error(self, error))?;
        note_captures(captures, driven.extra.take(), record);
        Ok(driven)
    }

    pub(super) fn drive(
        &self,
        load: &dyn Load,
        server: Option<&dyn Server>,
        affinities: Option<SharedAffinities>,
    ) -> Result<(Driven, Option<Begun>), LoadError> {
        let host = TrialHost::new(self, server);
        let driven = self.load().drive(load, server, affinities, &host)?;
        Ok((driven, host.into_captures()))
    }

    /// Runs clients on another host, with a watch on each host.
    fn drive_from_there(
        &self,
        server: &dyn Server,
        clients: &mut Clients,
    ) -> Result<(Driven, Option<Begun>), LoadError> {
        let settings = &self.task.condition.settings;
        let host = TrialHost::new(self, Some(server));
        let mut watch = self.load().watch_settings();
        let cpus = std::mem::take(&mut watch.placement.client);
        // Threads named by the other host are bound only if they are the server's, and with a journal to restore them.
        let affinities = running::affinities(&self.task.placement).map_err(LoadError::own)?;
        let driven = clients.drive(Job {
            server,
            settings,
            cpus: &cpus,
            counts: counts(settings, &self.task.sampling),
            seed: self.load().seed(),
            watch: SutWatch::new(SystemUnderTest::started(server), watch)
                .without_clients(settings.workload.threads)
                .journalled(affinities.clone()),
            host: &host,
        });
        let put_back = running::put_back(affinities.as_ref());
        let driven = driven?;
        put_back.map_err(LoadError::own)?;
        Ok((driven, host.into_captures()))
    }

    fn load(&self) -> TrialLoad<'_> {
        let Task { condition, placement, sampling, planned, .. } = &self.task;
        TrialLoad {
            settings: &condition.settings,
            sampling,
            placement,
            trial: planned.trial,
            turns: self.plan.turns.map(|_| Turns::in_sample(sampling.sample_s)),
        }
    }

    /// The record of a sample; if it is disturbed, also the reason and the responsible programs with their CPU time.
    fn sample(&self, number: usize, measured: Measured) -> (SampleRecord, Option<String>, Vec<(String, f64)>) {
        let costs = measured.server_cost();
        let around = measured.surroundings;
        let seen = OthersSeen { covariates: around.covariates, users: around.users };
        let reason = samples::judge_disturbance(&self.task.sampling, number, &seen);
        let of_clients = around.client_host.unwrap_or_default();
        let there = samples::judge_disturbance(&self.task.sampling, number, &of_clients);
        let programs =
            [&seen, &of_clients].map(|seen| samples::disturbing_programs(&self.task.sampling, seen)).concat();
        let there = there.map(|reason| format!("on the clients' host, {reason}"));
        let reason = [reason, there].into_iter().flatten().reduce(|here, there| format!("{here}; {there}"));
        let mut covariates = seen.covariates;
        for name in ["foreign_cpu_s", "foreign_cpu_fraction"] {
            covariates.entry(name.into()).and_modify(|value| *value = value.max(0.0));
        }
        covariates.extend(measured.covariates);
        covariates
            .extend(of_clients.covariates.into_iter().map(|(name, value)| (format!("{CLIENT_HOST}{name}"), value)));
        let record = SampleRecord {
            sample: number,
            started_at: around.started_at,
            elapsed_s: measured.elapsed_s,
            metrics: named(measured.metrics.iter().map(|(metric, value)| (metric, *value)).chain(costs)),
            tps_each_second: measured.tps_each_second,
            covariates,
            histograms: measured.histograms,
            threads: around.threads,
        };
        (record, reason, programs)
    }

    /// Records which program a started server is, and the options that were requested of it, verified with it.
    pub(super) fn verify_server(&self, server: &dyn Server, record: &mut TrialRecord) -> Result<(), TrialError> {
        record.server_version = Some(server.version().to_owned());
        record.server_program = program_sha1(server.pid(), &state::cache_directory()?);
        record.settings.append(&mut self.server_settings(server)?);
        Ok(())
    }

    /// Records how a started server is set up. After the samples, so that none of them includes these queries.
    pub(super) fn note_server(&self, server: &dyn Server, record: &mut TrialRecord) -> Result<(), TrialError> {
        let engine = &self.task.condition.settings.engine;
        let binary = engine.kind.binary(engine.binary.as_deref())?;
        capture::server::note(server, &binary, engine.defaults_file.as_ref(), self.directory, record);
        Ok(())
    }

    fn server_settings(&self, server: &dyn Server) -> Result<Vec<AppliedSetting>, TrialError> {
        let settings = &self.task.condition.settings;
        let mut applied = Vec::new();
        for (option, level) in &settings.engine.options {
            applied.push(verify_option(server, option, level)?);
        }
        applied.extend(verify_charset(&settings.engine, server)?);
        if settings.capture.locks
            && let Some(setting) = server.lock_wait_setting()
            && let Some(value) = server.setting(setting)?
        {
            let verified = format!("the server reports {value}");
            applied.push(AppliedSetting::new("capture.locks", format!("{setting}=ON"), verified));
        }
        applied.extend(verify_process(&settings.process, server.pid())?);
        Ok(applied)
    }
}

fn named<'m>(metrics: impl Iterator<Item = (&'m Named, f64)>) -> BTreeMap<String, f64> {
    metrics.map(|(metric, value)| (metric.name().to_owned(), value)).collect()
}
