//! Resolves a location to the CPUs of a machine, or to the reason why that is not possible.

use super::model::{Index, Location, ObjectKind, Step, Term, chain};
use crate::text::count;
use crate::{Cache, Machine, NotRealizable};
use tare_cpuset::CpuSet;

impl Location {
    /// The CPUs that it selects on a machine. If a named object or CPU does not exist or has no usable CPU, the
    /// location is not realizable; nothing is skipped silently (hwloc-calc skips objects that do not exist).
    ///
    /// # Errors
    /// When a named object or CPU does not exist on the machine, or has no usable CPU.
    pub fn resolve(&self, machine: &Machine) -> Result<CpuSet, NotRealizable> {
        self.terms.iter().try_fold(CpuSet::new(), |set, term| {
            let more = match term {
                Term::All => machine.cpus(),
                Term::Cpus(cpus) => numbered(machine, cpus)?,
                Term::Objects(steps) => objects(machine, steps)?,
            };
            Ok(set.union(&more))
        })
    }
}

fn numbered(machine: &Machine, cpus: &CpuSet) -> Result<CpuSet, NotRealizable> {
    let usable = machine.cpus();
    let Some(cpu) = cpus.difference(&usable).first() else { return Ok(cpus.clone()) };
    Err(NotRealizable::new(match machine.excluded.reason(cpu) {
        Some(why) => format!("CPU {cpu} {why}"),
        None => format!("CPU {cpu} does not exist; this machine's CPUs are {usable}"),
    }))
}

fn objects(machine: &Machine, steps: &[Step]) -> Result<CpuSet, NotRealizable> {
    // The objects selected so far.
    let mut selected: Vec<Object> = Vec::new();
    for (depth, step) in steps.iter().enumerate() {
        if depth == 0 {
            selected = select(machine, None, *step)?;
            continue;
        }
        let mut inner = Vec::new();
        for container in &selected {
            inner.extend(select(machine, Some(container), *step)?);
        }
        selected = inner;
    }
    let cpus: CpuSet = selected.iter().flat_map(|object| object.cpus.iter()).collect();
    if cpus.is_empty() {
        return Err(NotRealizable::new(format!("{} has no CPUs that this process may use", chain(steps))));
    }
    Ok(cpus)
}

/// An object that a step selected.
struct Object {
    /// Kinds and logical indexes of the containing objects, outermost first, and of the object itself.
    path: Vec<(ObjectKind, usize)>,
    cpus: CpuSet,
}

/// The location text of an object: `node:1.core:0`.
fn name(path: &[(ObjectKind, usize)]) -> String {
    let steps: Vec<String> = path.iter().map(|(kind, index)| format!("{kind}:{index}")).collect();
    steps.join(".")
}

fn select(machine: &Machine, container: Option<&Object>, step: Step) -> Result<Vec<Object>, NotRealizable> {
    let all: Vec<CpuSet> = of_kind(machine, step.kind, container.map(|container| &container.cpus));
    let path = |index: usize| {
        let outer = container.map_or(&[][..], |container| &container.path);
        [outer, &[(step.kind, index)]].concat()
    };
    let has = || {
        let holder = container.map_or_else(|| "this machine".to_owned(), |container| name(&container.path));
        let (one, many) = step.kind.nouns();
        format!("{holder} has {}", count(all.len(), &one, &many))
    };
    let object = |index: usize| Object { path: path(index), cpus: all[index].clone() };
    let some = |wanted: &dyn Fn(usize) -> bool| {
        let found: Vec<Object> = (0..all.len()).filter(|i| wanted(*i) && !all[*i].is_empty()).map(object).collect();
        match (all.len(), found.is_empty()) {
            (0, _) => Err(NotRealizable::new(has())),
            (_, true) => Err(NotRealizable::new(format!("{}; {step} selects none that has CPUs", has()))),
            _ => Ok(found),
        }
    };
    match step.index {
        Index::All => some(&|_| true),
        Index::Odd => some(&|i| i % 2 == 1),
        Index::Even => some(&|i| i % 2 == 0),
        Index::From(first) => some(&|i| i >= first as usize),
        Index::Near => Ok(vec![object(usable(machine)?[0])]),
        Index::Far => farthest(machine).map(|node| vec![object(node)]),
        Index::Usable => Ok(usable(machine)?.into_iter().map(object).collect()),
        Index::Each => Err(NotRealizable::new(
            "node:each is one level per node: it can only be a level of the factors client and server",
        )),
        Index::Performance => of_cpu_kind(machine, true).and_then(|cpus| some(&|i| all[i].is_subset(cpus))),
        Index::Efficiency => of_cpu_kind(machine, false).and_then(|cpus| some(&|i| all[i].is_subset(cpus))),
        Index::Range(first, last) => {
            let range = first as usize..=last as usize;
            if let Some(missing) = range.clone().find(|i| *i >= all.len()) {
                return Err(NotRealizable::new(format!("{}; {} does not exist", has(), name(&path(missing)))));
            }
            if let Some(bare) = range.clone().find(|i| all[*i].is_empty()) {
                let reason = format!("{} has no CPUs that this process may use", name(&path(bare)));
                return Err(NotRealizable::new(reason));
            }
            Ok(range.map(object).collect())
        }
    }
}

