//! Builds and commands as levels of a factor: the engine of each build, and names that distinguish them from the
//! others; long commands are named by the parts in which they differ.

use super::design::Condition;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Component, Path, PathBuf};
use tare_engine::{Binary, DEFAULT_DATABASE, Engine, engines};

/// The factor whose levels are paths of server programs.
const BINARY: &str = "binary";
const ID_DIGITS: usize = 7;

/// Sets the engine of every condition whose level is a path to the one that the program there reports, and replaces
/// the level by a name. Returns notes about what was found.
pub(crate) fn settle(conditions: &mut [Condition], programs: &Programs) -> Vec<String> {
    for condition in conditions.iter_mut().filter(|condition| condition.levels.contains_key(BINARY)) {
        let engine = &mut condition.settings.engine;
        if let Some(path) = &engine.binary
            && !condition.levels.contains_key("engine")
            && let Some(found) = programs.engine_of(engine.kind, path)
        {
            engine.kind = found;
        }
    }
    let binary_of = |condition: &Condition| {
        let engine = &condition.settings.engine;
        programs.of(engine.kind, engine.binary.as_deref()).ok()
    };
    let names = rename(conditions, &binary_of);
    let mut notes = notes(conditions, &names, &binary_of);
    notes.extend(checksums(conditions, &binary_of));
    notes.extend(given_data(conditions));
    notes
}

/// Only renames the levels, for programs that must not be run.
pub(crate) fn name(conditions: &mut [Condition]) {
    rename(conditions, &|_| None);
}

fn rename(conditions: &mut [Condition], binary_of: &dyn Fn(&Condition) -> Option<Binary>) -> BTreeMap<String, String> {
    let mut builds: Vec<Build> = Vec::new();
    let mut known = BTreeSet::new();
    for condition in conditions.iter() {
        if let Some(path) = condition.levels.get(BINARY).filter(|level| level.contains('/'))
            && known.insert(path)
        {
            let identity =
                binary_of(condition).map(|binary| (product(&binary), short(&binary.version), binary.build_id));
            builds.push(Build { path: path.clone(), identity });
        }
    }
    let names: BTreeMap<String, String> =
        builds.iter().map(|build| build.path.clone()).zip(distinct_names(&builds)).collect();
    rename_levels(conditions, BINARY, &names);
    names
}

/// Gives levels of a factor the names in `names`, by level.
fn rename_levels(conditions: &mut [Condition], factor: &str, names: &BTreeMap<String, String>) {
    for condition in conditions {
        let Some(level) = condition.levels.get_mut(factor) else { continue };
        if let Some(name) = names.get(level) {
            let [was, is] = [&*level, name].map(|level| format!("{factor}={level}"));
            condition.name = condition.name.replacen(&was, &is, 1);
            level.clone_from(name);
        }
    }
}

fn notes(
    conditions: &[Condition],
    names: &BTreeMap<String, String>,
    binary_of: &dyn Fn(&Condition) -> Option<Binary>,
) -> Vec<String> {
    let mut notes = Vec::new();
    for condition in conditions {
        let level = ["build", BINARY].iter().find_map(|factor| condition.levels.get(*factor));
        let (Some(level), Some(binary)) = (level, binary_of(condition)) else { continue };
        let id = binary.build_id.map(|id| format!(", build id {}", cut(&id))).unwrap_or_default();
        let note = format!("{level} is {} {} at {}{id}", binary.product, binary.version, binary.path.display());
        if !notes.contains(&note) && (condition.levels.contains_key("build") || names.values().any(|n| n == level)) {
            notes.push(note);
        }
    }
    notes
}

/// A note about builds whose data, each created by its own program, differ in page checksums too.
fn checksums(conditions: &[Condition], binary_of: &dyn Fn(&Condition) -> Option<Binary>) -> Option<String> {
    let mut made: [BTreeSet<String>; 2] = Default::default();
    // As a factor it is part of the study's question.
    if conditions.iter().any(|condition| condition.levels.contains_key("init_options")) {
        return None;
    }
    let own =
        conditions.iter().filter(|c| c.settings.engine.data.is_none() && !c.settings.engine.running.is_requested());
    for condition in own {
        let engine = &condition.settings.engine;
        if let Some(binary) = binary_of(condition)
            && let Some(on) = engine.kind.data_checksums(&binary, &engine.init_options)
        {
            made[usize::from(on)].insert(format!("{} {}", binary.product, binary.version));
        }
    }
    let [off, on] = made.map(|made| made.into_iter().collect::<Vec<_>>().join(", "));
    (!off.is_empty() && !on.is_empty()).then(|| {
        format!(
            "data of {on} have page checksums, those of {off} do not: differences between them include this; give both \
             the same init_options (--data-checksums, or --no-data-checksums from PostgreSQL 18 on), or name data of \
             the same kind for each (engine.data)"
        )
    })
}

