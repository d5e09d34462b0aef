//! The machine-wide settings: their names, levels and present values, and whether another level can be set.

mod availability;
mod files;
mod frequency;
mod irq;
mod kind;
mod level;
mod plan;
mod shield;

pub use availability::Availability;
pub(crate) use files::policies as frequency_policies;
pub(crate) use frequency::latency_us as idle_latency_us;
pub(crate) use irq::online as online_cpus;
pub use kind::Setting;
pub(crate) use level::DMA_LATENCY;
pub use level::Level;
pub(crate) use plan::{Step, steps};
pub(crate) use shield::{CGROUP, SHIELD};
