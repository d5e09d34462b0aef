//! The data of a trial, prepared once and cached, as a working copy that the trial may change; and the start of the
//! server on it with its placement: the new process inherits CPUs and memory policy. A server that sets a memory policy
//! of its own is kept on the nodes of its placement by the cpuset of its control group, and the policy of its buffer
//! pool is set here if the server does not set it itself; both are read back from the running process.

use super::settings::request_process;
use super::two_hosts::Clients;
use super::{Trial, TrialError};
use crate::state::{self, StateError};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tare_cpuset::observe::proc_text;
use tare_cpuset::{CpuSet, NodeSet};
use tare_drive::workload::{FillJob, Filled, LoadError, Progress};
use tare_engine::{DataDirectory, EngineError, PoolMemory, PrepareRequest, Server, StartRequest, WorkingCopy};
use tare_noise::{CacheGroup, MemoryConfines, MemoryGroups, System};
use tare_results::schema::{AppliedSetting, DataRecord, TrialRecord};
use tare_study::language::settings::PADDING;
use tare_study::plan::memory_nodes;
use tare_topology::bind::{self, read_memory_policy, set_shared_memory_policy};
use tare_topology::observe::pages_by_policy;
use tare_topology::{Machine, MemoryPolicy, Nodes};

/// A server with its resource control group, which is removed on drop.
pub(crate) struct Started {
    pub server: Box<dyn Server>,
    _limits: Option<CacheGroup>,
}

/// Starts the server on data that it may change, at an address that its clients can reach.
pub(crate) fn start(
    trial: &Trial<'_>,
    data: &TrialData,
    clients: Option<&Clients>,
    record: &mut TrialRecord,
) -> Result<Started, TrialError> {
    let settings = &trial.task.condition.settings;
    let engine = settings.engine.kind;
    let log = trial.log(&format!("server-{:05}-{}.log", trial.task.planned.trial, trial.attempt))?;
    let mut request = StartRequest {
        binary: settings.engine.binary.clone(),
        state_directory: Some(state::directory()?),
        options: settings.engine.options.clone(),
        start_timeout: Duration::from_secs_f64(settings.engine.start_timeout_s),
        transport: settings.engine.transport,
        charset: settings.engine.charset,
        lock_waits: settings.capture.locks,
        ..StartRequest::new(data.directory()?, state::run_directory(), log)
    };
    if let Some(clients) = clients {
        request.listen = clients.listen;
        request.clients_elsewhere = true;
    }
    request_process(&settings.process, std::env::var(PADDING).ok(), &mut request).map_err(TrialError::Process)?;
    let all: CpuSet = trial.task.placement.server.iter().flat_map(CpuSet::iter).collect();
    request.memory = memory_confines(trial)?;
    let requested = &trial.task.placement.memory;
    let inherited = match &request.memory.nodes {
        Some(_) => inherited_policy(requested)?,
        None => requested.clone(),
    };
    let here = bind::Placed::apply((!all.is_empty()).then_some(&all), &inherited)?;
    let limits = CacheGroup::make(&System::of_environment(), settings.process.cache).map_err(StateError::from)?;
    request.limits = limits.as_ref().map(CacheGroup::tasks);
    let server = engine.start(&request)?;
    here.restore()?;
    if let Some(nodes) = &request.memory.nodes {
        record.settings.push(verify_nodes(nodes, requested, server.as_ref())?);
    }
    record.settings.extend(apply_pool_memory(trial, server.as_ref())?);
    if let Some(limits) = &limits {
        // The server started inside the group, but a wrapper may have started it outside.
        limits.enter(server.pid().cast_signed()).map_err(StateError::from)?;
        let found = limits.verify().map_err(StateError::from)?.into_iter();
        record.settings.extend(found.map(|(factor, level, verified)| AppliedSetting::new(factor, level, verified)));
    }
    Ok(Started { server, _limits: limits })
}

