//! pgbench as the client, with its built-in or custom scripts: initialized once, then run once per sample; its
//! transaction log serves to cut off the warm-up.

use super::program::timed::{TimedClient, TimedRun};
use super::program::{
    Begins, Interval, Job, ProgramError, Ran, Report, ServerValues, is_there, joined, option_words, parse,
};
use super::{LoadContext, LoadError, keys, program};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use strum::{Display, EnumString, VariantNames};
use tare_engine::{Address, ConnectTarget, Server, Tls, TlsMode};
use tare_results::metric;
use tare_text::{Key, Keyed, UnknownWord, key};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Protocol {
    /// As text; pgbench's default.
    #[default]
    Simple,
    Extended,
    Prepared,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PgbenchSettings {
    /// Built-in names or paths, each with an optional weight.
    pub scripts: Vec<String>,
    /// pgbench's scale: 100,000 accounts each.
    pub scale: u64,
    pub protocol: Protocol,
    /// Threads of pgbench itself; None: one per connection.
    pub jobs: Option<usize>,
    /// Transactions per second over all connections; None: as fast as they go.
    pub rate: Option<f64>,
    /// Share of transactions that are logged; latencies are computed from the log.
    pub log_fraction: f64,
    pub options: Vec<String>,
    pub program: Option<String>,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl Default for PgbenchSettings {
    fn default() -> Self {
        Self {
            scripts: vec!["tpcb-like".to_owned()],
            scale: 1,
            protocol: Protocol::default(),
            jobs: None,
            rate: None,
            log_fraction: 1.0,
            options: Vec::new(),
            program: None,
            preload: false,
        }
    }
}

impl Keyed for PgbenchSettings {
    const KEYS: &'static [Key<Self>] = &[
        keys::script(
            |s| Some(joined(&s.scripts).into()),
            |s, v| {
                let scripts = option_words(v)?;
                match scripts.is_empty() {
                    true => Err("at least one script".to_owned()),
                    false => {
                        s.scripts = scripts;
                        Ok(())
                    }
                }
            },
        ),
        key!(whole "pgbench_scale" in scale, (1, 1_000_000), "pgbench's scale: 100,000 accounts each"),
        key!(words "protocol" in protocol,
            "pgbench: how statements are sent: simple (its default), extended or prepared"),
        key!(optional whole "jobs" in jobs, (1, 65_536),
            "threads of pgbench (-j); absent: one per connection, which is required for binding each next to its \
             server process"),
        keys::rate(|s| s.rate, |s, v| s.rate = Some(v)),
        Key::words(
            "log_fraction",
            "pgbench: share of transactions in its log, the source of latencies; throughput comes from the log if the \
             share is 1, else from its progress lines",
            |s| Some(s.log_fraction.into()),
            |s, v| {
                let share = v.number().filter(|share| *share > 0.0 && *share <= 1.0);
                share.map(|share| s.log_fraction = share).ok_or_else(|| "a share above 0, at most 1".to_owned())
            },
        ),
        keys::options(
            |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            |s, v| option_words(v).map(|words| s.options = words),
        ),
        keys::program(|s| s.program.as_ref(), |s, v| s.program = Some(v)),
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}

impl TimedClient for PgbenchSettings {
    const NAME: &'static str = "pgbench";
    const PACKAGE: &'static str = "postgresql-contrib";
    const REPORTS: &'static str = "transactions in pgbench's log";

    fn program(&self) -> String {
        self.program.clone().unwrap_or_else(usual_program)
    }

    fn preloads(&self) -> bool {
        self.preload
    }

    fn drives(&self, engine: &str) -> Result<(), String> {
        match engine {
            "postgresql" => Ok(()),
            other => Err(format!("pgbench supports only postgresql, and the engine is {other}")),
        }
    }

    /// Custom scripts may name their rows.
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        if self.scripts.iter().all(|script| is_builtin(script)) {
            vec![("pgbench_scale", self.scale)]
        } else {
            Vec::new()
        }
    }

    fn dataset(&self, _seed: u64) -> String {
        format!("pgbench itself, scale {}", self.scale)
    }

    fn filling(&self, server: &dyn Server, _parallel: usize, of: &ServerValues) -> Result<Job, ProgramError> {
        job(self.prepare(server.target()), server.target(), of)
    }

    fn job(&self, run: TimedRun, of: &ServerValues, stage: &LoadContext<'_>) -> Result<Job, LoadError> {
        let target = stage.server()?.target();
        let seed = stage.seed.wrapping_add(run.sample as u64);
        let logs = of.folder().map_err(LoadError::own)?.join(prefix(run));
        let words = self.run(target, stage.threads, seed, run.total_s(), &logs);
        job(words, target, of).map_err(LoadError::own)
    }

    fn begins(&self, run: TimedRun) -> Begins<'static> {
        Begins::After(run.warmup_s as f64)
    }

    fn interval(line: &str) -> Option<Interval> {
        parse::report::pgbench_interval(line)
    }

    fn report(&self, run: TimedRun, ran: &Ran, of: &ServerValues) -> Option<Report> {
        let prefix = prefix(run);
        let measured_s = run.measured_s as f64;
        let mut logged = parse::Logged::default();
        let logs = std::fs::read_dir(of.folder().ok()?).into_iter().flatten().flatten().map(|entry| entry.path());
        for log in logs.filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix))) {
            let lines = File::open(&log).map(BufReader::new).into_iter().flat_map(BufRead::lines);
            lines.map_while(Result::ok).for_each(|line| logged.line(&line));
            // The log grows with the length of the run.
            let _ = std::fs::remove_file(&log);
        }
        let mut report = logged.report(measured_s)?;
        if self.log_fraction < 1.0 {
            // If only a sample of the transactions is logged, the log yields only latencies.
            let readings = &ran.tps_each_second;
            let tps = readings.iter().sum::<f64>() / readings.len().max(1) as f64;
            report.metrics.retain(|(named, _)| *named != metric::TPS);
            report.metrics.insert(0, (metric::TPS, tps));
            report.transactions = Some(tps * measured_s);
        }
        let whole = parse::report::pgbench_report(&ran.ended.text)?;
        // Failed transactions are counted over the whole run.
        report.covariates.extend(whole.covariates);
        Some(report)
    }
}

