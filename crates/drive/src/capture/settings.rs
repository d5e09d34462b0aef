//! `[capture]`: what is recorded alongside the metrics.

use strum::{Display, EnumString, IntoStaticStr, VariantNames};
use tare_text::UnknownWord;

/// The cheap ones (memory, schedule, cache) belong to every sample; the others to one further sample, after the
/// measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureSettings {
    pub profile: bool,
    pub call_graph: CallGraph,
    pub locks: bool,
    pub waits: bool,
    pub wakes: bool,
    /// Events of processors and kernel in the threads of either side.
    pub events: bool,
    /// Cache lines that cores take from each other, by sampled accesses to memory.
    pub lines: bool,
    /// The server's counters, and its storage engine's report.
    pub status: bool,
    /// Memory of the server by node, and hits and misses of the nodes' allocators.
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
    /// What belongs to every sample alone.
    #[must_use]
    pub fn without_sample(self) -> Self {
        let Self { call_graph, memory, schedule, cache, .. } = self;
        Self { call_graph, memory, schedule, cache, ..Self::default() }
    }

    /// What only reads: of a server that someone else runs.
    #[must_use]
    pub fn that_read(self) -> Self {
        Self { profile: false, wakes: false, events: false, lines: false, ..self }
    }

    pub fn need_a_sample(&self) -> bool {
        self.profile || self.locks || self.waits || self.wakes || self.events || self.lines || self.status
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum CallGraph {
    /// From a copy of the stack and the program's unwind tables: whole chains on any build, and the larger cost.
    Dwarf,
    /// From frame pointers: cheap, and whole only where the server was built with them.
    #[strum(serialize = "fp")]
    FramePointers,
}

/// Bytes of stack in a sample. Of perf's own default of 8 KiB, half of MariaDB's call chains have no beginning.
const STACK_BYTES: u32 = 16_384;

impl CallGraph {
    /// As perf is told it.
    pub(super) fn argument(self) -> String {
        match self {
            Self::Dwarf => format!("{self},{STACK_BYTES}"),
            Self::FramePointers => self.to_string(),
        }
    }
}
