//! The load `dbt3`: its data, its expected duration, and the client that a trial drives.

use super::client::{Client, Place, client};
use super::runner::{Learnt, Runner};
use super::{Dbt3Settings, Fill, Indexes, Order, QuerySet, RECIPE};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, PoolContents, ServerAt, TrialSize};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread::Builder;
use tare_cpuset::ThreadRefused;
use tare_engine::Server;

impl Dbt3Settings {
    /// Executions of each query in a trial; without a warm-up there is one more, to check its rows.
    fn passes(&self, counts: &TrialSize) -> f64 {
        (counts.samples + self.warmup_runs.max(1)) as f64
    }
}

/// Tables and the indexes of their keys in InnoDB.
const BYTES_AT_SCALE_1: f64 = 2.0e9;
/// Of all tables together; those of lineitem are from its generator.
const ROWS_AT_SCALE_1: f64 = 8_661_245.0;
/// DBT-3's additional indexes.
const BYTES_OF_MORE: f64 = 0.6e9;

impl Load for Dbt3Settings {
    fn name(&self) -> &'static str {
        "dbt3"
    }

    fn check(&self, threads: usize) -> Result<(), String> {
        match threads {
            1 => Ok(()),
            _ => Err("1 thread with dbt3: its queries run one after another on one connection".into()),
        }
    }

    fn dataset(&self, _seed: u64) -> String {
        // The name without indexes is kept for Indexes::Keys, so that data made before the key existed stay valid.
        let indexes = if self.indexes == Indexes::Keys { String::new() } else { format!(", indexes {}", self.indexes) };
        format!("dbt3, recipe {RECIPE}, scale {}{indexes}", self.scale)
    }

    fn data_bytes(&self) -> u64 {
        let more = if self.indexes == Indexes::Dbt3 { BYTES_OF_MORE } else { 0.0 };
        (self.scale.factor() * (BYTES_AT_SCALE_1 + more)) as u64
    }

    fn rows(&self) -> Option<u64> {
        Some((self.scale.factor() * ROWS_AT_SCALE_1).round() as u64)
    }

    fn is_to_be_resident(&self) -> bool {
        self.preload
    }

    fn clients_elsewhere(&self) -> Result<(), String> {
        Ok(())
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let directory = scratch(server)?;
        let fill = Fill {
            scale: self.scale,
            indexes: self.indexes,
            dialect: server.dialect(),
            parallel: job.parallel,
            directory: &directory,
        };
        super::prepare(&fill, &|| server.connect(), job.go_on)?;
        if server.dialect().needs_scratch() {
            std::fs::remove_dir_all(&directory)?;
        }
        Ok(())
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        if stage.server.is_none() && stage.server_at != ServerAt::Partner {
            return Err(LoadError::NoServer);
        }
        let held = PoolContents::at_start(&stage);
        let (dialect, cpus) = (stage.dialect, stage.placement.placement.client_cpus(0).cloned());
        std::thread::scope(|scope| {
            let (tasks, for_client) = channel();
            let (from_client, replies) = channel();
            // The thread ends when `tasks` is dropped with the runner. If the server does not answer, the runner has
            // ended it.
            let connect = stage.connect;
            let place = Place {
                cpus,
                server_is_placed: !stage.placement.placement.server.is_empty(),
                server_at: stage.server_at,
            };
            let client = move || client(connect, dialect, &place, &for_client, &from_client);
            let spawned = Builder::new().spawn_scoped(scope, client).map_err(ThreadRefused::from);
            spawned.map_err(LoadError::own)?;
            let timeout_s = self.query_timeout_s;
            let client =
                Client { server: stage.server, interrupter: None, host: stage.host, timeout_s, tasks, replies };
            Runner { settings: *self, stage, dialect, client, held, learnt: Learnt::default() }.run()
        })
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        let extra_s = if counts.extra { counts.sample_s.max(self.pass_s()) } else { 0.0 };
        self.other_s() + self.passes(counts) * self.pass_s() + extra_s
    }

    /// The sum of the queries' time limits, in addition to the expected duration.
    fn limit_s(&self, counts: &TrialSize) -> f64 {
        let extra = if counts.extra { self.queries.count() as f64 } else { 0.0 };
        let executions = self.passes(counts) * self.queries.count() as f64;
        self.expected_s(counts) + (executions + extra) * self.query_timeout_s
    }

    fn no_captures(&self) -> Option<&'static str> {
        let alone = "with order = \"alone\" there is no server that all queries share: capture with another order";
        (self.order == Order::Alone).then_some(alone)
    }

    fn parts(&self) -> Vec<Box<dyn Load>> {
        if self.order != Order::Alone {
            return Vec::new();
        }
        let alone = |query| Self { queries: QuerySet::one(query), order: Order::Numeric, ..*self };
        self.queries.iter().map(|query| Box::new(alone(query)) as Box<dyn Load>).collect()
    }

    fn warms_up_in_runs(&self) -> bool {
        true
    }

    fn add_warmup_runs(&mut self, runs: usize) {
        self.warmup_runs += runs;
    }
}

/// A directory next to the data being made, on the same file system. If filling fails or is killed, it is removed with
/// the data. Not every engine needs one.
fn scratch(server: &dyn Server) -> Result<PathBuf, FillError> {
    use std::os::unix::fs::DirBuilderExt;
    if !server.dialect().needs_scratch() {
        return Ok(PathBuf::new());
    }
    let directory = server
        .data()
        .parent()
        .ok_or(
            "the server's data directory has no parent \
        directory",
        )?
        .join("scratch");
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    Ok(directory)
}
