//! Random numbers: reproducible streams, and the key distributions of sysbench over them.

mod distribution;
mod stream;
mod zipfian;

pub use distribution::{Distribution, Draw, UnknownDistribution};
pub use stream::{Purpose, Random};
