//! A study on a machine: what is done, where, and in which order.
//!
//! | file | holds |
//! | --- | --- |
//! | `adapt` | a study made fit for machine and engine |
//! | `design` | factors to conditions |
//! | `resolve` | conditions on this machine, and the schedule |
//! | `queue` | which trial comes next |
//! | `pilot` | counts chosen from the first trials |

pub mod adapt;
pub mod design;
pub mod pilot;
pub mod queue;
pub mod resolve;
