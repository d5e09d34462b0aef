//! The load `tpcc`: one terminal per client thread, and a consistency check of the tables at the end.

use super::settings::DISTRICTS;
use super::{CONDITIONS, Checked, Constants, Fill, Kind, Tally, TpccClient, TpccError, TpccSettings, check};
use crate::workload::fill::in_parallel;
use crate::workload::sessions::{self, Connections, Connector, Pace, Paced, Ran, Tallies, at_pace, expected_s};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, TrialSize};
use std::sync::Arc;
use strum::VariantArray;
use tare_engine::{Dialect, Server, Session};
use tare_load::Curve;
use tare_results::covariate::CLIENTS_TIMED;
use tare_results::metric;
use tare_results::schema::AppliedSetting;

/// Version of the row generator: a new version makes existing data invalid.
const RECIPE: u32 = 1;
/// Bytes of a warehouse in InnoDB, with its indexes, measured with MariaDB 10.11.
const WAREHOUSE_BYTES: f64 = 137e6;
const ITEM_BYTES: f64 = 19e6;
/// Seconds per warehouse to check all conditions, on an ordinary machine: a guess.
const CHECKING_S: f64 = 2.0;
/// Limit of sessions that check the tables at the same time.
const CHECKERS: usize = 4;

impl TpccSettings {
    fn checked(&self) -> usize {
        match self.checked {
            Checked::All => CONDITIONS.len(),
            Checked::Four => 4,
            Checked::Off => 0,
        }
    }
}

impl Paced for TpccSettings {
    fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
    }
}

impl Load for TpccSettings {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn dataset(&self, seed: u64) -> String {
        format!("tpcc, recipe {RECIPE}, warehouses {}, scale {}, seed {seed}", self.warehouses, self.scale)
    }

    fn data_bytes(&self) -> u64 {
        (self.scale * (self.warehouses as f64 * WAREHOUSE_BYTES + ITEM_BYTES)) as u64
    }

    fn rows(&self) -> Option<u64> {
        Some(self.sizes().expected_rows())
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let fill = Fill { sizes: self.sizes(), seed: job.seed, sessions: job.parallel, dialect: server.dialect() };
        super::prepare(&fill, &|| server.connect(), job.go_on)?;
        Ok(())
    }

    fn pace(&self) -> Option<Pace> {
        Some(self.pace)
    }

    fn check_data(&self, session: &mut dyn Session) -> Result<(), FillError> {
        let sizes = self.sizes();
        let expected = [
            ("warehouse", sizes.warehouses),
            ("item", sizes.items),
            ("customer", sizes.warehouses * DISTRICTS * sizes.customers),
        ];
        for (table, expected) in expected {
            let sql = format!("SELECT COUNT(*) FROM {table}");
            let found = session.query(&sql).map_err(|e| format!("cannot be read: {e}")).and_then(|rows| {
                let count = rows.first().and_then(|row| row.first()?.clone()).unwrap_or_default();
                if count == expected.to_string() { Ok(()) } else { Err(format!("has {count} rows")) }
            });
            found.map_err(|found| TpccError::Table { table, found, expected })?;
        }
        Ok(())
    }

    fn how_to_fill(&self) -> &'static str {
        "create the tables with `tare load tpcc prepare` and the same --warehouses; or leave out engine.socket, \
         host and port: tare then starts and fills its own server"
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let (constants, looking) = (Constants::of_run(stage.seed), Looking::of(&stage));
        let at = |rate, stage: &mut LoadContext<'_>| run(self, constants, rate, stage);
        let driven = at_pace(self.pace, stage, at, |ran| Ok(measured(ran)))?;
        let applied =
            [Some(note(self)), Some(nurand(constants)), looking.through(self)?].into_iter().flatten().collect();
        Ok(Driven { applied, ..driven })
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        let checking = self.data_bytes() as f64 / WAREHOUSE_BYTES * CHECKING_S * self.checked() as f64 / 12.0;
        expected_s(self.pace, counts) + checking
    }

    /// The duration of the consistency check is a guess, so its limit is generous.
    fn limit_s(&self, counts: &TrialSize) -> f64 {
        let checking = self.data_bytes() as f64 / WAREHOUSE_BYTES * CHECKING_S;
        self.expected_s(counts) + if self.checked() > 0 { 60.0 + 10.0 * checking } else { 0.0 }
    }
}

