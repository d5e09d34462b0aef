//! From a location to CPUs of one machine, or why it has none such.

use super::model::{Index, Location, ObjectKind, Step, Term, chain};
use crate::text::count;
use crate::{Cache, CpuSet, Machine, NotRealizable};

impl Location {
    /// The CPUs on this machine. An object or CPU that is named and does not exist, or has no usable CPU, makes the
    /// location not realizable; nothing is left out silently. (hwloc-calc skips what does not exist.)
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
    // What has been selected so far: how it is called, and its CPUs. None stands for the machine.
    let mut selected: Vec<(String, CpuSet)> = Vec::new();
    for (depth, step) in steps.iter().enumerate() {
        if depth == 0 {
            selected = select(machine, None, *step)?;
            continue;
        }
        let mut inner = Vec::new();
        for (name, cpus) in &selected {
            inner.extend(select(machine, Some((name, cpus)), *step)?);
        }
        selected = inner;
    }
    let cpus = selected.iter().fold(CpuSet::new(), |set, (_, cpus)| set.union(cpus));
    if cpus.is_empty() {
        return Err(NotRealizable::new(format!("{} has no CPUs that this process may use", chain(steps))));
    }
    Ok(cpus)
}

/// The objects of a step within one container, each with its full name.
fn select(
    machine: &Machine,
    container: Option<(&str, &CpuSet)>,
    step: Step,
) -> Result<Vec<(String, CpuSet)>, NotRealizable> {
    let all: Vec<CpuSet> = match container {
        None => of_kind(machine, step.kind),
        Some((_, outer)) => {
            of_kind(machine, step.kind).into_iter().filter(|cpus| !cpus.is_empty() && cpus.is_subset(outer)).collect()
        }
    };
    let name = |index: usize| match container {
        None => format!("{}:{index}", step.kind),
        Some((outer, _)) => format!("{outer}.{}:{index}", step.kind),
    };
    let holder = container.map_or("this machine", |(outer, _)| outer);
    let (one, many) = step.kind.nouns();
    let has = format!("{holder} has {}", count(all.len(), &one, &many));
    let named = |index: usize| (name(index), all[index].clone());
    let some = |wanted: &dyn Fn(usize) -> bool| {
        let found: Vec<_> = (0..all.len()).filter(|i| wanted(*i) && !all[*i].is_empty()).map(named).collect();
        match (all.len(), found.is_empty()) {
            (0, _) => Err(NotRealizable::new(has.clone())),
            (_, true) => Err(NotRealizable::new(format!("{has}; {step} selects none that has CPUs"))),
            _ => Ok(found),
        }
    };
    match step.index {
        Index::All => some(&|_| true),
        Index::Odd => some(&|i| i % 2 == 1),
        Index::Even => some(&|i| i % 2 == 0),
        Index::From(first) => some(&|i| i >= first as usize),
        Index::Range(first, last) => {
            let range = first as usize..=last as usize;
            if let Some(missing) = range.clone().find(|i| *i >= all.len()) {
                return Err(NotRealizable::new(format!("{has}; {} does not exist", name(missing))));
            }
            if let Some(bare) = range.clone().find(|i| all[*i].is_empty()) {
                return Err(NotRealizable::new(format!("{} has no CPUs that this process may use", name(bare))));
            }
            Ok(range.map(named).collect())
        }
    }
}

/// CPUs of every object of a kind, in logical order.
fn of_kind(machine: &Machine, kind: ObjectKind) -> Vec<CpuSet> {
    let caches = |level| machine.caches.iter().filter(|o: &&Cache| o.level == level).map(|o| o.cpus.clone()).collect();
    match kind {
        ObjectKind::Package => machine.packages.iter().map(|o| o.cpus.clone()).collect(),
        ObjectKind::Node => machine.nodes.iter().map(|o| o.cpus.clone()).collect(),
        ObjectKind::Die => machine.dies.iter().map(|o| o.cpus.clone()).collect(),
        ObjectKind::Core => machine.cores.iter().map(|o| o.cpus.clone()).collect(),
        ObjectKind::Pu => machine.pus.iter().map(|o| CpuSet::from(o.os_index)).collect(),
        ObjectKind::L5 => caches(5),
        ObjectKind::L4 => caches(4),
        ObjectKind::L3 => caches(3),
        ObjectKind::L2 => caches(2),
        ObjectKind::L1 => caches(1),
    }
}
