//! Probes once which backends work here; the answer does not change during the life of the process.

use crate::backend::{BACKEND_VARIABLE, Backend};
use crate::rseq;
use crate::snapshot::Error;
use std::env;
use std::sync::OnceLock;

/// For each backend: the offset of the rseq area that it uses (0 for none), or why it cannot work.
struct Probe([Result<isize, String>; 4]);

fn probe() -> &'static Probe {
    static PROBE: OnceLock<Probe> = OnceLock::new();
    PROBE.get_or_init(|| Probe(Backend::ALL.map(try_backend)))
}

fn try_backend(backend: Backend) -> Result<isize, String> {
    match backend {
        Backend::RseqGlibc => rseq::glibc().and_then(trust),
        Backend::RseqSelf => rseq::own().and_then(trust),
        Backend::CpuAtomic => current_cpu().map(|_| 0).ok_or_else(|| "the current CPU cannot be determined".to_owned()),
        Backend::Striped => Ok(0),
    }
}

/// Only the add of aarch64 depends on the kernel to abort a section that was preempted and resumed on the same CPU; see
/// `rseq::selftest`.
#[cfg(all(target_os = "linux", target_arch = "aarch64", not(any(miri, loom))))]
fn trust(area: isize) -> Result<isize, String> {
    rseq::preemption_aborts(area).map(|()| area)
}

#[cfg(not(all(target_os = "linux", target_arch = "aarch64", not(any(miri, loom)))))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as where it can fail")]
fn trust(area: isize) -> Result<isize, String> {
    Ok(area)
}

/// The offset of the rseq area of a backend, or an error that says why it cannot work here.
pub(crate) fn require(backend: Backend) -> Result<isize, Error> {
    match &probe().0[backend as usize] {
        Ok(area) => Ok(*area),
        Err(reason) => Err(Error::Unavailable { backend, reason: reason.clone() }),
    }
}

impl Backend {
    /// The backend that new counters use: the one named in [`BACKEND_VARIABLE`], else the fastest that works here.
    /// Probed once per process.
    ///
    /// # Errors
    /// The variable names an unknown backend, or one that cannot work here.
    pub fn current() -> Result<Self, Error> {
        static CHOSEN: OnceLock<Result<Backend, String>> = OnceLock::new();
        let chosen = CHOSEN.get_or_init(|| env::var(BACKEND_VARIABLE).map_or_else(|_| Ok(Self::fastest()), Err));
        match chosen {
            Ok(backend) => Ok(*backend),
            Err(name) => {
                let backend: Backend = name.parse()?;
                require(backend).map(|_| backend)
            }
        }
    }

    /// Checks that this backend can work here.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn available(self) -> Result<(), Error> {
        require(self).map(|_| ())
    }

    fn fastest() -> Self {
        Self::ALL
            .into_iter()
            .filter(|&backend| backend != Self::CpuAtomic || cpu_is_cheap())
            .find(|&backend| require(backend).is_ok())
            .unwrap_or(Self::Striped)
    }
}

/// Whether reading the CPU number costs less than the atomic add that follows. With an rseq area glibc reads it there;
/// on x86-64 the kernel's vDSO answers. Elsewhere it is a system call (84 ns), and stripes are cheaper.
fn cpu_is_cheap() -> bool {
    cfg!(target_arch = "x86_64") || rseq::glibc().is_ok()
}

/// The number of the current CPU. It may be stale as soon as it is returned, so it is only a hint.
#[cfg(all(target_os = "linux", not(any(miri, loom))))]
#[inline]
pub(crate) fn current_cpu() -> Option<usize> {
    // SAFETY: no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(not(all(target_os = "linux", not(any(miri, loom)))))]
pub(crate) fn current_cpu() -> Option<usize> {
    None
}
