//! A study on a machine: what is done, where, and in which order.
//!
//! | file | holds |
//! | --- | --- |
//! | `adapt` | a study made fit for machine and engine |
//! | `each_node` | levels that stand for one level a node; placements that the machine's symmetry makes one |
//! | `design` | factors to conditions |
//! | `limits` | how large a study may be |
//! | `builds` | server programs, each asked once, and names that tell them apart |
//! | `commands` | names that tell command lines apart |
//! | `option_files` | options that a study's option file gives its servers |
//! | `available` | whether a condition can be done here |
//! | `memory_nodes` | servers whose memory a control group has to keep on its nodes |
//! | `resolve` | conditions on this machine, and the schedule; placements whose clients are on another host |
//! | `ladder` | conditions that share a server lifetime |
//! | `queue` | which trial comes next |
//! | `task` | one trial of a plan, and whether this machine still is the plan's |
//! | `shard` | some blocks of a plan, on the machine that runs them |
//! | `estimate`, `needs` | how long trials take; what else they need |
//! | `within` | a plan cut to a time |
//! | `made` | data sets that need not be made |
//! | `pilot`, `cases` | counts chosen from the first trials; what they are chosen for |
//! | `settle` | pairs that are added until it is settled whether two conditions differ |
//! | `together` | whether the trials of a pair run at the same time, and whether their samples take turns |
//! | `stack` | where the stack of each trial of a comparison begins |
//! | `race` | blocks of conditions that are raced, without those that were dropped |
//! | `looks` | blocks up to the next look at a study that ends when its question is settled |
//! | `rungs` | rungs of a ladder that are chosen around its peak by what was measured |
//! | `reached` | blocks that are added until the half-width is reached |

pub mod adapt;
pub mod available;
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
mod place;
mod pool_memory;
pub mod queue;
pub mod race;
mod reached;
pub mod resolve;
pub mod rungs;
pub mod settle;
pub mod shard;
pub mod stack;
pub mod task;
pub mod together;
pub mod within;
