//! The command line of sysbench 1.0.

use super::SysbenchSettings;
use crate::workload::program::timed::TimedRun;
use tare_engine::{Address, ConnectTarget, SysbenchDriver};

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

    fn common(&self, driver: SysbenchDriver, target: &ConnectTarget, threads: usize) -> Vec<String> {
        let name = driver.name();
        let mut words = vec![
            self.program.clone(),
            format!("--db-driver={name}"),
            format!("--threads={threads}"),
            format!("--{name}-user={}", target.user),
            format!("--{name}-db={}", target.database.as_deref().unwrap_or_default()),
        ];
        match (&target.address, driver) {
            (Address::Socket(path), SysbenchDriver::Mysql) => words.push(format!("--mysql-socket={}", path.display())),
            (Address::Socket(path), SysbenchDriver::Pgsql) => {
                words.push(format!("--pgsql-host={}", path.parent().unwrap_or(path).display()));
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                words.extend(name.strip_prefix(".s.PGSQL.").map(|port| format!("--pgsql-port={port}")));
            }
            (Address::Tcp(host, port), _) => {
                words.extend([format!("--{name}-host={host}"), format!("--{name}-port={port}")]);
            }
        }
        // bulk_insert and custom scripts do not have these options.
        if self.script.starts_with("oltp_") || self.script.starts_with("select_random_") {
            words.extend([format!("--tables={}", self.tables), format!("--table-size={}", self.rows)]);
        }
        words.extend(self.distribution.map(|distribution| format!("--rand-type={distribution}")));
        words.extend(self.options.iter().cloned());
        words
    }
}

/// The content of an options file with the password, so that the process list does not show it.
pub(crate) fn secret_options(driver: SysbenchDriver, target: &ConnectTarget) -> Option<String> {
    (!target.password.is_empty()).then(|| format!("{}-password={}\n", driver.name(), target.password))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::program::timed::TimedClient;

    #[test]
    fn each_engine_names_its_driver_and_one_without_is_refused() {
        let of = |engine: &str| tare_engine::engine_by_name(engine).unwrap().dialect().sysbench_driver();
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
        assert!(!line.contains("--mysql-password"), "{line}");
        assert_eq!(secret_options(SysbenchDriver::Pgsql, &tcp).as_deref(), Some("pgsql-password=p\n"));
    }
}
