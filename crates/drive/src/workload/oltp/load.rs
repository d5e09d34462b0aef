//! The load `oltp`: one connection per client thread, transactions for a number of seconds; and the load that warms a
//! server up before it: with its own workload and threads, until its rule is met.

use super::client::{Sessions, WorkloadClient};
use super::settings::Until;
use super::statements::StatementTimes;
use super::{Fill, OltpError, OltpSettings, SessionError, Workload};
use crate::workload::fill::in_parallel;
use crate::workload::pool::all_read;
use crate::workload::sessions::{Connections, Connector, Pace, Paced, Ran, at_pace, expected_s};
use crate::workload::{
    Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, PoolContents, Progress, ServerAt, TrialSize,
    Warm, error, sessions, sessions_on,
};
use strum::VariantNames;
use tare_engine::{Counted, Index, Server, Session};
use tare_load::{Curve, Distribution, LoadSettings, Observer, Reading, RunError};
use tare_results::schema::AppliedSetting;

impl Default for OltpSettings {
    fn default() -> Self {
        Self { distribution: Distribution::Uniform, ..Self::new(Workload::PointSelect) }
    }
}

/// A row with its entry in the index on k, in InnoDB: 144 million take 34 GB ("Benchmarking? Mind your core."), a
/// million 237 MB.
const ROW_BYTES: u64 = 237;
const TABLE_BYTES: u64 = 96 << 10;

impl Paced for OltpSettings {
    fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
    }
}

impl Load for OltpSettings {
    /// Named as sysbench's scripts without their `oltp_`.
    fn names() -> Vec<&'static str> {
        Workload::VARIANTS.to_vec()
    }

    fn named(name: &str) -> Option<Self> {
        let workload: Workload = name.parse().ok()?;
        // sysbench's default distribution is special, which draws a quarter of the ids from the middle of the table;
        // its users usually choose uniform.
        Some(Self { distribution: Distribution::Uniform, ..Self::new(workload) })
    }

    fn name(&self) -> &'static str {
        self.workload.name()
    }

    fn dead(&self) -> Option<&'static str> {
        self.dead_key()
    }

    fn sizes(&self) -> Vec<(&'static str, u64)> {
        let (tables, rows) = (("tables", self.tables.tables as u64), ("rows", self.tables.rows));
        match self.workload {
            Workload::BulkInsert => Vec::new(),
            // They read only the first table.
            Workload::SelectRandomPoints | Workload::SelectRandomRanges => vec![rows],
            _ => vec![tables, rows],
        }
    }

    fn check(&self, _threads: usize) -> Result<(), String> {
        self.check_together()
    }

    fn dataset(&self, seed: u64) -> String {
        if self.workload == Workload::BulkInsert {
            return "sysbench bulk_insert, no rows".to_owned();
        }
        format!("sysbench oltp, analysed, tables {}, rows {}, seed {seed}", self.tables.tables, self.tables.rows)
    }

    fn data_bytes(&self) -> u64 {
        if self.workload == Workload::BulkInsert {
            return 0;
        }
        self.tables.tables as u64 * (TABLE_BYTES + self.tables.rows * ROW_BYTES)
    }

    fn rows(&self) -> Option<u64> {
        Some(self.tables.all_rows())
    }

    fn is_to_be_resident(&self) -> bool {
        self.warm.preload
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        if self.workload == Workload::BulkInsert {
            // One table per client: the tables are created when the clients are known.
            return Ok(());
        }
        let fill = Fill {
            tables: self.tables,
            distribution: Distribution::default(),
            seed: job.seed,
            sessions: sessions_on(job.parallel),
            dialect: server.dialect(),
        };
        super::prepare(&fill, &|| server.connect(), job.go_on)?;
        // Statistics are rebuilt once here, so that no trial's server does it in the background, and the table's pages
        // are counted correctly.
        let mut session = server.connect()?;
        for table in 1..=self.tables.tables {
            error::run(session.as_mut(), &server.dialect().analyze(&format!("sbtest{table}")))?;
        }
        Ok(())
    }

    fn pace(&self) -> Option<Pace> {
        Some(self.pace)
    }

    fn check_data(&self, session: &mut dyn Session) -> Result<(), FillError> {
        Ok(super::check(session, &self.tables, self.workload)?)
    }

    fn how_to_fill(&self) -> &'static str {
        "create the tables with `tare load WORKLOAD --prepare` and the same --tables and --rows (bulk_insert: \
         --threads)"
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let held = match self.warm.already {
            true => PoolContents::of_warm(&stage),
            false => PoolContents::at_start(&stage),
        };
        let applied = [preload_tables(self, &stage, held)?, run_warm_phase(self, &stage, held)?];
        let warm = Warm::with(held, applied.into_iter().flatten().collect());
        let at = |rate, stage: &mut LoadContext<'_>| run(self, rate, stage);
        let measured = |ran: Ran<StatementTimes>| Ok(Measured::of_sample(&ran.sample, ran.around));
        Ok(warm.around(at_pace(self.pace, stage, at, measured)?))
    }

    fn take_warm(&mut self) -> bool {
        (self.warm.already, self.warm.workload) = (true, None);
        true
    }

    fn writes(&self) -> bool {
        self.workload.writes()
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        self.warm.expected_s(self.data_bytes()) + expected_s(self.pace, counts)
    }

    fn limit_s(&self, counts: &TrialSize) -> f64 {
        self.expected_s(counts) + self.warm.limit_s(self.data_bytes())
    }
}

