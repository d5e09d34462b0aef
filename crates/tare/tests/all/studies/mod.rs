//! From a study to a plan, a run and its records.

mod ab;
mod article;
mod asked_wrongly;
mod beforehand;
mod bisect;
mod builds;
pub mod captures;
mod configuration;
mod data;
mod find;
mod ladder;
mod lines;
mod machine_changed;
mod machines;
mod memory_limit;
mod plan;
mod pool_memory;
mod reproduce;
mod run;
mod schedulers;
mod shards;
mod stability;
mod topo;
pub mod topology_files;
mod waits;
pub mod why;
mod why_cases;
