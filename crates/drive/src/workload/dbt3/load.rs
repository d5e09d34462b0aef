//! The load `dbt3`: its data, its expected duration, and a trial with the queries: each is warmed up, checked,
//! measured, and explained; for captures, all are executed once more.

use super::client::{Client, Done, Place, Task, client};
use super::{Dbt3Error, Dbt3Settings, Fill, Indexes, Order, Query, QuerySet, RECIPE, check};
use crate::sut::{LoadAround, Surroundings};
use crate::workload::pool::{all_read, in_words};
use crate::workload::{
    Driven, Extra, FillError, FillJob, Load, LoadContext, LoadError, Measured, PoolContents, Progress, ServerAt,
    TrialSize,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Instant;
use tare_cpuset::ThreadRefused;
use tare_engine::{Dialect, Server};
use tare_results::metric::Named;
use tare_results::probe::Probe;
use tare_results::schema::AppliedSetting;
use tare_results::server_cost::Operation;

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

struct Runner<'a> {
    pub settings: Dbt3Settings,
    pub stage: LoadContext<'a>,
    pub dialect: &'static dyn Dialect,
    pub client: Client<'a>,
    /// The content of the server's buffer pool, if the server reports it.
    pub held: Option<PoolContents<'a>>,
    pub learnt: Learnt,
}

/// Results of the queries in addition to their measured times.
#[derive(Default)]
pub(crate) struct Learnt {
    warm_up: BTreeMap<String, Vec<f64>>,
    plans: BTreeMap<String, String>,
    /// Sources of the answers with which the rows were compared.
    against: BTreeSet<String>,
}

