//! A study on a machine: which conditions it can run, on which CPUs, and the order of trials.

use super::available::{available, options};
use super::builds::{self, Programs};
use super::design::{self, Condition};
use super::{available, estimate, ladder, limits, memory_nodes, needs, option_files, pilot};
use crate::hosts::HostError;
use crate::hosts::remote::Remote;
use crate::language::settings::Settings;
use crate::language::spec::Study;
use crate::language::values::to_values;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use tare_engine::Transport;
use tare_results::schema::{Levels, Plan, PlannedCondition, PlannedPlacement, PlannedTrial, SCHEMA};
use tare_topology::{Fingerprint, Machine, MemoryPolicy, Pairing, Placement, ResolvedPlacement, Side};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// This machine: its settings and this user's rights apply.
    Here,
    /// This machine, but the study is not trusted: no program that it names may be run.
    HereUntrusted,
    /// A described machine: only its topology is known.
    Described,
}

/// Resolves every condition and draws the order.
///
/// # Errors
/// What was expected, if a level is invalid; a parsed study has been checked for that.
pub fn resolve(study: &Study, on: &Machine, place: Where) -> Result<Plan, String> {
    limits::check(study, pilot::first_trials(&study.sampling))?;
    let mut conditions = design::conditions(study)?;
    let samples = study.sampling.samples + study.sampling.drop_samples;
    conditions.iter().try_for_each(|c| limits::check_record(&c.settings, samples, study.sampling.sample_s))?;
    let programs = (place == Where::Here).then(Programs::default);
    let mut notes: Vec<String> = pilot::note(&study.sampling).into_iter().collect();
    let mut files = option_files::Folded::default();
    match &programs {
        Some(programs) => {
            notes.extend(builds::settle(&mut conditions, programs));
            files = option_files::fold(&mut conditions, programs);
            notes.append(&mut files.notes);
        }
        None => builds::name(&mut conditions),
    }
    notes.extend(builds::name_commands(&mut conditions));
    memory_nodes::fold_pool_policies(&mut conditions);
    available::check(&conditions)?;
    let hosts = (place == Where::Here).then(ClientHosts::default);
    if hosts.is_none() && conditions.iter().any(|c| c.settings.client.on.host.is_some()) {
        notes.push("the CPUs of the clients are known only if client.host can be reached".to_owned());
    }
    let plan_one = |condition: &Condition| {
        limits::check_wanted()?;
        Ok(plan_condition(condition, on, place, programs.as_ref(), hosts.as_ref()))
    };
    let mut planned: Vec<PlannedCondition> = conditions.iter().map(plan_one).collect::<Result<_, String>>()?;
    for (condition, file) in planned.iter_mut().zip(files.each) {
        if let Err(reason) = file {
            (condition.realizable, condition.placement, condition.reason) = (false, None, Some(reason));
        }
    }
    without_memory(&mut planned, &conditions, on, place);
    if study.design.skip_identical {
        let used = |planned: &PlannedCondition| format!("{:?} {}", planned.placement, planned.is_left_to_chance());
        leave_out_twins(&mut planned, used, |twin| format!("on this machine it is the same placement as {twin}"));
    }
    ladder::check(study, &mut planned, &conditions);
    let trials = scheduled(study, &planned);
    let mut estimated_s = estimate::trials_s(&trials, &conditions, &study.sampling, on.pus.len());
    let done = conditions.iter().zip(&planned).filter(|(_, planned)| planned.realizable).map(|(c, _)| c);
    let needs = needs::of(done.clone(), study.sampling.seed);
    if study.sampling.target_half_width.is_some() {
        estimated_s = estimated_s.max(study.sampling.budget_s);
    }
    let data_s = estimate::data_s(done, study);
    Ok(Plan {
        schema: SCHEMA,
        study: study.name.clone(),
        machine: (place != Where::Described).then(|| Fingerprint::of(on)),
        client_machines: hosts.map(|hosts| hosts.machines()).unwrap_or_default(),
        seed: study.sampling.seed,
        factors: design::factors(study),
        conditions: planned,
        trials,
        samples: study.sampling.samples,
        rehearsal: study.rehearsal,
        estimated_s: estimated_s + data_s,
        data_s,
        needs: Some(needs),
        left_out: study.left_out.iter().cloned().chain(files.left_out).collect(),
        notes,
        ..Plan::default()
    })
}

pub(super) fn scheduled(study: &Study, planned: &[PlannedCondition]) -> Vec<PlannedTrial> {
    let realizable: Vec<&PlannedCondition> = planned.iter().filter(|c| c.realizable).collect();
    let trials = schedule(&realizable, pilot::first_trials(&study.sampling), study.sampling.seed);
    match &study.design.ladder {
        Some(factor) => ladder::in_lifetimes(trials, planned, factor),
        None => trials,
    }
}

