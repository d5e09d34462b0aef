//! One measurement of a subject after another: its threads bound, found, watched while something is measured, and
//! proved to have been where they belong.

use super::{Owner, Subject, SubjectError, Surroundings, ThreadWatch, Watched, stray, waited_for_cpu};
use crate::capture::interference::{Interference, Seen};
use crate::capture::memory::MemoryWatch;
use crate::capture::pages;
use std::collections::BTreeMap;
use tare_engine::Positions;
use tare_results::schema::{ThreadClass, ThreadRecord};
use tare_topology::bind;
use tare_topology::observe;
use tare_topology::{Bind, CpuSet, Pairing, ResolvedPlacement, ThreadRef};

/// One client thread and what serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    /// The thread that issues the statements.
    pub client: ThreadRef,
    /// The server thread or process behind its connection, where the server says it.
    pub serving: Option<ThreadRef>,
}

/// Where threads go and what is looked at beside them.
#[derive(Debug, Clone)]
pub struct WatchSettings {
    /// Where every thread belongs.
    pub placement: ResolvedPlacement,
    /// Draws which server thread gets which PU where no pairing is asked for.
    pub chance_seed: u64,
    /// Whether memory by node is recorded.
    pub memory: bool,
    /// Whether the time each thread ran, waited and slept is recorded.
    pub schedule: bool,
}

/// All threads that take part, and the measurement that is under way.
pub struct SubjectWatch {
    subject: Subject,
    settings: WatchSettings,
    watched: Vec<Watched>,
    /// Whether threads come and go: those of a program that is not this one's.
    may_end: bool,
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

impl SubjectWatch {
    /// A watch over a subject whose clients are still to come.
    pub fn new(subject: Subject, settings: WatchSettings) -> Self {
        // Nothing where the kernel does not tell.
        let positions = subject.root.and_then(|pid| Positions::of(pid.unsigned_abs()));
        let layout = positions.map_or(Vec::new(), |positions| positions.covariates().to_vec());
        Self { subject, settings, watched: Vec::new(), may_end: false, layout, open: None }
    }

    /// Binds the server threads behind all connections, by number of the connection, and remembers whom to watch.
    ///
    /// # Errors
    /// When a thread is not known or cannot be bound.
    pub fn connected(&mut self, connected: &[Connected]) -> Result<(), SubjectError> {
        let from = self.watched.len();
        let sets = self.server_sets(connected.len());
        for (index, (pair, cpus)) in connected.iter().zip(sets).enumerate() {
            let asked = self.settings.placement.client_cpus(index).cloned();
            self.watched.push(Watched { class: ThreadClass::Client, pair: Some(index), thread: pair.client, asked });
            let Some(thread) = pair.serving else {
                if cpus.is_some() {
                    return Err(SubjectError::NoServerThread(index));
                }
                continue;
            };
            if let Some(cpus) = &cpus {
                bind::bind_thread(thread, cpus)?;
            }
            self.watched.push(Watched { class: ThreadClass::Connection, pair: Some(index), thread, asked: cpus });
        }
        // Whose server it is not, its helpers are where their owner wants them.
        if self.subject.owner == Owner::Us && self.subject.root.is_some() {
            let background = self.background()?;
            self.watched.extend(background);
        }
        // A program of somebody else's may have begun to measure meanwhile.
        if let Some(open) = &self.open {
            self.watched[from..].iter().for_each(|thread| open.watch.add(thread.clone()));
        }
        Ok(())
    }

    /// From now on threads may come and go: those of a program that is not this one's.
    pub fn forget(&mut self) {
        self.watched.clear();
        self.may_end = true;
    }

    /// Watches one more thread, also in the measurement that is under way.
    pub fn also(&mut self, thread: Watched) {
        if let Some(open) = &self.open {
            open.watch.add(thread.clone());
        }
        self.watched.push(thread);
    }

    /// The processes of the server; empty where there is none.
    pub fn processes(&self) -> Vec<i32> {
        self.subject.processes()
    }

    /// Something is about to be measured.
    pub fn start(&mut self) {
        self.open = Some(Open {
            started_at: tare_results::now(),
            interference: Interference::start(self.subject.root.map(i32::unsigned_abs), &self.cpus()),
            memory: self.settings.memory.then(MemoryWatch::start),
            watch: ThreadWatch::start(self.watched.clone(), self.may_end),
        });
    }

