//! The experiment that decides about a suspect: what is changed, and the expected result if the suspect is the reason.

use super::suspect::Suspect;
use crate::collect::ConditionTrials;
use crate::one_study::{self, CAPTURE, OPTIONS, differing, factor_of, study_of};
use serde::Serialize;
use std::collections::BTreeSet;
use tare_cpuset::CpuSet;
use tare_results::captures::{WAITS, WAKES};
use tare_results::schema::PlannedCondition;
use tare_results::{Results, factor};
use tare_text::Value;

/// The expected result if a suspect is the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Faster,
    /// The time of a transaction stays the same, because transactions did not wait for the resource that was increased.
    /// Many other reasons have the same result, so it rules out at most.
    Unchanged,
    /// The time of a transaction falls because the suspect's own part does. With fewer clients, the time of a saturated
    /// server falls for any reason, so that the parts decide.
    OwnPart,
    /// Functions are named that explain it.
    Named,
}

/// A run of the same study with some changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Experiment {
    /// Arguments after `tare run`, the study first; empty if the results have no file of their study.
    pub arguments: Vec<String>,
    /// The changed keys of the study with their values.
    pub changes: Vec<Change>,
    /// Whether it is no experiment: the condition has these values already, or becomes the other one, with which it has
    /// just been compared.
    pub same: bool,
    /// The expected result in the slower of the two conditions, if the suspect is the reason.
    pub expected: Expected,
    /// Estimated seconds; none if the plan has no estimate.
    pub estimated_s: Option<u32>,
}

/// A run that measures A and B again, in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// Arguments after `tare run`, the study first.
    pub arguments: Vec<String>,
    /// Estimated seconds with as many trials as before; none if the plan has no estimate.
    pub estimated_s: Option<u32>,
}

/// A key of a study and the value that an experiment gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `section.key`; `engine.options.NAME` for an option.
    pub key: String,
    /// As a study writes it; none if the user has to provide it, such as another host.
    pub value: Option<String>,
}

impl Change {
    fn to(key: &str, value: impl ToString) -> Self {
        Self { key: key.to_owned(), value: Some(value.to_string()) }
    }

    /// A change whose value the user has to provide.
    fn of_a_person(key: &str) -> Self {
        Self { key: key.to_owned(), value: None }
    }

    /// The factor that varies the key.
    pub fn factor(&self) -> String {
        factor_of(&self.key)
    }

    /// The value, or a word that the user replaces.
    pub fn shown(&self) -> &str {
        self.value.as_deref().unwrap_or("HOST")
    }
}

/// Statements and scripts of the user's own.
const OWN: [&str; 2] = ["workload.statements", "workload.script"];
const RUNNING: [&str; 2] = ["engine.socket", "engine.host"];
/// Number of rows that is enough to avoid contention on hot ones.
const MANY_ROWS: i64 = 100_000;
/// Factor for the number of tables, warehouses or accounts, so that fewer threads share each lock.
const MORE: i64 = 8;
const ROWS: &str = "workload.rows";
pub(super) const TABLES: &str = "workload.tables";
/// The sizes of loads that have neither rows nor tables.
const SCALES: [&str; 2] = ["workload.warehouses", "workload.pgbench_scale"];
const THREADS: &str = "workload.threads";
/// Levels of a factor in an experiment that changes it.
const BOTH: f64 = 2.0;
const SPIN: &str = "client.spin";
const TRANSPORT: &str = "engine.transport";
const TCP: &str = "tcp";
const ALLOCATOR: &str = "process.allocator";
/// Names of the C library's allocator, which the server uses by default.
const OWN_ALLOCATOR: [&str; 2] = ["system", "as-found"];
const THP: &str = "machine.thp";
/// The original value of the machine: the active one is in brackets.
const THP_FOUND: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// An experiment with the slower of two conditions.
pub(super) fn experiment(suspect: &Suspect, [known, faster]: &[Known<'_, '_>; 2]) -> Experiment {
    let (changes, expected) = known.changes(suspect);
    let set = changes.iter().flat_map(|change| known.set(change));
    let arguments = study_of(known.results).map_or_else(Vec::new, |study| std::iter::once(study).chain(set).collect());
    let estimated_s = known.estimated_s(known.part_of_the_plan(&changes));
    let same = changes.iter().all(|change| known.has_already(change))
        || known.becomes(faster, &changes)
        || changes.iter().all(|change| known.cannot_have(change));
    Experiment { arguments, changes, same, expected, estimated_s }
}

