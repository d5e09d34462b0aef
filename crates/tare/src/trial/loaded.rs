//! What the load of a trial gave, and the capture sample that may follow its measured ones.

use crate::capture::sample::{CaptureSample, Place};
use crate::trial::measure::Trial;
use tare_engine::Server;
use tare_load::Sample;
use tare_results::captures;
use tare_results::schema::{self, AppliedSetting, SampleRecord, TrialRecord};

/// What a load gives.
#[derive(Default)]
pub struct Loaded {
    /// The measured samples, in their order.
    pub samples: Vec<SampleRecord>,
    /// What was preloaded and checked, and the proof.
    pub applied: Vec<AppliedSetting>,
    /// What the capture sample cost, where there was one.
    pub capture_cost: Option<schema::CaptureSample>,
    /// The captures, still to be made readable.
    pub captures: Option<CaptureSample>,
}

/// Begins the costly captures of a trial.
pub fn begin_captures(trial: &Trial<'_>, server: &dyn Server) -> CaptureSample {
    let settings = &trial.condition.settings;
    let (planned, sampling) = (&trial.planned, &trial.study.sampling);
    let place = Place::new(trial.directory, planned.trial, trial.attempt, settings.workload.threads, sampling.sample_s);
    CaptureSample::begin(&settings.capture, place, server)
}

/// Throughput in the capture sample beside the measured ones.
pub fn capture_cost(measured: &[Sample], extra: &Sample) -> schema::CaptureSample {
    let mean = measured.iter().map(Sample::tps).sum::<f64>() / measured.len().max(1) as f64;
    let tps_ratio = if mean > 0.0 { extra.tps() / mean } else { 0.0 };
    schema::CaptureSample { elapsed_s: extra.elapsed_s, tps: extra.tps(), tps_ratio }
}

/// Makes the captures readable and notes them. Call it when the server has stopped: it takes as long as recording did.
pub fn note_captures(captures: Option<CaptureSample>, cost: Option<schema::CaptureSample>, record: &mut TrialRecord) {
    let captured = captures.map(CaptureSample::finish).unwrap_or_default();
    record.captures.extend(captured.files);
    record.captures_missing.extend(captured.missing);
    record.capture_sample = cost;
}

/// Notes that this workload has no capture sample, where one was asked for.
pub fn note_no_captures(trial: &Trial<'_>, reason: &str, record: &mut TrialRecord) {
    let asked = trial.condition.settings.capture;
    let all = [(asked.profile, captures::PROFILE), (asked.locks, captures::LOCKS), (asked.status, captures::STATUS)];
    for (_, name) in all.into_iter().filter(|(asked, _)| *asked) {
        record.captures_missing.insert(name.to_owned(), reason.to_owned());
    }
}
