//! A trial of the workload `counters`: no server, the trial's own fresh process is what is measured.

use crate::capture::interference::Interference;
use crate::run::progress::Progress;
use crate::trial::measure::{Trial, TrialError};
use crate::workload::counters::{config, metrics};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use tare_results::schema::SampleRecord;
use tare_topology::{ThreadRef, bind};

/// Runs the samples in this process, without a server.
pub fn measure(trial: &Trial<'_>) -> Result<Vec<SampleRecord>, TrialError> {
    (0..trial.study.sampling.samples).map(|sample| one(trial, sample)).collect()
}

fn one(trial: &Trial<'_>, sample: usize) -> Result<SampleRecord, TrialError> {
    if trial.interrupted.load(Ordering::Relaxed) {
        return Err(crate::trial::session_load::LoadError::Interrupted.into());
    }
    Progress::Sample { sample, seconds: 0.0 }.send();
    let not_bound = Mutex::new(None);
    let bind = |thread: usize| {
        if let Some(set) = trial.placement.client_cpus(thread)
            && let Err(e) = bind::bind_thread(ThreadRef::of_this_thread(), set)
        {
            not_bound.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e.to_string());
        }
    };
    let started_at = tare_results::now();
    let interference = Interference::start(None, &trial.cpus());
    let seed = trial.study.sampling.seed.wrapping_add(trial.planned.trial as u64);
    let outcome = tare_counters::workload::run(&config(&trial.condition.settings.workload, seed, &bind))
        .map_err(|e| TrialError::Counters(e.to_string()))?;
    let covariates = trial.take_in(sample, interference.finish());
    if let Some(reason) = not_bound.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(TrialError::Counters(format!("a thread could not be bound: {reason}")));
    }
    Ok(SampleRecord {
        sample,
        started_at,
        elapsed_s: outcome.elapsed_s,
        metrics: metrics(&outcome),
        tps_each_second: Vec::new(),
        covariates,
        threads: Vec::new(),
    })
}