impl Runner<'_> {
    /// Executes the queries in their order, from connecting to the captures.
    pub(crate) fn run(mut self) -> Result<Driven, LoadError> {
        if let Done::Connected(connected, interrupter) = self.client.reply(None)? {
            self.client.interrupter = interrupter;
            self.stage.watch.connected(&[connected])?;
        }
        let preload = self.preload()?;
        let before = self.held.and_then(|held| held.now());
        let order = self.settings.order.arrange(self.settings.queries, self.stage.seed);
        let queries: Vec<Query> =
            order.iter().map(|number| Query::new(*number, self.settings.scale, self.dialect)).collect();
        let mut samples = vec![SampleBuilder::default(); self.stage.counts.samples];
        for query in &queries {
            self.query(query, &mut samples)?;
        }
        let after = self.held.and_then(|held| held.now());
        let extra = self.stage.counts.extra.then(|| self.captured(&queries, &samples)).transpose()?;
        let against = tare_text::list(&self.learnt.against.into_iter().collect::<Vec<_>>());
        let numbers: Vec<String> = order.iter().map(u8::to_string).collect();
        let verified = format!("in the order {}; rows compared with {against}", numbers.join(","));
        Ok(Driven {
            searches: Vec::new(),
            settled: None,
            applied: vec![preload, AppliedSetting::new("queries", self.settings.queries, verified)],
            samples: samples.into_iter().map(SampleBuilder::build).collect(),
            extra,
            warm_up: self.learnt.warm_up,
            plans: self.learnt.plans,
            pool: before.zip(after),
        })
    }

    fn query(&mut self, query: &Query, samples: &mut [SampleBuilder]) -> Result<(), LoadError> {
        self.stage.host.progress(Progress::Query { query: query.number });
        let name = query.metric().name().to_owned();
        let mut expected = None;
        let mut warm_up = Vec::with_capacity(self.settings.warmup_runs);
        for run in 0..self.settings.warmup_runs {
            // The rows of one execution per trial are checked: the first, unmeasured one.
            let seconds = if run == 0 {
                let (seconds, rows) = self.check(query)?;
                expected = Some(rows);
                seconds
            } else {
                self.execute(query)?.0
            };
            warm_up.push(seconds);
        }
        let mut counts = Vec::with_capacity(samples.len());
        for sample in samples {
            self.stage.watch.start(LoadAround::Idle)?;
            let executed = self.execute(query);
            let around = self.stage.watch.finish();
            let (seconds, rows) = executed?;
            sample.add(query.metric(), seconds, around?);
            counts.push(rows);
        }
        let expected = match expected {
            Some(rows) => rows,
            // Without a warm-up the rows of an additional execution after the last are checked.
            None => self.check(query)?.1,
        };
        // Requested after the measured executions: this reads pages, and the plan depends on the current statistics.
        if let Done::Plan(Some(plan)) = self.client.ask(Task::Plan(query.sql.clone()), query.number)? {
            self.learnt.plans.insert(name.clone(), plan);
        }
        if !warm_up.is_empty() {
            self.learnt.warm_up.insert(name, warm_up);
        }
        match counts.into_iter().find(|found| *found != expected) {
            Some(found) => Err(Dbt3Error::RowCount { query: query.number, expected, found }.into()),
            None => Ok(()),
        }
    }

    fn execute(&self, query: &Query) -> Result<(f64, u64), LoadError> {
        match self.client.ask(Task::Measure(query.sql.clone()), query.number)? {
            Done::Measured { seconds, rows } => Ok((seconds, rows)),
            _ => Err(Client::out_of_step()),
        }
    }

    /// Executes the query once and checks its rows; returns seconds and number of rows.
    fn check(&mut self, query: &Query) -> Result<(f64, u64), LoadError> {
        let Done::Rows(rows, seconds) = self.client.ask(Task::Rows(query.sql.clone()), query.number)? else {
            return Err(Client::out_of_step());
        };
        let version = self.stage.server.map_or(String::new(), |server| format!(" {}", server.version()));
        let who = format!("{}{version}", self.stage.engine);
        let against = check(query, self.settings.scale, &rows, &self.stage.cache.join("answers"), &who)?;
        self.learnt.against.insert(against);
        Ok((seconds, rows.len() as u64))
    }

    /// The additional sample for captures: every query is repeated for its part of a sample's length, at least once.
    fn captured(&self, queries: &[Query], samples: &[SampleBuilder]) -> Result<Extra, LoadError> {
        let counts = self.stage.counts;
        let part_s = counts.sample_s / queries.len().max(1) as f64;
        self.stage.host.progress(Progress::Sample { sample: counts.samples, seconds: counts.sample_s });
        self.stage.host.begin_captures(&self.stage.watch.sides());
        let clock = Instant::now();
        let (mut executions, mut usual_s, mut took_s) = (0.0, 0.0, 0.0);
        for query in queries {
            let metric = query.metric();
            let measured: Vec<f64> = samples.iter().filter_map(|sample| sample.seconds(&metric)).collect();
            let mean_s = measured.iter().sum::<f64>() / measured.len().max(1) as f64;
            let part = Instant::now();
            loop {
                took_s += self.execute(query)?.0;
                usual_s += mean_s;
                executions += 1.0;
                if part.elapsed().as_secs_f64() >= part_s {
                    break;
                }
            }
        }
        let elapsed_s = clock.elapsed().as_secs_f64();
        self.stage.host.end_captures();
        let tps_ratio = usual_s / took_s.max(f64::MIN_POSITIVE);
        Ok(Extra { elapsed_s, tps: executions / elapsed_s, tps_ratio, statement_us: BTreeMap::new() })
    }

    fn preload(&self) -> Result<AppliedSetting, LoadError> {
        let on = self.settings.preload;
        self.client.send(Task::Preload(on.then_some(self.settings.indexes)))?;
        let Done::Preloaded(read) = self.client.reply(None)? else { return Err(Client::out_of_step()) };
        let mut verified = match on {
            true => format!("{read} read; {}", all_read(self.held)?),
            false => "nothing read before the first query".to_owned(),
        };
        if let (false, Some(pool)) = (on, self.held.and_then(|held| held.now())) {
            verified.push_str(&format!("; {}", in_words(&pool)));
        }
        Ok(AppliedSetting::new("preload", if on { "on" } else { "off" }, verified))
    }
}

#[derive(Debug, Clone, Default)]
struct SampleBuilder {
    metrics: Vec<(Named, f64)>,
    around: Option<Surroundings>,
    elapsed_s: f64,
}

impl SampleBuilder {
    fn add(&mut self, metric: Named, seconds: f64, mut around: Surroundings) {
        // The probes around this query are also kept under its own name, in addition to the mean over all queries.
        for probe in Probe::ALL {
            if let Some(ns) = around.covariates.get(probe.covariate()).copied() {
                around.covariates.insert(probe.covariate_of(metric.name()), ns);
            }
        }
        self.metrics.push((metric, seconds));
        self.elapsed_s += seconds;
        match &mut self.around {
            Some(all) => all.merge(around),
            None => self.around = Some(around),
        }
    }

    /// Seconds of a query's execution; None before it was added.
    fn seconds(&self, metric: &Named) -> Option<f64> {
        self.metrics.iter().find(|(known, _)| known.name() == metric.name()).map(|(_, seconds)| *seconds)
    }

    /// All queries as one sample of the trial.
    fn build(self) -> Measured {
        Measured {
            elapsed_s: self.elapsed_s,
            operations: Some((Operation::Query, self.metrics.len() as f64)),
            metrics: self.metrics,
            surroundings: self.around.unwrap_or_default(),
            ..Measured::default()
        }
    }
}
