//! What a trial does with sysbench: prepare once, then a run a sample, its warm-up left out by a checkpoint.

use super::SysbenchSettings;
use super::arguments::{Timing, secret_options};
use crate::workload::program::{self, Begins, Client, Job, ProgramError, ServerValues};
use crate::workload::program::{client_sample, parse};
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, Progress, Stage};
use std::ops::ControlFlow;
use tare_engine::{ConnectTarget, Server};

/// Seconds in which threads are found and bound, where a study asks for no warm-up.
const LEAST_WARMUP_S: u64 = 2;
/// Seconds beyond its time after which a run is given up.
const PATIENCE_S: f64 = 60.0;
/// Seconds that filling may take.
const FILL_S: f64 = 24.0 * 3600.0;

impl SysbenchSettings {
    /// What `workload.name` says in a study.
    pub const NAMES: &'static [&'static str] = &["sysbench"];

    /// The load of this name, as a study finds it when it says nothing else.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(Self::default)
    }

    fn sample(&self, sample: usize, of: &ServerValues, stage: &mut Stage<'_>) -> Result<Measured, LoadError> {
        let target = stage.server()?.target().clone();
        // Every run connects anew; the first warms the server up as well.
        let warmup_s = if sample == 0 { stage.counts.warmup_s.ceil() as u64 } else { 0 }.max(LEAST_WARMUP_S);
        let timing = Timing { warmup_s, measured_s: stage.counts.sample_s.ceil().max(1.0) as u64 };
        let words = self.run(stage.engine, &target, stage.threads, stage.seed.wrapping_add(sample as u64), timing);
        let job = job(words, stage.engine, &target, of).map_err(LoadError::own)?;
        let job = Job { log: stage.host.log(&format!("client-{sample}")), ..job };
        let program = job.program();
        let measures_s = timing.measured_s as f64;
        let client = Client {
            job,
            connections: Some(stage.threads),
            begins: Begins::Line(&parse::sysbench::is_checkpoint),
            measures_s: Some(measures_s),
            limit_s: warmup_s as f64 + measures_s + PATIENCE_S,
            interval: &parse::sysbench::interval,
        };
        stage.host.progress(Progress::Sample { sample, seconds: measures_s });
        let ran = program::run(&client, stage)?;
        let Some(report) = parse::sysbench::report(&ran.ended.text) else {
            let expected = "sysbench's SQL statistics".to_owned();
            return Err(LoadError::own(ProgramError::NoMetric { program, expected, tail: ran.ended.tail }));
        };
        Ok(client_sample(report, ran, measures_s))
    }
}

/// With the password, where there is one, in a file that only this user can read.
fn job(mut words: Vec<String>, engine: &str, target: &ConnectTarget, of: &ServerValues) -> Result<Job, ProgramError> {
    if let Some(options) = secret_options(engine, target) {
        let path = of.write("sysbench.options", &options)?;
        words.insert(1, format!("--config-file={}", path.display()));
    }
    Ok(Job { words, ..Job::default() })
}

impl Load for SysbenchSettings {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn available(&self, _threads: usize) -> Result<(), String> {
        program::installed(&self.program, "sysbench")
    }

    fn drives(&self, engine: &str) -> Result<(), String> {
        match engine {
            "sqlite" => Err("sysbench has no driver for sqlite: use mariadb, mysql or postgresql".to_owned()),
            _ => Ok(()),
        }
    }

    fn dataset(&self, seed: u64) -> String {
        let distribution = self.distribution.map_or("its own".to_owned(), |distribution| distribution.to_string());
        format!(
            "sysbench itself, {}, tables {}, rows {}, distribution {distribution}, options {:?}, seed {seed}",
            self.script, self.tables, self.rows, self.options
        )
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        // Only its driver depends on it, and MySQL's is that of MariaDB.
        let engine = if server.dialect().placeholder(1).starts_with('$') { "postgresql" } else { "mysql" };
        let of = ServerValues::of(engine, server.target())?;
        let filling = self::job(self.prepare(engine, server.target(), job.parallel), engine, server.target(), &of)?;
        let go_on = || matches!((job.go_on)(0), ControlFlow::Continue(()));
        Ok(program::run_quietly(&filling, FILL_S, &go_on)?)
    }

    fn drive(&self, mut stage: Stage<'_>) -> Result<Driven, LoadError> {
        let of = program::of_stage(&stage).map_err(LoadError::own)?;
        stage.host.progress(Progress::WarmUp { seconds: stage.counts.warmup_s });
        let samples =
            (0..stage.counts.samples).map(|sample| self.sample(sample, &of, &mut stage)).collect::<Result<_, _>>()?;
        Ok(Driven { samples, ..Driven::default() })
    }

    fn expected_s(&self, counts: &Counts) -> f64 {
        let warmups_s = counts.warmup_s.max(2.0) + 2.0 * counts.samples.saturating_sub(1) as f64;
        warmups_s + counts.samples as f64 * (counts.sample_s.ceil() + 0.5)
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some("a program of somebody else's has no further sample for captures")
    }
}
