//! Whether the two trials of a pair can run at the same time, and whether their samples can alternate.

use super::needs::{self, gigabytes, memory_found};
use super::resolve::{self, Where};
use super::task::TaskError;
use crate::language::settings::Settings;
use crate::language::values::from_values;
use tare_drive::workload::AnyLoad;
use tare_drive::workload::sessions::Pace;
use tare_results::schema::{Needs, Plan, PlannedCondition};
use tare_topology::{Machine, MemoryPolicy, Nodes, ResolvedPlacement};
use thiserror::Error;

/// Why the trials of a pair run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Apart {
    #[error("as requested")]
    Requested,
    #[error("the load is a fixed amount of work, not a fixed time")]
    FixedWork,
    #[error("clients that keep to a rate cannot rest while the other side is measured")]
    Rate,
    #[error("it changes settings of the whole machine")]
    Machine,
    #[error("tare does not start both servers and their clients on this host")]
    NotOurs,
    #[error("perf records the whole machine, and therefore both sides")]
    Recorded,
    /// The server's deferred work for its writes would run during the other side's samples.
    #[error("the load writes")]
    Writes,
    /// The scheduler decides from what it observes over some tenths of a second.
    #[error("the operating system places the threads, and would place them differently in short turns")]
    LeftToTheOs,
    #[error("both servers need about {} of memory, and {}", gigabytes(*.both_bytes), memory_found(*.here_bytes))]
    Memory { both_bytes: u64, here_bytes: u64 },
}

/// Whether trials with such settings can run at the same time.
pub fn at_once(settings: &Settings) -> Result<(), Apart> {
    if pace(settings).is_none() {
        return Err(Apart::FixedWork);
    }
    if !settings.machine.is_empty() {
        return Err(Apart::Machine);
    }
    if settings.engine.running.is_requested() || settings.client.on.host.is_some() {
        return Err(Apart::NotOurs);
    }
    let capture = &settings.capture;
    if capture.profile || capture.wakes || capture.lines { Err(Apart::Recorded) } else { Ok(()) }
}

/// Whether samples of such trials can alternate.
pub fn by_turns(settings: &Settings) -> Result<(), Apart> {
    at_once(settings)?;
    if pace(settings) == Some(Pace::Closed) { Ok(()) } else { Err(Apart::Rate) }
}

/// Whether the samples of a plan's sides alternate: as `requested`; by default if it is possible, both sides only read,
/// and every thread has a PU of its own. A plan with one condition counts as two equal sides.
pub fn of_plan(
    requested: Option<bool>,
    plan: &Plan,
    (machine, place): (&Machine, Where),
) -> Result<Result<(), Apart>, TaskError> {
    if requested == Some(false) {
        return Ok(Err(Apart::Requested));
    }
    let mut sides = Vec::new();
    for condition in plan.realizable() {
        let settings = from_values(&condition.settings)?;
        let placement = resolve::planned(condition, &settings.placement);
        sides.push((settings, placement));
    }
    let each = sides.iter().try_for_each(|(settings, _)| {
        by_turns(settings)?;
        let reads = requested.is_some() || !settings.workload.load.load().writes();
        if reads { Ok(()) } else { Err(Apart::Writes) }
    });
    let all = each.and_then(|()| placed(&sides, requested.is_some()));
    Ok(all.and_then(|()| fits(&sides, machine, place)))
}

/// Whether turns place threads as whole samples do: all are bound, or, on request, both sides are placed alike.
fn placed(sides: &[(Settings, ResolvedPlacement)], on_demand: bool) -> Result<(), Apart> {
    let alike = sides.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let bound = sides.iter().all(|(_, placement)| has_a_pu_each(placement));
    if bound || (on_demand && alike) { Ok(()) } else { Err(Apart::LeftToTheOs) }
}

/// Whether every client thread and the server thread that serves it are bound to one PU.
fn has_a_pu_each(placement: &ResolvedPlacement) -> bool {
    let sides = [&placement.client, &placement.server];
    sides.iter().all(|threads| !threads.is_empty() && threads.iter().all(|cpus| cpus.len() == 1))
}

/// Whether the memory that both servers may use suffices for both.
fn fits(sides: &[(Settings, ResolvedPlacement)], machine: &Machine, place: Where) -> Result<(), Apart> {
    let Some(whole) = resolve::memory(machine, place) else { return Ok(()) };
    let both_bytes = 2 * sides.iter().map(|(settings, _)| needs::with_read_data(settings)).max().unwrap_or(0);
    let policies = sides.iter().flat_map(|(_, placement)| [&placement.memory, &placement.pool_memory]);
    let confined = policies.filter_map(|policy| match policy {
        MemoryPolicy::Bind(Nodes::These(nodes)) => {
            let own = machine.nodes.iter().filter(|node| nodes.contains(node.os_index));
            Some(own.map(|node| node.memory_bytes).sum::<u64>())
        }
        _ => None,
    });
    // An unknown size is 0 there.
    let here_bytes = confined.filter(|bytes| *bytes > 0).fold(whole, u64::min);
    match needs::is_more(both_bytes, here_bytes) {
        true => Err(Apart::Memory { both_bytes, here_bytes }),
        false => Ok(()),
    }
}

