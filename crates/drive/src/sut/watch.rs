//! Successive measurements of a system under test: its threads are found, bound, watched during each measurement, and
//! verified to have stayed in their placement.

use super::processes::{PARALLEL_WORKER, WorkerWatch};
use super::window::Window;
use super::{
    LoadAround, Owner, Partner, Surroundings, SutError, SystemUnderTest, ThreadWatch, UsageMark, Watched, misplaced,
    usage, waited_for_cpu,
};
use crate::capture::interference::{Interference, NetworkWatch, OthersSeen, ProbeWatch, thread_cpu_s};
use crate::capture::memory::{CacheWatch, MemoryWatch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_cpuset::{AffinityError, CpuSet, ThreadRef, bind_thread};
use tare_engine::{Positions, Spinning};
use tare_noise::ThreadAffinities;
use tare_noise::probe::ProbeCpus;
use tare_results::covariate;
use tare_results::schema::{ThreadClass, ThreadRecord};
use tare_topology::{Bind, Pairing, ResolvedPlacement};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    pub client: ThreadRef,
    /// The server thread or process behind its connection, if the server reports it; for a server on another host
    /// [`ThreadRef::elsewhere`].
    pub serving: Option<ThreadRef>,
}

/// The placement of threads, and what is recorded of them.
#[derive(Debug, Clone)]
pub struct WatchSettings {
    pub placement: ResolvedPlacement,
    /// Seed for the assignment of server threads to logical CPUs when no pairing is requested.
    pub chance_seed: u64,
    pub memory: bool,
    /// Whether the time each thread ran, waited and slept is recorded.
    pub schedule: bool,
    /// Whether the use of L3 caches and of memory bandwidth is recorded, where the machine counts it.
    pub cache: bool,
    /// Fraction of the time that probes before and after the samples may take; None: no probes.
    pub probe_share: Option<f64>,
    /// The time that clients spent spinning until their server answered; None: clients sleep.
    pub spinning: Option<Spinning>,
}

/// The threads of both sides on this machine.
#[derive(Debug, Default)]
pub struct SideThreads {
    pub clients: Vec<ThreadRef>,
    pub connections: Vec<ThreadRef>,
}

/// All participating threads, and the measurement in progress.
pub struct SutWatch {
    pub(super) sut: SystemUnderTest,
    pub(super) settings: WatchSettings,
    watched: Vec<Watched>,
    /// Whether the server's memory was read in an earlier measurement.
    pub(super) memory_was_read: bool,
    /// Whether threads may start and end at any time: true for threads of an external program.
    may_end: bool,
    /// Address space layout of the server, which does not change while it runs.
    layout: Vec<(&'static str, f64)>,
    /// Binds threads of a server that tare did not start, or that another host names.
    affinities: Option<SharedAffinities>,
    probe: Option<ProbeWatch>,
    cache: Option<CacheWatch>,
    /// The watch over the server, if the server is on another host.
    pub(super) partner: Option<Box<dyn Partner>>,
    /// Number of clients on another host, where another watch observes them; None: the clients are here.
    pub(super) clients_elsewhere: Option<usize>,
    open: Option<Open>,
}

/// Changed affinities of a server that tare did not start; their owner restores the original ones after the load.
pub type SharedAffinities = Arc<Mutex<ThreadAffinities>>;

struct Open {
    load: LoadAround,
    /// When the partner had begun, if there is one.
    partner: Option<Instant>,
    started_at: String,
    memory: Option<MemoryWatch>,
    /// Only if client and server are on two hosts.
    network: Option<NetworkWatch>,
    watch: ThreadWatch,
    used: Option<UsageMark>,
    interference: Interference,
    spun: Option<Duration>,
    /// Seconds of CPU time that the readings at the start took.
    recording_s: f64,
    /// After all readings at the start.
    began: Instant,
}

impl SutWatch {
    pub fn new(sut: SystemUnderTest, settings: WatchSettings) -> Self {
        let layout = layout_of(&sut);
        Self {
            sut,
            settings,
            watched: Vec::new(),
            memory_was_read: false,
            may_end: false,
            layout,
            affinities: None,
            probe: None,
            cache: None,
            partner: None,
            clients_elsewhere: None,
            open: None,
        }
    }

