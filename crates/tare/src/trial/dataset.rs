//! The data of a workload: prepared once and cached, and the working copy that a trial may change.

use super::{Trial, TrialError};
use crate::state;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tare_drive::workload::{FillJob, Filled, Progress};
use tare_engine::{DataDirectory, PrepareRequest, Server, WorkingCopy};
use tare_results::schema::DataRecord;

/// The data directory of a trial's condition: that of the study, or the cached one, which is prepared if missing.
pub(crate) fn prepared(trial: &Trial<'_>) -> Result<PathBuf, TrialError> {
    let settings = &trial.task.condition.settings;
    if let Some(data) = &settings.engine.data {
        return Ok(data.clone());
    }
    let (seed, load) = (trial.task.sampling.seed, settings.workload.load.load());
    let request = PrepareRequest {
        binary: settings.engine.binary.clone(),
        cache_directory: state::cache_directory()?,
        dataset: settings.engine.named(load.dataset(seed)),
        options: settings.engine.options.clone(),
        init_options: settings.engine.init_options.clone(),
        run_directory: state::run_directory(),
        log: trial.log("prepare.log")?,
        state_directory: Some(state::directory()?),
        timeout: Duration::from_secs_f64(settings.engine.start_timeout_s.max(60.0)),
    };
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let fill = &mut |server: &dyn Server| {
        let filling = Filling::begun(trial, load.rows());
        load.fill(&FillJob { seed, parallel, go_on: &|rows| filling.added(rows) }, server)
    };
    Ok(settings.engine.kind.prepare_data(&request, fill)?)
}

/// Counts the rows of tables that are being filled, and reports them once a second.
struct Filling<'a> {
    trial: &'a Trial<'a>,
    of: Option<u64>,
    began: Instant,
    rows: AtomicU64,
    reports: AtomicU64,
}

impl<'a> Filling<'a> {
    fn begun(trial: &'a Trial<'a>, of: Option<u64>) -> Self {
        Self { trial, of, began: Instant::now(), rows: AtomicU64::new(0), reports: AtomicU64::new(0) }
    }

    fn added(&self, rows: u64) -> ControlFlow<()> {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        let seconds = self.began.elapsed().as_secs();
        if self.reports.fetch_max(seconds + 1, Ordering::Relaxed) <= seconds {
            (self.trial.report)(Progress::Filling(Filled { rows, of: self.of, seconds }));
        }
        match self.trial.interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The data of one trial, reserved until this is dropped.
pub(crate) struct TrialData {
    copy: Option<WorkingCopy>,
    prepared: PathBuf,
}

impl TrialData {
    /// Restores the content of the working copy. If another process uses it, the server's start makes another one.
    pub(crate) fn take(prepared: PathBuf) -> Result<Self, TrialError> {
        Ok(Self { copy: WorkingCopy::take(&prepared, &state::cache_directory()?)?, prepared })
    }

    pub(crate) fn directory(&self) -> Result<DataDirectory, TrialError> {
        Ok(match &self.copy {
            Some(copy) => DataDirectory::InPlace(copy.data().to_owned()),
            None => DataDirectory::CopyOf { prepared: self.prepared.clone(), at: state::work_directory()? },
        })
    }

    /// The cost of restoring, for the record; `None` if not known.
    pub(crate) fn record(&self) -> Option<DataRecord> {
        self.copy.as_ref().map(|copy| copy.restored.clone())
    }
}