/// The resources of a plan whose two servers run at the same time: the memory of both and, if they use the same data,
/// a further copy of the data.
pub fn needs_of_both(plan: &Plan) -> Option<Needs> {
    let needs = plan.needs?;
    let of_side = |condition: &PlannedCondition| {
        from_values(&condition.settings).map_or(0, |settings| settings.workload.load.load().data_bytes())
    };
    let of_one = plan.realizable().map(of_side).max().unwrap_or(0);
    let copies = if needs.data_bytes == of_one { needs.disk_bytes / needs::COPIES } else { 0 };
    Some(Needs { memory_bytes: 2 * needs.memory_bytes, disk_bytes: needs.disk_bytes + copies, ..needs })
}

/// The pace of a load that runs for a time; none for other loads.
fn pace(settings: &Settings) -> Option<Pace> {
    match &settings.workload.load {
        AnyLoad::Oltp(load) => Some(load.pace),
        AnyLoad::Sql(load) => Some(load.pace),
        AnyLoad::Tpcc(load) => Some(load.pace),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::resolve::resolve;

    /// The answer for a study with these lines on a described machine; by default its threads are bound.
    fn apart(requested: Option<bool>, lines: &str, on: &str) -> Result<(), Apart> {
        let placed = if lines.contains("placement") { "" } else { BOUND };
        let text = format!("name = \"s\"\n{lines}\n{placed}");
        let study = parse(Source { origin: "s.toml", text: &text }, &Overrides::default()).unwrap();
        let machine = Machine::synthetic(on).unwrap();
        let plan = resolve(&study, &machine, Where::Described).unwrap();
        assert!(plan.conditions.iter().all(|condition| condition.realizable), "{plan:?}");
        of_plan(requested, &plan, (&machine, Where::Described)).unwrap()
    }

    const SMALL: &str = "core:4 pu:1";
    const BOUND: &str = "[placement]\nclient = \"all\"\nserver = \"all\"\nbind = \"thread\"\npairing = \"same-pu\"\n";

    #[test]
    fn samples_take_turns_by_themselves_where_both_sides_read_and_nothing_is_lost() {
        let load = |load: &str| format!("[workload]\nname = \"{load}\"\n");
        assert_eq!(apart(None, &load("read_only"), SMALL), Ok(()));
        assert_eq!(apart(Some(false), &load("read_only"), SMALL), Err(Apart::Requested));
        for (name, why) in [
            ("read_write", Apart::Writes),
            ("tpcc", Apart::Writes),
            ("dbt3", Apart::FixedWork),
            ("counters", Apart::FixedWork),
        ] {
            assert_eq!(apart(None, &load(name), SMALL), Err(why), "{name}");
        }
        assert_eq!(apart(Some(true), &load("read_write"), SMALL), Ok(()), "on demand");
    }

    #[test]
    fn samples_that_cannot_alternate_cannot_alternate_on_demand_either() {
        for (lines, why) in [
            ("[workload]\nrate = 100", Apart::Rate),
            ("[machine]\nthp = \"never\"", Apart::Machine),
            ("[engine]\nname = \"mariadb\"\nsocket = \"/run/s\"", Apart::NotOurs),
            ("[capture]\nprofile = \"on\"", Apart::Recorded),
        ] {
            for requested in [None, Some(true)] {
                assert_eq!(apart(requested, lines, SMALL), Err(why), "{lines}");
            }
        }
        // Also as a level of one side only.
        let one = "[workload]\nname = \"read_only\"\n[factors]\nworkload = [\"read_only\", \"insert\"]";
        assert_eq!(apart(None, one, SMALL), Err(Apart::Writes));
    }

    /// Placed by the OS, threads that start together stay on one PU for a turn, but spread over a whole sample.
    #[test]
    fn threads_that_the_os_places_take_turns_on_demand_and_only_where_both_sides_leave_them_to_it() {
        let load = "[workload]\nname = \"read_only\"\n";
        let (floats, set) = ("[placement]\n", "[placement]\nclient = \"pu:0-1\"\nserver = \"pu:0-1\"\n");
        for placed in [floats, set] {
            assert_eq!(apart(None, &format!("{load}{placed}"), SMALL), Err(Apart::LeftToTheOs));
            assert_eq!(apart(Some(true), &format!("{load}{placed}"), SMALL), Ok(()));
        }
        let two = format!(
            "{load}[factors]\nplacement = [\"float\", \"same-pu\"]\n[placements.float]\n[placements.same-pu]\n"
        );
        let bound = BOUND.strip_prefix("[placement]\n").unwrap();
        for requested in [None, Some(true)] {
            assert_eq!(apart(requested, &format!("{two}{bound}"), SMALL), Err(Apart::LeftToTheOs));
        }
    }

    #[test]
    fn two_servers_need_the_memory_of_both_on_the_nodes_that_they_are_bound_to() {
        // About 1.5 GB of data, which SQLite reads through the kernel's page cache.
        let of = |memory: &str, on: &str| {
            let lines = format!("[workload]\nname = \"read_only\"\nrows = 7000000\n[placement]\n{memory}");
            apart(Some(true), &lines, on)
        };
        let nodes = "node:2(memory=3000000000) core:2 pu:1";
        assert_eq!(of("memory = \"default\"", nodes), Ok(()));
        for (memory, here_bytes) in [("memory = \"bind:1\"", 3_000_000_000), ("memory = \"default\"", 2_000_000_000)] {
            let on = if here_bytes == 3_000_000_000 { nodes } else { "node:1(memory=2000000000) core:4 pu:1" };
            let found = of(memory, on);
            assert!(
                matches!(found, Err(Apart::Memory { here_bytes: here, both_bytes }) if here == here_bytes && both_bytes > here),
                "{found:?}"
            );
        }
    }
}