fn prefix(run: TimedRun) -> String {
    format!("pgbench_log-{}", run.sample)
}

/// Passes a password in a file that only this user can read, and the encryption settings of the target.
fn job(words: Vec<String>, target: &ConnectTarget, of: &ServerValues) -> Result<Job, ProgramError> {
    let mut environment = encryption(target);
    if let Some(line) = password_line(target) {
        environment.push(("PGPASSFILE".to_owned(), of.secret("pgpass", &line)?.into()));
    }
    Ok(Job { words, environment, without: program::OF_SESSIONS, ..Job::default() })
}

const BUILTIN: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

/// Whether it is one of pgbench's scripts, with or without a weight.
fn is_builtin(script: &str) -> bool {
    BUILTIN.contains(&script.split('@').next().unwrap_or_default())
}

/// Where Debian installs the programs of each version of PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql";

/// pgbench on the PATH, otherwise that of the newest installed version.
fn usual_program() -> String {
    if is_there("pgbench") {
        return "pgbench".to_owned();
    }
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path());
    let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest = versions.filter(|path| path.join("bin/pgbench").is_file()).max_by_key(number);
    newest.map_or("pgbench".to_owned(), |path| path.join("bin/pgbench").display().to_string())
}

impl PgbenchSettings {
    pub(crate) fn prepare(&self, target: &ConnectTarget) -> Vec<String> {
        let mut words = vec![self.program()];
        words.extend(connection(target));
        words.extend(["-i", "-q", "-s"].map(str::to_owned));
        words.extend([self.scale.to_string(), target.database.clone().unwrap_or_default()]);
        words
    }

