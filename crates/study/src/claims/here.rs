//! What of an experiment a machine can do.

use std::collections::BTreeMap;
use std::path::Path;
use tare_results::claim::{Cannot, Claim, Experiment};
use tare_results::schema::{Levels, Plan};
use tare_topology::Machine;

/// The script that unpacks servers of several versions.
const GET: &str = "scripts/get-servers";

/// Why none of an experiment's claims can be tested on a machine; none where some may be. `here` says whether the
/// machine is this one, whose files and kind of processor are known.
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

fn is_there(build: &str, servers: &Path) -> bool {
    servers.join(build).join("bin").is_dir()
}

/// Whether its name is a product and a version, as packages are called.
fn is_packaged(build: &str) -> bool {
    let version = build.split_once('-').map(|(_, version)| version);
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Why claims cannot be tested although others of the experiment can: a condition that the plan leaves out.
pub fn cannot(experiment: &Experiment, plan: &Plan) -> BTreeMap<String, Cannot> {
    let reason = |levels: &Levels| {
        let is_it = |found: &Levels| found.iter().filter(|(factor, _)| *factor != crate::language::spec::SIDE).eq(levels);
        let planned = plan.conditions.iter().find(|condition| is_it(&condition.levels))?;
        planned.reason.clone()
    };
    let of = |claim: &Claim| std::iter::once(&claim.a).chain(&claim.b).find_map(reason);
    let all = experiment.claims.iter().filter_map(|claim| Some((claim.name.clone(), of(claim)?)));
    all.map(|(name, reason)| (name, Cannot::Condition { reason })).collect()
}
