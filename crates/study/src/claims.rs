//! Published claims as data (`studies/claims.toml`, and studies that only claims use): which of them a machine can
//! test, and in how much time. An experiment is fitted to the size of the machine, and becomes a study with only the
//! conditions that its claims need, each once, and one of them twice.

use crate::language::builtin;
use crate::language::document::{Source, StudyError};
use crate::language::parse::{Overrides, parse};
use crate::language::spec::{Design, Factor, SIDE, Study};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tare_results::claim::{Cannot, Claim, Experiment, Measure, Needs};
use tare_results::schema::{Levels, Plan, PlannedCondition};
use tare_text::Value;
use tare_topology::Machine;
use thiserror::Error;

const CLAIMS: &str = include_str!("../../../studies/claims.toml");

const STUDIES: [(&str, &str); 1] = [("hot-points", include_str!("../../../studies/claims/hot-points.toml"))];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Title and year of every article, by its letter.
    pub articles: BTreeMap<String, String>,
    /// In the order in which they run.
    pub experiments: Vec<Experiment>,
}

pub fn all() -> Result<Published, String> {
    toml::from_str(CLAIMS).map_err(|e| format!("studies/claims.toml: {e}"))
}

/// The experiments for a name: for a claim, its experiment with this claim only; for an experiment, itself; for an
/// article, named by its letter in either case, all of its experiments. None for any other name.
pub fn chosen(all: &[Experiment], name: &str) -> Option<Vec<Experiment>> {
    let of_claim = all.iter().find_map(|experiment| {
        let claim = experiment.claims.iter().find(|claim| claim.name == name)?;
        Some(Experiment { claims: vec![claim.clone()], ..experiment.clone() })
    });
    if let Some(experiment) = of_claim {
        return Some(vec![experiment]);
    }
    let is_it = |experiment: &&Experiment| {
        experiment.name == name || experiment.article.as_ref().is_some_and(|letter| letter.eq_ignore_ascii_case(name))
    };
    let found: Vec<Experiment> = all.iter().filter(is_it).cloned().collect();
    (!found.is_empty()).then_some(found)
}

/// An experiment on another engine that can test its claims; on any other, and on that of its study, unchanged.
pub fn on_engine(mut experiment: Experiment, engine: &str) -> Experiment {
    if let Some(further) = experiment.engines.get(engine) {
        let sets = std::iter::once(format!("engine.name={engine}")).chain(further.iter().cloned());
        experiment.set.extend(sets);
    }
    experiment
}

fn study_text(name: &str) -> Option<&'static str> {
    let own = STUDIES.iter().find(|(own, _)| *own == name).map(|(_, text)| *text);
    own.or_else(|| builtin::find(name).map(|builtin| builtin.text))
}

const GET: &str = "scripts/get-servers";
/// The folder of a source tree into which it unpacks.
const UNPACKED: &str = "target/servers";

/// Why a machine can test none of an experiment's claims; none if it may test some. `here` says whether the machine
/// is this one, whose files and processor model are known.
pub fn missing(experiment: &Experiment, machine: &Machine, servers: &Path, here: bool) -> Option<Cannot> {
    let needs = &experiment.needs;
    if let Some(what) = &needs.unpublished {
        return Some(Cannot::Unpublished { what: what.clone() });
    }
    let (nodes, pus) = (machine.nodes.iter().filter(|node| !node.cpus.is_empty()).count(), machine.pus.len());
    if let Some(needs) = needs.nodes.filter(|needs| *needs > nodes) {
        return Some(Cannot::Nodes { needs, has: nodes });
    }
    if let Some(needs) = needs.pus.filter(|needs| *needs > pus) {
        return Some(Cannot::Pus { needs, has: pus });
    }
    if !here {
        return None;
    }
    if let Some(needs) = needs.arch.as_ref().filter(|needs| *needs != std::env::consts::ARCH) {
        return Some(Cannot::Architecture { needs: needs.clone(), has: std::env::consts::ARCH.to_owned() });
    }
    let absent: Vec<String> = experiment.builds.keys().filter(|build| !is_there(build, servers)).cloned().collect();
    let get = if absent.iter().all(|build| is_packaged(build)) {
        how_to_get(&absent.join(" "), servers)
    } else {
        format!("build them from source into {}/NAME/bin", servers.display())
    };
    (!absent.is_empty()).then_some(Cannot::Builds { missing: absent, get })
}

/// The command that unpacks builds. It does so in its own source tree, whatever folder the servers are to be in.
fn how_to_get(builds: &str, servers: &Path) -> String {
    let tree = servers.ancestors().nth(2).filter(|tree| servers == tree.join(UNPACKED) && tree.join(GET).exists());
    let there = format!(" in the source tree of tare, then --servers with the {UNPACKED} of it");
    format!("{GET} {builds}{}", if tree.is_some() { "" } else { &there })
}

