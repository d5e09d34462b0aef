//! Pairs whose two trials are made together. `tare ab --duet`: at the same time, each on a half of the machine, the
//! halves exchanged at random. `tare ab --interleave`: both servers run, and their samples take turns.

use super::{Exit, Problem};
use tare_cpuset::CpuSet;
use tare_drive::workload::AnyLoad;
use tare_drive::workload::sessions::Pace;
use tare_results::schema::{Duet, Plan};
use tare_study::language::spec::{Factor, SIDE, Study};
use tare_topology::{Machine, Marks, Placement};

/// The factors that put a side on a half.
const PLACES: [&str; 3] = ["client", "server", "background"];

/// A study whose samples can take turns.
pub fn by_turns(mut study: Study) -> Result<Study, Problem> {
    together("--interleave", &study)?;
    if pace(&study) != Some(Pace::Closed) {
        return Err(refused("--interleave", "clients rest while the other side is measured", "take out rate and slo"));
    }
    study.sampling.attempts = 1;
    Ok(study)
}

/// Whether samples of the study can take turns, and nothing that one server does at rest is in the other's.
pub fn would_help(study: &Study) -> bool {
    !study.base.workload.load.load().writes() && by_turns(study.clone()).is_ok()
}

/// A study of two sides as one of four conditions: each of them on either half of the machine.
pub fn on_halves(mut study: Study, machine: &Machine) -> Result<Study, Problem> {
    fits_on_halves(&study)?;
    let halves = halves(machine).ok_or_else(|| {
        Problem::new(Exit::Machine, "this machine has no two like halves for --duet")
            .at(format!("{} cores, {} PUs", machine.core_count(), machine.pu_count()))
            .expected("two like packages, NUMA nodes, last-level caches or cores; two PUs of one core share it")
            .advice("compare one after the other, without --duet")
    })?;
    study.base.placement = Placement { memory: study.base.placement.memory.clone(), ..Placement::default() };
    // A trial that is run again would be alone.
    study.sampling.attempts = 1;
    let sides = std::mem::take(&mut study.conditions);
    study.conditions = halves
        .iter()
        .flat_map(|half| sides.iter().map(move |side| (half, side)))
        .map(|(half, side)| {
            let place = |name: &&str| Factor { name: (*name).to_owned(), levels: vec![format!("cpus:{half}").into()] };
            side.iter().cloned().chain(PLACES.iter().map(place)).collect()
        })
        .collect();
    Ok(study)
}

/// The names of the two conditions on the second half.
pub fn of_plan(plan: &Plan) -> Option<Duet> {
    let second = |letter: &str| {
        let of_side = plan.conditions.iter().filter(|c| c.levels.get(SIDE).is_some_and(|own| own == letter));
        of_side.filter(|condition| condition.realizable).nth(1).map(|condition| condition.name.clone())
    };
    Some(Duet { a: second("a")?, b: second("b")? })
}

fn refused(option: &str, what: &str, advice: &str) -> Problem {
    Problem::new(Exit::Usage, format!("{option}: {what}")).advice(format!("{advice}, or leave {option} out"))
}

/// Of a load that runs for a time.
fn pace(study: &Study) -> Option<Pace> {
    match &study.base.workload.load {
        AnyLoad::Oltp(load) => Some(load.pace),
        AnyLoad::Sql(load) => Some(load.pace),
        AnyLoad::Tpcc(load) => Some(load.pace),
        _ => None,
    }
}

/// Whether two trials of the study can live at the same time.
fn together(option: &str, study: &Study) -> Result<(), Problem> {
    let refused = |what: &str, advice: &str| Err(refused(option, what, advice));
    if pace(study).is_none() {
        let why = "it takes a load that runs for a time: of fixed work, the slower side ends alone";
        return refused(why, "name a load such as read_only with --load");
    }
    if !study.base.machine.is_empty() || study.factors.iter().any(|factor| factor.name.starts_with("machine.")) {
        return refused("settings of the whole machine cannot differ between two trials at once", "take them out");
    }
    if study.base.engine.running.is_asked() || study.base.client.on.host.is_some() {
        return refused("both sides are servers that tare starts, with their clients, on this host", "name programs");
    }
    Ok(())
}

fn fits_on_halves(study: &Study) -> Result<(), Problem> {
    let option = "--duet";
    let places = ["placement", "nodes", "caches", "bind", "pairing"];
    let named = study.conditions.iter().flatten().map(|factor| factor.name.as_str());
    if named.clone().any(|name| PLACES.contains(&name) || places.contains(&name)) {
        let why = "it places both sides itself, so a placement cannot be a side";
        return Err(refused(option, why, "compare builds or options"));
    }
    let capture = &study.base.capture;
    if capture.profile || capture.wakes || capture.lines {
        return Err(refused(option, "perf records the whole machine, and so both sides", "take its captures out"));
    }
    together(option, study)
}

/// Two halves of the machine that exchanging like parts turns into one another: by packages, NUMA nodes, last-level
/// caches or cores, whichever comes first. Of an odd number of cores the last one is left out.
fn halves(machine: &Machine) -> Option<[CpuSet; 2]> {
    let outermost = machine.caches.iter().map(|cache| cache.level).max();
    let caches = machine.caches.iter().filter(|cache| Some(cache.level) == outermost);
    let parts: [Vec<&CpuSet>; 4] = [
        machine.packages.iter().map(|package| &package.cpus).collect(),
        machine.nodes.iter().map(|node| &node.cpus).filter(|cpus| !cpus.is_empty()).collect(),
        caches.map(|cache| &cache.cpus).collect(),
        machine.cores.iter().map(|core| &core.cpus).collect(),
    ];
    let cores = parts.len() - 1;
    parts.iter().enumerate().find_map(|(kind, parts)| {
        let half = parts.len() / 2;
        if half == 0 || (parts.len() % 2 == 1 && kind != cores) {
            return None;
        }
        let whole = |parts: &[&CpuSet]| parts.iter().fold(CpuSet::default(), |all, part| all.union(part));
        let halves = [whole(&parts[..half]), whole(&parts[half..2 * half])];
        let signature = |cpus: &CpuSet| {
            let marks = cpus.iter().map(|cpu| (cpu, "side".to_owned())).collect();
            Marks { cpus: marks, ..Marks::default() }.signature(machine)
        };
        (signature(&halves[0]) == signature(&halves[1])).then_some(halves)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(description: &str) -> Option<[String; 2]> {
        halves(&Machine::synthetic(description).unwrap()).map(|halves| halves.map(|half| half.to_string()))
    }

    #[test]
    fn halves_are_like_and_share_no_core() {
        let strings = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        assert_eq!(of("core:2 pu:1"), strings("0", "1"));
        assert_eq!(of("node:4 core:4 pu:2"), strings("0-15", "16-31"));
        assert_eq!(of("package:2 node:1 core:2 pu:1"), strings("0-1", "2-3"));
        assert_eq!(of("core:3 pu:1"), strings("0", "1"));
        assert_eq!(of("core:1 pu:2"), None);
        assert_eq!(of("core:1 pu:1"), None);
    }
}
