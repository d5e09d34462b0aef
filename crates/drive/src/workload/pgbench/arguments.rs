//! The command line of pgbench, and the path of the program.

use super::PgbenchSettings;
use crate::workload::program::is_there;
use crate::workload::program::timed::TimedClient;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tare_engine::{Address, ConnectTarget, Tls, TlsMode};

const BUILTIN: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];
/// Where Debian installs the programs of each version of PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql";

/// pgbench on the PATH, otherwise that of the newest installed version.
pub(super) fn usual_program() -> String {
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
        let is_builtin = |script: &String| BUILTIN.contains(&script.split('@').next().unwrap_or_default());
        for script in &self.scripts {
            words.extend([if is_builtin(script) { "-b" } else { "-f" }.to_owned(), script.clone()]);
        }
        // pgbench's vacuum needs pgbench's own tables, which custom scripts may not have.
        if !self.scripts.iter().all(is_builtin) {
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

pub(crate) fn password_line(target: &ConnectTarget) -> Option<String> {
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
        assert!(own.prepare(&target).join(" ").ends_with("-i -q -s 1 sbtest"));
        let tls = Tls { mode: TlsMode::VerifyCa, ca: Some("/ca".into()), identity: None, ..Tls::default() };
        let target = ConnectTarget { password: "a:b\\".into(), tls, ..target };
        assert_eq!(password_line(&target).as_deref(), Some("*:*:*:*:a\\:b\\\\\n"));
        let reported = [("PGSSLMODE".to_owned(), "verify-ca".into()), ("PGSSLROOTCERT".to_owned(), "/ca".into())];
        assert_eq!(encryption(&target), reported);
    }
}
