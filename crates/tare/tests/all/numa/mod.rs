//! Everything about nodes, on real kernels with several of them, in virtual machines: `make test-numa`.
//!
//! A machine boots from a root file system made on the fly, runs its job (`guest/`), and hands its results over; what
//! was asked is compared with what was observed out here. Speeds in software emulation mean nothing and are not looked
//! at.

mod arm_nodes;
mod counting;
mod four_nodes;
mod guest;
mod image;
mod judge;
mod machine;
mod odd_nodes;
mod two_nodes;
