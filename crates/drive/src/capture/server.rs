//! The server of a trial for the trial's record: its build, its command line, its settings.

use super::place::{Captured, Place};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use tare_cpuset::observe;
use tare_engine::{Address, Binary, Diagnostics, LockWait, SelfReport, Server, Unavailable, build_id};
use tare_files::Folder;
use tare_results::captures::{LOCKS, LockShare, LocksFile, STATUS, StatusFile, WAL_FSYNCS};
use tare_results::schema::{SCHEMA, TrialRecord};
use tare_results::server::{SETTINGS, SETTINGS_FILE, ServerRecord, Setting, SettingsFile};
use tare_results::store::CAPTURES;

/// Settings whose values are secret: connection strings to other servers contain passwords.
const SECRET: [&str; 2] = ["primary_conninfo", "ssl_passphrase_command"];

/// Queries a running server and stores the answers in the record. The settings go into a file shared by all trials
/// with the same settings. A failed query is a reason in the record, and never fails the trial.
pub fn note(server: &dyn Server, binary: &Binary, given: Option<&PathBuf>, results: &Folder, record: &mut TrialRecord) {
    let report = server.self_report().unwrap_or_else(|e| {
        record.captures_missing.insert(SETTINGS.to_owned(), e.to_string());
        SelfReport::default()
    });
    let private = Private::of(server);
    let settings: BTreeMap<String, Setting> =
        report.settings.iter().map(|(name, setting)| (name.clone(), private.setting(name, setting))).collect();
    let changed = report.settings.iter().filter(|(_, setting)| setting.is_changed());
    let changed = changed.filter_map(|(name, _)| Some((name.clone(), settings.get(name)?.clone()))).collect();
    let build_id = build_id(Path::new(&format!("/proc/{}/exe", server.pid())));
    // If the file was replaced after it was read, its build information does not describe the program that runs.
    let is_another = binary.build_id.is_some() && build_id.is_some() && binary.build_id != build_id;
    let of_tree = if is_another { BTreeMap::new() } else { binary.build.clone() };
    let files = given.map(|path| path.display().to_string());
    record.server = Some(ServerRecord {
        product: report.product.unwrap_or(binary.product).to_owned(),
        version: server.version().to_owned(),
        path: binary.path.display().to_string(),
        build_id,
        build: of_tree.into_iter().chain(report.build).collect(),
        arguments: arguments(server.pid()),
        option_files: files.into_iter().chain(report.option_files.iter().map(|file| private.text(file))).collect(),
        buffer_pool_bytes: report.buffer_pool_bytes,
        changed,
        thread_pool: report.thread_pool,
    });
    if settings.is_empty() {
        return;
    }
    match write(results, settings) {
        Ok(path) => drop(record.captures.insert(SETTINGS.to_owned(), path)),
        Err(e) => drop(record.captures_missing.insert(SETTINGS.to_owned(), e)),
    }
}

/// Writes the file if it does not exist yet; returns its path inside the results directory.
fn write(results: &Folder, settings: BTreeMap<String, Setting>) -> Result<String, String> {
    let file = SettingsFile { schema: SCHEMA, settings };
    let bytes = serde_json::to_vec_pretty(&file).map_err(|e| e.to_string())?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let name = format!("{SETTINGS_FILE}{:016x}.json", hasher.finish());
    let captures = results.make_sub(CAPTURES).map_err(|e| e.to_string())?;
    if captures.file(&name).map_err(|e| e.to_string())?.is_none() {
        captures.write(&name, &bytes).map_err(|e| e.to_string())?;
    }
    Ok(format!("{CAPTURES}/{name}"))
}

fn arguments(pid: u32) -> Vec<String> {
    let line = observe::arguments(pid.cast_signed()).unwrap_or_default();
    let mut words: Vec<String> = line.split('\0').map(str::to_owned).collect();
    words.pop_if(|last| last.is_empty());
    words
}

struct Private {
    data: String,
    run: Option<String>,
}

impl Private {
    fn of(server: &dyn Server) -> Self {
        let run = match server.address() {
            Address::Socket(path) => path.parent().map(|run| run.display().to_string()),
            Address::Tcp(..) => None,
        };
        Self { data: server.data().display().to_string(), run }
    }

    fn text(&self, text: &str) -> String {
        let text = text.replace(&self.data, "{data}");
        self.run.as_ref().map_or(text.clone(), |run| text.replace(run, "{run}"))
    }

    fn setting(&self, name: &str, setting: &Setting) -> Setting {
        let is_secret = SECRET.contains(&name) && !setting.value.is_empty();
        let value = if is_secret { "(not recorded)".to_owned() } else { self.text(&setting.value) };
        Setting { value, default: setting.default.as_ref().map(|text| self.text(text)), ..setting.clone() }
    }
}

pub(super) struct Status {
    before: Result<BTreeMap<String, f64>, Unavailable>,
}

impl Status {
    pub(crate) fn begin(diagnostics: &mut dyn Diagnostics) -> Self {
        Self { before: diagnostics.counters() }
    }

