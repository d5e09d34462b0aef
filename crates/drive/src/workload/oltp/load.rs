//! The load `oltp`: one connection per client thread, transactions for a number of seconds.

use super::reconnect::{Sessions, WorkloadClient};
use super::times::StatementTimes;
use super::{Fill, OltpSettings, Workload, warm_phase};
use crate::workload::error;
use crate::workload::sessions::{self, Connector, Pace, Paced, Ran, at_pace, expected_s};
use crate::workload::{
    Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, PoolContents, ServerAt, TrialSize, Warm,
    sessions_on,
};
use strum::VariantNames;
use tare_engine::{Server, Session};
use tare_load::{Curve, Distribution};

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
        let applied = [warm_phase::preload(self, &stage, held)?, warm_phase::run(self, &stage, held)?];
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
    let connector = Connector::new(stage, &shared.connections, client).of_changing_server(shared.survive());
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
        Workload::Insert => {
            let mut session = (stage.connect)()?;
            for table in 1..=settings.tables.tables {
                if let Some(sql) = stage.dialect.number_on(&format!("sbtest{table}"), "id") {
                    error::run(session.as_mut(), &sql)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}
