//! Clients on another host than their server: placed and proved on both, a way that takes its time, and kills of either
//! side. The other host is this program in a world of its own behind a way that stands for ssh, behind a real sshd on
//! loopback, or behind one in a network of its own.

mod apart;
mod delay;
mod engines;
pub mod far;
mod hostile;
mod kills;
mod latency;
mod loads;
mod placed;
