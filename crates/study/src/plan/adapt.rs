//! Adapts a study to where it runs, before it is planned: chooses the placement that this machine supports from its
//! alternatives, expands levels that mean one level per node, and drops what another engine than the study's own does
//! not support. The study's author and its user have allowed all of it; each change adds a note that is shown and kept
//! with the plan.

use super::available::unknown_option;
use super::resolve::{Where, leave_out_twins, placement};
use crate::language::spec::{Factor, Study};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_cpuset::CpuSet;
use tare_drive::capture::lines;
use tare_engine::Engine;
use tare_noise::{Availability, System};
use tare_results::cache_lines::NO_SAMPLING;
use tare_results::factor;
use tare_results::schema::{LeftOut, Plan, PlannedCondition, PlannedPlacement};
use tare_text::Value;
use tare_topology::{Location, Machine, Marks, MemoryPolicy};

/// Adapts the study. The result is concrete: reading it back chooses nothing. Runs no program of an untrusted study.
pub fn adapt(study: &mut Study, on: &Machine, at: Where) -> Result<Vec<String>, String> {
    let mut notes: Vec<String> = place(study, on)?.into_iter().collect();
    notes.extend(spell_out(study, on)?);
    notes.extend(sampling_unit(study));
    if at != Where::Described {
        notes.extend(no_lines(study, lines::offered()));
        leave_out_of_machine(study);
        notes
            .extend(study.left_out.iter().map(|out| format!("{}={} left out: {}", out.setting, out.level, out.reason)));
    }
    if at == Where::HereUntrusted {
        // Finding out what an engine knows would run the program that the study names.
        study.moved_from = None;
        return Ok(notes);
    }
    if let Some(from) = study.moved_from.take() {
        let why = format!("this {from} study runs on {}, which has none", study.base.engine.kind.name());
        notes.extend(leave_out_options(study, &why)?);
    } else if study.as_published && at == Where::Here {
        // The article used another version of the server.
        let why = format!("the {} that is installed here has none", study.base.engine.kind.name());
        notes.extend(leave_out_options(study, &why)?);
    }
    // An article's study that is planned for another machine will run another server than the one installed here.
    if !study.as_published || at == Where::Here {
        check_options(study)?;
    }
    Ok(notes)
}

/// The note for a capture of cache lines that cannot be recorded.
fn no_lines(study: &Study, offered: bool) -> Option<String> {
    (study.base.capture.lines && !offered)
        .then(|| format!("capture.lines: {NO_SAMPLING}, so no cache lines will be recorded"))
}

/// An option that the engine does not know is an error of the study, reported before anything starts. It is not
/// checked here if the engine or its program is a factor, because a single condition may lack the option; nor if the
/// program is not installed here.
fn check_options(study: &Study) -> Result<(), String> {
    let factors = || study.factors.iter().chain(study.conditions.iter().flatten());
    let base = &study.base.engine;
    let engine = base.kind;
    if !study.base.workload.load.load().needs_server()
        || factors().any(|factor| matches!(factor.name.as_str(), "engine" | "build" | "binary" | "workload"))
        || engine.binary(base.binary.as_deref()).is_err()
    {
        return Ok(());
    }
    let named = base.options.keys().map(String::as_str);
    for option in named.chain(factors().filter_map(|factor| factor::option(&factor.name))) {
        if !knows(engine, option, base.binary.as_ref())? {
            return Err(unknown_option(engine, option, base.binary.as_deref()));
        }
    }
    Ok(())
}

fn knows(engine: &dyn Engine, option: &str, binary: Option<&PathBuf>) -> Result<bool, String> {
    engine.knows_option(option, binary.map(PathBuf::as_path)).map_err(|e| e.to_string())
}

/// Leaves out settings of the machine that are not available here, if the study allows it, and records them.
fn leave_out_of_machine(study: &mut Study) {
    if !std::mem::take(&mut study.where_possible) {
        return;
    }
    let system = System::of_environment();
    let Study { base, left_out, .. } = study;
    base.machine.retain(|level| match level.availability(&system) {
        Availability::NotAvailable { reason } => {
            let (setting, level) = (level.setting().name().to_owned(), level.text().to_owned());
            left_out.push(LeftOut { setting, level, reason: reason.to_string() });
            false
        }
        _ => true,
    });
}

