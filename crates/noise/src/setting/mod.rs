//! The machine-wide settings: their names, levels and present values, and whether another level can be set.

mod availability;
mod cpus;
mod files;
mod level;

pub use availability::Availability;
pub(crate) use availability::{Step, steps};
pub(crate) use cpus::{CGROUP, SHIELD, idle_latency_us, online_cpus};
pub use files::Setting;
pub(crate) use files::policies as frequency_policies;
pub(crate) use level::DMA_LATENCY;
pub use level::Level;
