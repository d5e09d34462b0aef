//! sysbench 1.0 as the client, with its built-in or custom scripts: it is prepared once, then run once per sample; a
//! checkpoint serves to leave the warm-up out.

use super::program::timed::{TimedClient, TimedRun};
use super::program::{Begins, Interval, Job, ProgramError, Ran, Report, ServerValues, joined, option_words, parse};
use super::{LoadContext, LoadError, keys, program};
use tare_engine::{Address, ConnectTarget, Server, SysbenchDriver, TlsMode, engine_by_name};
use tare_load::Distribution;
use tare_text::{Key, Keyed};

#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchSettings {
    /// A built-in script of sysbench, or the path of a custom one.
    pub script: String,
    pub tables: usize,
    pub rows: u64,
    /// Distribution of ids; None: sysbench's default.
    pub distribution: Option<Distribution>,
    /// Transactions per second over all threads; None: as fast as they go.
    pub rate: Option<f64>,
    pub options: Vec<String>,
    pub program: String,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl Default for SysbenchSettings {
    fn default() -> Self {
        Self {
            script: "oltp_read_only".to_owned(),
            tables: 1,
            rows: 10_000,
            distribution: None,
            rate: None,
            options: Vec::new(),
            program: "sysbench".to_owned(),
            preload: false,
        }
    }
}

