//! The load `dbt3`: each query warmed up, measured and checked, one after the other, on one connection.

use super::client::{Client, Done, Task, client};
use super::{Dbt3Error, Dbt3Settings, Fill, Indexes, Query, RECIPE, check};
use crate::subject::Surroundings;
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, Progress, Stage};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use tare_engine::{Dialect, Server};
use tare_results::metric::Named;
use tare_results::probe::Probe;
use tare_results::schema::AppliedSetting;
use tare_results::server_cost::Operation;

impl Dbt3Settings {
    /// What `workload.name` says in a study.
    pub const NAMES: &'static [&'static str] = &["dbt3"];

    /// The load of this name, as a study finds it when it says nothing else.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(Self::default)
    }

    /// Executions of all queries in a trial; without a warm-up there is one more of each, to look at its rows.
    fn executions(&self, counts: &Counts) -> f64 {
        (self.queries.count() * (counts.samples + self.warmup_runs.max(1))) as f64
    }
}

/// Tables and the indexes of their keys in InnoDB.
const BYTES_AT_SCALE_1: f64 = 2.0e9;
/// DBT-3's further indexes.
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
        // Data made before there was a choice are those with keys.
        let indexes = if self.indexes == Indexes::Keys { String::new() } else { format!(", indexes {}", self.indexes) };
        format!("dbt3, recipe {RECIPE}, scale {}{indexes}", self.scale)
    }

    fn data_bytes(&self) -> u64 {
        let more = if self.indexes == Indexes::Dbt3 { BYTES_OF_MORE } else { 0.0 };
        (self.scale.factor() * (BYTES_AT_SCALE_1 + more)) as u64
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

    fn drive(&self, stage: Stage<'_>) -> Result<Driven, LoadError> {
        let server = stage.server()?;
        let (dialect, cpus) = (stage.dialect, stage.placement.placement.client_cpus(0).cloned());
        std::thread::scope(|scope| {
            let (tasks, for_client) = channel();
            let (from_client, replies) = channel();
            // It ends when `tasks` is dropped with the runner. Of a server that does not answer, the runner has made an
            // end.
            let connect = stage.connect;
            let is_placed = !stage.placement.placement.server.is_empty();
            scope.spawn(move || client(connect, dialect, cpus.as_ref(), is_placed, &for_client, &from_client));
            let timeout_s = self.query_timeout_s;
            let client = Client { server, interrupter: None, host: stage.host, timeout_s, tasks, replies };
            Runner { settings: *self, stage, dialect, client }.run()
        })
    }

    /// A guess: on an ordinary machine a query takes about two seconds at scale 1, and at scale 10 thirty times that
    /// (article B: 9 hours for all queries 20 times).
    fn expected_s(&self, counts: &Counts) -> f64 {
        let scale = self.scale.factor();
        10.0 * scale + self.executions(counts) * (0.005 + 2.0 * scale.powf(1.5))
    }

    /// Queries are not guessed but have a limit each.
    fn limit_s(&self, counts: &Counts) -> f64 {
        self.expected_s(counts) + self.executions(counts) * self.query_timeout_s
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some("the workload dbt3 has no capture sample yet")
    }

    fn warms_up_in_runs(&self) -> bool {
        true
    }

    fn add_warmup_runs(&mut self, runs: usize) {
        self.warmup_runs += runs;
    }
}

/// A directory beside the data being made, on the same file system. Of a filling that fails or is killed it goes with
/// the data. Not every engine needs one.
fn scratch(server: &dyn Server) -> Result<PathBuf, FillError> {
    use std::os::unix::fs::DirBuilderExt;
    if !server.dialect().needs_scratch() {
        return Ok(PathBuf::new());
    }
    let directory = server.data().parent().ok_or("the server's data have no directory around them")?.join("scratch");
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    Ok(directory)
}

struct Runner<'a> {
    settings: Dbt3Settings,
    stage: Stage<'a>,
    dialect: &'static dyn Dialect,
    client: Client<'a>,
}

