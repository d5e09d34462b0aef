//! A connection between two processes of this program: one JSON line per message, and an empty line per second as a
//! keep-alive. Neither side trusts the other: every line, and every queue of messages, has a limit.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tare_text::shown_name;

const SIGN_EVERY: Duration = Duration::from_secs(1);
/// The other side counts as gone after this time: ten keep-alives in a row do not get lost on a working connection.
const SILENCE: Duration = Duration::from_secs(10);
/// Limit on a message, bytes: a machine with thousands of CPUs takes some millions, as do the threads of a load.
const LONGEST: u64 = 32 << 20;
/// Limit on the numbers in the CPU sets of one message, written as `0-65535`, in total: a machine with 8192 CPUs has
/// some tens of thousands, and a few bytes of text could expand to megabytes in memory.
const NUMBERS: u64 = 4 << 20;
/// Limits on the output of a login before the first message: lines, and their total length in bytes.
const GREETING: usize = 200;
const GREETING_BYTES: usize = 1 << 20;
/// Limit on messages that wait for the other side to read them: it gets one request at a time.
const UNSENT: usize = 64;
/// Bytes of an invalid message that are shown.
const SHOWN: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkEnd {
    #[error("the connection ended")]
    Closed,
    #[error("no message arrived for {} s", SILENCE.as_secs())]
    Silent,
    #[error("{UNSENT} messages are queued, and the other host does not read them")]
    NotReading,
    #[error("received a message of more than {} MiB, or with {} million CPUs", LONGEST >> 20, NUMBERS >> 20)]
    TooLong,
    #[error("received data that is not a message of tare: {0}")]
    Garbled(String),
}

/// The writing end of the connection; `None` after it was closed.
#[derive(Clone)]
pub struct LinkWriter {
    open: Arc<Mutex<Option<SyncSender<Vec<u8>>>>>,
    is_not_reading: Arc<AtomicBool>,
}

impl LinkWriter {
    /// Queues a message, without waiting for the other side. If the queue is full, the connection is given up.
    pub fn say(&self, message: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(message) else { return };
        line.push(b'\n');
        let mut open = self.open();
        match open.as_ref().map(|out| out.try_send(line)) {
            Some(Ok(())) | None => return,
            Some(Err(TrySendError::Full(_))) => self.is_not_reading.store(true, Ordering::Relaxed),
            Some(Err(TrySendError::Disconnected(_))) => {}
        }
        *open = None;
    }

    /// Closes the writing end: the other side sees the end after it has read all messages.
    pub(crate) fn close(&self) {
        *self.open() = None;
    }

    fn open(&self) -> MutexGuard<'_, Option<SyncSender<Vec<u8>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Link<I> {
    received: Receiver<Result<I, LinkEnd>>,
    last: Arc<Mutex<Instant>>,
    writer: LinkWriter,
    /// Disconnects when everything has been written, or cannot be.
    written: Receiver<Infallible>,
}

impl<I: DeserializeOwned + Send + 'static> Link<I> {
    /// Reads from one pipe and writes keep-alives to the other, until they end.
    pub fn open(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<Self> {
        // One message at a time: the next one is read after this one was taken.
        let (sender, received) = sync_channel(0);
        let last = Arc::new(Mutex::new(Instant::now()));
        let last_received = Arc::clone(&last);
        Builder::new().name("link reader".into()).spawn(move || listen(input, &sender, &last_received))?;
        let (out, outgoing) = sync_channel(UNSENT);
        let (writing, written) = channel();
        Builder::new().name("link writer".into()).spawn(move || speak(output, &outgoing, writing))?;
        let writer = LinkWriter { open: Arc::new(Mutex::new(Some(out))), is_not_reading: Arc::default() };
        Ok(Self { received, last, writer, written })
    }

    /// The next message, if one arrives in time.
    pub fn hear(&self, patience: Duration) -> Result<Option<I>, LinkEnd> {
        if self.writer.is_not_reading.load(Ordering::Relaxed) {
            return Err(LinkEnd::NotReading);
        }
        match self.received.recv_timeout(patience) {
            Ok(received) => received.map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(LinkEnd::Closed),
            Err(RecvTimeoutError::Timeout) => {
                let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() > SILENCE { Err(LinkEnd::Silent) } else { Ok(None) }
            }
        }
    }

    pub fn writer(&self) -> &LinkWriter {
        &self.writer
    }

    /// Closes the writing end, and waits up to this time until everything has been written.
    pub fn finish(&self, patience: Duration) {
        self.writer.close();
        let _ = self.written.recv_timeout(patience);
    }
}

