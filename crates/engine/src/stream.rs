//! A connection's byte stream: one Unix or TCP socket behind one type.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::Address;

/// A connected socket. An enum and not a trait object, so that a query pays a branch and no indirect call.
#[derive(Debug)]
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub(super) fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Socket(path) => Ok(Self::Unix(UnixStream::connect(path)?)),
            Address::Tcp(host, port) => Self::tcp(TcpStream::connect((host.as_str(), *port))?),
        }
    }

    /// Every request is one small write that must leave at once.
    pub(super) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    /// Whether the other end is a process of this machine.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            // The kernel takes the address of the interface that the route leaves by: the same on both ends only when
            // there is no way to go.
            Self::Tcp(stream) => match (stream.local_addr(), stream.peer_addr()) {
                (Ok(own), Ok(other)) => own.ip() == other.ip(),
                _ => false,
            },
        }
    }

    pub(super) fn shutdown(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
