//! Who woke the threads that serve connections, and what kept those who did: the capture `wakes`,
//! `captures/trial-NNNNN-A/wakes.json`.

use serde::{Deserialize, Serialize};
use strum::Display;

/// Sleeps of the threads that serve connections during a capture sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakesFile {
    pub schema: u32,
    /// From the first to the last event, seconds.
    pub elapsed_s: f64,
    /// Threads that serve a connection and were seen.
    pub threads: usize,
    pub events: u64,
    /// Whether events beyond a limit were left out: then `elapsed_s` is shorter than the sample.
    pub cut: bool,
    /// Share of these threads' time for which they slept and were woken, 0 to 1.
    pub slept_fraction: f64,
    /// Who ended the sleeps, the largest share first.
    pub woken_by: Vec<WakerShare>,
    /// The same time, charged to what the waker did meanwhile, and where that slept itself, to who woke it in turn.
    pub charged: Vec<ChargedShare>,
}

/// Sleeps that threads of one kind ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakerShare {
    /// `client`, `connection`, `background NAME`, `interrupt`, or the name of another program's thread.
    pub who: String,
    pub wakes: u64,
    /// Share of the threads' time, 0 to 1.
    pub fraction: f64,
}

/// Time that connections slept while another thread did something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChargedShare {
    /// `client`, `connection`, `background NAME`, `interrupt`, or the name of another program's thread.
    pub who: String,
    pub doing: Doing,
    /// Share of the threads' time, 0 to 1.
    pub fraction: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Doing {
    Ran,
    WaitedForCpu,
    /// Asleep, for a time, for a device, or for who was not seen.
    Asleep,
}
