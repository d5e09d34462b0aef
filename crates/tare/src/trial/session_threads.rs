//! The threads of a trial's connections, whatever the workload: bound, found, watched while something is measured, and
//! proved to have been where they belong.

use crate::capture::interference::{Interference, Seen};
use crate::capture::memory::MemoryWatch;
use crate::capture::pages;
use crate::capture::threads::{ThreadWatch, Watched, stray, waited_for_cpu};
use crate::trial::measure::Trial;
use crate::trial::session_load::LoadError;
use std::collections::BTreeMap;
use tare_engine::{Positions, Server};
use tare_results::schema::{Role, ThreadRecord};
use tare_topology::bind;
use tare_topology::observe;
use tare_topology::{Bind, CpuSet, ThreadRef};

/// Binds client thread `index` where its placement says.
pub fn bind_client(trial: &Trial<'_>, index: usize, thread: ThreadRef) -> Result<(), LoadError> {
    match trial.placement.client_cpus(index) {
        Some(cpus) => Ok(bind::bind_thread(thread, cpus)?),
        None => Ok(()),
    }
}

/// One client thread and what serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    /// The client's thread, in this process.
    pub client: ThreadRef,
    /// The server thread behind its connection, where the server says it.
    pub serving: Option<ThreadRef>,
}

/// What belongs to a measurement beside the figures of its load.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// What else went on.
    pub covariates: BTreeMap<String, f64>,
    /// Who else used most CPU time, as in [`Seen`].
    pub users: Vec<(String, u32, f64)>,
    /// Where every thread was.
    pub threads: Vec<ThreadRecord>,
}

impl Surroundings {
    /// Takes in those of a later measurement of the same sample: counts and times add up, fractions are weighted by
    /// time, and of sizes the later counts.
    pub fn merge(&mut self, later: Self) {
        let elapsed = |of: &Self| of.covariates.get("elapsed_s").copied().unwrap_or(0.0);
        let (before_s, later_s) = (elapsed(self), elapsed(&later));
        for (name, value) in later.covariates {
            let entry = self.covariates.entry(name);
            let is_fraction = entry.key().ends_with("_fraction");
            let is_size = entry.key().contains("_bytes") || entry.key().starts_with("layout_");
            let sum = entry.or_insert(0.0);
            *sum = match () {
                () if is_size => value,
                () if is_fraction && before_s + later_s > 0.0 => {
                    (*sum * before_s + value * later_s) / (before_s + later_s)
                }
                () => *sum + value,
            };
        }
        for user in later.users {
            match self.users.iter_mut().find(|known| known.1 == user.1) {
                Some(known) => known.2 = known.2.max(user.2),
                None => self.users.push(user),
            }
        }
        for thread in later.threads {
            match self.threads.iter_mut().find(|known| known.tid == thread.tid) {
                Some(known) => add(known, thread),
                None => self.threads.push(thread),
            }
        }
    }
}

fn add(sum: &mut ThreadRecord, later: ThreadRecord) {
    for (cpu, count) in later.seen_cpus {
        *sum.seen_cpus.entry(cpu).or_default() += count;
    }
    sum.migrations += later.migrations;
    sum.voluntary_switches += later.voluntary_switches;
    sum.involuntary_switches += later.involuntary_switches;
    sum.user_s += later.user_s;
    sum.system_s += later.system_s;
    if let (Some(sum), Some(later)) = (&mut sum.schedule, later.schedule) {
        sum.ran_s += later.ran_s;
        sum.waited_s += later.waited_s;
        sum.slept_s += later.slept_s;
    }
}

/// All threads of a trial.
pub struct SessionThreads<'a> {
    trial: &'a Trial<'a>,
    server: &'a dyn Server,
    watched: Vec<Watched>,
    /// Where the server's parts lie, which does not change while it lives.
    layout: Vec<(&'static str, f64)>,
    open: Option<Open>,
}

/// A measurement that is under way.
struct Open {
    started_at: String,
    interference: Interference,
    memory: Option<MemoryWatch>,
    watch: ThreadWatch,
}

impl<'a> SessionThreads<'a> {
    /// Of a trial whose threads are not known yet.
    pub fn new(trial: &'a Trial<'a>, server: &'a dyn Server) -> Self {
        // Nothing where the kernel does not tell.
        let layout = Positions::of(server.pid()).map_or(Vec::new(), |positions| positions.covariates().to_vec());
        Self { trial, server, watched: Vec::new(), layout, open: None }
    }

    /// Binds the server threads behind all connections, by number of the connection, and remembers whom to watch.
    pub fn connected(&mut self, connected: &[Connected]) -> Result<(), LoadError> {
        let sets = self.server_sets(connected.len());
        for (index, (thread, cpus)) in connected.iter().zip(sets).enumerate() {
            self.watched.push(Watched {
                role: Role::Client,
                pair: Some(index),
                id: thread.client,
                asked: self.trial.placement.client_cpus(index).cloned(),
            });
            let Some(serving) = thread.serving else {
                if cpus.is_some() {
                    return Err(LoadError::NoServerThread(index));
                }
                continue;
            };
            if let Some(cpus) = &cpus {
                bind::bind_thread(serving, cpus)?;
            }
            self.watched.push(Watched { role: Role::Server, pair: Some(index), id: serving, asked: cpus });
        }
        let background = self.background()?;
        self.watched.extend(background);
        Ok(())
    }

    /// Something is about to be measured.
    pub fn start(&mut self) {
        self.open = Some(Open {
            started_at: tare_results::now(),
            interference: Interference::start(Some(self.server.pid()), &self.trial.cpus()),
            memory: self.trial.condition.settings.capture.memory.then(MemoryWatch::start),
            watch: ThreadWatch::start(self.watched.clone()),
        });
    }