    /// Binds threads of a server that tare did not start, or that another host names, through these affinities.
    #[must_use]
    pub fn journalled(mut self, affinities: Option<SharedAffinities>) -> Self {
        self.affinities = affinities;
        self
    }

    /// Binds the server threads behind all connections, by number of the connection, and starts watching both sides.
    pub fn connected(&mut self, connected: &[Connected]) -> Result<(), SutError> {
        if let Some(partner) = &mut self.partner {
            partner.connected(&connected.iter().map(|pair| Some(pair.serving?.tid)).collect::<Vec<_>>())?;
        }
        let here = |serving: &ThreadRef| !serving.is_elsewhere();
        self.join(connected.iter().map(|pair| (Some(pair.client), pair.serving.filter(here))).collect())
    }

    /// Binds and watches pairs of client and server thread; either may be on another host or unknown.
    pub(super) fn join(&mut self, pairs: Vec<(Option<ThreadRef>, Option<ThreadRef>)>) -> Result<(), SutError> {
        let from = self.watched.len();
        if let Some(serving) = pairs.iter().find_map(|(_, serving)| *serving) {
            self.sut.found(serving);
            self.layout = layout_of(&self.sut);
        }
        let sets = self.server_sets(pairs.len());
        if sets.iter().any(Option::is_some) {
            one_thread_each(&pairs)?;
        }
        let mut wanted = Vec::new();
        for (index, ((client, serving), cpus)) in pairs.into_iter().zip(sets).enumerate() {
            if let Some(thread) = client {
                let requested = self.settings.placement.client_cpus(index).cloned();
                self.watched.push(Watched { class: ThreadClass::Client, pair: Some(index), thread, requested });
            }
            let Some(thread) = serving else {
                // Every thread of a server that tare started was started inside the common CPU set.
                let inside = self.sut.owner == Owner::Us && self.settings.placement.bind == Bind::Set;
                if cpus.is_some() && !inside {
                    return Err(SutError::NoServerThread(index));
                }
                continue;
            };
            wanted.extend(cpus.clone().map(|cpus| (thread, cpus)));
            self.watched.push(Watched { class: ThreadClass::Connection, pair: Some(index), thread, requested: cpus });
        }
        self.bind(&wanted, false)?;
        if self.sut.root.is_none() && self.settings.placement.background.is_some() {
            return Err(SutError::NoProcess);
        }
        if self.sut.root.is_some() {
            let background = self.background()?;
            if self.settings.placement.background.is_some() {
                let wanted = background.iter().filter_map(|watched| Some((watched.thread, watched.requested.clone()?)));
                self.bind(&wanted.collect::<Vec<_>>(), true)?;
            }
            self.watched.extend(background);
        }
        // An external program may have begun to measure in the meantime.
        if let Some(open) = &self.open {
            self.watched[from..].iter().for_each(|thread| open.watch.add(thread.clone()));
        }
        Ok(())
    }

    pub fn sides(&self) -> SideThreads {
        let of =
            |class| self.watched.iter().filter(move |watched| watched.class == class).map(|watched| watched.thread);
        SideThreads { clients: of(ThreadClass::Client).collect(), connections: of(ThreadClass::Connection).collect() }
    }

    /// Stops watching all threads: they have ended.
    pub(crate) fn clear(&mut self) {
        self.watched.clear();
    }

    /// Stops watching all threads; from now on threads of an external program may start and end at any time.
    pub(crate) fn forget(&mut self) {
        self.clear();
        self.may_end = true;
    }

    /// Also watches this thread, including in a measurement in progress.
    pub(crate) fn also(&mut self, thread: Watched) {
        if let Some(open) = &self.open {
            open.watch.add(thread.clone());
        }
        self.watched.push(thread);
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The processes of the server; empty without a server.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.sut.processes()
    }

