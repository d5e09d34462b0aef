//! The life of a server process: start, watch, stop, and cleaning up after kill -9.

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
pub(crate) mod tagged;