/// A note about what a trial, and so the unit of the intervals, is on a server that is already running.
fn sampling_unit(study: &Study) -> Option<String> {
    let running = &study.base.engine.running;
    let by_factor = study.factors.iter().chain(study.conditions.iter().flatten());
    let mut names = by_factor.map(|factor| factor.name.as_str());
    if !running.is_requested() && !names.any(|name| ["socket", "host", "option_file", "service"].contains(&name)) {
        return None;
    }
    let unit = match running.restart.as_slice() {
        [] => "a trial reconnects and binds the server's threads again, without a restart: intervals do not include \
            differences between starts of the server"
            .to_owned(),
        command => format!("each trial restarts the server with `{}`", command.join(" ")),
    };
    Some(format!("this study measures a running server; {unit}"))
}

/// Chooses the first of the base's alternative placements that this machine supports; if it supports none, the first,
/// and every condition then reports the reason.
fn place(study: &mut Study, on: &Machine) -> Result<Option<String>, String> {
    let names = std::mem::take(&mut study.first_of);
    let mut reasons = Vec::new();
    let mut chosen = None;
    for name in &names {
        let mut settings = study.base.clone();
        study.apply(&mut settings, "placement", &name.as_str().into())?;
        match placement(&settings, on, None) {
            Ok(_) => {
                chosen = Some((name, settings));
                break;
            }
            Err(reason) => {
                reasons.push(format!("{name}: {reason}"));
                chosen.get_or_insert((name, settings));
            }
        }
    }
    let Some((name, settings)) = chosen else { return Ok(None) };
    study.base = settings;
    let tried = if reasons.is_empty() { String::new() } else { format!("; {}", reasons.join("; ")) };
    Ok(Some(format!("placement {name}, the first of {} that this machine has{tried}", names.join(", "))))
}

/// Leaves out options that the study's engine does not know, with a note. If no server is installed here, as on a
/// computer where only a plan is made, nothing is left out: conditions that need an unknown option then report why
/// they cannot run.
fn leave_out_options(study: &mut Study, why: &str) -> Result<Vec<String>, String> {
    let base = &study.base.engine;
    let (engine, binary) = (base.kind, base.binary.clone());
    if engine.binary(binary.as_deref()).is_err() {
        return Ok(vec![format!("{} is not installed here: its options were not checked", engine.name())]);
    }
    let requested = study.requested_options.clone();
    let mut notes = Vec::new();
    let mut unknown = |option: &str, what: &str| -> Result<bool, String> {
        let known = knows(engine, option, binary.as_ref())?;
        if !known && requested.contains(option) {
            return Err(unknown_option(engine, option, binary.as_deref()));
        }
        if !known {
            notes.push(format!("{what} {option} left out: {why}"));
        }
        Ok(!known)
    };
    let mut kept = base.options.clone();
    for option in base.options.keys() {
        if unknown(option, "engine option")? {
            kept.remove(option);
        }
    }
    let mut kept_factors = |factors: &[Factor]| -> Result<Vec<Factor>, String> {
        let mut kept = Vec::new();
        for factor in factors {
            match factor::option(&factor.name) {
                Some(option) if unknown(option, "factor option")? => {}
                _ => kept.push(factor.clone()),
            }
        }
        Ok(kept)
    };
    let factors = kept_factors(&study.factors)?;
    let conditions = study.conditions.iter().map(|c| kept_factors(c)).collect::<Result<_, _>>()?;
    (study.base.engine.options, study.factors, study.conditions) = (kept, factors, conditions);
    Ok(notes)
}

/// Factors whose levels are locations, and the factor whose levels are memory policies.
const LOCATIONS: [&str; 3] = ["client", "server", "background"];
const MEMORY: &str = "memory";

