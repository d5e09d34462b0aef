//! Clients on another host than their server: placed and verified on both, a connection with a delay, and kills of both
//! sides. The other host is this program in a world of its own: behind a command that stands for ssh, behind a real
//! sshd on loopback, or behind an sshd in a network of its own.

mod apart;
mod delay;
mod engines;
pub mod far;
mod hostile;
mod kills;
mod latency;
mod loads;
mod placed;