    /// It has been measured. A thread that was elsewhere than it was told to be is an error.
    pub fn finish(&mut self) -> Result<Surroundings, LoadError> {
        let Some(open) = self.open.take() else { return Ok(Surroundings::default()) };
        let mut threads = open.watch.finish();
        if let Some(stray) = stray(&self.watched, &threads) {
            return Err(LoadError::Stray(stray));
        }
        let Seen { mut covariates, users } = open.interference.finish();
        covariates.extend(self.layout.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        add_thread_covariates(&mut covariates, &threads);
        // Not permitted or gone: then it is not recorded, as on kernels without NUMA.
        let pages = observe::pages_by_node(self.server.pid().cast_signed()).unwrap_or_default();
        if let Some(stray) = pages::stray(&self.trial.placement.memory, &pages) {
            return Err(LoadError::Stray(stray));
        }
        if let Some(memory) = open.memory {
            covariates.extend(memory.finish(&pages));
        }
        if self.trial.condition.settings.capture.schedule {
            covariates
                .extend(waited_for_cpu(&threads).map(|share| ("server_waited_for_cpu_fraction".to_owned(), share)));
        } else {
            threads.iter_mut().for_each(|thread| thread.schedule = None);
        }
        // Of the many helpers of a server, those that did nothing are not worth a line each.
        threads.retain(|t| t.role != Role::Background || t.user_s + t.system_s > 0.0);
        Ok(Surroundings { started_at: open.started_at, covariates, users, threads })
    }

    /// With no pairing, which server thread gets which PU is left to chance, as it is without tare: drawn afresh each
    /// trial, from the seed.
    fn server_sets(&self, threads: usize) -> Vec<Option<CpuSet>> {
        let placement = &self.trial.placement;
        let mut sets: Vec<Option<CpuSet>> = (0..threads).map(|i| placement.server_cpus(i).cloned()).collect();
        if placement.bind == Bind::Thread && placement.pairing == tare_topology::Pairing::None {
            let seed = self.trial.study.sampling.seed.wrapping_add(1 + self.trial.planned.trial as u64);
            let order = tare_stats::order::randomized_blocks(threads, 1, seed).pop().unwrap_or_default();
            sets = order.into_iter().map(|i| sets[i].clone()).collect();
        }
        sets
    }

    /// The server's threads that serve none of the connections.
    fn background(&self) -> Result<Vec<Watched>, LoadError> {
        let pid = self.server.pid().cast_signed();
        let all = self.trial.placement.server.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        let asked = (!all.is_empty()).then_some(all);
        let serves = |thread: ThreadRef| self.watched.iter().any(|w| w.role == Role::Server && w.id == thread);
        Ok(observe::threads_of(pid)?
            .into_iter()
            .filter(|thread| !serves(*thread))
            .map(|thread| Watched { role: Role::Background, pair: None, id: thread, asked: asked.clone() })
            .collect())
    }
}

fn add_thread_covariates(covariates: &mut BTreeMap<String, f64>, threads: &[ThreadRecord]) {
    for (role, name) in [(Role::Client, "client"), (Role::Server, "server"), (Role::Background, "background")] {
        let of_role = || threads.iter().filter(move |t| t.role == role);
        let mut add = |what: &str, sum: u64| covariates.insert(format!("{name}_{what}"), sum as f64);
        add("migrations", of_role().map(|t| t.migrations).sum());
        add("voluntary_switches", of_role().map(|t| t.voluntary_switches).sum());
        add("involuntary_switches", of_role().map(|t| t.involuntary_switches).sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::ScheduleRecord;

    fn around(elapsed_s: f64, steal: f64, switches: f64, bytes: f64, seen: &[(usize, u64)]) -> Surroundings {
        let thread = ThreadRecord {
            role: Role::Server,
            pair: Some(0),
            tid: 7,
            name: "server".into(),
            allowed_cpus: "0-1".into(),
            seen_cpus: seen.iter().copied().collect(),
            migrations: 1,
            voluntary_switches: 2,
            involuntary_switches: 3,
            user_s: 0.5,
            system_s: 0.25,
            schedule: Some(ScheduleRecord { ran_s: 0.5, waited_s: 0.25, slept_s: 1.0 }),
        };
        let covariates = [
            ("elapsed_s", elapsed_s),
            ("steal_fraction", steal),
            ("context_switches", switches),
            ("server_memory_bytes_node0", bytes),
        ];
        Surroundings {
            started_at: format!("{elapsed_s}"),
            covariates: covariates.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            users: Vec::new(),
            threads: vec![thread],
        }
    }

    #[test]
    fn the_parts_of_a_sample_add_up() {
        let mut all = around(1.0, 0.3, 10.0, 500.0, &[(0, 4)]);
        all.merge(around(3.0, 0.1, 5.0, 600.0, &[(0, 1), (1, 2)]));
        all.merge(around(4.0, 0.0, 1.0, 400.0, &[]));
        let of = |name: &str| all.covariates[name];
        assert_eq!(all.started_at, "1");
        assert_eq!((of("elapsed_s"), of("context_switches"), of("server_memory_bytes_node0")), (8.0, 16.0, 400.0));
        assert!((of("steal_fraction") - 0.6 / 8.0).abs() < 1e-12);
        assert_eq!(all.threads.len(), 1);
        let thread = &all.threads[0];
        assert_eq!((thread.migrations, thread.voluntary_switches, thread.involuntary_switches), (3, 6, 9));
        assert_eq!((thread.user_s, thread.system_s), (1.5, 0.75));
        assert_eq!(thread.schedule, Some(ScheduleRecord { ran_s: 1.5, waited_s: 0.75, slept_s: 3.0 }));
        assert_eq!(thread.seen_cpus, BTreeMap::from([(0, 5), (1, 2)]));
    }
}
