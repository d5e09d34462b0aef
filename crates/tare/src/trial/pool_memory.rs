//! The memory policy of a server's buffer pool, separate from that of its other memory: set here if the server does not
//! set it itself, and read back from the running process.

use super::{Trial, TrialError};
use tare_drive::workload::LoadError;
use tare_engine::{EngineError, PoolMemory, Server};
use tare_results::schema::AppliedSetting;
use tare_topology::MemoryPolicy;
use tare_topology::bind::set_shared_memory_policy;
use tare_topology::observe::pages_by_policy;

/// Applies the policy and verifies it; `None` if none is requested.
///
/// # Errors
/// The kernel's refusal, and [`EngineError::NotInEffect`] when less memory than the pool has is under the policy.
pub(super) fn apply(trial: &Trial<'_>, server: &dyn Server) -> Result<Option<AppliedSetting>, TrialError> {
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
