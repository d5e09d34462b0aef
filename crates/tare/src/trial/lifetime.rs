//! Trials and servers that are not one to one: the rungs of a ladder share a server one after the other, each with its
//! own record; a load in parts needs a server for each, and the samples of its parts are joined.

use super::error::{Began, server_error};
use super::job::note_no_captures;
use super::server_start::{self, TrialData};
use super::settings::{SettingsGuard, apply_machine};
use super::{Trial, TrialError};
use crate::state::StateError;
use tare_drive::workload::{Driven, Load, Measured, Pool, Progress};
use tare_results::schema::{DataRecord, LifetimeRecord, TrialRecord};
use tare_study::plan::ladder;
use tare_study::plan::task::Task;

/// The state of a lifetime, from its start to its end.
struct Begun {
    machine: SettingsGuard,
    started: server_start::Started,
    /// Held as long as the server may write to the data.
    _data: TrialData,
}

impl Trial<'_> {
    /// Measures every remaining rung of the lifetime, beginning with this trial. False when interrupted. A rung that
    /// fails ends the lifetime: the next one must not meet its leftovers and gets a server of its own.
    pub(super) fn run_lifetime(&self, number: usize, rest: &[Task]) -> Result<bool, TrialError> {
        let all: Vec<Task> = std::iter::once(&self.task).chain(rest).cloned().collect();
        let lifetime = |place| LifetimeRecord {
            number,
            place,
            order: all.iter().map(|task| task.condition.name.clone()).collect(),
        };
        let mut shared = self.new_record();
        let began = Began::now();
        let mut begun = match self.begin_lifetime(&mut shared) {
            Ok(begun) => begun,
            Err(error) => {
                shared.lifetime = Some(lifetime(0));
                return self.end_record(shared, Err(error), &[], &began);
            }
        };
        for (place, task) in all.iter().enumerate() {
            let mut rung = Trial { task: task.clone(), ..self.clone() }.without_captures();
            if place > 0 {
                // The first rung warmed the server up for all.
                rung.task.condition.settings.workload.load.load_mut().take_warm();
            }
            let began = Began::now();
            let planned = rung.new_record();
            let (trial, block, attempt) = (planned.trial, planned.block, planned.attempt);
            let (condition, levels, started_at) = (planned.condition, planned.levels, planned.started_at);
            let mut record = TrialRecord { trial, block, attempt, condition, levels, started_at, ..shared.clone() };
            record.lifetime = Some(lifetime(place));
            note_no_captures(task.condition.settings.capture, NO_CAPTURES, &mut record);
            let mut disturbed = Vec::new();
            let ended = rung.measure_rung(place, &mut begun, &mut record, &mut disturbed);
            let failed = ended.is_err();
            if !rung.end_record(record, ended, &disturbed, &began)? {
                return Ok(false);
            }
            if failed {
                break;
            }
        }
        (self.report)(Progress::Stopping);
        let Begun { machine, mut started, _data } = begun;
        started.server.stop(super::measure::STOP_TIMEOUT)?;
        machine.restore().map_err(StateError::from)?;
        Ok(true)
    }

    fn begin_lifetime(&self, record: &mut TrialRecord) -> Result<Begun, TrialError> {
        let first = self.clone().without_captures();
        first.same_machine(record)?;
        let settings = &first.task.condition.settings;
        let data = TrialData::take(server_start::prepared_data(&first)?)?;
        record.data = data.record();
        let mut machine = apply_machine(settings, &server_start::memory_confines(&first)?)?;
        record.settings.append(&mut machine.applied);
        let started = server_start::start(&first, &data, None, record)?;
        first.verify_server(started.server.as_ref(), record)?;
        Ok(Begun { machine, started, _data: data })
    }

    fn measure_rung(
        &self,
        place: usize,
        begun: &mut Begun,
        record: &mut TrialRecord,
        disturbed: &mut Vec<String>,
    ) -> Result<(), TrialError> {
        if place > 0 {
            self.pause(record)?;
            // The data was restored for the first rung; the others find it as the previous rung left it.
            record.data = None;
        }
        let server = begun.started.server.as_mut();
        let load = self.task.condition.settings.workload.load.load();
        let driven = match self.drive(load, Some(server), None) {
            Ok((driven, _)) => driven,
            Err(error) => return Err(server_error(error, server)),
        };
        self.note_server(server, record)?;
        self.take_in(driven, record, disturbed)
    }

    /// A profile can be converted only after its server has stopped, and this server goes on.
    fn without_captures(mut self) -> Self {
        let capture = &mut self.task.condition.settings.capture;
        *capture = capture.without_sample();
        self
    }

    /// The tasks that follow this trial in the lifetime of its server.
    pub(crate) fn rest_of_lifetime(&self, study: &tare_study::language::spec::Study) -> Result<Vec<Task>, TrialError> {
        let numbers = ladder::rest_of_lifetime(self.plan, self.task.planned.trial);
        let rest = numbers.into_iter().skip(1).map(|number| Task::find(study, self.plan, number));
        Ok(rest.collect::<Result<_, _>>()?)
    }
}