/// Notes about the user's own data directories, which replace the load's tables: what they must contain.
fn given_data(conditions: &[Condition]) -> Vec<String> {
    let mut notes = Vec::new();
    for Condition { settings, .. } in conditions {
        let (engine, load) = (&settings.engine, settings.workload.load.load());
        let Some(data) = &engine.data else { continue };
        let note = format!(
            "trials run on a copy of {}: the load creates no tables there, so it must contain the tables of {} in a \
             database named {DEFAULT_DATABASE}, and accept {} on the socket without a password",
            data.display(),
            load.name(),
            engine.kind.default_user()
        );
        if load.needs_server() && !engine.kind.programs().is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

struct Build {
    path: String,
    /// Its product, version and build id, if the program could be queried.
    identity: Option<(String, String, Option<String>)>,
}

/// Names by version; among equal versions also by the shortest unique part of the path, or by build id.
fn distinct_names(builds: &[Build]) -> Vec<String> {
    let products: BTreeSet<&str> = builds.iter().filter_map(|b| Some(b.identity.as_ref()?.0.as_str())).collect();
    let version = |build: &Build| {
        let (product, version, _) = build.identity.as_ref()?;
        Some(if products.len() > 1 { format!("{product}-{version}") } else { version.clone() })
    };
    let versions: Vec<Option<String>> = builds.iter().map(version).collect();
    let of_versions = counted(versions.iter().flatten());
    let parts = builds.iter().flat_map(|build| parts(&build.path).collect::<BTreeSet<_>>());
    let parts = counted(parts);
    let name = |(at, build): (usize, &Build)| {
        let part = || own_part(build, &parts);
        let id = || build.identity.as_ref()?.2.as_deref().map(|id| cut(id).to_owned());
        match &versions[at] {
            Some(version) if of_versions[version] == 1 => version.clone(),
            Some(version) => match part().or_else(id) {
                Some(part) => format!("{version}-{part}"),
                None => build.path.clone(),
            },
            None => part().unwrap_or_else(|| build.path.clone()),
        }
    };
    let names: Vec<String> = builds.iter().enumerate().map(name).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() == names.len() { names } else { builds.iter().map(|build| build.path.clone()).collect() }
}

fn counted<T: Ord>(all: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

fn parts(path: &str) -> impl Iterator<Item = String> {
    let normal = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
    normal.map(|part| part.as_os_str().to_string_lossy().into_owned())
}

/// The shortest component of its path that no other build has; `all` counts the builds with each component.
fn own_part(build: &Build, all: &BTreeMap<String, usize>) -> Option<String> {
    let own = parts(&build.path).filter(|part| all[part] == 1 && !part.contains(char::is_whitespace));
    own.min_by_key(String::len)
}

fn product(binary: &Binary) -> String {
    binary.product.split_whitespace().next().unwrap_or_default().to_lowercase()
}

fn short(version: &str) -> String {
    version.split(['-', '+']).next().unwrap_or(version).to_owned()
}

fn cut(id: &str) -> &str {
    id.get(..ID_DIGITS).unwrap_or(id)
}

/// The engine without a server program of its own: any program would be accepted for it.
const EMBEDDED: &str = "sqlite";

/// An engine, and the path of its program if a study names one.
type ProgramOf = (&'static str, Option<PathBuf>);

#[derive(Debug, Default)]
pub struct Programs {
    binary_of: RefCell<BTreeMap<ProgramOf, Result<Binary, String>>>,
}

impl Programs {
    /// The program of an engine, at a path or in the usual places.
    pub fn of(&self, engine: &dyn Engine, path: Option<&Path>) -> Result<Binary, String> {
        let key = (engine.name(), path.map(Path::to_owned));
        if let Some(known) = self.binary_of.borrow().get(&key) {
            return known.clone();
        }
        let identity = engine.binary(path).map_err(|e| e.to_string());
        self.binary_of.borrow_mut().insert(key, identity.clone());
        identity
    }

    /// The engine of a program: `expected` if it matches, otherwise the one that the program reports.
    pub fn engine_of(&self, expected: &'static dyn Engine, path: &Path) -> Option<&'static dyn Engine> {
        let others = engines().iter().copied().filter(|engine| *engine != expected);
        let mut all = iter::once(expected).chain(others);
        all.find(|engine| engine.name() != EMBEDDED && self.of(*engine, Some(path)).is_ok())
    }
}

/// The factor whose levels are command lines.
const COMMAND: &str = "command";
/// Most characters of a command line that is used whole as a name.
const SHORT: usize = 24;

/// Renames the levels. Returns notes with the command of each name.
pub(crate) fn name_commands(conditions: &mut [Condition]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let levels = conditions.iter().filter_map(|condition| condition.levels.get(COMMAND));
    let commands: Vec<String> = levels.filter(|level| known.insert(*level)).cloned().collect();
    let names = named_commands(&commands);
    let renamed = commands.iter().zip(&names).filter(|(command, name)| command != name);
    let notes = renamed.map(|(command, name)| format!("{name} is `{command}`")).collect();
    rename_levels(conditions, COMMAND, &commands.into_iter().zip(names).collect());
    notes
}

/// Names by the parts in which they differ; the whole commands if they are short, or if one would have no name.
fn named_commands(commands: &[String]) -> Vec<String> {
    let names = tare_text::apart(commands);
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let is_name = |name: &String| name.starts_with(char::is_alphabetic) && name.chars().count() <= SHORT;
    let are_short = commands.iter().all(|command| command.chars().count() <= SHORT);
    if names.len() > 1 && distinct && !are_short && names.iter().all(is_name) { names } else { commands.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(path: &str, identity: Option<(&str, &str, &str)>) -> Build {
        let identity =
            identity.map(|(product, version, id)| (product.to_owned(), version.to_owned(), Some(id.to_owned())));
        Build { path: path.to_owned(), identity }
    }

    #[test]
    fn builds_are_named_by_what_distinguishes_them() {
        let names = |builds: &[Build]| distinct_names(builds).join(" ");
        let of = |path, product, version| build(path, Some((product, version, "0123456789")));
        let (old, new) = ("/opt/a/bin/mysqld", "/opt/b/bin/mariadbd");
        assert_eq!(names(&[of(old, "mariadb", "10.2.11"), of(new, "mariadb", "11.4.5")]), "10.2.11 11.4.5");
        assert_eq!(names(&[of(old, "mysql", "9.7.4"), of(new, "mariadb", "9.7.4")]), "mysql-9.7.4 mariadb-9.7.4");
        let (before, after) = ("/opt/before/bin/mariadbd", "/opt/after/bin/mariadbd");
        let same = [of(before, "mariadb", "10.11.5"), of(after, "mariadb", "10.11.5"), of(old, "mariadb", "10.2.11")];
        assert_eq!(names(&same), "10.11.5-before 10.11.5-after 10.2.11");
        // One path is the beginning of the other: only the build id distinguishes them.
        let inside =
            [of("/opt/x/mysqld", "mysql", "8.4.0"), build("/opt/mysqld", Some(("mysql", "8.4.0", "fedcba98")))];
        assert_eq!(names(&inside), "8.4.0-x 8.4.0-fedcba9");
        assert_eq!(names(&[build(before, None), build(after, None)]), "before after");
    }

    #[test]
    fn long_commands_are_named_by_what_distinguishes_them() {
        let names = |commands: &[&str]| named_commands(&commands.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["./old.sh --run --size 100", "./new.sh --run --size 100"]), ["old.sh", "new.sh"]);
        assert_eq!(names(&["/opt/a/bin/bench --run 10", "/opt/b/bin/bench --run 10"]), ["a", "b"]);
        for whole in [
            ["sleep 0.1", "sleep 0.2"],
            ["/a/long/way/to/a/program -t 1", "/a/long/way/to/a/program -t 2"],
            ["/a/long/way/to/a/program", "/a/long/way/to/a/program --fast"],
        ] {
            assert_eq!(names(&whole), whole);
        }
        assert_eq!(names(&["/a/long/way/to/a/program alone"]), ["/a/long/way/to/a/program alone"]);
    }
}