/// Why the installed server that a study would measure is too old for its experiment; none if it is not, or none is
/// installed, which the plan of the study says.
pub fn too_old(needs: &Needs, study: &Study) -> Option<Cannot> {
    let engine = &study.base.engine;
    let (oldest, binary) = (needs.version.as_ref()?, engine.kind.binary(engine.binary.as_deref()).ok()?);
    is_older(&binary.version, oldest)
        .then(|| Cannot::Version { needs: oldest.clone(), has: format!("{} {}", binary.product, binary.version) })
}

/// Whether a version such as `10.5.23-MariaDB` comes before one such as `10.6`.
fn is_older(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        text.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok()).collect()
    };
    numbers(version) < numbers(than)
}

fn is_there(build: &str, servers: &Path) -> bool {
    servers.join(build).join("bin").is_dir()
}

/// Whether its name is a product and a version, like that of a package.
fn is_packaged(build: &str) -> bool {
    let version = build.split_once('-').map(|(_, version)| version);
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// The claims that cannot be tested although others of the experiment can, each with the reason: the plan leaves out
/// one of its conditions, or two of them are identical on this machine.
pub fn cannot(experiment: &Experiment, plan: &Plan) -> BTreeMap<String, Cannot> {
    let planned = |levels: &Levels| {
        let is_it = |found: &Levels| found.iter().filter(|(factor, _)| *factor != SIDE).eq(levels);
        plan.conditions.iter().find(|condition| is_it(&condition.levels))
    };
    let of = |claim: &Claim| {
        let sides: Vec<&PlannedCondition> = claim.sides().filter_map(planned).collect();
        let left_out = sides.iter().find_map(|condition| condition.reason.clone());
        left_out.or_else(|| match sides.as_slice() {
            [a, b] if is_same_here(a, b) => Some("both conditions use the same CPUs on this machine".to_owned()),
            _ => None,
        })
    };
    let all = experiment.claims.iter().filter_map(|claim| Some((claim.name.clone(), of(claim)?)));
    all.map(|(name, reason)| (name, Cannot::Condition { reason })).collect()
}

/// Whether two conditions differ only in keys of the placement that resolve to the same placement.
fn is_same_here(a: &PlannedCondition, b: &PlannedCondition) -> bool {
    let others = |condition: &PlannedCondition| {
        let settings = condition.settings.iter().filter(|(key, _)| !key.starts_with(IN_PLANS));
        settings.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    let paired = |condition: &PlannedCondition| PAIRED.map(|key| condition.settings.get(key).map(ToString::to_string));
    a.placement == b.placement && paired(a) == paired(b) && others(a) == others(b)
}

const IN_PLANS: &str = "placement.";
/// Placement keys whose effect is drawn at random in each trial.
const PAIRED: [&str; 2] = ["placement.bind", "placement.pairing"];

/// The share of a node's PUs that clients get: one in this many.
const CLIENTS_ONE_IN: usize = 3;
/// Client threads per PU of all used nodes: as many as the article has on its four nodes.
const THREADS_PER_PU: usize = 2;

/// A `scaled` experiment on this machine: a third of the PUs of the smallest node are for clients (at least one), and
/// conditions have two threads per PU of the most nodes that a claim uses, but no more than it says. Others unchanged.
pub fn fitted(mut experiment: Experiment, machine: &Machine) -> Experiment {
    let with_memory = machine.memory_nodes();
    let usable = machine.nodes.iter().filter(|node| !node.cpus.is_empty() && with_memory.contains(node.os_index));
    let pus: Vec<usize> = usable.map(|node| node.cpus.len()).collect();
    let Some(smallest) = pus.iter().min().filter(|_| experiment.scaled) else { return experiment };
    let clients = (smallest / CLIENTS_ONE_IN).max(1);
    experiment.set.push(format!("placement.client_pus_per_node={clients}"));
    let all = experiment.claims.iter().flat_map(Claim::sides);
    let most = all.filter_map(|levels| levels.get("nodes")?.parse::<usize>().ok()).max().unwrap_or(1);
    let threads = THREADS_PER_PU * pus.iter().take(most).sum::<usize>();
    for claim in &mut experiment.claims {
        for level in std::iter::once(&mut claim.a).chain(&mut claim.b).filter_map(|levels| levels.get_mut("threads")) {
            if level.parse::<usize>().is_ok_and(|published| threads < published) {
                *level = threads.to_string();
            }
        }
    }
    experiment
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum NarrowError {
    #[error("experiment {experiment}: there is no built-in study {study}")]
    NoStudy { experiment: String, study: String },
    /// A key that the experiment changes does not fit the study.
    #[error(transparent)]
    Study(#[from] StudyError),
    #[error("claim {claim}: {factor} = {level}: expected {expected}")]
    Level { claim: String, factor: String, level: String, expected: String },
}

/// The study of an experiment, with `blocks` blocks. `servers` is the folder of the builds, each in a subfolder with
/// its name. If claims compare means, the condition that most of them use as the base is measured twice in the same
/// blocks, to compare the machine with itself.
pub fn narrow(experiment: &Experiment, blocks: usize, servers: &Path) -> Result<Study, NarrowError> {
    let text = study_text(&experiment.study)
        .ok_or_else(|| NarrowError::NoStudy { experiment: experiment.name.clone(), study: experiment.study.clone() })?;
    let overrides = Overrides { sets: experiment.set.clone(), ..Overrides::default() };
    let mut study = parse(Source { origin: &experiment.study, text }, &overrides)?;
    for (name, keys) in &experiment.builds {
        let own = [("name".to_owned(), product(name).into()), ("binary".to_owned(), program(name, servers))];
        let further = keys.iter().map(|(key, value)| (key.clone(), Value::of_word(value)));
        study.builds.insert(name.clone(), own.into_iter().chain(further).collect());
    }
    let repeated = most_common_start(experiment);
    let once = levels_of(experiment).into_iter().map(|levels| condition(levels, repeated.map(|_| "a")));
    study.conditions = once.chain(repeated.map(|levels| condition(levels, Some("b")))).collect();
    study.name.clone_from(&experiment.name);
    study.question = None;
    study.factors = Vec::new();
    study.design = Design::default();
    study.sampling.trials = blocks;
    study.sampling.target_half_width = None;
    check(&study, experiment)?;
    Ok(study)
}

fn check(study: &Study, experiment: &Experiment) -> Result<(), NarrowError> {
    for claim in &experiment.claims {
        for levels in claim.sides() {
            let mut settings = study.base.clone();
            for factor in condition(levels, None) {
                let level = factor.levels.first().cloned().unwrap_or_else(|| "".into());
                study.apply(&mut settings, &factor.name, &level).map_err(|expected| NarrowError::Level {
                    claim: claim.name.clone(),
                    factor: factor.name.clone(),
                    level: level.to_string(),
                    expected,
                })?;
            }
        }
    }
    Ok(())
}

/// Every condition once, in the order of the claims.
fn levels_of(experiment: &Experiment) -> Vec<&Levels> {
    let mut all: Vec<&Levels> = Vec::new();
    for levels in experiment.claims.iter().flat_map(Claim::sides) {
        if !all.contains(&levels) {
            all.push(levels);
        }
    }
    all
}

fn most_common_start(experiment: &Experiment) -> Option<&Levels> {
    let starts = || experiment.claims.iter().filter(|claim| claim.measure == Measure::Ratio).map(|claim| &claim.a);
    let count = |levels: &Levels| starts().filter(|other| *other == levels).count();
    // The first of equally frequent ones.
    starts().rev().max_by_key(|levels| count(levels))
}

/// A condition's levels as factors. The build, placement or load comes first, because the other levels refine it. Only
/// with a repetition there are sides: their stacks have random positions, as with address space randomisation, which
/// some claims about spreads turn off.
fn condition(levels: &Levels, side: Option<&str>) -> Vec<Factor> {
    const FIRST: [&str; 4] = ["engine", "build", "workload", "placement"];
    let factor = |name: &str, level: Value| Factor { name: name.to_owned(), levels: vec![level] };
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut own: Vec<(&String, &String)> = levels.iter().collect();
    own.sort_by_key(|(name, _)| rank(name));
    let own = own.into_iter().map(|(name, level)| factor(name, Value::of_word(level)));
    side.map(|side| factor(SIDE, side.into())).into_iter().chain(own).collect()
}

/// The engine of a build: the beginning of its name.
fn product(build: &str) -> &str {
    build.split_once('-').map_or(build, |(product, _)| product)
}

/// The server program of a build: the first existing one of its usual names.
fn program(build: &str, servers: &Path) -> Value {
    let bin = servers.join(build).join("bin");
    let names: &[&str] = match product(build) {
        "postgresql" => &["postgres"],
        "mariadb" => &["mariadbd", "mysqld"],
        _ => &["mysqld"],
    };
    let found = names.iter().map(|name| bin.join(name)).find(|path| path.exists());
    let path = found.unwrap_or_else(|| bin.join(names[0]));
    Value::Text(path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_builds_come_with_a_command_that_puts_them_where_they_are_looked_for() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(how_to_get("mariadb-11.4.5", &tree.join(UNPACKED)), "scripts/get-servers mariadb-11.4.5");
        for elsewhere in [Path::new("/srv/builds"), Path::new("/srv/target/servers")] {
            let get = how_to_get("mariadb-11.4.5", elsewhere);
            assert!(get.ends_with("in the source tree of tare, then --servers with the target/servers of it"), "{get}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for old in ["10.5.23-MariaDB", "10.4.9", "5.5.68"] {
            assert!(is_older(old, "10.6"), "{old}");
        }
        for new in ["10.6.0-MariaDB-alpha", "10.11.14-MariaDB-0+deb12u2", "11.4.5", "10.6"] {
            assert!(!is_older(new, "10.6"), "{new}");
        }
    }
}