    pub(crate) fn run(
        &self,
        target: &ConnectTarget,
        clients: usize,
        seed: u64,
        total_s: u64,
        logs: &Path,
    ) -> Vec<String> {
        let mut words = vec![self.program()];
        words.extend(connection(target));
        words.extend([
            format!("--client={clients}"),
            format!("--jobs={}", self.jobs.unwrap_or(clients)),
            format!("--time={total_s}"),
            "--progress=1".to_owned(),
            "--log".to_owned(),
            format!("--log-prefix={}", logs.display()),
            format!("--protocol={}", self.protocol),
            format!("--random-seed={}", seed % 0x7fff_ffff),
        ]);
        if self.log_fraction < 1.0 {
            words.push(format!("--sampling-rate={}", self.log_fraction));
        }
        words.extend(self.rate.map(|rate| format!("--rate={rate}")));
        for script in &self.scripts {
            words.extend([if is_builtin(script) { "-b" } else { "-f" }.to_owned(), script.clone()]);
        }
        // pgbench's vacuum needs pgbench's own tables, which custom scripts may not have.
        if !self.scripts.iter().all(|script| is_builtin(script)) {
            words.extend(["--no-vacuum".to_owned(), format!("--define=scale={}", self.scale)]);
        }
        words.extend(self.options.iter().cloned());
        words.push(target.database.clone().unwrap_or_default());
        words
    }
}

fn connection(target: &ConnectTarget) -> Vec<String> {
    let (host, port) = match &target.address {
        Address::Socket(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let port = name.strip_prefix(".s.PGSQL.").unwrap_or("5432").to_owned();
            (path.parent().unwrap_or(path).display().to_string(), port)
        }
        Address::Tcp(host, port) => (host.clone(), port.to_string()),
    };
    vec![format!("--host={host}"), format!("--port={port}"), format!("--username={}", target.user)]
}

fn password_line(target: &ConnectTarget) -> Option<String> {
    let escaped = target.password.replace('\\', "\\\\").replace(':', "\\:");
    (!target.password.is_empty()).then(|| format!("*:*:*:*:{escaped}\n"))
}

pub(crate) fn encryption(target: &ConnectTarget) -> Vec<(String, OsString)> {
    let Tls { mode, ca, identity, .. } = &target.tls;
    let word = match mode {
        TlsMode::Off => "disable",
        TlsMode::Preferred => "prefer",
        TlsMode::Required => "require",
        TlsMode::VerifyCa => "verify-ca",
        TlsMode::VerifyFull => "verify-full",
    };
    let files = [
        ("PGSSLROOTCERT", ca.as_ref()),
        ("PGSSLCERT", identity.as_ref().map(|own| &own.certificate)),
        ("PGSSLKEY", identity.as_ref().map(|own| &own.key)),
    ];
    let files = files.into_iter().filter_map(|(name, path)| Some((name.to_owned(), path?.into())));
    [("PGSSLMODE".to_owned(), word.into())].into_iter().chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_pgbenchs_own() {
        let socket = Address::Socket("/r/.s.PGSQL.5432".into());
        let target = ConnectTarget { database: Some("sbtest".into()), ..ConnectTarget::to(socket, "postgres") };
        let settings = PgbenchSettings { program: Some("pgbench".into()), ..PgbenchSettings::default() };
        let line = settings.run(&target, 4, 3, 7, Path::new("/l/log")).join(" ");
        assert_eq!(
            line,
            "pgbench --host=/r --port=5432 --username=postgres --client=4 --jobs=4 --time=7 --progress=1 --log \
             --log-prefix=/l/log --protocol=simple --random-seed=3 -b tpcb-like sbtest"
        );
        let own = PgbenchSettings { scripts: vec!["mine.sql@3".into(), "select-only@1".into()], ..settings };
        let line = own.run(&target, 8, 3, 7, Path::new("/l/log")).join(" ");
        assert!(line.contains("-f mine.sql@3 -b select-only@1 --no-vacuum --define=scale=1"), "{line}");
        assert!(TimedClient::sizes(&own).is_empty(), "its own script may name its rows");
        assert!(own.prepare(&target).join(" ").ends_with("-i -q -s 1 sbtest"));
        let tls = Tls { mode: TlsMode::VerifyCa, ca: Some("/ca".into()), identity: None, ..Tls::default() };
        let target = ConnectTarget { password: "a:b\\".into(), tls, ..target };
        assert_eq!(password_line(&target).as_deref(), Some("*:*:*:*:a\\:b\\\\\n"));
        let reported = [("PGSSLMODE".to_owned(), "verify-ca".into()), ("PGSSLROOTCERT".to_owned(), "/ca".into())];
        assert_eq!(encryption(&target), reported);
    }
}
