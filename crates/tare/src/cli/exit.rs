//! Exit codes, part of the contract that others script against.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    /// Done, and a gate failed: a regression was found.
    GateFailed = 1,
    /// Wrong usage or a wrong study.
    Usage = 2,
    /// This machine cannot do what was asked.
    Machine = 3,
    TrialFailed = 4,
    /// A gate could not decide.
    Inconclusive = 5,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}
