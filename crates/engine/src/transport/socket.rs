//! A connected socket with limits on its waits: silence, deadlines, and interruption of this program.

use super::spin::{Spin, Spinning};
use crate::Address;
use crate::process::guard::interrupted;
use crate::process::peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use std::hint::spin_loop;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest part of a wait between two checks for an interruption. A wait without limit is ended by whatever set
/// it: checks would need a timer for every statement.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// When to call again a host that does not answer, the same time after which the kernel repeats a lost first packet.
const TCP_AGAIN: Duration = Duration::from_secs(1);

/// One end of a connection. An enum and not a trait object, so that a query costs a branch and no indirect call.
#[derive(Debug)]
pub(crate) enum End {
    Unix(UnixStream),
    Tcp(TcpStream),
}

#[derive(Debug)]
pub(crate) struct Socket {
    end: End,
    deadline: Option<Instant>,
    silence: Option<Duration>,
    answer: Answer,
    /// Set if it spins instead of sleeping until something can be read.
    spin: Option<Spin>,
}

/// How long the other side has been sending the current answer. A measured statement takes a read or two and needs no
/// check of the clock.
#[derive(Debug, Default)]
struct Answer {
    reads: u32,
    /// Total time of the waits that were longer than one check interval.
    waited: Duration,
    since: Option<Instant>,
}

/// Reads of one answer after which the clock is checked: the answer is slow, or long.
const READS: u32 = 64;

impl Answer {
    #[inline]
    fn go_on(&mut self, limit: Duration) -> io::Result<()> {
        self.reads = self.reads.saturating_add(1);
        if self.waited > limit || (self.reads > READS && self.since.get_or_insert_with(Instant::now).elapsed() > limit)
        {
            return Err(endless(limit));
        }
        Ok(())
    }
}

impl Socket {
    pub(crate) fn new(end: End) -> Self {
        Self { end, deadline: None, silence: None, answer: Answer::default(), spin: None }
    }

    /// Connects before `deadline`. The deadline also applies to all later reads, until another one is set.
    pub(crate) fn connect(address: &Address, deadline: Instant) -> io::Result<Self> {
        let end = match address {
            Address::Socket(path) => End::Unix(connect_unix(path, deadline)?),
            Address::Tcp(host, port) => End::tcp(connect_tcp(host, *port, deadline)?)?,
        };
        Ok(Self { deadline: Some(deadline), ..Self::new(end) })
    }

    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    pub(crate) fn set_silence(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.silence = limit;
        self.end.set_write_timeout(limit.map(|limit| limit.min(LOOK_EVERY)))
    }

    pub(crate) fn set_spinning(&mut self, spinning: Option<Spinning>) {
        self.spin = spinning.map(Spin::of);
    }

    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// How long the next read or write may wait; none: without limit.
    #[inline]
    fn patience(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(self.silence) };
        let left = left(deadline)?;
        Ok(Some(self.silence.map_or(left, |silence| silence.min(left))))
    }
}