fn run(
    settings: &OltpSettings,
    rate: Option<Curve>,
    stage: &mut LoadContext<'_>,
) -> Result<Vec<Ran<StatementTimes>>, LoadError> {
    make_ready(settings, stage)?;
    let timed = stage.counts.extra.then_some(stage.counts.samples);
    let shared = Sessions::new(settings, stage.dialect, stage.threads, timed, stage.host.reconnect());
    let client = |session, index| Ok(WorkloadClient::new(&shared, index, shared.client(session, index)?));
    let connector = Connector::new(stage, &shared.connections, client).of_changing_server(shared.reconnect.is_some());
    sessions::run(rate, stage.host.events(), stage, &connector, &shared.connections, |samples| {
        shared.times.take(samples)
    })
}

/// Preparations for workloads that add rows, before their clients connect.
fn make_ready(settings: &OltpSettings, stage: &LoadContext<'_>) -> Result<(), LoadError> {
    match settings.workload {
        Workload::BulkInsert
            if stage.server_at == ServerAt::Partner || stage.server.is_some_and(|server| server.is_ours()) =>
        {
            super::prepare_bulk((stage.connect)()?.as_mut(), stage.threads, stage.dialect)?;
        }
        Workload::Insert => number_on(stage, settings.tables.tables)?,
        _ => {}
    }
    Ok(())
}

/// Sets the sequences of the tables, so that rows without an explicit id are numbered after the existing ones.
pub(crate) fn number_on(stage: &LoadContext<'_>, tables: usize) -> Result<(), LoadError> {
    let mut session = (stage.connect)()?;
    for sql in (1..=tables).filter_map(|table| stage.dialect.number_on(&format!("sbtest{table}"), "id")) {
        error::run(session.as_mut(), &sql)?;
    }
    Ok(())
}

/// Number of readings, one per second, that are compared with as many before them.
const LOOK_BACK: usize = 10;
/// Throughput is steady if it grows by less than this between them.
const STILL_RISING: f64 = 0.02;
/// A pool is full if it grows by less than this between them, as a share of the data.
const STILL_GROWING: f64 = 0.001;

fn run_warm_phase(
    settings: &OltpSettings,
    stage: &LoadContext<'_>,
    held: Option<PoolContents<'_>>,
) -> Result<Option<AppliedSetting>, LoadError> {
    let warm = settings.warm;
    let Some(workload) = warm.workload else { return Ok(None) };
    let load = OltpSettings { workload, pace: Pace::Closed, ..*settings };
    let threads = warm.threads.unwrap_or(stage.threads);
    let load_settings = LoadSettings {
        threads,
        // Draws other keys than the measured samples.
        seed: stage.seed.wrapping_add(u64::MAX / 2),
        warmup_s: 0.0,
        samples: 1,
        sample_s: warm.limit_s,
        ..LoadSettings::default()
    };
    let sessions = Sessions::new(&load, stage.dialect, threads, None, None);
    let client = |session, index| Ok(WorkloadClient::new(&sessions, index, sessions.client(session, index)?));
    let connector = Connector::new(stage, &sessions.connections, client);
    let mut watcher =
        Warming { stage, connections: &sessions.connections, until: warm.until, held, readings: Vec::new() };
    stage.host.progress(Progress::WarmUp { seconds: warm.limit_s });
    let ended = tare_load::run(&load_settings, &connector, &mut watcher);
    let readings = watcher.readings;
    let verified = match ended {
        Ok(_) if warm.until == Until::Time => format!("ran for {} s", warm.limit_s),
        Ok(_) => format!("ended by its limit of {} s: {} was still growing", warm.limit_s, warm.until.sut()),
        Err(RunError::Observer(End::Warm)) => format!(
            "ended after {} s: {} grew by less than {}% in {LOOK_BACK} s",
            readings.len(),
            warm.until.sut(),
            100.0 * warm.until.still()
        ),
        Err(RunError::Observer(End::Failed(e)) | RunError::Connect { source: e, .. }) => return Err(e),
        Err(RunError::Transaction { source, .. }) => return Err(source),
        Err(other) => return Err(LoadError::Own(other.to_string().into())),
    };
    let level = format!("{workload}, {threads} threads, until {}", warm.until);
    Ok(Some(AppliedSetting::new("warmup", level, verified)))
}

