//! The server of a trial for its record: which build, started how, with which settings.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use tare_engine::{Address, Binary, SelfReport, Server, ServerSetting};
use tare_files::Folder;
use tare_results::schema::{SCHEMA, TrialRecord};
use tare_results::server::{SETTINGS, SETTINGS_FILE, ServerRecord, Setting, SettingsFile};
use tare_results::store::CAPTURES;

/// Settings in which a server shows what no one should read: connections to others have passwords in them.
const SECRET: [&str; 2] = ["primary_conninfo", "ssl_passphrase_command"];

/// Asks a running server and notes all of it: the settings in a file that trials with the same ones share. What it
/// cannot say is a reason in the record, never a failed trial.
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
    let files = given.map(|path| path.display().to_string());
    record.server = Some(ServerRecord {
        product: binary.product.to_owned(),
        version: binary.version.clone(),
        path: binary.path.display().to_string(),
        build_id: binary.build_id.clone(),
        build: binary.build.clone().into_iter().chain(report.build).collect(),
        arguments: arguments(server.pid()),
        option_files: files.into_iter().chain(report.option_files.iter().map(|file| private.text(file))).collect(),
        buffer_pool_bytes: report.buffer_pool_bytes,
        changed,
    });
    if settings.is_empty() {
        return;
    }
    match write(results, settings) {
        Ok(path) => drop(record.captures.insert(SETTINGS.to_owned(), path)),
        Err(e) => drop(record.captures_missing.insert(SETTINGS.to_owned(), e)),
    }
}

/// Writes the file where it is not there yet; its path inside the results directory.
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
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut words: Vec<String> = words.collect();
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

    fn setting(&self, name: &str, setting: &ServerSetting) -> Setting {
        let is_secret = SECRET.contains(&name) && !setting.value.is_empty();
        Setting {
            value: if is_secret { "(not recorded)".to_owned() } else { self.text(&setting.value) },
            default: setting.default.as_ref().map(|text| self.text(text)),
            source: setting.source.clone(),
            unit: setting.unit.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_paths_and_secrets_are_not_shown() {
        let private = Private { data: "/cache/trial-1".to_owned(), run: Some("/tmp/tare-7".to_owned()) };
        let setting = |value: &str| ServerSetting { value: value.to_owned(), default: None, source: None, unit: None };
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
}