/// The limits that the control group of this trial's server puts on its memory.
pub(super) fn memory_confines(trial: &Trial<'_>) -> Result<MemoryConfines, TrialError> {
    let limit_bytes = trial.task.condition.settings.process.memory_limit_bytes;
    Ok(MemoryConfines { nodes: nodes_to_hold(trial)?, limit_bytes })
}

/// The nodes to which the control group must confine the server, if the server would otherwise use others.
fn nodes_to_hold(trial: &Trial<'_>) -> Result<Option<NodeSet>, TrialError> {
    let (settings, memory) = (&trial.task.condition.settings, &trial.task.placement.memory);
    if *memory == MemoryPolicy::Default || !settings.workload.load.load().needs_server() {
        return Ok(None);
    }
    let binary = settings.engine.kind.binary(settings.engine.binary.as_deref())?;
    let held = memory_nodes::to_hold(settings, memory, &binary.version).map(|(nodes, _)| nodes);
    // With all nodes there is nothing to confine, and this works without the rights to make control groups.
    Ok(held.filter(|nodes| {
        let confines = MemoryConfines { nodes: Some(nodes.clone()), limit_bytes: None };
        MemoryGroups::here(&confines).is_ok() || !is_all(nodes)
    }))
}

fn is_all(nodes: &NodeSet) -> bool {
    Machine::this().is_ok_and(|machine| machine.memory_nodes() == *nodes)
}

/// The policy that a server inherits before it enters such a group: over all nodes, which the kernel maps onto those of
/// the group. It would map a policy over just these nodes too, and nodes 0 and 2 of four would then both become node 0.
fn inherited_policy(policy: &MemoryPolicy) -> Result<MemoryPolicy, TrialError> {
    let all = Nodes::These(Machine::this()?.memory_nodes());
    Ok(match policy {
        MemoryPolicy::Bind(_) => MemoryPolicy::Bind(all),
        MemoryPolicy::Interleave(_) => MemoryPolicy::Interleave(all),
        MemoryPolicy::WeightedInterleave(_) => MemoryPolicy::WeightedInterleave(all),
        other => other.clone(),
    })
}

/// Reads the nodes of the running server's group back.
///
/// # Errors
/// [`EngineError::NotInEffect`] when they differ from the requested nodes.
fn verify_nodes(nodes: &NodeSet, policy: &MemoryPolicy, server: &dyn Server) -> Result<AppliedSetting, TrialError> {
    let pid = server.pid();
    let status = proc_text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:")).unwrap_or_default().trim();
    if allowed.parse::<NodeSet>().ok().as_ref() != Some(nodes) {
        let (requested, found) = (nodes.to_string(), allowed.to_owned());
        return Err(EngineError::NotInEffect { setting: "cpuset.mems", requested, found }.into());
    }
    // InnoDB returns to the kernel's default policy after it has allocated its buffer pool.
    let own = read_memory_policy(pid.cast_signed())?;
    let verified =
        format!("cpuset.mems of the server's control group is {allowed} when read back; the server's own is now {own}");
    Ok(AppliedSetting::new("placement.memory", policy, verified))
}

/// Applies the policy and verifies it; `None` if none is requested.
///
/// # Errors
/// The kernel's refusal, and [`EngineError::NotInEffect`] when less memory than the pool has is under the policy.
fn apply_pool_memory(trial: &Trial<'_>, server: &dyn Server) -> Result<Option<AppliedSetting>, TrialError> {
    let (settings, policy) = (&trial.task.condition.settings, &trial.task.placement.pool_memory);
    if *policy == MemoryPolicy::Default {
        return Ok(None);
    }
    let (engine, pid) = (settings.engine.kind, server.pid().cast_signed());
    let method = match engine.pool_memory() {
        PoolMemory::Shared => {
            let bytes = set_shared_memory_policy(pid, policy)?;
            format!("mbind of its {bytes} bytes of shared memory")
        }
        PoolMemory::Interleaved(option) => format!("{option} = ON"),
        PoolMemory::AsTheRest => return Ok(None),
    };
    let data_bytes = settings.workload.load.load().data_bytes();
    let pool_bytes = engine.footprint(&settings.engine.options, data_bytes).pool_bytes;
    let found = pages_by_policy(pid, policy).map_err(LoadError::own)?;
    if found.under_bytes < pool_bytes {
        let found = format!("{} bytes of memory under it, of a pool of {pool_bytes}", found.under_bytes);
        return Err(EngineError::NotInEffect { setting: "pool_memory", requested: policy.to_string(), found }.into());
    }
    let verified =
        format!("{method}; numa_maps shows {policy} on {} bytes of the server's addresses", found.under_bytes);
    Ok(Some(AppliedSetting::new("placement.pool_memory", policy, verified)))
}

