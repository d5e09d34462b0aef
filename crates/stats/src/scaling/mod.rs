//! The universal scalability law, X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)) (Gunther, "Guerrilla Capacity
//! Planning", 2007), fitted over threads or nodes.

mod law;
mod solve;

pub use law::{Law, fit, rung_points};
pub use solve::Point;
