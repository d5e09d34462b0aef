//! The other half of a system under test whose clients are on one host and whose server is on another: each host binds,
//! watches and proves its own threads, and the clients' says when.

use super::{Surroundings, SutError};

/// What the watch over clients asks of the watch over their server on another host.
pub trait Partner: Send {
    /// Whether probes are wanted there, which need a server that idles around every sample.
    fn probes(&self) -> bool;
    /// Binds the server thread of each connection, known by the number that it has there.
    fn connected(&mut self, serving: &[Option<i32>]) -> Result<(), SutError>;
    /// Nothing runs there, so that a probe may be read.
    fn idle(&mut self) -> Result<(), SutError>;
    fn start(&mut self) -> Result<(), SutError>;
    /// It has been measured: what was seen there.
    fn finish(&mut self) -> Result<Surroundings, SutError>;
}
