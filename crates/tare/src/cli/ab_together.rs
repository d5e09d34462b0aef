//! Pairs whose two trials run together. `tare ab --duet`: at the same time, each on one half of the machine, with the
//! halves exchanged at random. `tare ab --interleave`: both servers run, and their samples take turns.

use super::{Exit, Problem};
use clap::Args;
use tare_cpuset::CpuSet;
use tare_results::schema::{Duet, Plan};
use tare_study::language::settings::Settings;
use tare_study::language::spec::{Factor, SIDE, Study};
use tare_study::plan::design;
use tare_study::plan::resolve::Where;
use tare_study::plan::together::{self, Apart};
use tare_topology::{Machine, Marks, Placement};

/// The factors that put a side on a half.
const PLACES: [&str; 3] = ["client", "server", "background"];
const DUET: &str = "--duet";
const INTERLEAVE: &str = "--interleave";

/// How the samples of a pair lie.
#[derive(Debug, Args)]
pub(crate) struct TurnsArgs {
    /// Start the servers of both sides of a pair and let short samples of them take turns, so that noise of the machine
    /// affects both; an error if this is not possible [default: if it is possible, the load only reads and each thread
    /// is bound to one PU (logical CPU)]
    #[arg(long)]
    interleave: bool,
    /// Run one trial after the other
    #[arg(long, conflicts_with = "interleave")]
    no_interleave: bool,
}

impl TurnsArgs {
    /// Whether they are to take turns; `None` if no option says so.
    pub(crate) fn requested(&self) -> Option<bool> {
        (self.interleave || self.no_interleave).then_some(self.interleave)
    }
}

/// Makes the samples of a study take turns.
///
/// # Errors
/// When the samples of one of its conditions cannot.
pub(crate) fn by_turns(mut study: Study) -> Result<Study, Problem> {
    each_can(&study, INTERLEAVE, together::by_turns)?;
    study.sampling.attempts = 1;
    Ok(study)
}

/// Makes the samples of a planned pair take turns if possible, and says so in the plan's notes.
///
/// # Errors
/// When they cannot, although `requested` requires it.
pub(crate) fn settle_turns(
    requested: Option<bool>,
    study: &mut Study,
    plan: &mut Plan,
    on: (&Machine, Where),
) -> Result<bool, Problem> {
    match together::of_plan(requested, plan, on)? {
        Ok(()) => {
            study.sampling.attempts = 1;
            plan.needs = together::needs_of_both(plan);
            plan.notes.push("by turns: both servers run, and short samples of them alternate".to_owned());
            Ok(true)
        }
        Err(why) if requested == Some(true) => Err(refused(INTERLEAVE, why)),
        Err(Apart::Requested) => Ok(false),
        Err(why) => {
            plan.notes.push(format!("one trial after the other, not by turns: {why}"));
            Ok(false)
        }
    }
}

/// Turns a study of two sides into one of four conditions: each side on each half.
pub(crate) fn on_halves(mut study: Study, machine: &Machine) -> Result<Study, Problem> {
    fits_on_halves(&study)?;
    let halves = halves(machine).ok_or_else(|| {
        Problem::new(Exit::Machine, "this machine cannot be divided into two equal halves for --duet")
            .at(format!("{} cores, {} PUs", machine.core_count(), machine.pu_count()))
            .expected("two equal packages, NUMA nodes, last-level caches or cores; two PUs of one core are not enough")
            .advice("compare one after the other, without --duet")
    })?;
    study.base.placement = Placement { memory: study.base.placement.memory.clone(), ..Placement::default() };
    // A repeated trial would run without the other one of its pair.
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
pub(crate) fn of_plan(plan: &Plan) -> Option<Duet> {
    let second = |letter: &str| {
        let of_side = plan.conditions.iter().filter(|c| c.levels.get(SIDE).is_some_and(|own| own == letter));
        of_side.filter(|condition| condition.realizable).nth(1).map(|condition| condition.name.clone())
    };
    Some(Duet { a: second("a")?, b: second("b")? })
}

fn refused(option: &str, why: Apart) -> Problem {
    let advice = match why {
        Apart::FixedWork => "name a load such as read_only with --load",
        Apart::Rate => "remove rate and slo",
        Apart::Machine => "remove them",
        Apart::NotOurs => "name programs",
        Apart::Recorded => "remove its captures",
        Apart::LeftToTheOs => "bind each thread on both sides",
        Apart::Memory { .. } => "give the servers less",
        Apart::Requested | Apart::Writes => "name a load that reads",
    };
    refused_as(option, &why.to_string(), advice)
}

fn refused_as(option: &str, what: &str, advice: &str) -> Problem {
    Problem::new(Exit::Usage, format!("{option}: {what}")).advice(format!("{advice}, or leave {option} out"))
}

/// Refuses a study if `can` fails for one of its conditions.
fn each_can(study: &Study, option: &str, can: fn(&Settings) -> Result<(), Apart>) -> Result<(), Problem> {
    let conditions = design::conditions(study)
        .map_err(|expected| Problem::new(Exit::Usage, "a side has an invalid value").expected(expected))?;
    conditions.iter().try_for_each(|condition| can(&condition.settings)).map_err(|why| refused(option, why))
}

fn fits_on_halves(study: &Study) -> Result<(), Problem> {
    let places = ["placement", "nodes", "caches", "bind", "pairing"];
    let named = study.conditions.iter().flatten().map(|factor| factor.name.as_str());
    if named.clone().any(|name| PLACES.contains(&name) || places.contains(&name)) {
        let why = "a duet places both sides itself, so a placement cannot be a side";
        return Err(refused_as(DUET, why, "compare builds or options"));
    }
    each_can(study, DUET, together::at_once)
}

/// Two equal halves of the machine, in packages, NUMA nodes, last-level caches or cores, whichever is possible first.
/// Of an odd number of cores, the last one is left out.
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
    fn halves_of_a_machine_are_alike_and_share_no_core() {
        let strings = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        assert_eq!(of("core:2 pu:1"), strings("0", "1"));
        assert_eq!(of("node:4 core:4 pu:2"), strings("0-15", "16-31"));
        assert_eq!(of("package:2 node:1 core:2 pu:1"), strings("0-1", "2-3"));
        assert_eq!(of("core:3 pu:1"), strings("0", "1"));
        assert_eq!(of("core:1 pu:2"), None);
        assert_eq!(of("core:1 pu:1"), None);
    }
}