/// Writes the queued messages, with keep-alives in between. `_writing` is dropped at the end.
fn speak(mut out: impl Write, outgoing: &Receiver<Vec<u8>>, _writing: Sender<Infallible>) {
    loop {
        let line = match outgoing.recv_timeout(SIGN_EVERY) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => b"\n".to_vec(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if out.write_all(&line).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn listen<I: DeserializeOwned>(input: impl Read, received: &SyncSender<Result<I, LinkEnd>>, last: &Mutex<Instant>) {
    let now = || *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    let mut input = BufReader::new(input);
    let (mut greeting, mut greeting_bytes) = (0..GREETING, 0);
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        now();
        if !matches!(read, Ok(bytes) if bytes > 0) {
            let _ = received.send(Err(LinkEnd::Closed));
            return;
        }
        if (line.len() as u64 == LONGEST && line.last() != Some(&b'\n')) || numbers(&line) > NUMBERS {
            let _ = received.send(Err(LinkEnd::TooLong));
            return;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice(text) {
            Ok(message) => {
                greeting = 0..0;
                drop(line);
                if received.send(Ok(message)).is_err() {
                    return;
                }
                // The message may have waited for long.
                now();
            }
            // Output of a login shell before it starts the program.
            Err(_) if greeting_bytes + line.len() <= GREETING_BYTES && greeting.next().is_some() => {
                greeting_bytes += line.len();
            }
            Err(error) => {
                let text = shown_name(&String::from_utf8_lossy(&text[..text.len().min(SHOWN)])).into_owned();
                let _ = received.send(Err(LinkEnd::Garbled(format!("{text} ({error})"))));
                return;
            }
        }
    }
}

fn numbers(text: &[u8]) -> u64 {
    let (mut total, mut first, mut number) = (0u64, None::<u64>, None::<u64>);
    for byte in text {
        match byte {
            b'0'..=b'9' => number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(byte - b'0'))),
            b'-' => first = number.take(),
            _ => {
                let range = first.take().zip(number.take()).map_or(0, |(first, last)| last.saturating_sub(first));
                // No set holds more numbers.
                total += range.min(1 << 16);
            }
        }
    }
    total
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("{program} cannot be started to reach {host}: {source}")]
    NotStarted { host: String, program: String, source: io::Error },
    /// The host cannot be reached, or this program is not installed there.
    #[error(
        "client.host {host} did not answer: {reason}; `{command}` must work without asking for a password, and start \
         the same version of tare there (its path: client.program)"
    )]
    NotReached { host: String, reason: String, command: String },
    #[error("{host} has tare {found}, this host {expected}: install the same version on both")]
    OtherVersion { host: String, found: String, expected: String },
    #[error("lost the connection to client.host {host}: {reason}; {aftermath}")]
    Lost { host: String, reason: String, aftermath: String },
    #[error("interrupted")]
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Link<u32>, Link<u32>) {
        let ((to_b, from_a), (to_a, from_b)) = (swapped(), swapped());
        (Link::open(from_b, to_b).unwrap(), Link::open(from_a, to_a).unwrap())
    }

    fn swapped() -> (io::PipeWriter, io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        (writer, reader)
    }

    #[test]
    fn both_ends_of_a_link_receive_messages_and_its_end() {
        let (a, b) = pair();
        a.writer().say(&7);
        b.writer().say(&8);
        let soon = Duration::from_secs(5);
        assert_eq!((a.hear(soon), b.hear(soon)), (Ok(Some(8)), Ok(Some(7))));
        assert_eq!(a.hear(Duration::from_millis(10)), Ok(None));
        a.writer().close();
        assert_eq!(b.hear(soon), Err(LinkEnd::Closed));
    }

    #[test]
    fn a_login_greeting_is_skipped_and_later_noise_ends_the_link() {
        let (reader, mut writer) = io::pipe().unwrap();
        let link: Link<u32> = Link::open(reader, io::sink()).unwrap();
        writer.write_all(b"Last login: today\n\n1\nnoise\n").unwrap();
        let soon = Duration::from_secs(5);
        assert_eq!(link.hear(soon), Ok(Some(1)));
        assert!(matches!(link.hear(soon), Err(LinkEnd::Garbled(text)) if text.starts_with("noise")));
    }

    #[test]
    fn a_link_that_is_silent_for_too_long_is_ended() {
        let (reader, _writer) = io::pipe().unwrap();
        let link: Link<u32> = Link::open(reader, io::sink()).unwrap();
        *link.last.lock().unwrap() = Instant::now().checked_sub(SILENCE).unwrap();
        assert_eq!(link.hear(Duration::from_millis(1)), Err(LinkEnd::Silent));
    }

    /// Returns the same message without end, and counts how often it was read.
    struct Endless(&'static [u8], Arc<std::sync::atomic::AtomicUsize>);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len() / self.0.len() * self.0.len();
            buffer[..count].chunks_exact_mut(self.0.len()).for_each(|piece| piece.copy_from_slice(self.0));
            self.1.fetch_add(count, Ordering::Relaxed);
            Ok(count)
        }
    }

    #[test]
    fn unread_messages_stay_in_the_pipe_and_use_no_memory() {
        let read = Arc::default();
        let link: Link<u32> = Link::open(Endless(b"7\n", Arc::clone(&read)), io::sink()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let waits = read.load(Ordering::Relaxed);
        assert!(waits <= 64 << 10, "{waits} bytes were taken that no one heard");
        assert_eq!(link.hear(Duration::from_secs(5)), Ok(Some(7)));
        // A line without end, and a greeting without end.
        let line: Link<u32> = Link::open(Endless(b"1", Arc::default()), io::sink()).unwrap();
        assert_eq!(line.hear(Duration::from_secs(60)), Err(LinkEnd::TooLong));
        let long: &'static [u8] = [&[b'x'; 4095][..], b"\n"].concat().leak();
        let welcome: Link<u32> = Link::open(Endless(long, Arc::default()), io::sink()).unwrap();
        assert!(matches!(welcome.hear(Duration::from_secs(60)), Err(LinkEnd::Garbled(_))));
    }

    #[test]
    fn sets_that_are_short_in_text_alone_are_refused() {
        let of = |sets: usize| {
            let (reader, mut writer) = io::pipe().unwrap();
            let link: Link<Vec<String>> = Link::open(reader, io::sink()).unwrap();
            let text = serde_json::to_string(&vec!["0-65535"; sets]).unwrap();
            writer.write_all(format!("{text}\n").as_bytes()).unwrap();
            link.hear(Duration::from_secs(5)).map(|received| received.unwrap().len())
        };
        assert_eq!((of(10), of(100)), (Ok(10), Err(LinkEnd::TooLong)));
        assert_eq!(numbers(b"{\"0-7,9\": \"2026-11-22\", \"x\": -4, \"y\": \"3-1\"} "), 7 + 11);
    }

    #[test]
    fn a_peer_that_never_reads_does_not_block_the_writer() {
        let (reader, _writer) = io::pipe().unwrap();
        // Nothing reads this pipe: it takes only what fits into its buffer.
        let (_kept, full) = io::pipe().unwrap();
        let link: Link<u32> = Link::open(reader, full).unwrap();
        let began = Instant::now();
        let long = "x".repeat(64 << 10);
        (0..UNSENT + 3).for_each(|_| link.writer().say(&long));
        assert_eq!(link.hear(Duration::from_secs(5)), Err(LinkEnd::NotReading));
        link.writer().close();
        link.finish(Duration::from_millis(50));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }

    #[test]
    fn what_steers_a_terminal_is_shown() {
        let (reader, mut writer) = io::pipe().unwrap();
        let link: Link<u32> = Link::open(reader, io::sink()).unwrap();
        writer.write_all(b"1\n\x1b]0;title\x07\n").unwrap();
        assert_eq!(link.hear(Duration::from_secs(5)), Ok(Some(1)));
        let end = link.hear(Duration::from_secs(5)).unwrap_err().to_string();
        assert!(end.contains("\\u{1b}]0;title\\u{7}") && !end.contains('\x1b'), "{end}");
    }
}
