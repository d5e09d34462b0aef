//! The workload of "NUMA Smart Global Counter", faithful to its program: blocks of counters between blocks of data, on
//! memory interleaved over the nodes. In each round a thread works on data blocks and increments random counters.
//!
//! A round is 16 data steps and 160 increments of global counters. A data step draws four blocks, two offsets, a length
//! and a byte; copies part of the second block into the first, fills the third, computes the CRC of the fourth, and
//! increments the blocks' own counters six times. So a round is 448 calls of the generator and 256 increments, 96 of
//! them of the blocks' own counters.
//!
//! Differences from the original program, whose behaviour is undefined in places: the copy may overlap itself
//! (`memmove`); the comparison, which is out of bounds there and removed by its compiler, is left out (its two
//! increments are not); threads are started before the clock. Threads race on data blocks by design, so these are
//! accessed only through raw copies and volatile reads.
//!
//! ```no_run
//! use tare_counters_study::strategies::Strategy;
//! use tare_counters_study::workload::{Config, Mode, run};
//!
//! let article = Config::article(Strategy::CounterSet);
//! let config = Config { threads: 2, rounds: 1000, data_blocks: 10_000, mode: Mode::Corrected, ..article };
//! let outcome = run(&config)?;
//! println!("{:.0} rounds/s, {} of {} counted", outcome.rounds_per_s, outcome.counted, outcome.expected);
//! # Ok::<(), tare_counters_study::workload::Error>(())
//! ```

mod blocks;
mod config;
mod counted;
mod crc;
mod error;
mod generator;
mod pages;
mod worker;

pub use config::{Config, Hooks, MemoryScope, Mode, Padding};
pub use error::Error;
pub use worker::{Outcome, memory_bytes, run};
