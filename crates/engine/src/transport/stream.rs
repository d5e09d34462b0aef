//! A connection's byte stream: a Unix or TCP socket, encrypted or not, and a handle that ends it from elsewhere.

use super::socket::{End, Socket};
use super::spin::Spinning;
use crate::tls::{Layer, tls_words};
use crate::{Address, Tls};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a protocol needs from the stream below it.
pub(crate) trait Channel: Read + Write + Send {
    /// How long the other side may be silent in the middle of an exchange; none: without limit.
    fn set_silence(&mut self, limit: Option<Duration>) -> io::Result<()>;
    /// When everything must have been read, however much the other side keeps sending; none: never.
    fn set_deadline(&mut self, deadline: Option<Instant>);
    /// Whether it spins until something can be read, instead of sleeping.
    fn set_spinning(&mut self, spinning: Option<Spinning>);
    /// Whether the other end is a process of this machine, and in this PID namespace.
    fn is_local(&self) -> bool {
        true
    }
    /// The process that listens at the other end, if the kernel reports it.
    fn server_pid(&self) -> Option<i32> {
        None
    }
    /// Whether what is sent stays inside this machine's kernel or is encrypted, so that no one can eavesdrop.
    fn is_private(&self) -> bool;
    /// Encrypts everything that follows, as `tls` says; if names are verified, the server must be `host`.
    fn encrypt(&mut self, tls: &Tls, host: &str) -> io::Result<()>;
    /// How it is encrypted, in words; none if it is not.
    fn encryption(&self) -> Option<String>;
    fn interrupter(&self) -> Option<Interrupter>;
}

/// Ends a session from another thread: a thread that waits on it gets an error at once, and the session is lost.
#[derive(Clone)]
pub struct Interrupter(Arc<End>);

impl Interrupter {
    /// Ends the session; it is no error if it has ended already.
    pub fn interrupt(&self) {
        self.0.shutdown();
    }
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupter")
    }
}

/// A socket with an optional layer of encryption: without one a query costs only a branch.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Socket,
    tls: Option<Box<Layer>>,
}

impl Stream {
    /// Connects before `deadline`. The deadline also applies to all later reads, until another one is set.
    pub(crate) fn connect(address: &Address, deadline: Instant) -> io::Result<Self> {
        Ok(Self { socket: Socket::connect(address, deadline)?, tls: None })
    }

    pub(crate) fn unix(stream: UnixStream) -> Self {
        Self { socket: Socket::new(End::Unix(stream)), tls: None }
    }

    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        Ok(Self { socket: Socket::new(End::tcp(stream)?), tls: None })
    }

    /// A second handle of an unencrypted stream: a TLS layer cannot be shared.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self.tls {
            None => Ok(Self { socket: Socket::new(self.socket.end().try_clone()?), tls: None }),
            Some(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) fn shutdown(&self) {
        self.socket.end().shutdown();
    }
}

impl Channel for Stream {
    fn set_silence(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_silence(limit)
    }

    fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.socket.set_deadline(deadline);
    }

    fn set_spinning(&mut self, spinning: Option<Spinning>) {
        self.socket.set_spinning(spinning);
    }

    fn is_local(&self) -> bool {
        self.socket.end().is_local()
    }

    fn server_pid(&self) -> Option<i32> {
        self.socket.end().server_pid()
    }

    fn is_private(&self) -> bool {
        matches!(self.socket.end(), End::Unix(_)) || self.tls.is_some()
    }

    fn encrypt(&mut self, tls: &Tls, host: &str) -> io::Result<()> {
        self.tls = Some(Box::new(Layer::over(&mut self.socket, tls, host)?));
        Ok(())
    }

    fn encryption(&self) -> Option<String> {
        self.tls.as_ref().map(|layer| layer.words())
    }

    fn interrupter(&self) -> Option<Interrupter> {
        Some(Interrupter(Arc::new(self.socket.end().try_clone().ok()?)))
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(buffer),
            Some(layer) => layer.read(&mut self.socket, buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(buffer),
            Some(layer) => layer.write(&mut self.socket, buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What tests use in place of a socket.
#[cfg(test)]
pub(crate) trait Scripted: Read + Write + Send {}

#[cfg(test)]
impl<S: Scripted> Channel for S {
    fn set_silence(&mut self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }
    fn set_deadline(&mut self, _: Option<Instant>) {}
    fn set_spinning(&mut self, _: Option<Spinning>) {}
    fn is_private(&self) -> bool {
        true
    }
    fn encrypt(&mut self, _: &Tls, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn encryption(&self) -> Option<String> {
        None
    }
    fn interrupter(&self) -> Option<Interrupter> {
        None
    }
}

#[cold]
pub(crate) fn lost_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the server closed the connection".to_owned()
        }
        // The error of a socket's own time-out, and of ours.
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the server did not answer in time".to_owned(),
        _ => tls_words(error).unwrap_or_else(|| format!("connection lost: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::process::Process;
    use std::thread;

    const EXCHANGES: u64 = 50;

    /// How often this thread has gone to sleep voluntarily.
    fn sleeps() -> u64 {
        let myself = rustix::thread::gettid().as_raw_nonzero().get();
        let status = Process::myself().and_then(|process| process.task_from_tid(myself)).and_then(|task| task.status());
        status.unwrap().voluntary_ctxt_switches.unwrap()
    }

    /// How often this thread sleeps during exchanges with a peer that answers each request after a millisecond.
    fn sleeps_of_exchanges(spinning: Option<Spinning>) -> u64 {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answers = thread::spawn(move || {
            let mut theirs = theirs;
            for _ in 0..EXCHANGES {
                theirs.read_exact(&mut [0; 100]).unwrap();
                // The request is taken: at this moment a reader that sleeps in its read is woken without data.
                thread::sleep(Duration::from_millis(1));
                theirs.write_all(&[1; 100]).unwrap();
            }
        });
        let mut stream = Stream::unix(ours);
        stream.set_spinning(spinning);
        let before = sleeps();
        for _ in 0..EXCHANGES {
            stream.write_all(&[0; 100]).unwrap();
            stream.read_exact(&mut [0; 100]).unwrap();
        }
        let slept = sleeps() - before;
        answers.join().unwrap();
        slept
    }

    #[test]
    fn waiting_for_an_answer_sleeps_once() {
        let slept = sleeps_of_exchanges(None);
        assert!(slept < EXCHANGES * 3 / 2, "{slept} sleeps for {EXCHANGES} answers");
    }

    #[test]
    fn a_spinning_connection_does_not_sleep_and_reports_its_spinning_time() {
        let (spinning, began) = (Spinning::default(), Instant::now());
        let slept = sleeps_of_exchanges(Some(spinning.clone()));
        assert!(slept < EXCHANGES / 5, "{slept} sleeps for {EXCHANGES} answers");
        // The whole time, including the rest below the reporting threshold: the connection has ended.
        let (spun, least) = (spinning.spun(), Duration::from_millis(EXCHANGES));
        assert!(spun >= least && spun <= began.elapsed(), "{spun:?}");
    }

    #[test]
    fn silence_and_deadline_end_a_wait() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        for spinning in [Some(Spinning::default()), None] {
            let mut stream = Stream::unix(ours.try_clone().unwrap());
            stream.set_spinning(spinning);
            stream.set_silence(Some(Duration::from_millis(20))).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            stream.set_silence(None).unwrap();
            stream.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        }
        let mut stream = Stream::unix(ours);
        stream.set_deadline(Some(Instant::now()));
        assert_eq!(stream.write(&[0]).unwrap_err().kind(), ErrorKind::TimedOut);
        // No one reads: the write first fills the socket, then waits.
        stream.set_deadline(None);
        stream.set_silence(Some(Duration::from_millis(300))).unwrap();
        let began = Instant::now();
        assert_eq!(stream.write_all(&[0; 1 << 20]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(300));
    }
}
