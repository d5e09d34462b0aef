//! The plan of a study on a machine: what runs, where, and in which order.
//!
//! | file | holds |
//! | --- | --- |
//! | `adapt` | adapts a study to machine and engine, expands levels that mean one level per node |
//! | `design` | combines factors into conditions |
//! | `limits` | limits on the size of a study |
//! | `builds` | server programs, each queried once, and names that distinguish them and command lines |
//! | `option_files` | options that servers get from a study's option file |
//! | `available` | whether a condition can run here; options that cannot differ on one running server |
//! | `memory_nodes` | servers whose memory a control group must confine to their nodes, or whose buffer pool has a policy |
//! | `resolve` | conditions on this machine, and the schedule; placements with clients on another host |
//! | `ladder` | conditions that share a server lifetime; the position of a trial in the schedule |
//! | `queue` | which trial comes next |
//! | `task` | one trial of a plan, its stack's start, and whether this machine still is the plan's |
//! | `shard` | some blocks of a plan, on the machine that runs them |
//! | `estimate`, `needs` | how long trials take, and data sets that exist already; their other resources |
//! | `within` | cuts a plan to a time |
//! | `pilot` | counts chosen from the first trials, and blocks that are added until the half-width is reached |
//! | `settle` | pairs that are added until it is decided whether two conditions differ |
//! | `together` | whether the trials of a pair run at the same time, and whether their samples alternate |
//! | `race` | blocks of a race between conditions, without those that were dropped |
//! | `looks` | blocks up to the next look at a study that ends when its question is settled |
//! | `rungs` | rungs of a ladder that are chosen around its measured peak |

pub mod adapt;
mod available;
pub mod builds;
pub mod design;
pub mod estimate;
pub mod ladder;
pub mod limits;
pub mod looks;
pub mod memory_nodes;
pub mod needs;
mod option_files;
pub mod pilot;
pub mod queue;
pub mod race;
pub mod resolve;
pub mod rungs;
pub mod settle;
pub mod shard;
pub mod task;
pub mod together;
pub mod within;
