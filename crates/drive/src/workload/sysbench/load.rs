//! A trial with sysbench: it is prepared once, then run once per sample; a checkpoint serves to leave the warm-up out.

use super::SysbenchSettings;
use super::arguments::secret_options;
use crate::workload::program::timed::{TimedClient, TimedRun};
use crate::workload::program::{self, Begins, Interval, Job, ProgramError, Ran, Report, ServerValues, parse};
use crate::workload::{LoadContext, LoadError};
use tare_engine::{Address, ConnectTarget, Server, SysbenchDriver, TlsMode, engine_by_name};

impl TimedClient for SysbenchSettings {
    const NAME: &'static str = "sysbench";
    const PACKAGE: &'static str = "sysbench";
    const REPORTS: &'static str = "sysbench's SQL statistics";

    fn program(&self) -> String {
        self.program.clone()
    }

    fn preloads(&self) -> bool {
        self.preload
    }

    fn drives(&self, engine: &str) -> Result<(), String> {
        match engine_by_name(engine).ok().and_then(|engine| engine.dialect().sysbench_driver()) {
            Some(_) => Ok(()),
            None => Err(format!("sysbench has no driver for {engine}: use mariadb, mysql or postgresql")),
        }
    }

    fn dataset(&self, seed: u64) -> String {
        let distribution = self.distribution.map_or("its own".to_owned(), |distribution| distribution.to_string());
        format!(
            "sysbench itself, {}, tables {}, rows {}, distribution {distribution}, options {:?}, seed {seed}",
            self.script, self.tables, self.rows, self.options
        )
    }

    fn filling(&self, server: &dyn Server, parallel: usize, of: &ServerValues) -> Result<Job, ProgramError> {
        let driver = driver(server)?;
        job(self.prepare(driver, server.target(), parallel), driver, server.target(), of)
    }

    fn job(&self, run: TimedRun, of: &ServerValues, stage: &LoadContext<'_>) -> Result<Job, LoadError> {
        let server = stage.server()?;
        let (driver, target) = (driver(server).map_err(LoadError::own)?, server.target());
        let words = self.run(driver, target, stage.threads, stage.seed.wrapping_add(run.sample as u64), run);
        job(words, driver, target, of).map_err(LoadError::own)
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

fn driver(server: &dyn Server) -> Result<SysbenchDriver, ProgramError> {
    server.dialect().sysbench_driver().ok_or(ProgramError::NoDriver)
}

/// Passes a password in a file that only this user can read.
fn job(
    mut words: Vec<String>,
    driver: SysbenchDriver,
    target: &ConnectTarget,
    of: &ServerValues,
) -> Result<Job, ProgramError> {
    let is_private = matches!(target.address, Address::Socket(_));
    if let (false, mode @ (TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyFull)) = (is_private, target.tls.mode)
    {
        return Err(ProgramError::Unencrypted { program: words.swap_remove(0), mode });
    }
    if let Some(options) = secret_options(driver, target) {
        let path = of.secret("sysbench.options", &options)?;
        words.insert(1, format!("--config-file={}", path.display()));
    }
    Ok(Job { words, without: program::OF_SESSIONS, ..Job::default() })
}
