//! The claims that come with the program: `studies/claims.toml`, and studies that only claims use.

use crate::language::builtin;
use crate::language::spec::{SIDE, Study};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tare_results::claim::{Cannot, Claim, Experiment, Needs};
use tare_results::schema::{Levels, Plan, PlannedCondition};
use tare_topology::Machine;

const CLAIMS: &str = include_str!("../../../../studies/claims.toml");

const STUDIES: [(&str, &str); 1] = [("hot-points", include_str!("../../../../studies/claims/hot-points.toml"))];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    articles: BTreeMap<String, String>,
    experiments: Vec<Experiment>,
}

fn table() -> Result<Table, String> {
    toml::from_str(CLAIMS).map_err(|e| format!("studies/claims.toml: {e}"))
}

/// Every experiment, in the order in which they run.
pub fn all() -> Result<Vec<Experiment>, String> {
    table().map(|table| table.experiments)
}

/// Title and year of every article, by its letter.
pub fn articles() -> Result<BTreeMap<String, String>, String> {
    table().map(|table| table.articles)
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

pub(super) fn study_text(name: &str) -> Option<&'static str> {
    let own = STUDIES.iter().find(|(own, _)| *own == name).map(|(_, text)| *text);
    own.or_else(|| builtin::find(name).map(|builtin| builtin.text))
}

const GET: &str = "scripts/get-servers";

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
        format!("{GET} {}", absent.join(" "))
    } else {
        format!("build them from source into {}/NAME/bin", servers.display())
    };
    (!absent.is_empty()).then_some(Cannot::Builds { missing: absent, get })
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
        let sides: Vec<&PlannedCondition> = std::iter::once(&claim.a).chain(&claim.b).filter_map(planned).collect();
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
        let settings = condition.settings.iter().filter(|(key, _)| !IN_PLANS.iter().any(|own| key.starts_with(own)));
        settings.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    let paired = |condition: &PlannedCondition| PAIRED.map(|key| condition.settings.get(key).map(ToString::to_string));
    a.placement == b.placement && paired(a) == paired(b) && others(a) == others(b)
}

const IN_PLANS: [&str; 1] = ["placement."];
/// Placement keys whose effect is drawn at random in each trial.
const PAIRED: [&str; 2] = ["placement.bind", "placement.pairing"];

#[cfg(test)]
mod tests {
    use super::*;

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