    /// Binds threads of the server. With a journal the original affinities are on disk before any is changed; without
    /// one only threads of a server that tare started are bound.
    fn bind(&self, wanted: &[(ThreadRef, CpuSet)], may_be_gone: bool) -> Result<(), SutError> {
        match (self.sut.owner, &self.affinities) {
            _ if wanted.is_empty() => Ok(()),
            (Owner::Us, None) => wanted.iter().try_for_each(|(thread, cpus)| match bind_thread(*thread, cpus) {
                Err(AffinityError::NoThread { .. }) if may_be_gone => Ok(()),
                bound => Ok(bound?),
            }),
            (Owner::Others, None) => Err(SutError::NoJournal),
            (_, Some(affinities)) => {
                let mut affinities = affinities.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(affinities.bind(wanted, may_be_gone)?)
            }
        }
    }

    /// Whether probes are requested, which need an idle server before and after every sample.
    pub fn probes(&self) -> bool {
        self.settings.probe_share.is_some() || self.partner.as_ref().is_some_and(|partner| partner.probes())
    }

    /// Called while nothing runs: reads a probe if probes are requested. [`SutWatch::start`] does this if it has
    /// not been done, so only callers that start under load need this function.
    pub fn idle(&mut self) -> Result<(), SutError> {
        if let Some(partner) = &mut self.partner {
            partner.idle()?;
        }
        if let Some(share) = self.settings.probe_share {
            if self.probe.is_none() {
                self.probe = Some(ProbeWatch::new(probe_cpus(&self.settings.placement, self.watched.len()), share)?);
            }
            self.probe.as_mut().map_or(Ok(()), ProbeWatch::before)?;
        }
        Ok(())
    }

    pub fn start(&mut self, load: LoadAround) -> Result<(), SutError> {
        // Every measurement has a watching thread of its own, so a second one at the same time is refused.
        if self.is_open() && self.clients_elsewhere.is_some() {
            return Err(SutError::OtherHost("a sample begins in the middle of another".to_owned()));
        }
        self.all_serving()?;
        match &mut self.partner {
            Some(partner) => partner.start(load)?,
            None if self.probe.as_ref().is_some_and(|probe| probe.before.is_some()) => {}
            None => self.idle()?,
        }
        let (partner, began_s) = (self.partner.is_some().then(Instant::now), thread_cpu_s());
        let watch = ThreadWatch::start(self.watched.clone(), self.may_end, self.worker_watch(), self.sut.root)?;
        let used = UsageMark::take(&self.sut);
        // Last what is read at once: the load may be running.
        let memory = self.settings.memory.then(MemoryWatch::start);
        let interference = Interference::start(self.sut.root.map(i32::unsigned_abs), &self.cpus());
        let network = (self.clients_elsewhere.is_some() || self.partner.is_some()).then(NetworkWatch::start);
        let spun = self.spun();
        self.count_cache();
        self.open = Some(Open {
            load,
            partner,
            started_at: tare_results::now(),
            memory,
            network,
            watch,
            used,
            interference,
            spun,
            recording_s: thread_cpu_s() - began_s,
            began: Instant::now(),
        });
        Ok(())
    }

    fn spun(&self) -> Option<Duration> {
        self.settings.spinning.as_ref().map(Spinning::spun)
    }

    /// Threads of a server that tare did not start stay in their monitoring groups.
    fn count_cache(&mut self) {
        if self.settings.cache && self.sut.owner == Owner::Us {
            self.cache = self.cache.take().or_else(|| CacheWatch::begin(self.sut.root));
        }
        if let Some(cache) = &mut self.cache {
            let server = self.sut.root.and_then(|_| self.sut.threads().ok()).unwrap_or_default();
            let client = |watched: &&Watched| watched.class == ThreadClass::Client;
            cache.start(server, self.watched.iter().filter(client).map(|watched| watched.thread));
        }
    }

