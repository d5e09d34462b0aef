//! Possible reasons for a difference in transaction time, each with its time and counts before all are tested
//! together.

use super::trials::{Counts, Trials};
use crate::time::{Part, TrialTime};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use strum::IntoStaticStr;
use tare_stats::ratio::Shift;

#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Suspect {
    RowLock,
    GlobalLock(String),
    /// The lock of pages that are in high demand.
    PageLock(String),
    /// The lock of an index whose tree changes.
    IndexLock(String),
    /// The lock of one table's rows or of its definition.
    TableLock(String),
    /// Threads that wake each other: context switches, and the kernel's work for them.
    WakeUps,
    /// More runnable threads than CPUs for them.
    CpuShortage,
    /// The connection between client and server, apart from context switches.
    Network,
    /// The clients' control group exhausted its CPU quota.
    Throttled,
    /// Time in the kernel, without more switches.
    KernelTime,
    ClientBound,
    ServerWork,
    /// Server work on another node than its memory.
    RemoteMemory,
    Allocator,
    /// The server's memory in small or huge pages, if this differs.
    HugePages {
        /// Whether the side that takes longer has fewer huge pages.
        fewer: bool,
    },
    TlbMisses,
    /// Page faults of automatic NUMA balancing, by which the kernel detects which node uses a page, and moves the page
    /// there.
    NumaBalancing,
    /// Page faults on memory that was released and is allocated again.
    PageFaults,
    /// Waits until the log is on storage.
    Commit,
    Storage,
    /// Reads and writes of what a statement sorts or collects.
    TemporaryFiles,
    Pauses,
    /// Sleeps that statements ask for.
    StatementSleep,
    /// Waits inside the server, or in the connection to it, without a recorded name.
    #[strum(serialize = "unnamed_waits")]
    Unnamed,
}

impl Suspect {
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// The waits that this suspect explains if it is identified by them alone.
    pub(super) fn own_waits(&self) -> Vec<Part> {
        match self {
            Self::CpuShortage => vec![Part::ClientWaited, Part::ServerWaited],
            Self::RowLock => vec![Part::RowLock],
            Self::GlobalLock(name) | Self::TableLock(name) | Self::PageLock(name) | Self::IndexLock(name) => {
                vec![Part::Lock(name.clone()), Part::Futex(name.clone())]
            }
            _ => Vec::new(),
        }
    }

    /// The kind, or the lock's own name.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::GlobalLock(name) | Self::PageLock(name) | Self::IndexLock(name) | Self::TableLock(name) => {
                Cow::Borrowed(name)
            }
            other => Cow::Borrowed(other.kind()),
        }
    }
}

impl Serialize for Suspect {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.kind())
    }
}

pub(super) struct Accused {
    pub suspect: Suspect,
    pub time: Shift,
    pub counts: Option<[f64; 2]>,
    /// P-value of the difference of the counts; none for a suspect that is identified by its time alone.
    pub counts_p: Option<f64>,
}

impl Accused {
    /// A suspect that is identified by the time of these parts alone.
    pub(crate) fn plain(trials: &Trials<'_, '_>, suspect: Suspect, of: &[Part]) -> Self {
        Self { suspect, time: sum(trials, of), counts: None, counts_p: None }
    }

    /// Adds the counts in A and in B, and the test of their difference.
    pub(crate) fn counted(self, (counts, found): Counts) -> Self {
        Self { counts: Some(counts), counts_p: Some(found.p_value), ..self }
    }
}

pub(super) fn sum(trials: &Trials<'_, '_>, of: &[Part]) -> Shift {
    trials.shift(&|time: &TrialTime<'_>| us_of(time, of))
}

pub(super) fn us_of(time: &TrialTime<'_>, of: &[Part]) -> f64 {
    of.iter().map(|part| time.part(part)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_about_which_half_the_threads_decide_has_waits_of_its_own() {
        let name = || "lock".to_owned();
        for suspect in [
            Suspect::GlobalLock(name()),
            Suspect::TableLock(name()),
            Suspect::PageLock(name()),
            Suspect::IndexLock(name()),
        ] {
            assert!(suspect.own_waits().contains(&Part::Lock(name())), "{suspect:?}");
        }
        assert_eq!(Suspect::RowLock.own_waits(), [Part::RowLock]);
        assert_eq!(Suspect::CpuShortage.own_waits(), [Part::ClientWaited, Part::ServerWaited]);
    }
}
