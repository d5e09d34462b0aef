//! Tests of NUMA nodes, on real kernels with several nodes, in virtual machines: `make test-numa`.
//!
//! A machine boots from a root file system that is made during the test, runs its job (`guest/`), and returns its
//! results; the test compares requested and observed placements. Speeds in emulation mean nothing and are not checked.

mod arm_nodes;
mod counting;
mod four_nodes;
mod guest;
mod image;
mod judge;
mod machine;
mod memory_studies;
mod odd_nodes;
mod two_nodes;
