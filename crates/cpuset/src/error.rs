//! Errors of binding threads to CPUs.

use crate::{CpuSet, ThreadRef};
use std::io;

/// Why the affinity of a thread could not be set or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum AffinityError {
    /// The requested set of CPUs is empty.
    #[error("cannot bind {thread} to an empty set of CPUs")]
    NoCpus { thread: ThreadRef },
    /// The binding uses the kernel's fixed-size CPU mask.
    #[error("cannot bind to CPU {cpu}: numbers up to {max} are supported")]
    CpuTooHigh { cpu: u32, max: u32 },
    /// The thread does not exist, or its number is not positive.
    #[error("there is no {thread}: it has ended")]
    NoThread { thread: ThreadRef },
    /// The kernel refused to bind it.
    #[error("binding {thread} to CPUs {cpus} failed: {source}{}", allowed(source, "sched_setaffinity(2)"))]
    Bind { thread: ThreadRef, cpus: CpuSet, source: io::Error },
    /// The kernel refused to report the affinity.
    #[error("reading the CPU affinity of {thread} failed: {source}{}", allowed(source, "sched_getaffinity(2)"))]
    Read { thread: ThreadRef, source: io::Error },
    /// The kernel set other CPUs than requested, for example because the control group's cpuset lacks some of them.
    #[error("{thread} should run on CPUs {requested}, but the kernel lets it run on {found}")]
    Differs { thread: ThreadRef, requested: CpuSet, found: CpuSet },
}

/// Advice for the case that the kernel does not permit a call.
fn allowed(source: &io::Error, call: &str) -> String {
    match source.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "; only its own user or root may bind a thread: run tare as the server's user, or allow {call} in the \
             seccomp filter or security module of this container"
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_for_a_missing_permission_explains_who_may_bind() {
        let bind = |errno| AffinityError::Bind {
            thread: ThreadRef::of_this_thread(),
            cpus: CpuSet::from_iter([0]),
            source: io::Error::from_raw_os_error(errno),
        };
        assert!(bind(1).to_string().contains("not permitted (os error 1); only its own user or root may bind"));
        assert!(bind(22).to_string().ends_with("(os error 22)"));
    }
}
