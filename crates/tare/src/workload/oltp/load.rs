//! The load `oltp`: one connection a client thread, transactions for a number of seconds.

use super::connector::Connector;
use super::reconnect::{Reconnect, Sessions};
use super::warm::{self, Held};
use super::{Fill, OltpError, OltpSettings, Workload, warm_phase};
use crate::subject::{Connected, Surroundings};
use crate::workload::{Counts, Driven, Extra, FillError, FillJob, Host, Load, LoadError, Measured, Progress, Stage};
use std::collections::BTreeMap;
use strum::VariantNames;
use tare_engine::{Server, Session};
use tare_load::{
    Arrivals, ClientThread, Distribution, LoadSettings, Observer, Pace, Reading, RunError, Sample, Stage as Phase,
};
use tare_results::metric;
use tare_results::server_cost::Operation;

impl OltpSettings {
    /// What `workload.name` may say: sysbench's scripts without their `oltp_`.
    pub const NAMES: &'static [&'static str] = <Workload as VariantNames>::VARIANTS;

    /// The script of this name, as a study finds it when it says nothing else.
    pub fn named(name: &str) -> Option<Self> {
        let workload: Workload = name.parse().ok()?;
        // sysbench's own default distribution is special, which keeps a quarter of the ids in the middle of the table;
        // uniform is what its users ask for.
        Some(Self { distribution: Distribution::Uniform, ..Self::new(workload) })
    }
}

impl Default for OltpSettings {
    fn default() -> Self {
        Self { distribution: Distribution::Uniform, ..Self::new(Workload::PointSelect) }
    }
}

/// A row with its entry in the index on k, in InnoDB: article A's 144 million take 34 GB, a million here 237 MB.
const ROW_BYTES: u64 = 237;
/// A table without rows.
const TABLE_BYTES: u64 = 96 << 10;

impl Load for OltpSettings {
    fn name(&self) -> &'static str {
        self.workload.name()
    }

    fn dead(&self) -> Option<&'static str> {
        self.dead_count()
    }

    fn dataset(&self, seed: u64) -> String {
        format!("sysbench oltp, analysed, tables {}, rows {}, seed {seed}", self.tables.tables, self.tables.rows)
    }

    fn data_bytes(&self) -> u64 {
        self.tables.tables as u64 * (TABLE_BYTES + self.tables.rows * ROW_BYTES)
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let fill = Fill {
            tables: self.tables,
            distribution: Distribution::default(),
            seed: job.seed,
            sessions: job.parallel,
            dialect: server.dialect(),
        };
        super::prepare(&fill, &|| server.connect(), job.go_on)?;
        // Made anew once, so that no trial's server does it in the background, and its pages are counted right.
        let mut session = server.connect()?;
        for table in 1..=self.tables.tables {
            let sql = server.dialect().analyze(&format!("sbtest{table}"));
            session.run(&sql).map_err(|source| OltpError::statement(&sql, source))?;
        }
        Ok(())
    }

    fn check_data(&self, session: &mut dyn Session) -> Result<(), FillError> {
        Ok(super::check(session, &self.tables)?)
    }

    fn how_to_fill(&self) -> &'static str {
        "make the tables with `tare load WORKLOAD --prepare` and the same --tables and --rows"
    }

    fn drive(&self, stage: Stage<'_>) -> Result<Driven, LoadError> {
        drive(self, stage)
    }

    fn expected_s(&self, counts: &Counts) -> f64 {
        let samples = (counts.samples + usize::from(counts.extra)) as f64 * counts.sample_s;
        self.warm.expected_s(self.data_bytes()) + counts.warmup_s + samples
    }

    fn limit_s(&self, counts: &Counts) -> f64 {
        self.expected_s(counts) + self.warm.limit_s(self.data_bytes())
    }
}

/// The samples as a trial takes them: each what was asked for, or none.
fn drive(settings: &OltpSettings, stage: Stage<'_>) -> Result<Driven, LoadError> {
    let counts = stage.counts;
    let held = Held::at_start(&stage);
    let applied: Vec<_> = [warm::preload(settings, &stage, held)?, warm_phase::run(settings, &stage, held)?]
        .into_iter()
        .flatten()
        .collect();
    let before = held.and_then(|held| held.now());
    let mut samples = run(settings, stage)?;
    let after = held.and_then(|held| held.now());
    // What captures cost belongs to no metric, and fails no trial.
    let extra = samples.split_off(counts.samples.min(samples.len()));
    for (sample, _) in &samples {
        judge(settings, sample)?;
    }
    Ok(Driven {
        extra: extra.first().map(|(extra, _)| cost(&samples, extra)),
        samples: samples.into_iter().map(|(sample, around)| of_sample(&sample, around)).collect(),
        applied,
        pool: before.zip(after),
    })
}

/// Runs warm-up and samples, and after them the further sample where one is asked for: each with what was seen beside
/// it, which of the further one is nothing.
///
/// # Errors
/// See [`LoadError`].
pub fn run(settings: &OltpSettings, stage: Stage<'_>) -> Result<Vec<(Sample, Surroundings)>, LoadError> {
    run_through(settings, stage, None)
}