const NO_CAPTURES: &str = "the levels of a ladder share a server: captures need a server for each (no design.ladder)";

impl Trial<'_> {
    /// Runs each part on the prepared content and a fresh server.
    pub(super) fn measure_parts(
        &self,
        parts: &[Box<dyn Load>],
        first: TrialData,
        record: &mut TrialRecord,
    ) -> Result<Driven, TrialError> {
        let mut all = Driven::default();
        let mut data = Some(first);
        for part in parts {
            let taken = match data.take() {
                Some(first) => first,
                None => {
                    let next = TrialData::take(server_start::prepared_data(self)?)?;
                    add_copy(record.data.as_mut(), next.record());
                    next
                }
            };
            let settings = record.settings.len();
            let driven = self.measure_server(&taken, part.as_ref(), record)?;
            // Every server reports the same settings, so only the first report is kept.
            if !all.samples.is_empty() {
                record.settings.truncate(settings);
            }
            join_part(&mut all, driven);
        }
        Ok(all)
    }
}

/// Adds the cost of a further copy.
fn add_copy(record: Option<&mut DataRecord>, next: Option<DataRecord>) {
    if let (Some(record), Some(next)) = (record, next) {
        record.files_put_back += next.files_put_back;
        record.bytes_copied += next.bytes_copied;
        record.bytes_compared += next.bytes_compared;
        record.elapsed_s += next.elapsed_s;
    }
}

/// Joins sample j of each part to sample j of the whole.
fn join_part(all: &mut Driven, part: Driven) {
    let is_first = all.samples.is_empty();
    if is_first {
        all.samples = part.samples;
    } else {
        all.samples.iter_mut().zip(part.samples).for_each(|(whole, more)| join_sample(whole, more));
    }
    // Settings, warm-up and plans of all parts are kept.
    all.applied.extend(part.applied);
    all.warm_up.extend(part.warm_up);
    all.plans.extend(part.plans);
    // The coldest pool of all parts: the limit for a warm pool is compared with it.
    all.pool = match (all.pool, part.pool) {
        (Some((before, after)), Some((more_before, more_after))) => {
            Some((colder(before, more_before), colder(after, more_after)))
        }
        (None, more) if is_first => more,
        (all, _) => all,
    };
}

fn join_sample(whole: &mut Measured, more: Measured) {
    whole.elapsed_s += more.elapsed_s;
    whole.metrics.extend(more.metrics);
    whole.histograms.extend(more.histograms);
    whole.operations = match (whole.operations, more.operations) {
        (Some((kind, count)), Some((_, more))) => Some((kind, count + more)),
        (whole, _) => whole,
    };
    whole.covariates.extend(more.covariates);
    whole.surroundings.merge(more.surroundings);
}

fn colder(one: Pool, other: Pool) -> Pool {
    if one.fraction() <= other.fraction() { one } else { other }
}