    /// It has been measured.
    ///
    /// # Errors
    /// [`SubjectError::Stray`] when a thread or page was elsewhere than it was told to be.
    pub fn finish(&mut self) -> Result<Surroundings, SubjectError> {
        let Some(open) = self.open.take() else { return Ok(Surroundings::default()) };
        let mut threads = open.watch.finish();
        if self.may_end {
            // One that ended before it was looked at once was nowhere that is known.
            let known: Vec<bool> = threads.iter().map(|thread| !thread.allowed_cpus.is_empty()).collect();
            let mut each = known.iter();
            threads.retain(|_| *each.next().unwrap_or(&false));
            let mut each = known.iter();
            self.watched.retain(|_| *each.next().unwrap_or(&false));
        }
        if let Some(stray) = stray(&self.watched, &threads) {
            return Err(SubjectError::Stray(stray));
        }
        let Seen { mut covariates, users } = open.interference.finish();
        covariates.extend(self.layout.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        if !self.watched.is_empty() {
            add_thread_covariates(&mut covariates, &threads);
        }
        if let Some(pid) = self.subject.root {
            // Not permitted or gone: then it is not recorded, as on kernels without NUMA.
            let pages = observe::pages_by_node(pid).unwrap_or_default();
            if let Some(stray) = pages::stray(&self.settings.placement.memory, &pages) {
                return Err(SubjectError::Stray(stray));
            }
            if let Some(memory) = open.memory {
                covariates.extend(memory.finish(&pages));
            }
        }
        if self.settings.schedule {
            covariates
                .extend(waited_for_cpu(&threads).map(|share| ("server_waited_for_cpu_fraction".to_owned(), share)));
        } else {
            threads.iter_mut().for_each(|thread| thread.schedule = None);
        }
        // Of the many helpers of a server, those that did nothing are not worth a line each.
        threads.retain(|t| t.class != ThreadClass::Background || t.user_s + t.system_s > 0.0);
        Ok(Surroundings { started_at: open.started_at, covariates, users, threads })
    }

    /// Every CPU that a thread is bound to; empty when a side may run anywhere.
    fn cpus(&self) -> CpuSet {
        let (client, server) = (&self.settings.placement.client, &self.settings.placement.server);
        if client.is_empty() || (server.is_empty() && self.subject.root.is_some()) {
            return CpuSet::default();
        }
        client.iter().chain(server).flat_map(CpuSet::iter).collect()
    }

    /// With no pairing, which server thread gets which PU is left to chance, as it is without tare: drawn afresh each
    /// trial, from the seed.
    fn server_sets(&self, threads: usize) -> Vec<Option<CpuSet>> {
        let placement = &self.settings.placement;
        let mut sets: Vec<Option<CpuSet>> = (0..threads).map(|i| placement.server_cpus(i).cloned()).collect();
        if placement.bind == Bind::Thread && placement.pairing == Pairing::None {
            let order =
                tare_stats::order::randomized_blocks(threads, 1, self.settings.chance_seed).pop().unwrap_or_default();
            sets = order.into_iter().map(|i| sets[i].clone()).collect();
        }
        sets
    }

    /// The server's threads that serve none of the connections.
    fn background(&self) -> Result<Vec<Watched>, SubjectError> {
        let all = self.settings.placement.server.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        let asked = (!all.is_empty()).then_some(all);
        let serves = |thread: &ThreadRef| self.watched.iter().any(|w| w.thread == *thread);
        let threads = self.subject.threads()?.into_iter().filter(|thread| !serves(thread));
        Ok(threads
            .map(|thread| Watched { class: ThreadClass::Background, pair: None, thread, asked: asked.clone() })
            .collect())
    }
}

fn add_thread_covariates(covariates: &mut BTreeMap<String, f64>, threads: &[ThreadRecord]) {
    let classes =
        [(ThreadClass::Client, "client"), (ThreadClass::Connection, "server"), (ThreadClass::Background, "background")];
    for (class, name) in classes {
        let of_class = || threads.iter().filter(move |t| t.class == class);
        let mut add = |what: &str, sum: u64| covariates.insert(format!("{name}_{what}"), sum as f64);
        add("migrations", of_class().map(|t| t.migrations).sum());
        add("voluntary_switches", of_class().map(|t| t.voluntary_switches).sum());
        add("involuntary_switches", of_class().map(|t| t.involuntary_switches).sum());
    }
}
