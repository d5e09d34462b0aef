//! `[capture]`: what is recorded alongside the metrics.

use strum::{Display, EnumString, IntoStaticStr, VariantNames};
use tare_text::UnknownWord;

/// `memory`, `schedule` and `cache` are cheap and belong to every sample; all other captures belong to one additional
/// sample after the measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureSettings {
    pub profile: bool,
    pub call_graph: CallGraph,
    pub locks: bool,
    pub waits: bool,
    pub wakes: bool,
    /// Hardware and kernel events in the threads of each side.
    pub events: bool,
    /// Cache lines under contention between cores, found by sampling memory accesses.
    pub lines: bool,
    /// The server's counters, and its storage engine's report.
    pub status: bool,
    /// Memory of the server by node, and the nodes' counters of allocation hits and misses.
    pub memory: bool,
    /// Time each thread ran, waited for a CPU and slept.
    pub schedule: bool,
    /// L3 caches and memory bandwidth of both sides' threads, where resctrl counts them.
    pub cache: bool,
}

impl Default for CaptureSettings {
    fn default() -> Self {
        Self {
            profile: false,
            call_graph: CallGraph::Dwarf,
            locks: false,
            waits: false,
            wakes: false,
            events: false,
            lines: false,
            status: false,
            memory: true,
            schedule: true,
            cache: true,
        }
    }
}

impl CaptureSettings {
    /// Only the captures that belong to every sample.
    #[must_use]
    pub fn without_sample(self) -> Self {
        let Self { call_graph, memory, schedule, cache, .. } = self;
        Self { call_graph, memory, schedule, cache, ..Self::default() }
    }

    /// Only the captures that read and change nothing, for a server that tare did not start.
    #[must_use]
    pub fn only_reading(self) -> Self {
        Self { profile: false, wakes: false, events: false, lines: false, ..self }
    }

    pub fn need_a_sample(&self) -> bool {
        self.profile || self.locks || self.waits || self.wakes || self.events || self.lines || self.status
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum CallGraph {
    /// From a copy of the stack and the program's unwind tables: complete chains with any build, at a higher cost.
    Dwarf,
    /// From frame pointers: cheap, and complete only if the server was built with frame pointers.
    #[strum(serialize = "fp")]
    FramePointers,
}

/// Bytes of stack per sample. With perf's default of 8 KiB, half of MariaDB's call chains lack their outer functions.
const STACK_BYTES: u32 = 16_384;

impl CallGraph {
    /// The value of perf's option `--call-graph`.
    pub(super) fn argument(self) -> String {
        match self {
            Self::Dwarf => format!("{self},{STACK_BYTES}"),
            Self::FramePointers => self.to_string(),
        }
    }
}