/// Replaces `node:each` and `bind:each` by the levels for this machine. Returns notes with these levels.
fn spell_out(study: &mut Study, on: &Machine) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    for factor in study.factors.iter_mut().chain(study.conditions.iter_mut().flatten()) {
        let mut levels = Vec::new();
        for level in &factor.levels {
            match of_each(factor, level, on)? {
                None => levels.push(level.clone()),
                Some(each) => {
                    notes.push(format!("{}={level} is {} here", factor.name, each.join(", ")));
                    levels.extend(each.into_iter().map(Value::from));
                }
            }
        }
        factor.levels = levels;
    }
    Ok(notes)
}

fn of_each(factor: &Factor, level: &Value, on: &Machine) -> Result<Option<Vec<String>>, String> {
    let text = level.to_string();
    if LOCATIONS.contains(&factor.name.as_str())
        && let Ok(location) = text.parse::<Location>()
    {
        let each = location.of_each_node(on).map_err(|e| e.reason)?;
        return Ok(each.map(|each| each.iter().map(Location::to_string).collect()));
    }
    if factor.name == MEMORY
        && let Ok(policy) = text.parse::<MemoryPolicy>()
    {
        return Ok(policy.of_each_node(on).map(|each| each.iter().map(MemoryPolicy::to_string).collect()));
    }
    Ok(None)
}

/// Leaves out every condition that equals an earlier one after exchanging symmetric parts of the machine.
pub fn merge_symmetric(plan: &mut Plan, on: &Machine) {
    let reason = |twin: &str| format!("equivalent to {twin} by the symmetry of this machine");
    leave_out_twins(&mut plan.conditions, |condition| use_of(condition, on), reason);
}

/// How a condition uses the machine; the same text for conditions that differ only in the names of symmetric parts.
fn use_of(condition: &PlannedCondition, on: &Machine) -> String {
    let word = |key: &str| condition.settings.get(key).map(ToString::to_string).unwrap_or_default();
    let placement = condition.placement.clone().unwrap_or_default();
    let policy = placement.memory.clone().unwrap_or_default();
    let marks = Marks { cpus: marks(&placement), memory: policy.nodes() };
    let policy = policy.to_string();
    let kind = policy.split(':').next().unwrap_or_default();
    // The nodes of a pool are not compared: each policy is a class of its own.
    let pool = placement.pool_memory.map(|policy| format!("{policy} {}", condition.name)).unwrap_or_default();
    format!("{} {} {kind} {pool} {}", word("placement.bind"), word("placement.pairing"), marks.signature(on))
}