/// The study of two conditions of one run; of two runs, the one study for both. None if there is no such study.
pub(super) fn again([one, other]: [&Known<'_, '_>; 2], one_run: bool) -> Option<Again> {
    if one_run {
        return Some(Again { arguments: vec![study_of(one.results)?], estimated_s: one.estimated_s(1.0) });
    }
    let both = one_study::of([one.results, other.results], &[(one.side, other.side)])?;
    let change = Change { key: both.key.clone(), value: None };
    let part = one.factor_of(&change).map_or(BOTH, |_| one.part_of_the_plan(std::slice::from_ref(&change)));
    Some(Again { arguments: both.arguments(), estimated_s: one.estimated_s(part) })
}

/// What is known of a condition: its trials, and the results with its settings.
pub(super) struct Known<'k, 'r> {
    pub side: &'k ConditionTrials<'r>,
    pub results: &'k Results,
}

impl Known<'_, '_> {
    fn planned(&self) -> impl Iterator<Item = &PlannedCondition> {
        let conditions = self.results.plan.iter().flat_map(|plan| &plan.conditions);
        conditions.filter(|planned| planned.name == self.side.name)
    }

    fn setting(&self, key: &str) -> Option<&Value> {
        self.planned().find_map(|planned| planned.settings.get(key))
    }

    /// Whether a study may set this key: its plan has it, or the plan is unknown.
    fn has(&self, key: &str) -> bool {
        self.setting(key).is_some() || self.setting("workload.name").is_none()
    }

    fn has_already(&self, change: &Change) -> bool {
        let own = self.setting(&change.key).map(ToString::to_string).or_else(|| self.found(&change.key));
        own.is_some() && own == change.value
    }

    /// Whether the change is a capture that needs to know which threads serve connections, and these are unknown.
    fn cannot_have(&self, change: &Change) -> bool {
        let names_none = || self.side.ok.iter().any(|trial| trial.captures_missing.contains_key(WAITS));
        matches!(change.key.strip_prefix(CAPTURE), Some(WAITS | WAKES)) && names_none()
    }

    /// Whether the other condition differs in no other key than these, and has these values.
    fn becomes(&self, other: &Self, changes: &[Change]) -> bool {
        let (Some(own), Some(others)) = (self.planned().next(), other.planned().next()) else { return false };
        let keys = differing(&own.settings, &others.settings);
        keys.into_iter().all(|key| changes.iter().any(|change| change.key == *key))
            && changes.iter().all(|change| other.has_already(change))
    }

    /// The estimated time of a part of the plan, in whole seconds.
    fn estimated_s(&self, part: f64) -> Option<u32> {
        self.results.plan.as_ref().map(|plan| (plan.estimated_s * part) as u32)
    }