impl Runner<'_> {
    fn run(mut self) -> Result<Driven, LoadError> {
        if let Done::Connected(connected, interrupter) = self.client.reply(None)? {
            self.client.interrupter = interrupter;
            self.stage.watch.connected(&[connected])?;
        }
        let mut applied = vec![self.preload()?];
        let mut samples = vec![SampleBuilder::default(); self.stage.counts.samples];
        let mut against: BTreeSet<String> = BTreeSet::new();
        for number in self.settings.queries.iter() {
            let query = Query::new(number, self.settings.scale, self.dialect);
            against.insert(self.query(&query, &mut samples)?);
        }
        applied.push(AppliedSetting {
            factor: "queries".into(),
            level: self.settings.queries.to_string(),
            found: None,
            verified: format!("rows compared with {}", against.into_iter().collect::<Vec<_>>().join(" and ")),
        });
        let samples = samples.into_iter().map(SampleBuilder::build).collect();
        Ok(Driven { samples, applied, ..Driven::default() })
    }

    /// All executions of one query. Where the expected rows are from.
    fn query(&mut self, query: &Query, samples: &mut [SampleBuilder]) -> Result<String, LoadError> {
        self.stage.host.progress(Progress::Query { query: query.number });
        let mut checked = None;
        for run in 0..self.settings.warmup_runs {
            // One execution of each trial is looked at row by row: the first that does not count.
            if run == 0 {
                checked = Some(self.check(query)?);
            } else {
                self.execute(query)?;
            }
        }
        let mut counts = Vec::with_capacity(samples.len());
        for sample in samples {
            self.stage.watch.start()?;
            let executed = self.execute(query);
            let around = self.stage.watch.finish();
            let (seconds, rows) = executed?;
            sample.add(query.metric(), seconds, around?);
            counts.push(rows);
        }
        let (expected, against) = match checked {
            Some(checked) => checked,
            // The first execution was to be measured: one more, after the last.
            None => self.check(query)?,
        };
        match counts.into_iter().find(|found| *found != expected) {
            Some(found) => Err(Dbt3Error::RowCount { query: query.number, expected, found }.into()),
            None => Ok(against),
        }
    }

    fn execute(&self, query: &Query) -> Result<(f64, u64), LoadError> {
        match self.client.ask(Task::Measure(query.sql.clone()), query.number)? {
            Done::Measured { seconds, rows } => Ok((seconds, rows)),
            _ => Err(Client::out_of_step()),
        }
    }

    /// Number of rows, and where the rows they were compared with are from.
    fn check(&self, query: &Query) -> Result<(u64, String), LoadError> {
        let Done::Rows(rows) = self.client.ask(Task::Rows(query.sql.clone()), query.number)? else {
            return Err(Client::out_of_step());
        };
        let who = format!("{} {}", self.stage.engine, self.stage.server()?.version());
        let against = check(query, self.settings.scale, &rows, &self.stage.answers, &who)?;
        Ok((rows.len() as u64, against))
    }

    fn preload(&self) -> Result<AppliedSetting, LoadError> {
        let on = self.settings.preload;
        self.client.tell(Task::Preload(on.then_some(self.settings.indexes)))?;
        let Done::Preloaded(read, pages) = self.client.reply(None)? else { return Err(Client::out_of_step()) };
        let mut verified = match on {
            true => format!("{read} read"),
            false => "nothing read before the first query".to_owned(),
        };
        if let Some((held, all)) = pages {
            verified.push_str(&format!("; the buffer pool holds {held} pages, the data have {all}"));
        }
        let level = if on { "on" } else { "off" };
        Ok(AppliedSetting { factor: "preload".into(), level: level.into(), found: None, verified })
    }
}

/// One sample, put together from an execution of each query.
#[derive(Debug, Clone, Default)]
struct SampleBuilder {
    metrics: Vec<(Named, f64)>,
    around: Option<Surroundings>,
    elapsed_s: f64,
}

impl SampleBuilder {
    fn add(&mut self, metric: Named, seconds: f64, mut around: Surroundings) {
        // The machine beside this query, which is not the machine beside all of them.
        for probe in Probe::ALL {
            if let Some(ns) = around.covariates.get(probe.covariate()).copied() {
                around.covariates.insert(probe.beside(metric.name()), ns);
            }
        }
        self.metrics.push((metric, seconds));
        self.elapsed_s += seconds;
        match &mut self.around {
            Some(all) => all.merge(around),
            None => self.around = Some(around),
        }
    }

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
