//! A connection's byte stream: one Unix or TCP socket behind one type, with deadlines, and a handle that ends it from
//! another thread.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::Address;
use super::interrupt::interrupted;

/// The longest part of a wait in which nobody looks whether it is still wanted. A wait without end is ended by who made
/// it so: looking would arm a timer a statement.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// When a host that says nothing is called again; so does the kernel when a first call was lost.
const TCP_AGAIN: Duration = Duration::from_secs(1);

/// What a protocol needs from the stream below it.
pub(super) trait Channel: Read + Write + Send {
    /// How long the other side may say nothing in the middle of an exchange; none: for ever.
    fn set_silence(&mut self, limit: Option<Duration>) -> io::Result<()>;
    /// When everything that is read must have come, however much keeps coming; none: never.
    fn set_deadline(&mut self, deadline: Option<Instant>);
    /// Whether what is sent stays inside this machine's kernel, where nobody can listen.
    fn is_private(&self) -> bool;
    /// A handle that ends it.
    fn interrupter(&self) -> Option<Interrupter>;
}

/// Ends a session from another thread: whoever waits on it gets an error at once, and it cannot be used any more.
#[derive(Clone)]
pub struct Interrupter(Arc<Socket>);

impl Interrupter {
    /// Ends the session; that it has ended already is no error.
    pub fn interrupt(&self) {
        self.0.shutdown();
    }
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupter")
    }
}

/// A connected socket. An enum and not a trait object, so that a query pays a branch and no indirect call.
#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A socket with what limits waiting on it.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    deadline: Option<Instant>,
    silence: Option<Duration>,
}

impl Stream {
    /// Connects before `deadline`, by which everything that is read must have come too, until it is set anew.
    pub(super) fn connect(address: &Address, deadline: Instant) -> io::Result<Self> {
        let mut stream = match address {
            Address::Socket(path) => Self::unix(connect_unix(path, deadline)?),
            Address::Tcp(host, port) => Self::tcp(connect_tcp(host, *port, deadline)?)?,
        };
        stream.deadline = Some(deadline);
        Ok(stream)
    }

    pub(super) fn unix(stream: UnixStream) -> Self {
        Self { socket: Socket::Unix(stream), deadline: None, silence: None }
    }

    /// Every request is one small write that must leave at once.
    pub(super) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { socket: Socket::Tcp(stream), deadline: None, silence: None })
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, deadline: None, silence: None })
    }

    /// Whether the other end is a process of this machine.
    pub(super) fn is_local(&self) -> bool {
        match &self.socket {
            Socket::Unix(_) => true,
            // The kernel takes the address of the interface that the route leaves by: the same on both ends only when
            // there is no way to go.
            Socket::Tcp(stream) => match (stream.local_addr(), stream.peer_addr()) {
                (Ok(own), Ok(other)) => own.ip() == other.ip(),
                _ => false,
            },
        }
    }

    pub(super) fn shutdown(&self) {
        self.socket.shutdown();
    }

    /// How long the next read or write may wait; none: for ever.
    #[inline]
    fn patience(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(self.silence) };
        let left = left(deadline)?;
        Ok(Some(self.silence.map_or(left, |silence| silence.min(left))))
    }
}

impl Channel for Stream {
    fn set_silence(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.silence = limit;
        self.socket.set_write_timeout(limit.map(|limit| limit.min(LOOK_EVERY)))
    }

    fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    fn is_private(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    fn interrupter(&self) -> Option<Interrupter> {
        Some(Interrupter(Arc::new(self.socket.try_clone().ok()?)))
    }
}

impl Socket {
    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(timeout),
            Self::Tcp(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// Waits until something can be read, or the other side has closed.
    ///
    /// Sleeping in the read itself would end a Unix socket's every sleep twice: the kernel also wakes a reader when the
    /// other side takes what was sent (room to write), and only a poll can say that it waits for nothing but data. On a
    /// shared PU that second wake-up costs more than this call.
    #[inline]
    fn wait_readable(&self, patience: Option<Duration>) -> io::Result<()> {
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
            patience = go_on(patience - part)?;
        }
    }

    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    fn shutdown(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// The standard library's connect waits for ever for a server whose queue is full, as a stopped one's is.
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
    let mut last = io::Error::new(ErrorKind::NotFound, "the name of the host has no address");
    for address in (host, port).to_socket_addrs()? {
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

/// What is left of a wait, unless nothing is, or nobody wants it to go on.
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

/// What went wrong on a stream, in words.
#[cold]
pub(super) fn lost_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the server closed the connection".to_owned()
        }
        // What a socket's own time-out looks like, and ours.
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the server did not answer in time".to_owned(),
        _ => format!("connection lost: {error}"),
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.wait_readable(self.patience()?)?;
        match &mut self.socket {
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let patience = self.patience()?;
        if self.deadline.is_some() {
            self.socket.set_write_timeout(patience.map(|patience| patience.min(LOOK_EVERY)))?;
        }
        let mut left = patience;
        loop {
            let written = match &mut self.socket {
                Socket::Unix(stream) => stream.write(buffer),
                Socket::Tcp(stream) => stream.write(buffer),
            };
            match (written, left) {
                // The other side takes nothing.
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
    use std::thread;

    use procfs::process::Process;

    use super::*;

    const EXCHANGES: u64 = 50;

    /// How often this thread went to sleep by itself.
    fn sleeps() -> u64 {
        let myself = rustix::thread::gettid().as_raw_nonzero().get();
        let status = Process::myself().and_then(|process| process.task_from_tid(myself)).and_then(|task| task.status());
        status.unwrap().voluntary_ctxt_switches.unwrap()
    }

    #[test]
    fn waiting_for_an_answer_sleeps_once() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answers = thread::spawn(move || {
            let mut theirs = theirs;
            for _ in 0..EXCHANGES {
                theirs.read_exact(&mut [0; 100]).unwrap();
                // The request is taken: this is when a reader that only sleeps in its read is woken for nothing.
                thread::sleep(Duration::from_millis(1));
                theirs.write_all(&[1; 100]).unwrap();
            }
        });
        let mut stream = Stream::unix(ours);
        let before = sleeps();
        for _ in 0..EXCHANGES {
            stream.write_all(&[0; 100]).unwrap();
            stream.read_exact(&mut [0; 100]).unwrap();
        }
        let slept = sleeps() - before;
        answers.join().unwrap();
        assert!(slept < EXCHANGES * 3 / 2, "{slept} sleeps for {EXCHANGES} answers");
    }

    #[test]
    fn silence_and_deadline_end_a_wait() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut stream = Stream::unix(ours);
        stream.set_silence(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        stream.set_silence(None).unwrap();
        stream.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(stream.write(&[0]).unwrap_err().kind(), ErrorKind::TimedOut);
        // Nobody reads: first it fills the socket, then it waits.
        stream.set_deadline(None);
        stream.set_silence(Some(Duration::from_millis(300))).unwrap();
        let began = Instant::now();
        assert_eq!(stream.write_all(&[0; 1 << 20]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(300));
    }
}