/// Memory of the machine, bytes; none if its description does not give it.
pub(super) fn memory(on: &Machine, place: Where) -> Option<u64> {
    match place {
        Where::Here | Where::HereUntrusted => needs::memory_here(),
        Where::Described => needs::memory_of(on),
    }
}

/// Marks conditions that need more memory than the machine has as not realizable, with that reason.
fn without_memory(planned: &mut [PlannedCondition], conditions: &[Condition], on: &Machine, place: Where) {
    let memory = memory(on, place);
    let all = planned.iter_mut().zip(conditions).take_while(|_| limits::is_wanted());
    for (planned, condition) in all.filter(|(planned, _)| planned.realizable) {
        let fits = needs::fits_pool(&condition.settings);
        planned.reason = fits.and_then(|()| needs::fits_memory(&condition.settings, memory)).err();
        planned.realizable = planned.reason.is_none();
    }
}

/// Factors that may choose another engine than the study's.
const ENGINE_BY: [&str; 3] = ["engine", "build", "binary"];

fn plan_condition(
    condition: &Condition,
    on: &Machine,
    place: Where,
    programs: Option<&Programs>,
    hosts: Option<&ClientHosts>,
) -> PlannedCondition {
    let settings = &condition.settings;
    let resolved = placement(settings, on, hosts).and_then(|placement| match place {
        Where::Here | Where::HereUntrusted => {
            available(settings, programs)?;
            memory_nodes::available(settings, &placement.memory, &on.memory_nodes(), programs)?;
            Ok(placement)
        }
        Where::Described => Ok(placement),
    });
    let resolved = resolved.and_then(|placement| {
        let (memory, pool, here) = (&placement.memory, &placement.pool_memory, place != Where::Described);
        memory_nodes::pool_policy_available(settings, memory, pool, &on.memory_nodes(), here)?;
        Ok(placement)
    });
    // If neither engine nor program varies, the options were checked once for the whole study.
    let engine_varies = ENGINE_BY.iter().any(|factor| condition.levels.contains_key(*factor));
    let asks = programs.is_some() && engine_varies && settings.starts_a_server() && resolved.is_ok();
    let unknown = asks.then(|| options(settings).err()).flatten();
    let unknown_option = unknown.is_some();
    let (placement, reason) = match unknown.map_or(resolved, Err) {
        Ok(placement) => (planned_placement(placement), None),
        Err(reason) => (None, Some(reason)),
    };
    PlannedCondition {
        name: condition.name.clone(),
        levels: condition.levels.clone(),
        realizable: reason.is_none(),
        reason,
        unknown_option,
        placement,
        settings: to_values(settings),
        sizes: Some(sizes(settings)),
    }
}

fn sizes(settings: &Settings) -> BTreeMap<String, u64> {
    let of_load = settings.workload.load.load().sizes().into_iter();
    of_load.map(|(key, value)| (format!("workload.{key}"), value)).collect()
}

fn planned_placement(placement: ResolvedPlacement) -> Option<PlannedPlacement> {
    let ResolvedPlacement { client, server, background, memory, pool_memory, .. } = placement;
    let [memory, pool_memory] =
        [memory, pool_memory].map(|policy| Some(policy).filter(|policy| *policy != MemoryPolicy::Default));
    let planned = PlannedPlacement { client, server, background, memory, pool_memory };
    (planned != PlannedPlacement::default()).then_some(planned)
}

/// The placement of a planned condition as it was resolved; nothing is looked up on the machine again.
pub(crate) fn planned(condition: &PlannedCondition, requested: &Placement) -> ResolvedPlacement {
    let PlannedPlacement { client, server, background, memory, pool_memory } =
        condition.placement.clone().unwrap_or_default();
    ResolvedPlacement {
        client,
        server,
        background,
        bind: requested.bind,
        pairing: requested.pairing,
        memory: memory.unwrap_or_default(),
        pool_memory: pool_memory.unwrap_or_default(),
    }
}

/// Factors that only determine where threads and memory are.
const SAY_WHERE: [&str; 12] = [
    "placement",
    "client",
    "server",
    "background",
    "bind",
    "pairing",
    "memory",
    "pool_memory",
    "nodes",
    "caches",
    "client_pus_per_node",
    "client_pus",
];