fn run(
    settings: &TpccSettings,
    constants: Constants,
    rate: Option<Curve>,
    stage: &mut LoadContext<'_>,
) -> Result<Vec<Ran<Tally>>, LoadError> {
    let (sizes, dialect) = (settings.sizes(), stage.dialect);
    let connections = Connections::new(stage.threads);
    let tallies = Arc::new(Tallies::new(Tally::default()));
    let client = |session, index| {
        let client = TpccClient::new(session, dialect, index, sizes, constants, Arc::clone(&tallies))?;
        Ok(client.with_keying(settings.keying))
    };
    let connector = Connector::new(stage, &connections, client);
    sessions::run(rate, stage.host.events(), stage, &connector, &connections, |samples| tallies.take(samples))
}

fn measured(ran: Ran<Tally>) -> Measured {
    let Ran { sample, around, counted } = ran;
    let mut measured = Measured::of_sample(&sample, around);
    let Measured { metrics, covariates, histograms, .. } = &mut measured;
    metrics.push((metric::TPMC, counted.new_orders_a_minute(sample.tps())));
    for kind in Kind::VARIANTS.iter().copied() {
        let (took, name) = (counted.took(kind), kind.name());
        covariates.insert(format!("tpcc_retries_{name}"), counted.retries[kind as usize] as f64);
        covariates.insert(format!("tpcc_transactions_{name}"), took.count() as f64);
        let figures = [("mean", took.mean_ms()), ("p95", took.percentile_ms(95.0)), ("p99", took.percentile_ms(99.0))];
        for (figure, value) in figures.into_iter().filter_map(|(figure, value)| Some((figure, value?))) {
            metrics.push((metric::of_name(&format!("latency_ms_{figure}_of_{name}")), value));
        }
        if took.count() > 0 {
            histograms.insert(format!("latency_ms_of_{name}"), took.encode());
        }
    }
    covariates.insert("tpcc_rollbacks".to_owned(), counted.rolled_back as f64);
    covariates.insert(CLIENTS_TIMED.to_owned(), counted.clock.timed().as_secs_f64());
    measured
}

fn note(settings: &TpccSettings) -> AppliedSetting {
    let TpccSettings { warehouses, scale, keying, .. } = settings;
    let scale = if *scale < 1.0 { format!(", scale {scale} (not TPC-C's sizes)") } else { String::new() };
    let level = format!("{warehouses} warehouses, keying {}{scale}", if *keying { "on" } else { "off" });
    AppliedSetting::new("tpcc", level, "not an audited TPC-C result, and not comparable with one")
}

fn nurand(constants: Constants) -> AppliedSetting {
    let Constants { name, customer, item } = constants;
    let filled = Constants::FILLED.name;
    let level = format!("C of last names {name}, of customers {customer}, of items {item}");
    AppliedSetting::new("nurand", level, format!("drawn from the seed; last names were filled with {filled}"))
}

/// Checks the tables after the load has ended.
struct Looking<'a> {
    connect: &'a crate::workload::load::Connect<'a>,
    host: &'a dyn crate::workload::Host,
    dialect: &'static dyn Dialect,
}

impl<'a> Looking<'a> {
    fn of(stage: &LoadContext<'a>) -> Self {
        Self { connect: stage.connect, host: stage.host, dialect: stage.dialect }
    }

    fn through(&self, settings: &TpccSettings) -> Result<Option<AppliedSetting>, LoadError> {
        let count = settings.checked();
        if count == 0 {
            return Ok(None);
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let sessions = if self.dialect.fills_in_parallel() { cpus.min(CHECKERS) } else { 1 };
        in_parallel(
            sessions,
            count,
            &|_| self.host.go_on(),
            || LoadError::Interrupted,
            |shared| {
                let mut session = (self.connect)()?;
                shared.fills(session.as_mut(), Some(settings.sizes().all_rows()))?;
                while let Some(condition) = shared.take() {
                    check(session.as_mut(), settings.sizes(), &CONDITIONS[condition])?;
                    shared.added(0)?;
                }
                Ok(())
            },
        )?;
        let numbers: Vec<String> = CONDITIONS[..count].iter().map(|of| format!("3.3.2.{}", of.number)).collect();
        let verified = format!("hold after the last sample in all tables: {}", numbers.join(", "));
        Ok(Some(AppliedSetting::new("conditions", settings.checked, verified)))
    }
}