/// The same; with `reconnect`, clients wait for a server that goes away and go on when it is back, and no thread of the
/// server is watched.
///
/// # Errors
/// See [`LoadError`].
pub fn run_through(
    settings: &OltpSettings,
    stage: Stage<'_>,
    reconnect: Option<&Reconnect>,
) -> Result<Vec<(Sample, Surroundings)>, LoadError> {
    let counts = stage.counts;
    if stage.watch.probes()
        && let Some(rate) = settings.rate
    {
        return Err(OltpError::ProbeUnderRate { rate }.into());
    }
    let load_settings = LoadSettings {
        rest: stage.watch.probes(),
        threads: stage.threads,
        seed: stage.seed,
        pace: settings.rate.map_or(Pace::Closed, |rate| Pace::Open { rate, arrivals: Arrivals::default() }),
        warmup_s: counts.warmup_s,
        samples: counts.samples + usize::from(counts.extra),
        sample_s: counts.sample_s,
        ..LoadSettings::default()
    };
    let sessions = Sessions::new(settings, stage.dialect, stage.threads, reconnect);
    let connector = Connector::new(&sessions, &stage);
    let mut watcher = Watcher { stage, connector: &connector, around: Vec::new() };
    let samples = tare_load::run(&load_settings, &connector, &mut watcher).map_err(|e| match e {
        RunError::Observer(e) | RunError::Connect { source: e, .. } | RunError::Transaction { source: e, .. } => e,
        other => LoadError::Generator(other.to_string()),
    })?;
    let around = watcher.around.into_iter().chain(std::iter::repeat_with(Surroundings::default));
    Ok(samples.into_iter().zip(around).collect())
}

/// Share of the asked rate that must be done: below it the clients or the server could not follow.
const RATE_MET: f64 = 0.9;

/// Whether a sample is what was asked for.
///
/// # Errors
/// [`OltpError::Nothing`], [`OltpError::RateNotMet`].
pub fn judge(settings: &OltpSettings, sample: &Sample) -> Result<(), OltpError> {
    if sample.transactions == 0 {
        return Err(OltpError::Nothing { elapsed_s: sample.elapsed_s });
    }
    match (settings.rate, sample.backlog) {
        (Some(asked), Some(backlog)) if backlog > 0 && sample.tps() < RATE_MET * asked => {
            Err(OltpError::RateNotMet { asked, done: sample.tps(), backlog })
        }
        _ => Ok(()),
    }
}

/// Binds when all are connected, watches every sample, stops when asked.
struct Watcher<'a> {
    stage: Stage<'a>,
    connector: &'a Connector<'a>,
    around: Vec<Surroundings>,
}

impl Watcher<'_> {
    fn is_extra(&self, sample: usize) -> bool {
        sample >= self.stage.counts.samples
    }

    fn host(&self) -> &dyn Host {
        self.stage.host
    }
}

impl Observer for Watcher<'_> {
    type Error = LoadError;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), LoadError> {
        let serving = self.connector.found();
        let connected: Vec<Connected> =
            threads.iter().zip(serving).map(|(thread, serving)| Connected { client: thread.id, serving }).collect();
        self.stage.watch.connected(&connected)?;
        self.host().progress(Progress::WarmUp { seconds: self.stage.counts.warmup_s });
        Ok(())
    }

    fn sample_start(&mut self, sample: usize) -> Result<(), LoadError> {
        self.host().progress(Progress::Sample { sample, seconds: self.stage.counts.sample_s });
        // One more than are measured: what would disturb them is recorded now.
        if self.is_extra(sample) {
            self.host().begin_captures();
        } else {
            self.stage.watch.start()?;
        }
        Ok(())
    }

    fn sample_end(&mut self, sample: usize) -> Result<(), LoadError> {
        if self.is_extra(sample) {
            self.host().end_captures();
        } else {
            self.around.push(self.stage.watch.finish()?);
        }
        Ok(())
    }

    fn reading(&mut self, reading: Reading) -> Result<(), LoadError> {
        let warming_up = matches!(reading.stage, Phase::Warmup);
        self.host().progress(Progress::Reading { tps: reading.tps, second: reading.second, warming_up });
        Ok(())
    }

    fn abandon(&mut self) {
        self.connector.interrupt();
    }

    fn poll(&mut self) -> Result<(), LoadError> {
        if self.host().interrupted() { Err(LoadError::Interrupted) } else { Ok(()) }
    }
}

/// Throughput in the further sample beside the measured ones.
fn cost(measured: &[(Sample, Surroundings)], extra: &Sample) -> Extra {
    let mean = measured.iter().map(|(sample, _)| sample.tps()).sum::<f64>() / measured.len().max(1) as f64;
    let tps_ratio = if mean > 0.0 { extra.tps() / mean } else { 0.0 };
    Extra { elapsed_s: extra.elapsed_s, tps: extra.tps(), tps_ratio }
}

fn of_sample(sample: &Sample, surroundings: Surroundings) -> Measured {
    let mut metrics = vec![(metric::TPS, sample.tps()), (metric::QPS, sample.qps())];
    if let Some(l) = sample.latency_ms {
        metrics.extend([
            (metric::LATENCY_MS_MEAN, l.mean),
            (metric::LATENCY_MS_P50, l.p50),
            (metric::LATENCY_MS_P90, l.p90),
            (metric::LATENCY_MS_P95, l.p95),
            (metric::LATENCY_MS_P99, l.p99),
            (metric::LATENCY_MS_P99_9, l.p99_9),
            (metric::LATENCY_MS_MAX, l.max),
        ]);
    }
    if let Some(cpu) = sample.client_cpu_us_per_transaction {
        metrics.push((metric::CLIENT_CPU_US_PER_TRANSACTION, cpu.user + cpu.system));
    }
    Measured {
        elapsed_s: sample.elapsed_s,
        operations: Some((Operation::Transaction, sample.transactions as f64)),
        metrics,
        tps_each_second: sample.tps_each_second.clone(),
        covariates: BTreeMap::from([("restarts".to_owned(), sample.restarts as f64)]),
        surroundings,
    }
}