/// Leaves out a condition that uses the machine as an earlier one does, its twin, and has the same other levels.
pub(super) fn leave_out_twins(
    conditions: &mut [PlannedCondition],
    used: impl Fn(&PlannedCondition) -> String,
    reason: impl Fn(&str) -> String,
) {
    // How it uses the machine, and its other levels -> the first such condition.
    let mut known: BTreeMap<(String, Levels), String> = BTreeMap::new();
    for this in conditions.iter_mut().take_while(|_| limits::is_wanted()).filter(|condition| condition.realizable) {
        let mut others = this.levels.clone();
        others.retain(|factor, _| !SAY_WHERE.contains(&factor.as_str()));
        match known.entry((used(this), others)) {
            Entry::Vacant(place) => drop(place.insert(this.name.clone())),
            Entry::Occupied(twin) => {
                this.realizable = false;
                this.reason = Some(reason(twin.get()));
            }
        }
    }
}

/// Randomised complete blocks: every block contains every condition once, in an order of its own.
fn schedule(conditions: &[&PlannedCondition], blocks: usize, seed: u64) -> Vec<PlannedTrial> {
    tare_stats::order::randomized_blocks(conditions.len(), blocks, seed)
        .into_iter()
        .enumerate()
        .flat_map(|(block, order)| order.into_iter().map(move |i| (block, i)))
        .enumerate()
        .map(|(trial, (block, i))| PlannedTrial { trial, block, condition: conditions[i].name.clone(), lifetime: None })
        .collect()
}

/// A host of clients: its machine, and the fingerprint that identifies it.
type Known = (Machine, Fingerprint);

#[derive(Debug, Default)]
pub(crate) struct ClientHosts {
    requested: RefCell<BTreeMap<String, Result<Known, String>>>,
}

impl ClientHosts {
    /// The clients' machine; none if they are on this host.
    fn of(&self, settings: &Settings) -> Result<Option<Machine>, String> {
        let there = &settings.client.on;
        let Some(host) = &there.host else { return Ok(None) };
        let ask = || -> Result<Known, HostError> {
            let remote = Remote::start(there)?;
            let known = (remote.hello.environment.machine.clone(), remote.hello.fingerprint.clone());
            remote.close();
            Ok(known)
        };
        let mut requested = self.requested.borrow_mut();
        let known = requested.entry(host.clone()).or_insert_with(|| ask().map_err(|e| e.to_string()));
        known.as_ref().map(|(machine, _)| Some(machine.clone())).map_err(String::clone)
    }

    fn machines(&self) -> BTreeMap<String, Fingerprint> {
        let requested = self.requested.borrow();
        let known = requested.iter().filter_map(|(host, known)| Some((host.clone(), known.as_ref().ok()?.1.clone())));
        known.collect()
    }
}

/// The CPUs of every thread of a condition: those of clients on another host are resolved there if `hosts` may query
/// it, otherwise left open.
pub(crate) fn placement(
    settings: &Settings,
    on: &Machine,
    hosts: Option<&ClientHosts>,
) -> Result<ResolvedPlacement, String> {
    let (requested, threads) = (&settings.placement, settings.workload.threads);
    let Some(host) = &settings.client.on.host else { return requested.resolve(on, threads).map_err(|e| e.to_string()) };
    check(settings)?;
    // `nodes` is resolved for both sides at once; only one half of the result is used.
    let floats = |side: &Side| if requested.nodes.is_some() { side.clone() } else { Side::Float };
    let of_server = Placement { client: floats(&requested.client), ..requested.clone() };
    let of_client = Placement {
        server: floats(&requested.server),
        background: Side::Float,
        memory: MemoryPolicy::Default,
        ..requested.clone()
    };
    let server = of_server.resolve(on, threads).map_err(|e| e.to_string())?;
    let there = hosts.map_or(Ok(None), |hosts| hosts.of(settings))?;
    let client = there.map(|machine| of_client.resolve(&machine, threads)).transpose();
    let client = client.map_err(|e| format!("on {host}: {e}"))?;
    Ok(ResolvedPlacement { client: client.map_or_else(Vec::new, |placement| placement.client), ..server })
}

/// Settings that are not available with clients on another host.
fn check(settings: &Settings) -> Result<(), String> {
    settings.workload.load.load().clients_elsewhere()?;
    if settings.engine.running.is_requested() {
        return Err("clients on another host need a server that tare starts here: leave out socket and host, or \
            client.host"
            .into());
    }
    if settings.engine.transport != Transport::Tcp {
        return Err("clients on another host connect by TCP: set engine.transport = \"tcp\"".into());
    }
    match settings.placement.pairing {
        Pairing::None => Ok(()),
        pairing => Err(format!("pairing {pairing} needs clients and server on one host, but client.host is another")),
    }
}