/// For each CPU the number of threads, or of CPU sets shared by threads, of each side.
fn marks(placement: &PlannedPlacement) -> BTreeMap<u32, String> {
    let mut counts: BTreeMap<u32, [usize; 3]> = BTreeMap::new();
    let sides = [placement.client.as_slice(), &placement.server, placement.background.as_slice()];
    for (side, sets) in sides.into_iter().enumerate() {
        for cpu in sets.iter().flat_map(CpuSet::iter) {
            counts.entry(cpu).or_default()[side] += 1;
        }
    }
    counts.into_iter().map(|(cpu, [c, s, b])| (cpu, format!("c{c}s{s}b{b}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::resolve::resolve;

    const STUDY: &str = "name = \"s\"\n[engine]\nname = \"mariadb\"\n[engine.options]\ninnodb_io_capacity = 100\n\
                         [placement]\nfirst_of = [\"packages\", \"pus\"]\nmemory = \"local\"\n\
                         [placements.packages]\nserver = \"package:0\"\nclient = \"package:1\"\n\
                         [placements.pus]\nserver = \"pu:0\"\nclient = \"pu:1\"\n\
                         [factors]\naslr = [\"on\", \"off\"]\noption.innodb_adaptive_hash_index = [\"ON\", \"OFF\"]\n\
                         ";

    fn adapted(engine: Option<&str>, machine: &str) -> (Study, Vec<String>) {
        let overrides = Overrides { engine: engine.map(str::to_owned), ..Overrides::default() };
        let mut study = parse(Source { origin: "test", text: STUDY }, &overrides).unwrap();
        let notes = adapt(&mut study, &Machine::synthetic(machine).unwrap(), Where::Described).unwrap();
        (study, notes)
    }

    #[test]
    fn a_capture_that_the_processor_cannot_make_is_reported_before_the_run() {
        let (mut study, _) = adapted(None, "package:2 core:2 pu:1");
        assert_eq!(no_lines(&study, false), None);
        study.base.capture.lines = true;
        assert_eq!(no_lines(&study, true), None);
        assert!(no_lines(&study, false).unwrap().contains(NO_SAMPLING));
    }

    #[test]
    fn the_first_placement_that_the_machine_has_is_the_base_and_is_reported() {
        let (study, notes) = adapted(None, "package:2 core:2 pu:1");
        assert_eq!(study.base.placement.server.to_string(), "package:0");
        assert_eq!(study.base.placement.memory.to_string(), "local");
        assert_eq!(notes, ["placement packages, the first of packages, pus that this machine has"]);
        let (study, notes) = adapted(None, "package:1 core:2 pu:1");
        assert_eq!(study.base.placement.client.to_string(), "pu:1");
        assert!(notes[0].starts_with("placement pus") && notes[0].contains("; packages: "), "{notes:?}");
        assert_eq!((notes.len(), study.factors.len(), study.base.engine.options.len()), (1, 2, 1));
        let (study, _) = adapted(None, "core:1 pu:1");
        assert_eq!(study.base.placement.client.to_string(), "package:1");
    }

    fn refused(sets: &[&str], engine: Option<&str>) -> String {
        let sets = sets.iter().map(|set| (*set).to_owned()).collect();
        let overrides = Overrides { engine: engine.map(str::to_owned), sets, ..Overrides::default() };
        let mut study = parse(Source { origin: "test", text: STUDY }, &overrides).unwrap();
        adapt(&mut study, &Machine::synthetic("package:2 core:2 pu:1").unwrap(), Where::Here).unwrap_err()
    }

    #[test]
    fn an_unknown_option_is_reported_before_the_run_and_a_requested_one_is_never_left_out() {
        let unknown = refused(&["engine.options.cache_sice=1"], Some("sqlite"));
        assert_eq!(unknown, "sqlite has no option cache_sice: did you mean cache_size?");
        let mut study = parse(
            Source { origin: "test", text: "name = \"s\"\n[factors]\noption.innodb_x = [1, 2]\n" },
            &Overrides::default(),
        )
        .unwrap();
        let unknown = adapt(&mut study, &Machine::synthetic("core:2 pu:1").unwrap(), Where::Here).unwrap_err();
        assert!(unknown.starts_with("sqlite has no option innodb_x: fix its name"), "{unknown}");
    }

    #[test]
    fn another_engine_leaves_out_what_it_does_not_know_and_says_so() {
        let (study, notes) = adapted(Some("sqlite"), "package:2 core:2 pu:1");
        let factors: Vec<&str> = study.factors.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(factors, ["aslr"]);
        assert!(study.base.engine.options.is_empty());
        let expected =
            "factor option innodb_adaptive_hash_index left out: this mariadb study runs on sqlite, which has none";
        assert_eq!((notes.len(), notes[2].as_str()), (3, expected));
    }

    #[test]
    fn every_client_server_and_memory_node_of_a_machine_is_a_condition() {
        for (machine, nodes, memories) in [
            ("package:4 [numa] core:4 pu:1", 4, 4),
            ("package:2 node:1 core:6 pu:2", 2, 2),
            // Two nodes with memory only: no place for threads, but places for memory.
            ("package:2 [numa] [numa] core:2 pu:2", 2, 4),
            ("package:1 core:2 pu:1", 1, 1),
        ] {
            let text = builtin::find("node-matrix").unwrap().text;
            let mut study = parse(Source { origin: "node-matrix", text }, &Overrides::default()).unwrap();
            let machine = Machine::synthetic(machine).unwrap();
            let notes = adapt(&mut study, &machine, Where::Described).unwrap();
            assert_eq!(notes.iter().filter(|note| note.contains(":each")).count(), 3, "{notes:?}");
            let plan = resolve(&study, &machine, Where::Described).unwrap();
            let done = plan.realizable().count();
            assert_eq!((plan.conditions.len(), done), (nodes * nodes * memories, nodes * nodes * memories));
        }
    }
}