impl End {
    /// Disables Nagle's algorithm: every request is one small write that must leave at once.
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Whether the other end is a process of this machine, and in this PID namespace.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix(stream) => peer::listener(stream).is_some(),
            // The kernel uses the address of the outgoing interface: it equals the peer's address only if the
            // connection does not leave this machine.
            Self::Tcp(stream) => match (stream.local_addr(), stream.peer_addr()) {
                (Ok(own), Ok(other)) => own.ip() == other.ip(),
                _ => false,
            },
        }
    }

    /// The process that listens at the other end; only Unix sockets report it.
    pub(crate) fn server_pid(&self) -> Option<i32> {
        match self {
            Self::Unix(stream) => peer::listener(stream),
            Self::Tcp(_) => None,
        }
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(timeout),
            Self::Tcp(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// Waits until something can be read, or the other side has closed.
    ///
    /// Sleeping in the read itself would wake a reader of a Unix socket twice: the kernel also wakes it when the
    /// other side takes what was sent (space for writing), and only poll can wait for data alone. On a shared PU that
    /// second wake-up costs more than this call.
    #[inline]
    fn wait_readable(&self, patience: Option<Duration>, waited: &mut Duration) -> io::Result<()> {
        let mut fds = [match self {
            Self::Unix(stream) => PollFd::new(stream, PollFlags::IN),
            Self::Tcp(stream) => PollFd::new(stream, PollFlags::IN),
        }];
        let Some(mut patience) = patience else {
            poll(&mut fds, None)?;
            return Ok(());
        };
        loop {
            let part = patience.min(LOOK_EVERY);
            let timeout = Timespec::try_from(part).unwrap_or_default();
            if poll(&mut fds, Some(&timeout))? != 0 {
                return Ok(());
            }
            *waited += part;
            patience = go_on(patience - part)?;
        }
    }

    /// Polls without sleeping until something can be read, or the other side has closed. Also returns how long
    /// nothing was found: from before the first attempt to the last one that found nothing.
    fn read_without_sleep(&self, buffer: &mut [u8], patience: Option<Duration>) -> (io::Result<usize>, Duration) {
        let (began, mut spun) = (Instant::now(), Duration::ZERO);
        loop {
            let found = match self {
                Self::Unix(stream) => net::recv(stream, &mut *buffer, RecvFlags::DONTWAIT),
                Self::Tcp(stream) => net::recv(stream, &mut *buffer, RecvFlags::DONTWAIT),
            };
            match found {
                Ok((read, _)) => return (Ok(read), spun),
                Err(Errno::AGAIN | Errno::INTR) => spun = began.elapsed(),
                Err(error) => return (Err(error.into()), spun),
            }
            if let Some(Err(error)) = patience.map(|patience| go_on(patience.saturating_sub(spun))) {
                return (Err(error), spun);
            }
            spin_loop();
        }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    pub(crate) fn shutdown(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

#[cold]
fn endless(limit: Duration) -> io::Error {
    io::Error::other(format!("the server's answer has not ended after {:.0} s", limit.as_secs_f64()))
}

/// The standard library's connect waits for ever for a server whose queue is full, for example one that is stopped.
fn connect_unix(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        let part = go_on(left(deadline)?)?.min(LOOK_EVERY);
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(part))?;
        match net::connect(&socket, &address) {
            Ok(()) => break,
            // Its queue is still full.
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

fn connect_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host name has no address");
    for address in addresses(host, port, deadline)? {
        loop {
            let part = go_on(left(deadline)?)?.min(TCP_AGAIN);
            match TcpStream::connect_timeout(&address, part) {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
    }
    Err(last)
}

fn addresses(host: &str, port: u16, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let host = host.to_owned();
    resolved(deadline, move || {
        // The system's own errors for a name without an address have no kind.
        let found =
            (host.as_str(), port).to_socket_addrs().map_err(|error| io::Error::new(ErrorKind::NotFound, error))?;
        Ok(found.collect())
    })
}

/// What `ask` returns before the deadline. For a name server that does not answer, the system waits as long as
/// resolv.conf(5) says, for each server and each searched domain: therefore a thread of its own waits, which ends
/// afterwards.
fn resolved(
    deadline: Instant,
    ask: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> io::Result<Vec<SocketAddr>> {
    let (answer, found) = channel();
    thread::Builder::new().name("resolve".to_owned()).spawn(move || drop(answer.send(ask())))?;
    loop {
        match found.recv_timeout(go_on(left(deadline)?)?.min(LOOK_EVERY)) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(ErrorKind::NotFound.into()),
        }
    }
}

/// What is left of a wait; an error if nothing is left, or if this program is interrupted.
#[cold]
fn go_on(left: Duration) -> io::Result<Duration> {
    if interrupted() {
        return Err(io::Error::new(ErrorKind::ConnectionAborted, "interrupted"));
    }
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = self.patience()?;
        if let Some(limit) = self.silence {
            self.answer.go_on(limit)?;
        }
        if let Some(spin) = &mut self.spin {
            let (read, spun) = self.end.read_without_sleep(buffer, patience);
            self.answer.waited += spun;
            spin.add(spun);
            return read;
        }
        self.end.wait_readable(patience, &mut self.answer.waited)?;
        match &mut self.end {
            End::Unix(stream) => stream.read(buffer),
            End::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let patience = self.patience()?;
        self.answer = Answer::default();
        if self.deadline.is_some() {
            self.end.set_write_timeout(patience.map(|patience| patience.min(LOOK_EVERY)))?;
        }
        let mut left = patience;
        loop {
            let written = match &mut self.end {
                End::Unix(stream) => stream.write(buffer),
                End::Tcp(stream) => stream.write(buffer),
            };
            match (written, left) {
                // The other side is not reading.
                (Err(error), Some(patience)) if error.kind() == ErrorKind::WouldBlock => {
                    left = Some(go_on(patience.saturating_sub(LOOK_EVERY))?);
                }
                (written, _) => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_that_is_down_is_waited_for_until_the_deadline() {
        let (end, ended) = channel::<()>();
        let late = resolved(Instant::now() + Duration::from_millis(50), move || {
            let _ = ended.recv_timeout(Duration::from_secs(60));
            Ok(Vec::new())
        });
        drop(end);
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        let unknown = addresses("no\0name", 1, Instant::now() + Duration::from_secs(60)).unwrap_err();
        let unreached = crate::EngineError::unreached(&Address::Tcp("no".to_owned(), 1), unknown);
        assert_eq!(unreached.to_string(), "no server listens at no:1: no address is known for this name of a host");
        let own = addresses("localhost", 1, Instant::now() + Duration::from_secs(60)).unwrap();
        assert!(!own.is_empty() && own.iter().all(|address| address.ip().is_loopback() && address.port() == 1));
    }
}