/// The data directory of a trial's condition: that of the study, or the cached one, which is prepared if missing.
pub(crate) fn prepared_data(trial: &Trial<'_>) -> Result<PathBuf, TrialError> {
    let settings = &trial.task.condition.settings;
    if let Some(data) = &settings.engine.data {
        return Ok(data.clone());
    }
    let (seed, load) = (trial.task.sampling.seed, settings.workload.load.load());
    let request = PrepareRequest {
        binary: settings.engine.binary.clone(),
        cache_directory: state::cache_directory()?,
        dataset: settings.engine.named(load.dataset(seed)),
        options: settings.engine.options.clone(),
        init_options: settings.engine.init_options.clone(),
        run_directory: state::run_directory(),
        log: trial.log("prepare.log")?,
        state_directory: Some(state::directory()?),
        timeout: Duration::from_secs_f64(settings.engine.start_timeout_s.max(60.0)),
    };
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let fill = &mut |server: &dyn Server| {
        let report = &|filled| (trial.report)(Progress::Filling(filled));
        let filling = Filling::begun(load.rows(), 1, trial.interrupted, report);
        load.fill(&FillJob { seed, parallel, go_on: &|rows| filling.added(rows) }, server)
    };
    Ok(settings.engine.kind.prepare_data(&request, fill)?)
}

/// Counts the rows of tables that are being filled, and reports them at once and then in equal intervals.
pub(crate) struct Filling<'a> {
    pub began: Instant,
    pub rows: AtomicU64,
    of: Option<u64>,
    every_s: u64,
    reports: AtomicU64,
    interrupted: &'a AtomicBool,
    report: &'a (dyn Fn(Filled) + Sync),
}

impl<'a> Filling<'a> {
    /// `of` is the final number of rows, if known.
    pub(crate) fn begun(
        of: Option<u64>,
        every_s: u64,
        interrupted: &'a AtomicBool,
        report: &'a (dyn Fn(Filled) + Sync),
    ) -> Self {
        let (rows, reports) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { began: Instant::now(), rows, of, every_s, reports, interrupted, report }
    }

    /// Adds rows; says whether to go on.
    pub(crate) fn added(&self, rows: u64) -> ControlFlow<()> {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        let times = self.began.elapsed().as_secs() / self.every_s;
        if self.reports.fetch_max(times + 1, Ordering::Relaxed) <= times {
            (self.report)(Filled { rows, of: self.of, seconds: times * self.every_s });
        }
        match self.interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The data of one trial, reserved until this is dropped.
pub(crate) struct TrialData {
    copy: Option<WorkingCopy>,
    prepared: PathBuf,
}

impl TrialData {
    /// Restores the content of the working copy. If another process uses it, the server's start makes another one.
    pub(crate) fn take(prepared: PathBuf) -> Result<Self, TrialError> {
        Ok(Self { copy: WorkingCopy::take(&prepared, &state::cache_directory()?)?, prepared })
    }

    pub(crate) fn directory(&self) -> Result<DataDirectory, TrialError> {
        Ok(match &self.copy {
            Some(copy) => DataDirectory::InPlace(copy.data().to_owned()),
            None => DataDirectory::CopyOf { prepared: self.prepared.clone(), at: state::work_directory()? },
        })
    }

    /// The cost of restoring, for the record; `None` if not known.
    pub(crate) fn record(&self) -> Option<DataRecord> {
        self.copy.as_ref().map(|copy| copy.restored.clone())
    }
}