    /// The original value of a machine setting that the study did not change.
    fn found(&self, key: &str) -> Option<String> {
        let settings = &self.results.environment.as_ref().filter(|_| key == THP)?.settings;
        let (_, rest) = settings.get(THP_FOUND)?.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// Whether the server runs already and is measured unchanged.
    fn runs(&self) -> bool {
        RUNNING.iter().any(|key| self.setting(key).is_some())
    }

    /// Whether each client has a PU that no server thread may use, so that it can spin there while it waits for an
    /// answer.
    fn has_own_pus(&self) -> bool {
        let Some(placement) = self.planned().find_map(|planned| planned.placement.as_ref()) else { return false };
        let all = |side: &[CpuSet]| side.iter().flat_map(CpuSet::iter).collect::<BTreeSet<u32>>();
        let (clients, server) = (all(&placement.client), all(&placement.server));
        // The plan of a load that opens no connections of its own lacks this key.
        let enough = clients.len() as i64 >= self.number(THREADS, 1);
        let sleeps = self.setting(SPIN).is_some_and(|spin| spin.switch() == Ok(false));
        enough && !server.is_empty() && clients.is_disjoint(&server) && sleeps
    }

    fn draws_unevenly(&self) -> bool {
        self.setting("workload.distribution").is_some_and(|own| own.to_string() != "uniform")
    }

    fn number(&self, key: &str, otherwise: i64) -> i64 {
        self.setting(key).and_then(|value| value.to_string().parse().ok()).unwrap_or(otherwise)
    }

    /// The value of a key by which the load's transactions touch more rows or tables; none if they do not depend on it.
    fn size(&self, key: &str) -> Option<i64> {
        match self.planned().next().and_then(|planned| planned.sizes.as_ref()) {
            Some(sizes) => sizes.get(key).map(|value| i64::try_from(*value).unwrap_or(i64::MAX)),
            // In older plans it is not known of what the user wrote.
            None if OWN.iter().any(|own| self.setting(own).is_some()) => None,
            None => self.has(key).then(|| self.number(key, 1)),
        }
    }

    fn changes(&self, suspect: &Suspect) -> (Vec<Change>, Expected) {
        let one = |key: &str, value: String, expected| (vec![Change::to(key, value)], expected);
        match suspect {
            Suspect::RowLock | Suspect::PageLock(_) => self.helped_by(self.more_rows()),
            Suspect::IndexLock(_) => self.helped_by(self.more(TABLES).or_else(|| self.more_rows())),
            Suspect::TableLock(_) => self.helped_by(self.more(TABLES)),
            Suspect::GlobalLock(_) => match self.more(TABLES) {
                Some(tables) => (vec![tables], Expected::Unchanged),
                None => self.fewer_threads(),
            },
            Suspect::WakeUps if self.has_own_pus() => one(SPIN, "on".to_owned(), Expected::Faster),
            Suspect::WakeUps => {
                let keys = [("client", "all"), ("server", "all"), ("bind", "thread"), ("pairing", "same-pu")];
                let set = keys.into_iter().map(|(key, value)| Change::to(&format!("placement.{key}"), value));
                (set.collect(), Expected::Faster)
            }
            Suspect::RemoteMemory if self.setting("placement.nodes").is_some() => {
                one("placement.nodes", "1".to_owned(), Expected::Faster)
            }
            Suspect::RemoteMemory => {
                let keys = [("client", "node:near"), ("server", "node:near"), ("pairing", "none"), ("memory", "local")];
                let set = keys.into_iter().map(|(key, value)| Change::to(&format!("placement.{key}"), value));
                (set.collect(), Expected::Faster)
            }
            // A running server keeps its allocator.
            Suspect::Allocator | Suspect::PageFaults if self.runs() => self.changes(&Suspect::ServerWork),
            Suspect::Allocator | Suspect::PageFaults => {
                let other = self.setting(ALLOCATOR).map(ToString::to_string);
                let own = other.is_none_or(|name| OWN_ALLOCATOR.contains(&name.as_str()));
                one(ALLOCATOR, if own { "jemalloc" } else { "system" }.to_owned(), Expected::Faster)
            }
            Suspect::HugePages { fewer } => (vec![self.huge_pages(*fewer)], Expected::Faster),
            Suspect::TlbMisses => (vec![self.huge_pages(true)], Expected::Faster),
            Suspect::NumaBalancing => one("machine.numa_balancing", "off".to_owned(), Expected::Faster),
            Suspect::CpuShortage => self.fewer_threads(),
            Suspect::Network => one(TRANSPORT, "socket".to_owned(), Expected::Faster),
            Suspect::ClientBound | Suspect::Throttled => {
                // Clients on another host need TCP; a running server has no such key.
                let by_socket = self.setting(TRANSPORT).is_some_and(|own| own.to_string() != TCP);
                let tcp = by_socket.then(|| Change::to(TRANSPORT, TCP));
                (std::iter::once(Change::of_a_person("client.host")).chain(tcp).collect(), Expected::Faster)
            }
            Suspect::KernelTime | Suspect::ServerWork => one("capture.profile", "on".to_owned(), Expected::Named),
            Suspect::Unnamed | Suspect::Pauses => (self.captures(), Expected::Named),
            // The statements that ask for it decide.
            Suspect::StatementSleep => (Vec::new(), Expected::Faster),
            Suspect::TemporaryFiles => (self.memory_of_statements(), Expected::Faster),
            Suspect::Commit => {
                let (option, value) = self.of_engine([
                    ("synchronous_commit", "off"),
                    ("synchronous", "OFF"),
                    ("innodb_flush_log_at_trx_commit", "0"),
                ]);
                one(&format!("engine.options.{option}"), value.to_owned(), Expected::Faster)
            }
            Suspect::Storage => {
                let (option, value) = self.of_engine([
                    ("shared_buffers", "1GB"),
                    ("cache_size", "-1048576"),
                    ("innodb_buffer_pool_size", "1G"),
                ]);
                one(&format!("engine.options.{option}"), value.to_owned(), Expected::Faster)
            }
        }
    }

    /// The captures that name waits: those that are off, or all of them.
    fn captures(&self) -> Vec<Change> {
        let captures = ["waits", "locks", "status", "profile", "wakes"];
        // Only the first three are possible with a running server.
        let possible = captures.into_iter().take(if self.runs() { 3 } else { captures.len() });
        let all = possible.map(|name| Change::to(&format!("{CAPTURE}{name}"), "on"));
        let (recorded, new): (Vec<Change>, Vec<Change>) = all.partition(|change| self.has_already(change));
        if new.is_empty() { recorded } else { new }
    }

    /// With this change transactions get faster. Without one, half the threads decide: only the suspect's own waits
    /// must fall.
    fn helped_by(&self, change: Option<Change>) -> (Vec<Change>, Expected) {
        change.map_or_else(|| self.fewer_threads(), |change| (vec![change], Expected::Faster))
    }

    fn fewer_threads(&self) -> (Vec<Change>, Expected) {
        let fewer = (self.number(THREADS, 2) / 2).max(1);
        (vec![Change::to(THREADS, fewer)], Expected::OwnPart)
    }

    /// More memory for what a statement sorts and collects.
    fn memory_of_statements(&self) -> Vec<Change> {
        let options = self.of_engine([
            &[("work_mem", "256MB")][..],
            &[("temp_store", "memory")][..],
            &[("tmp_table_size", "256M"), ("max_heap_table_size", "256M")][..],
        ]);
        options.iter().map(|(option, value)| Change::to(&format!("{OPTIONS}{option}"), value)).collect()
    }

    /// Reduces contention on rows and pages: more of them, or, if there are many, a uniform distribution. None if no
    /// key of the load does.
    fn more_rows(&self) -> Option<Change> {
        let Some(rows) = self.size(ROWS) else { return SCALES.iter().find_map(|key| self.more(key)) };
        if rows < MANY_ROWS {
            return Some(Change::to(ROWS, MANY_ROWS));
        }
        // With many rows, contention comes from an uneven distribution.
        let uniform = self.draws_unevenly().then(|| Change::to("workload.distribution", "uniform"));
        uniform.or_else(|| self.more(TABLES))
    }

    /// A multiple of the current number, if the load depends on the key.
    fn more(&self, key: &str) -> Option<Change> {
        self.size(key).map(|now| Change::to(key, now.saturating_mul(MORE)))
    }

    /// The server's memory in huge pages, or in none.
    fn huge_pages(&self, huge: bool) -> Change {
        let by_option = ["huge_pages", "large_pages"];
        let varied = by_option.into_iter().find(|name| self.side.levels.contains_key(&factor::of_option(name)));
        let shared = self.of_engine([Some("huge_pages"), None, None]);
        match varied.or(shared) {
            Some(option) => Change::to(&format!("{OPTIONS}{option}"), if huge { "on" } else { "off" }),
            None => Change::to(THP, if huge { "always" } else { "never" }),
        }
    }

    /// The factor of the study that varies a key, with the level of this condition.
    fn factor_of(&self, change: &Change) -> Option<(String, &String)> {
        let name = change.factor();
        let level = self.side.levels.get(&name)?;
        Some((name, level))
    }

    /// Command-line arguments that set a key: if the study varies it, the factor with the level of this condition and
    /// the new one, so that both are compared in one run; or the condition's own placement if there are several.
    fn set(&self, change: &Change) -> Vec<String> {
        let value = change.shown();
        if let Some((factor, level)) = self.factor_of(change) {
            let both = if level == value { value.to_owned() } else { format!("{level},{value}") };
            return vec!["--set".to_owned(), format!("factors.{factor}={both}")];
        }
        if let Some(option) = change.key.strip_prefix(OPTIONS) {
            return vec!["--option".to_owned(), format!("{option}={value}")];
        }
        let key = match (change.key.split_once('.'), self.side.levels.get("placement")) {
            (Some(("placement", last)), Some(name)) => format!("placements.{name}.{last}"),
            _ => change.key.clone(),
        };
        vec!["--set".to_owned(), format!("{key}={value}")]
    }

    /// The conditions of a run with these changes, as a share of those of the plan.
    fn part_of_the_plan(&self, changes: &[Change]) -> f64 {
        let conditions = || self.results.plan.iter().flat_map(|plan| &plan.conditions);
        let levels = |factor: &str| {
            let levels = conditions().filter_map(|condition| condition.levels.get(factor));
            levels.collect::<BTreeSet<_>>().len()
        };
        let factors = changes.iter().filter_map(|change| self.factor_of(change));
        factors.map(|(factor, _)| BOTH / levels(&factor).max(1) as f64).product()
    }

    /// Selects the value for PostgreSQL, SQLite, or MariaDB and MySQL.
    fn of_engine<T>(&self, [postgresql, sqlite, others]: [T; 3]) -> T {
        match self.setting("engine.name").map(ToString::to_string).unwrap_or_default().as_str() {
            "postgresql" => postgresql,
            "sqlite" => sqlite,
            _ => others,
        }
    }
}
