//! The plan of a study on a machine: what runs, where, and in which order.
//!
//! | file | holds |
//! | --- | --- |
//! | `adapt` | adapts a study to machine and engine |
//! | `each_node` | expands levels that mean one level per node; merges placements that are equal by the machine's symmetry |
//! | `design` | combines factors into conditions |
//! | `limits` | limits on the size of a study |
//! | `builds` | server programs, each queried once, and names that distinguish them |
//! | `commands` | names that distinguish command lines |
//! | `option_files` | options that servers get from a study's option file |
//! | `available` | whether a condition can run here |
//! | `running` | options that cannot differ on one running server |
//! | `pool_memory` | whether an engine can give its buffer pool a memory policy of its own |
//! | `memory_nodes` | servers whose memory a control group must confine to their nodes |
//! | `resolve` | conditions on this machine, and the schedule; placements with clients on another host |
//! | `ladder` | conditions that share a server lifetime; the position of a trial in the schedule |
//! | `queue` | which trial comes next |
//! | `task` | one trial of a plan, and whether this machine still is the plan's |
//! | `shard` | some blocks of a plan, on the machine that runs them |
//! | `estimate`, `needs` | how long trials take; their other resources |
//! | `within` | cuts a plan to a time |
//! | `made` | data sets that exist already |
//! | `pilot`, `cases` | counts chosen from the first trials, and the cases for which they are chosen |
//! | `settle` | pairs that are added until it is decided whether two conditions differ |
//! | `together` | whether the trials of a pair run at the same time, and whether their samples alternate |
//! | `stack` | start of the stack in each trial of a comparison |
//! | `race` | blocks of a race between conditions, without those that were dropped |
//! | `looks` | blocks up to the next look at a study that ends when its question is settled |
//! | `rungs` | rungs of a ladder that are chosen around its measured peak |
//! | `reached` | blocks that are added until the half-width is reached |

pub mod adapt;
mod available;
pub mod builds;
mod cases;
mod commands;
pub mod design;
pub mod each_node;
pub mod estimate;
pub mod ladder;
pub mod limits;
pub mod looks;
pub mod made;
pub mod memory_nodes;
pub mod needs;
mod option_files;
pub mod pilot;
mod pool_memory;
pub mod queue;
pub mod race;
mod reached;
pub mod resolve;
pub mod rungs;
mod running;
pub mod settle;
pub mod shard;
pub mod stack;
pub mod task;
pub mod together;
pub mod within;