/// The CPUs of the fastest or the most power-efficient kind of cores.
fn of_cpu_kind(machine: &Machine, fastest: bool) -> Result<&CpuSet, NotRealizable> {
    let kinds = &machine.cpu_kinds;
    let kind = if fastest { kinds.last() } else { kinds.first() };
    let ranked = kinds.len() > 1 && kinds.iter().all(|kind| kind.efficiency.is_some());
    kind.filter(|_| ranked).map(|kind| &kind.cpus).ok_or_else(|| {
        NotRealizable::new(match kinds.len() {
            0 | 1 => "this machine's cores are all of one kind",
            _ => "which of this machine's kinds of cores is the fastest is not known",
        })
    })
}

/// Logical indexes of the nodes that have CPUs and memory; never empty.
pub(crate) fn usable(machine: &Machine) -> Result<Vec<usize>, NotRealizable> {
    let with_memory = machine.memory_nodes();
    let is_usable = |i: &usize| !machine.nodes[*i].cpus.is_empty() && with_memory.contains(machine.nodes[*i].os_index);
    let nodes: Vec<usize> = (0..machine.nodes.len()).filter(is_usable).collect();
    match nodes.is_empty() {
        true => Err(NotRealizable::new("this machine has no NUMA node with CPUs and memory")),
        false => Ok(nodes),
    }
}

/// The usable node that is farthest from the first one; without known distances, the last one.
fn farthest(machine: &Machine) -> Result<usize, NotRealizable> {
    let nodes = usable(machine)?;
    let (near, others) = (nodes[0], &nodes[1..]);
    let distance = |node: usize| machine.distances.as_ref().and_then(|all| all.get(near)?.get(node).copied());
    // Of equally far nodes the first, if distances are known.
    let reported = others.iter().rev().max_by_key(|node| distance(**node)).filter(|node| distance(**node).is_some());
    reported.or(others.last()).copied().ok_or_else(|| {
        NotRealizable::new("node:far needs two NUMA nodes with CPUs and memory, and this machine has one")
    })
}

/// CPUs of every object of a kind, in logical order; within a container only objects that are in it and have CPUs.
fn of_kind(machine: &Machine, kind: ObjectKind, within: Option<&CpuSet>) -> Vec<CpuSet> {
    let lies = |cpus: &&CpuSet| within.is_none_or(|outer| !cpus.is_empty() && cpus.is_subset(outer));
    let caches = |level| {
        let of_level = machine.caches.iter().filter(|o: &&Cache| o.level == level);
        of_level.map(|o| &o.cpus).filter(lies).cloned().collect()
    };
    match kind {
        ObjectKind::Package => machine.packages.iter().map(|o| &o.cpus).filter(lies).cloned().collect(),
        ObjectKind::Node => machine.nodes.iter().map(|o| &o.cpus).filter(lies).cloned().collect(),
        ObjectKind::Die => machine.dies.iter().map(|o| &o.cpus).filter(lies).cloned().collect(),
        ObjectKind::Core => machine.cores.iter().map(|o| &o.cpus).filter(lies).cloned().collect(),
        ObjectKind::Pu => {
            let pus = machine.pus.iter().map(|o| o.os_index);
            pus.filter(|cpu| within.is_none_or(|outer| outer.contains(*cpu))).map(CpuSet::from).collect()
        }
        ObjectKind::L5 => caches(5),
        ObjectKind::L4 => caches(4),
        ObjectKind::L3 => caches(3),
        ObjectKind::L2 => caches(2),
        ObjectKind::L1 => caches(1),
    }
}
