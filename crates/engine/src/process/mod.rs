//! The life of a server process: start, watch, stop, and cleaning up after kill -9.
//!
//! | file | holds |
//! | --- | --- |
//! | `instance` | the handle of a server that this program started, with all that exists only as long as it runs |
//! | `server_process` | the process: spawn, watch, stop; its log |
//! | `before_exec`, `address_space`, `memory` | what is set before exec, or read back afterwards |
//! | `process_tree` | all processes that a server starts: a control group, or a mark in their environment |
//! | `guard` | ends servers when this program is interrupted; counts processes that were stopped and continued |
//! | `leftovers` | what a kill leaves, and how the next start removes it |
//! | `listed` | programs that are no server, and folders of their files, marked and registered in the same way |
//! | `peer` | the process at the other end of a connection |

pub(crate) mod address_space;
pub(crate) mod before_exec;
pub(crate) mod guard;
pub(crate) mod instance;
pub(crate) mod leftovers;
pub(crate) mod listed;
pub(crate) mod memory;
pub(crate) mod peer;
pub(crate) mod process_tree;
pub(crate) mod server_process;
