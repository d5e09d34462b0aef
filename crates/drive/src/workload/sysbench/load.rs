//! A trial with sysbench: it is prepared once, then run once per sample; a checkpoint serves to leave the warm-up out.

use super::SysbenchSettings;
use super::arguments::secret_options;
use crate::workload::program::timed::{TimedClient, TimedRun};
use crate::workload::program::{self, Begins, Interval, Job, ProgramError, Ran, Report, ServerValues, parse};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, TrialSize, Warm};
use tare_engine::{Address, ConnectTarget, Server, TlsMode};

impl TimedClient for SysbenchSettings {
    const REPORTS: &'static str = "sysbench's SQL statistics";

    fn job(&self, run: TimedRun, of: &ServerValues, stage: &LoadContext<'_>) -> Result<Job, LoadError> {
        let target = stage.server()?.target();
        let words = self.run(stage.engine, target, stage.threads, stage.seed.wrapping_add(run.sample as u64), run);
        job(words, stage.engine, target, of).map_err(LoadError::own)
    }

    fn begins(&self, _run: TimedRun) -> Begins<'static> {
        Begins::Line(&parse::sysbench::is_checkpoint)
    }

    fn interval(line: &str) -> Option<Interval> {
        parse::sysbench::interval(line)
    }

    fn report(&self, _run: TimedRun, ran: &Ran, _of: &ServerValues) -> Option<Report> {
        parse::sysbench::report(&ran.ended.text)
    }
}

/// Passes a password in a file that only this user can read.
fn job(mut words: Vec<String>, engine: &str, target: &ConnectTarget, of: &ServerValues) -> Result<Job, ProgramError> {
    let is_private = matches!(target.address, Address::Socket(_));
    if let (false, mode @ (TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyFull)) = (is_private, target.tls.mode)
    {
        return Err(ProgramError::Unencrypted { program: words.swap_remove(0), mode });
    }
    if let Some(options) = secret_options(engine, target) {
        let path = of.secret("sysbench.options", &options)?;
        words.insert(1, format!("--config-file={}", path.display()));
    }
    Ok(Job { words, without: program::OF_SESSIONS, ..Job::default() })
}

impl Load for SysbenchSettings {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn connects(&self) -> bool {
        false
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

    fn is_to_be_resident(&self) -> bool {
        self.preload
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        // Only sysbench's driver depends on the engine, and it is the same for MySQL and MariaDB.
        let engine = if server.dialect().placeholder(1).starts_with('$') { "postgresql" } else { "mysql" };
        let of = ServerValues::of(engine, server.target())?;
        let filling = self::job(self.prepare(engine, server.target(), job.parallel), engine, server.target(), &of)?;
        program::timed::fill(&filling, job)
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let warm = Warm::up(self.preload, &stage)?;
        Ok(warm.around(program::timed::drive(self, stage)?))
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        program::timed::expected_s(counts)
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some(program::NO_CAPTURES)
    }
}
