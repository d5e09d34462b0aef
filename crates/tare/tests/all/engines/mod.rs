//! Real servers: their life cycles, options, accounts, and loads.

mod builds;
pub mod certificates;
mod conformance;
mod connections;
mod leftovers;
mod mariadb;
mod mariadb_runs;
mod mysql;
mod postgres;
mod reconnect;
mod running;
pub mod running_support;
mod runs;
mod sqlite;
pub mod support;
mod tls;
mod workloads;