impl Keyed for SysbenchSettings {
    const KEYS: &'static [Key<Self>] = &[
        keys::script(
            |s| Some(s.script.clone().into()),
            |s, v| {
                s.script = v.to_string();
                Ok(())
            },
        ),
        keys::tables(|s| Some(s.tables as u64), |s, v| s.tables = v as usize),
        keys::rows(|s| Some(s.rows), |s, v| s.rows = v),
        keys::distribution(
            |s| s.distribution.map(|d| d.to_string().into()),
            |s, v| {
                let distribution: Distribution = v.parsed()?;
                if distribution.has_parameter() {
                    return Err(
                        "sysbench has a parameter as an option: options = \"--rand-zipfian-exp=1.1\"".to_owned()
                    );
                }
                s.distribution = Some(distribution);
                Ok(())
            },
        ),
        keys::rate(|s| s.rate, |s, v| s.rate = Some(v)),
        keys::options(
            |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            |s, v| option_words(v).map(|words| s.options = words),
        ),
        keys::program(|s| Some(&s.program), |s, v| s.program = v),
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}

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

    fn sizes(&self) -> Vec<(&'static str, u64)> {
        if self.has_sizes() { vec![("tables", self.tables as u64), ("rows", self.rows)] } else { Vec::new() }
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
        Begins::Line(&parse::report::is_checkpoint)
    }

    fn interval(line: &str) -> Option<Interval> {
        parse::report::sysbench_interval(line)
    }

    fn report(&self, _run: TimedRun, ran: &Ran, _of: &ServerValues) -> Option<Report> {
        parse::report::sysbench_report(&ran.ended.text)
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

/// Bulk inserts use one table per thread; this many are created with the data.
const BULK_TABLES: usize = 1024;
/// The script that uses one table per thread.
const BULK: &str = "bulk_insert";

impl SysbenchSettings {
    pub(crate) fn prepare(&self, driver: SysbenchDriver, target: &ConnectTarget, parallel: usize) -> Vec<String> {
        let threads = if self.script == BULK { BULK_TABLES } else { parallel };
        let mut words = self.common(driver, target, threads);
        words.extend([self.script.clone(), "prepare".to_owned()]);
        words
    }

    pub(crate) fn run(
        &self,
        driver: SysbenchDriver,
        target: &ConnectTarget,
        threads: usize,
        seed: u64,
        run: TimedRun,
    ) -> Vec<String> {
        let mut words = self.common(driver, target, threads);
        words.extend([
            format!("--time={}", run.total_s()),
            "--events=0".to_owned(),
            format!("--report-checkpoints={}", run.warmup_s),
            "--report-interval=1".to_owned(),
            "--histogram=on".to_owned(),
            // 0 would mean a seed from the time of day.
            format!("--rand-seed={}", seed % 0x7fff_ffff + 1),
        ]);
        words.extend(self.rate.map(|rate| format!("--rate={rate:.0}")));
        words.extend([self.script.clone(), "run".to_owned()]);
        words
    }

    /// Whether the script has options for the number of tables and rows: bulk_insert and custom scripts do not.
    fn has_sizes(&self) -> bool {
        self.script.starts_with("oltp_") || self.script.starts_with("select_random_")
    }

    fn common(&self, driver: SysbenchDriver, target: &ConnectTarget, threads: usize) -> Vec<String> {
        let mut words = vec![
            self.program.clone(),
            format!("--db-driver={driver}"),
            format!("--threads={threads}"),
            format!("--{driver}-user={}", target.user),
            format!("--{driver}-db={}", target.database.as_deref().unwrap_or_default()),
        ];
        match (&target.address, driver) {
            (Address::Socket(path), SysbenchDriver::Mysql) => words.push(format!("--mysql-socket={}", path.display())),
            (Address::Socket(path), SysbenchDriver::Pgsql) => {
                words.push(format!("--pgsql-host={}", path.parent().unwrap_or(path).display()));
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                words.extend(name.strip_prefix(".s.PGSQL.").map(|port| format!("--pgsql-port={port}")));
            }
            (Address::Tcp(host, port), _) => {
                words.extend([format!("--{driver}-host={host}"), format!("--{driver}-port={port}")]);
            }
        }
        if self.has_sizes() {
            words.extend([format!("--tables={}", self.tables), format!("--table-size={}", self.rows)]);
        }
        words.extend(self.distribution.map(|distribution| format!("--rand-type={distribution}")));
        words.extend(self.options.iter().cloned());
        words
    }
}

/// The content of an options file with the password, so that the process list does not show it.
fn secret_options(driver: SysbenchDriver, target: &ConnectTarget) -> Option<String> {
    (!target.password.is_empty()).then(|| format!("{driver}-password={}\n", target.password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_names_its_driver_and_one_without_is_refused() {
        let of = |engine: &str| engine_by_name(engine).unwrap().dialect().sysbench_driver();
        let (mysql, pgsql) = (Some(SysbenchDriver::Mysql), Some(SysbenchDriver::Pgsql));
        assert_eq!(["mariadb", "mysql", "postgresql", "sqlite"].map(of), [mysql, mysql, pgsql, None]);
        let drives = |engine| TimedClient::drives(&SysbenchSettings::default(), engine).is_ok();
        assert_eq!([drives("postgresql"), drives("sqlite"), drives("other")], [true, false, false]);
    }

    #[test]
    fn the_command_line_is_sysbenchs_own() {
        let settings = SysbenchSettings { options: vec!["--range-size=5".into()], ..SysbenchSettings::default() };
        let target = |address| ConnectTarget {
            password: "p".into(),
            database: Some("sbtest".into()),
            ..ConnectTarget::to(address, "u")
        };
        let run = TimedRun { sample: 0, warmup_s: 2, measured_s: 5 };
        let line = settings.run(SysbenchDriver::Mysql, &target(Address::Socket("/r/s".into())), 4, 0, run).join(" ");
        assert_eq!(
            line,
            "sysbench --db-driver=mysql --threads=4 --mysql-user=u --mysql-db=sbtest --mysql-socket=/r/s --tables=1 \
             --table-size=10000 --range-size=5 --time=7 --events=0 --report-checkpoints=2 --report-interval=1 \
             --histogram=on --rand-seed=1 oltp_read_only run"
        );
        let line =
            settings.prepare(SysbenchDriver::Pgsql, &target(Address::Socket("/r/.s.PGSQL.7".into())), 2).join(" ");
        assert!(line.contains("--pgsql-host=/r --pgsql-port=7") && line.ends_with("oltp_read_only prepare"), "{line}");
        let tcp = target(Address::Tcp("127.0.0.1".into(), 9));
        let own = SysbenchSettings { script: "/x/mine.lua".into(), ..SysbenchSettings::default() };
        let line = own.run(SysbenchDriver::Mysql, &tcp, 1, 7, run).join(" ");
        assert!(line.contains("--mysql-host=127.0.0.1 --mysql-port=9") && !line.contains("--tables"), "{line}");
        assert_eq!([&settings, &own].map(|one| TimedClient::sizes(one).len()), [2, 0]);
        assert!(!line.contains("--mysql-password"), "{line}");
        assert_eq!(secret_options(SysbenchDriver::Pgsql, &tcp).as_deref(), Some("pgsql-password=p\n"));
    }
}
