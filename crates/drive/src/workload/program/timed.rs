//! A trial with a benchmark client that runs for a given time: one run per sample, without its warm-up.

use super::{
    Begins, Client, Interval, Job, ProgramError, Ran, Report, ServerValues, is_there, of_stage, run, run_quietly,
};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, Progress, TrialSize, Warm};
use std::ops::ControlFlow;
use tare_engine::Server;
use tare_results::metric;
use tare_results::schema::ThreadClass;
use tare_results::server_cost::Operation;
use tare_text::Keys;

/// Minimum warm-up in seconds: processes and threads are found and bound in it, even if a study has no warm-up.
const LEAST_WARMUP_S: u64 = 2;
/// Seconds beyond its expected duration after which a run is ended.
const PATIENCE_S: f64 = 60.0;
const FILL_S: f64 = 24.0 * 3600.0;
/// Seconds that a client takes to start and to end.
const AROUND_S: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimedRun {
    pub sample: usize,
    /// Seconds that are left out of the figures.
    pub warmup_s: u64,
    /// Whole seconds after the warm-up, which the figures cover.
    pub measured_s: u64,
}

impl TimedRun {
    /// Every run connects again and needs time for that; the first one also warms the server up.
    fn of(sample: usize, counts: &TrialSize) -> Self {
        let warmup_s = if sample == 0 { counts.warmup_s.ceil() as u64 } else { 0 }.max(LEAST_WARMUP_S);
        Self { sample, warmup_s, measured_s: counts.sample_s.ceil().max(1.0) as u64 }
    }

    pub(crate) fn total_s(&self) -> u64 {
        self.warmup_s + self.measured_s
    }
}

/// The differences between clients of this kind.
pub(crate) trait TimedClient: Keys {
    const NAME: &'static str;
    const PACKAGE: &'static str;
    /// Name of the missing output when a run gave no report.
    const REPORTS: &'static str;

    fn program(&self) -> String;
    /// Whether all data must be in the server's memory before the first sample.
    fn preloads(&self) -> bool;
    fn drives(&self, engine: &str) -> Result<(), String>;
    fn sizes(&self) -> Vec<(&'static str, u64)>;
    fn dataset(&self, seed: u64) -> String;
    /// Its own preparation, which fills the database.
    fn filling(&self, server: &dyn Server, parallel: usize, of: &ServerValues) -> Result<Job, ProgramError>;
    fn job(&self, run: TimedRun, of: &ServerValues, stage: &LoadContext<'_>) -> Result<Job, LoadError>;
    fn begins(&self, run: TimedRun) -> Begins<'static>;
    /// The transactions per second in this line of its output, if it contains them.
    fn interval(line: &str) -> Option<Interval>;
    /// The figures of a run that has ended, if it gave any.
    fn report(&self, run: TimedRun, ran: &Ran, of: &ServerValues) -> Option<Report>;
}

impl<C: TimedClient> Load for C {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn connects(&self) -> bool {
        false
    }

    fn available(&self, _threads: usize) -> Result<(), String> {
        let (program, package) = (self.program(), C::PACKAGE);
        let how = || format!("{program} is not installed: apt-get install {package}, or name it with workload.program");
        if is_there(&program) { Ok(()) } else { Err(how()) }
    }

    fn drives(&self, engine: &str) -> Result<(), String> {
        TimedClient::drives(self, engine)
    }

    fn sizes(&self) -> Vec<(&'static str, u64)> {
        TimedClient::sizes(self)
    }

    fn dataset(&self, seed: u64) -> String {
        TimedClient::dataset(self, seed)
    }

    fn is_to_be_resident(&self) -> bool {
        self.preloads()
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let of = ServerValues::of("", server.target())?;
        let filling = self.filling(server, job.parallel, &of)?;
        let go_on = || matches!((job.go_on)(0), ControlFlow::Continue(()));
        Ok(run_quietly(&filling, FILL_S, &go_on)?)
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let warm = Warm::up(self.preloads(), &stage)?;
        Ok(warm.around(drive(self, stage)?))
    }

    /// Seconds that the runs of a trial take.
    fn expected_s(&self, counts: &TrialSize) -> f64 {
        let runs = (0..counts.samples).map(|sample| TimedRun::of(sample, counts));
        runs.map(|run| run.total_s() as f64 + AROUND_S).sum()
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some(NO_CAPTURES)
    }
}

fn drive(client: &impl TimedClient, mut stage: LoadContext<'_>) -> Result<Driven, LoadError> {
    let of = of_stage(&stage).map_err(LoadError::own)?;
    stage.host.progress(Progress::WarmUp { seconds: stage.counts.warmup_s });
    let counts = stage.counts;
    let runs = (0..counts.samples).map(|sample| TimedRun::of(sample, &counts));
    let samples = runs.map(|run| one(client, run, &of, &mut stage)).collect::<Result<_, _>>()?;
    Ok(Driven { samples, ..Driven::default() })
}

fn one<C: TimedClient>(
    of_kind: &C,
    timed: TimedRun,
    of: &ServerValues,
    stage: &mut LoadContext<'_>,
) -> Result<Measured, LoadError> {
    let log = stage.host.log(&format!("client-{}", timed.sample)).map_err(LoadError::own)?;
    let job = Job { log, ..of_kind.job(timed, of, stage)? };
    let program = job.program();
    let measured_s = timed.measured_s as f64;
    let client = Client {
        job,
        connections: Some(stage.threads),
        begins: of_kind.begins(timed),
        measures_s: Some(measured_s),
        limit_s: timed.total_s() as f64 + PATIENCE_S,
        interval: &C::interval,
    };
    stage.host.progress(Progress::Sample { sample: timed.sample, seconds: measured_s });
    let ran = run(&client, stage)?;
    match of_kind.report(timed, &ran, of) {
        Some(report) => Ok(client_sample(report, ran, measured_s)),
        None => {
            let expected = C::REPORTS.to_owned();
            Err(LoadError::own(ProgramError::NoMetric { program, expected, tail: ran.ended.tail }))
        }
    }
}

pub(crate) const NO_CAPTURES: &str = "an external program has no additional sample for captures";

/// The sample of a run: the client's figures, its CPU time per transaction, and the number of transactions while the
/// server was watched.
pub(crate) fn client_sample(report: Report, ran: Ran, measured_s: f64) -> Measured {
    let Report { mut metrics, covariates, transactions } = report;
    // The watch ends shortly before the client does.
    let watched_s = ran.surroundings.watched_s;
    let share = transactions.map(|all| all * watched_s / measured_s).filter(|all| *all > 0.0);
    if let Some(during) = share {
        let us = |class| ran.surroundings.cpu_s(class).map(|s| s * 1e6 / during);
        metrics.extend(us(ThreadClass::Client).map(|us| (metric::CLIENT_CPU_US_PER_TRANSACTION, us)));
    }
    Measured {
        elapsed_s: measured_s,
        operations: share.map(|during| (Operation::Transaction, during)),
        metrics,
        tps_each_second: ran.tps_each_second,
        histograms: Default::default(),
        covariates,
        surroundings: ran.surroundings,
        programs: ran.programs,
    }
}