    /// Ends the measurement; if probes are requested, nothing else may run now.
    ///
    /// # Errors
    /// [`SutError::Misplaced`] when a thread or page was outside its placement.
    pub fn finish(&mut self) -> Result<Surroundings, SutError> {
        let Some(open) = self.open.take() else { return Ok(Surroundings::default()) };
        let window = Window { began: open.began, ended: Instant::now(), load: open.load };
        let (began_s, spun) = (thread_cpu_s(), self.spun());
        // First what is read at once: the load may go on.
        let cache = self.cache.as_ref().map(CacheWatch::finish);
        let network = open.network.map(NetworkWatch::finish);
        let allocated = open.memory.map(MemoryWatch::finish);
        let (OthersSeen { mut covariates, users }, stolen_s) = open.interference.finish();
        let used = open.used.and_then(|before| Some((before, UsageMark::take(&self.sut)?)));
        let (mut threads, looked) = open.watch.finish(&window);
        let used = used.and_then(|(before, now)| now.during(&window, &before, &threads));
        if self.may_end {
            // The location of a thread that ended before the first look is unknown.
            let known: Vec<bool> = threads.iter().map(|thread| !thread.allowed_cpus.is_empty()).collect();
            let mut each = known.iter();
            threads.retain(|_| *each.next().unwrap_or(&false));
            let mut each = known.iter();
            self.watched.retain(|_| *each.next().unwrap_or(&false));
        }
        if let Some(misplaced) = misplaced(&self.watched, &threads) {
            return Err(SutError::Misplaced(misplaced));
        }
        self.no_parallel_workers(&threads)?;
        covariates.extend(self.layout.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        covariates.extend(network.into_iter().flatten());
        covariates.extend([cache, allocated].into_iter().flatten().flatten());
        covariates.extend(looked.stops.covariates(stolen_s));
        if !self.watched.is_empty() {
            covariates.extend(usage::switches(&threads));
        }
        covariates
            .extend(usage::covariates(&threads, open.spun.zip(spun).map(|(before, now)| now.saturating_sub(before))));
        if let Some(pid) = self.sut.root {
            self.add_memory(pid, &mut covariates)?;
        }
        if let Some(data) = &self.sut.data {
            covariates.insert(covariate::DATA_BYTES.name_at(0), tare_files::disk_bytes(data) as f64);
        }
        if self.settings.schedule {
            covariates
                .extend(waited_for_cpu(&threads).map(|share| ("server_waited_for_cpu_fraction".to_owned(), share)));
        } else {
            threads.iter_mut().for_each(|thread| thread.schedule = None);
        }
        if let Some(probe) = &mut self.probe {
            // After it, only an idle machine shows its speed.
            let found = match open.load {
                LoadAround::Idle => probe.after(window.length())?,
                LoadAround::Follows | LoadAround::GoesOn => probe.before_alone(),
            };
            covariates.extend(found.into_iter().map(|(probe, ns)| (probe.covariate().to_owned(), ns)));
        }
        // A server has many helper threads; idle ones get no record. A parallel worker may live for less than a clock
        // tick, so the first one is always recorded and represents the others.
        let mut workers = 0;
        threads.retain(|thread| {
            workers += usize::from(thread.name == PARALLEL_WORKER);
            let worked = thread.user_s + thread.system_s > 0.0;
            thread.class != ThreadClass::Background || worked || (thread.name == PARALLEL_WORKER && workers == 1)
        });
        let recording_s = open.recording_s + looked.cpu_s + (thread_cpu_s() - began_s);
        covariates.insert(covariate::RECORDING.name_at(0), recording_s);
        let (started_at, watched_s) = (open.started_at, window.length().as_secs_f64());
        let here = Surroundings { started_at, covariates, users, threads, watched_s, used, client_host: None };
        let (Some(partner), Some(began)) = (&mut self.partner, open.partner) else { return Ok(here) };
        let ends = Instant::now();
        let mut there = partner.finish()?;
        there.take_share(window.share(began, ends), watched_s);
        Ok(there.with_clients(here))
    }

    fn worker_watch(&self) -> Option<WorkerWatch> {
        let serving = self.watched.iter().find(|watched| watched.class == ThreadClass::Connection);
        let known = self.watched.iter().map(|watched| watched.thread.pid).collect();
        WorkerWatch::over(self.sut.root, serving.map(|watched| watched.thread.pid), known)
    }

    /// A parallel worker for a connection runs with the affinity of the server's first process: this is allowed if the
    /// whole server shares one CPU set, but not if server threads are placed alongside their clients.
    fn no_parallel_workers(&self, threads: &[ThreadRecord]) -> Result<(), SutError> {
        let placement = &self.settings.placement;
        if placement.server.is_empty() {
            return Ok(());
        }
        let all = placement.server.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        let astray = |thread: &ThreadRecord| placement.bind == Bind::Thread || thread.allowed_cpus != all;
        let mut workers = threads.iter().filter(|thread| thread.name == PARALLEL_WORKER);
        match workers.find(|thread| astray(thread)) {
            Some(worker) => Err(SutError::Parallel(worker.pid)),
            None => Ok(()),
        }
    }

    /// All CPUs that threads are bound to; empty if a side may run anywhere.
    fn cpus(&self) -> CpuSet {
        let (client, server) = (&self.settings.placement.client, &self.settings.placement.server);
        let floats = client.is_empty() && self.clients_elsewhere.is_none();
        if floats || (server.is_empty() && self.sut.root.is_some()) {
            return CpuSet::default();
        }
        client.iter().chain(server).flat_map(CpuSet::iter).collect()
    }

    /// Without a pairing, the assignment of server threads to logical CPUs is random, as it is without tare: drawn
    /// anew for each trial, from the seed.
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

    /// The server's threads that serve none of the connections. In a server that tare did not start they keep their
    /// affinity, unless the study sets it.
    fn background(&self) -> Result<Vec<Watched>, SutError> {
        let placement = &self.settings.placement;
        let with_server = || {
            let all = placement.server.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
            (!all.is_empty() && self.sut.owner == Owner::Us).then_some(all)
        };
        let requested = placement.background.clone().or_else(with_server);
        let serves = |thread: &ThreadRef| self.watched.iter().any(|w| w.thread == *thread);
        let threads = self.sut.threads()?.into_iter().filter(|thread| !serves(thread));
        Ok(threads
            .map(|thread| Watched { class: ThreadClass::Background, pair: None, thread, requested: requested.clone() })
            .collect())
    }
}

/// Two connections of a server with a thread pool may share one thread.
fn one_thread_each(pairs: &[(Option<ThreadRef>, Option<ThreadRef>)]) -> Result<(), SutError> {
    let mut seen = BTreeMap::new();
    for (index, thread) in pairs.iter().enumerate().filter_map(|(index, (_, serving))| Some((index, (*serving)?))) {
        if let Some(other) = seen.insert(thread, index) {
            return Err(SutError::Shared(other, index, thread));
        }
    }
    Ok(())
}

/// Address space layout of the server; empty if the kernel does not report it.
fn layout_of(sut: &SystemUnderTest) -> Vec<(&'static str, f64)> {
    let positions = sut.root.and_then(|pid| Positions::of(pid.unsigned_abs()));
    positions.map_or(Vec::new(), |positions| positions.covariates().to_vec())
}

/// Where probes are read: on the server's logical CPUs, or on the clients' if the server has none, one probe thread
/// per two watched threads; and between the first client's and the first server thread's CPUs.
fn probe_cpus(placement: &ResolvedPlacement, watched: usize) -> ProbeCpus {
    /// More readers give no further information on the speed of the machine.
    const MOST: usize = 8;
    let busy = if placement.server.is_empty() { &placement.client } else { &placement.server };
    let cpus: CpuSet = busy.iter().flat_map(CpuSet::iter).collect();
    let mut workers: Vec<Option<CpuSet>> =
        cpus.iter().take(watched.div_ceil(2).clamp(1, MOST)).map(|cpu| Some(cpu.into())).collect();
    if workers.is_empty() {
        workers.push(None);
    }
    ProbeCpus { workers, pair: [placement.client.first().cloned(), placement.server.first().cloned()] }
}
