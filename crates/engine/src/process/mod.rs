//! The life of a server process: start, watch, stop, and cleaning up after kill -9.
//!
//! | file | holds |
//! | --- | --- |
//! | `instance` | the handle of a server that this program started, with all that exists only as long as it runs |
//! | `server_process`, `log` | the process: spawn, watch, stop; its log |
//! | `before_exec`, `address_space`, `allocator`, `huge_pages` | what is set before exec, or read back afterwards |
//! | `process_tree` | all processes that a server starts: a control group, or a mark in their environment |
//! | `tagged` | the same for a program that is no server |
//! | `guard` | ends servers when this program is interrupted |
//! | `leftovers`, `listed_folder` | what a kill leaves, and how the next start removes it |
//! | `stops` | processes that were stopped by a signal and continued |
//! | `peer` | the process at the other end of a connection |

pub(crate) mod address_space;
pub(crate) mod allocator;
pub(crate) mod before_exec;
pub(crate) mod guard;
pub(crate) mod huge_pages;
pub(crate) mod instance;
pub(crate) mod leftovers;
pub(crate) mod listed_folder;
pub(crate) mod log;
pub(crate) mod peer;
pub(crate) mod process_tree;
pub(crate) mod server_process;
pub(crate) mod stops;
pub(crate) mod tagged;