    pub(crate) fn end(self, diagnostics: &mut dyn Diagnostics, elapsed_s: f64, place: &Place, captured: &mut Captured) {
        match self.before.and_then(|before| Ok((before, diagnostics.counters()?))) {
            Ok((before, after)) => {
                let differences = differences(&before, &after);
                place.write_json(
                    captured,
                    STATUS,
                    "status.json",
                    &StatusFile { schema: SCHEMA, elapsed_s, differences },
                );
            }
            Err(e) => drop(captured.missing.insert(STATUS.to_owned(), e.to_string())),
        }
        match diagnostics.report() {
            Ok((name, text)) => place.write(captured, &format!("{STATUS}.report"), name, text.as_bytes()),
            Err(e) => drop(captured.missing.insert(format!("{STATUS}.report"), e.to_string())),
        }
    }
}

fn differences(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let changed = |(name, value): (&String, &f64)| {
        let difference = value - before.get(name)?;
        (difference != 0.0 || name == WAL_FSYNCS).then(|| (name.clone(), difference))
    };
    after.iter().filter_map(changed).collect()
}

/// Locks listed in a record; a server has some hundreds of kinds, most of them without a wait.
const LISTED: usize = 100;

pub(super) struct Locks {
    source: String,
}

impl Locks {
    pub(crate) fn begin(diagnostics: &mut dyn Diagnostics) -> Result<Self, Unavailable> {
        Ok(Self { source: diagnostics.watch_locks()? })
    }

    pub(crate) fn end(self, diagnostics: &mut dyn Diagnostics, elapsed_s: f64, place: &Place, captured: &mut Captured) {
        match diagnostics.lock_waits() {
            Ok(waits) => {
                let file = LocksFile {
                    schema: SCHEMA,
                    source: self.source,
                    elapsed_s,
                    threads: place.threads,
                    waits: shares(waits, elapsed_s * place.threads as f64),
                };
                place.write_json(captured, LOCKS, "locks.json", &file);
            }
            Err(e) => drop(captured.missing.insert(LOCKS.to_owned(), e.to_string())),
        }
    }
}

/// Longest waits first. `thread_s`: total time of the threads of all connections.
fn shares(waits: Vec<LockWait>, thread_s: f64) -> Vec<LockShare> {
    let mut shares: Vec<LockShare> = waits
        .into_iter()
        .map(|wait| LockShare {
            kind: wait.kind,
            name: wait.name,
            count: wait.count,
            wait_ms: wait.wait_s * 1000.0,
            wait_fraction: if thread_s > 0.0 { wait.wait_s / thread_s } else { 0.0 },
        })
        .collect();
    shares.sort_by(|a, b| b.wait_ms.total_cmp(&a.wait_ms).then_with(|| a.name.cmp(&b.name)));
    shares.truncate(LISTED);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::captures::WaitKind;

    #[test]
    fn private_paths_and_secrets_are_not_shown() {
        let private = Private { data: "/cache/trial-1".to_owned(), run: Some("/tmp/tare-7".to_owned()) };
        let setting = |value: &str| Setting { value: value.to_owned(), default: None, source: None, unit: None };
        assert_eq!(private.setting("datadir", &setting("/cache/trial-1/")).value, "{data}/");
        assert_eq!(private.setting("socket", &setting("/tmp/tare-7/s")).value, "{run}/s");
        assert_eq!(private.setting("primary_conninfo", &setting("password=x")).value, "(not recorded)");
    }

    #[test]
    fn trials_with_the_same_settings_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let settings = |value: &str| {
            let setting = Setting { value: value.to_owned(), default: None, source: None, unit: None };
            BTreeMap::from([("a".to_owned(), setting)])
        };
        let results = Folder::open(folder.path(), tare_files::Trust::Anyone).unwrap().unwrap();
        let first = write(&results, settings("1")).unwrap();
        assert_eq!(write(&results, settings("1")).unwrap(), first);
        assert_ne!(write(&results, settings("2")).unwrap(), first);
        assert_eq!(std::fs::read_dir(folder.path().join("captures")).unwrap().count(), 2);
        assert!(arguments(std::process::id()).len() < 20);
    }

    #[test]
    fn only_counters_that_changed_are_reported() {
        let map = |values: &[(&str, f64)]| values.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        let found =
            differences(&map(&[("a", 1.0), ("b", 2.0), ("c", 9.0)]), &map(&[("a", 5.0), ("b", 2.0), ("d", 3.0)]));
        assert_eq!(found, map(&[("a", 4.0)]));
        let kept = map(&[(WAL_FSYNCS, 0.0)]);
        assert_eq!(differences(&kept, &kept), kept, "no flush, in a server that counts them");
    }

    #[test]
    fn lock_waits_are_sorted_by_time_and_relative_to_all_threads() {
        let wait = |name: &str, wait_s| LockWait { kind: WaitKind::Lock, name: name.into(), count: 7, wait_s };
        let found = shares(vec![wait("short", 0.1), wait("long", 2.0)], 8.0);
        assert_eq!(found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["long", "short"]);
        assert_eq!((found[0].wait_ms, found[0].wait_fraction, found[0].count), (2000.0, 0.25, 7));
        assert_eq!(shares(vec![wait("x", 1.0)], 0.0)[0].wait_fraction, 0.0);
    }
}