impl Until {
    fn sut(self) -> &'static str {
        match self {
            Self::Time => "nothing",
            Self::Pool => "the pool",
            Self::Throughput => "throughput",
        }
    }

    fn still(self) -> f64 {
        if self == Self::Pool { STILL_GROWING } else { STILL_RISING }
    }
}

#[derive(Debug, thiserror::Error)]
enum End {
    #[error("it is warm")]
    Warm,
    #[error(transparent)]
    Failed(LoadError),
}

struct Warming<'a> {
    stage: &'a LoadContext<'a>,
    connections: &'a Connections,
    until: Until,
    held: Option<PoolContents<'a>>,
    /// Throughput, or the share of the data that the pool holds, once per second.
    readings: Vec<f64>,
}

impl Observer for Warming<'_> {
    type Error = End;

    fn reading(&mut self, reading: Reading) -> Result<(), End> {
        let step = Progress::Reading { tps: reading.tps, second: reading.second, warming_up: true };
        self.stage.host.progress(step);
        self.readings.push(match self.until {
            Until::Pool => self.held.and_then(|held| held.now()).map_or(0.0, |pool| pool.fraction()),
            _ => reading.tps,
        });
        if is_warm(self.until, &self.readings) { Err(End::Warm) } else { Ok(()) }
    }

    fn abandon(&mut self) {
        self.connections.interrupt();
    }

    fn poll(&mut self) -> Result<(), End> {
        if self.stage.host.interrupted() { Err(End::Failed(LoadError::Interrupted)) } else { Ok(()) }
    }
}

/// The rule: the last readings are hardly higher than those before them.
fn is_warm(until: Until, readings: &[f64]) -> bool {
    let mean = |readings: &[f64]| readings.iter().sum::<f64>() / readings.len() as f64;
    match until {
        Until::Time => false,
        Until::Pool => {
            let last = readings.len().checked_sub(LOOK_BACK + 1).map(|at| (readings[at], readings[readings.len() - 1]));
            last.is_some_and(|(before, now)| now > 0.0 && now - before < STILL_GROWING)
        }
        Until::Throughput => readings.len().checked_sub(2 * LOOK_BACK).is_some_and(|from| {
            let (before, now) = readings[from..].split_at(LOOK_BACK);
            mean(now) < mean(before) * (1.0 + STILL_RISING)
        }),
    }
}

/// Limit of sessions that read tables at the same time: enough for the disks and cores of large machines.
const READERS: usize = 16;
/// Reads every table and every index from end to end, if requested, and checks the pool if the server reports it.
fn preload_tables(
    settings: &OltpSettings,
    stage: &LoadContext<'_>,
    held: Option<PoolContents<'_>>,
) -> Result<Option<AppliedSetting>, LoadError> {
    if !settings.warm.preload {
        return Ok(None);
    }
    if settings.warm.already {
        let verified = format!("on the server of the previous trial, not read again; {}", all_read(held)?);
        return Ok(Some(AppliedSetting::new("preload", "on", verified)));
    }
    let tables = settings.tables.tables;
    let sessions = std::thread::available_parallelism().map_or(1, usize::from).min(READERS).min(tables);
    in_parallel(
        sessions,
        tables,
        &|_| stage.host.go_on(),
        || LoadError::Interrupted,
        |shared| {
            let mut session = (stage.connect)()?;
            shared.fills(session.as_mut(), Some(settings.tables.all_rows()))?;
            while let Some(table) = shared.take() {
                // Tables are numbered from 1.
                let table = table + 1;
                let (name, index) = (format!("sbtest{table}"), format!("k_{table}"));
                for scan in stage.dialect.scans(&name, "pad", &[Index { name: &index, columns: "k" }]) {
                    let found =
                        session.query(&scan.sql).map_err(|source| SessionError::statement(&scan.sql, source))?;
                    let found: Option<u64> = found.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
                    let expected = settings.tables.rows;
                    if scan.counts == Counted::Rows && found != Some(expected) {
                        let found = found.map_or("no number of rows".to_owned(), |found| format!("{found} rows"));
                        return Err(OltpError::TableSize { table, found, expected }.into());
                    }
                }
                shared.added(0)?;
            }
            Ok(())
        },
    )?;
    let verified = format!("{tables} tables and their indexes read from end to end; {}", all_read(held)?);
    Ok(Some(AppliedSetting::new("preload", "on", verified)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_phase_ends_when_its_watched_figure_stops_growing() {
        let growing: Vec<f64> = (0..60).map(|second| f64::from(second) / 60.0).collect();
        let then_flat = [growing.clone(), vec![1.0; 20]].concat();
        for until in [Until::Pool, Until::Throughput] {
            assert!(!is_warm(until, &growing) && !is_warm(until, &growing[..5]), "{until}");
            assert!(is_warm(until, &then_flat), "{until}");
        }
        assert!(!is_warm(Until::Time, &then_flat));
        assert!(!is_warm(Until::Pool, &[0.0; 40]), "a pool that does not say anything has not stopped growing");
    }
}
