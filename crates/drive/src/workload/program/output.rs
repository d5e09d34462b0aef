//! The output of a program: stored in a log, read line by line, up to a limit; and errors of external programs, which
//! show its last lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRefused;
use tare_engine::{EngineError, TlsMode};

/// Bytes that a program may write before its output counts as endless.
pub(crate) const LIMIT: u64 = 64 << 20;
/// Bytes of standard output that are kept for parsing results.
const KEPT: usize = 16 << 20;
/// Bytes per read, and per line; a longer line is truncated.
const CHUNK: usize = 64 << 10;
/// Lines of one piece of output that are processed.
const AT_ONCE: usize = 200;
const SHOWN_LINES: usize = 12;
const SHOWN: usize = 400;
/// Time for reading what is left in the outputs of a program that has ended.
const AFTER_END: Duration = Duration::from_secs(2);

pub(crate) struct Output {
    shared: Arc<Shared>,
    lines: Receiver<String>,
}

struct Shared {
    written: AtomicU64,
    log: Mutex<Option<File>>,
    text: Mutex<Vec<u8>>,
    tail: Mutex<VecDeque<String>>,
}

impl Output {
    /// Reads both outputs to their ends, each in a thread of its own, and copies everything to `log`, if given.
    pub(crate) fn read(
        out: Option<impl Read + Send + 'static>,
        err: impl Read + Send + 'static,
        log: Option<File>,
    ) -> Result<Self, ThreadRefused> {
        let shared = Arc::new(Shared {
            written: AtomicU64::new(0),
            log: Mutex::new(log),
            text: Mutex::default(),
            tail: Mutex::default(),
        });
        let (sender, lines) = channel();
        if let Some(out) = out {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            Builder::new().spawn(move || shared.read(out, true, &sender))?;
        }
        let also = Arc::clone(&shared);
        Builder::new().spawn(move || also.read(err, false, &sender))?;
        Ok(Self { shared, lines })
    }

    /// A line that was written since the last call.
    pub(crate) fn line(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    pub(crate) fn is_flood(&self) -> bool {
        self.shared.written.load(Ordering::Relaxed) > LIMIT
    }

    /// The last lines of both outputs.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.shared.tail.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Reads to the end, and returns standard output and the last lines. Call it when the program and its processes
    /// have ended. If a process elsewhere has opened the outputs and keeps them open, what it writes is not waited for.
    pub(crate) fn finish(self) -> (String, Vec<String>) {
        let ended = Instant::now();
        // Each reader owns a sender until the end of its output.
        while let Some(left) = AFTER_END.checked_sub(ended.elapsed())
            && self.lines.recv_timeout(left).is_ok()
        {}
        let text = std::mem::take(&mut *self.shared.text.lock().unwrap_or_else(PoisonError::into_inner));
        (String::from_utf8_lossy(&text).into_owned(), self.tail())
    }
}

impl Shared {
    fn read(&self, mut from: impl Read, is_result: bool, sender: &Sender<String>) {
        let mut chunk = vec![0; CHUNK];
        // The start of an incomplete line.
        let mut begun = Vec::new();
        loop {
            let read = match from.read(&mut chunk) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            let before = self.written.fetch_add(read as u64, Ordering::Relaxed);
            // The rest is read and discarded, so that the program does not block before it is killed.
            if before <= LIMIT {
                self.keep(&chunk[..read], is_result);
                begun.extend_from_slice(&chunk[..read]);
                self.sender(&mut begun, sender);
            }
        }
        begun.push(b'\n');
        self.sender(&mut begun, sender);
    }

    fn keep(&self, bytes: &[u8], is_result: bool) {
        if let Some(log) = self.log.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // A log that cannot be written is no reason to lose a measurement.
            let _ = log.write_all(bytes);
        }
        if is_result {
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            if text.len() + bytes.len() <= KEPT {
                text.extend_from_slice(bytes);
            }
        }
    }

    /// Passes on complete lines; of very many at once, only the last.
    fn sender(&self, begun: &mut Vec<u8>, sender: &Sender<String>) {
        let Some(end) = begun.iter().rposition(|byte| *byte == b'\n') else {
            begun.truncate(CHUNK);
            return;
        };
        let rest = begun.split_off(end + 1);
        let complete = std::mem::replace(begun, rest);
        let lines = complete.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(AT_ONCE);
        let lines: Vec<String> = lines.map(|line| String::from_utf8_lossy(line).trim_end().to_owned()).collect();
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.into_iter().rev().filter(|line| !line.is_empty()) {
            tail.push_back(line.chars().take(SHOWN).collect());
            if tail.len() > SHOWN_LINES {
                tail.pop_front();
            }
            // The receiver may be gone.
            let _ = sender.send(line);
        }
    }
}

/// Why a program gave no result; its last output is part of the message.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cannot run {program}: {source}; give its full path, or install it")]
    Start { program: String, source: io::Error },
    /// It could not be listed. From the list the next start ends processes that remain if this process is killed.
    #[error("cannot record {program} as a running process: {source}")]
    List { program: String, source: Box<EngineError> },
    #[error("cannot create a private directory for the client's files: {source}")]
    Folder { source: Box<EngineError> },
    #[error("sysbench has no driver for this engine")]
    NoDriver,
    #[error("{{{placeholder}}} has no value here: {reason}")]
    Placeholder { placeholder: &'static str, reason: String },
    #[error("{program} ended with {status}{}", last_output(.tail))]
    Failed { program: String, status: ExitStatus, tail: Vec<String> },
    #[error("{program} had not ended after {limit_s:.0} s and was killed{}", last_output(.tail))]
    TimedOut { program: String, limit_s: f64, tail: Vec<String> },
    #[error(
        "{program} wrote more than {} MiB and was killed; output = \"discard\" discards standard output{}",
        limit >> 20, last_output(.tail)
    )]
    Flood { program: String, limit: u64, tail: Vec<String> },
    #[error(
        "{program} ended and left processes running, which were killed: {}; run it in the foreground, or stop them in \
         its cleanup", .left.join(", ")
    )]
    LeftRunning { program: String, left: Vec<String> },
    #[error("the output of {program} has no result: {expected}{}", last_output(.tail))]
    NoMetric { program: String, expected: String, tail: Vec<String> },
    #[error(
        "{program} began to measure before its threads had been bound: give it a longer warm-up (sampling.warmup_s)"
    )]
    TooEarly { program: String },
    #[error("cannot {doing} {}: {source}", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{program} does not encrypt its connections, and tls = {mode} requires it: use tare's own loads, or the \
         server's Unix socket"
    )]
    Unencrypted { program: String, mode: TlsMode },
    #[error("cannot supervise {program}: {source}")]
    Watch { program: String, source: io::Error },
    #[error("interrupted")]
    Interrupted,
}

fn last_output(tail: &[String]) -> String {
    match tail {
        [] => "; it wrote nothing".to_owned(),
        lines => format!("; it wrote last:\n{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn output_lines_are_delivered_whole_whatever_the_read_sizes() {
        /// Returns three bytes per read.
        struct Pieces(Cursor<Vec<u8>>);
        impl Read for Pieces {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let few = buffer.len().min(3);
                self.0.read(&mut buffer[..few])
            }
        }
        let out = Pieces(Cursor::new(b"one\n\ntwo words\nlast without end".to_vec()));
        let output = Output::read(Some(out), Cursor::new(b"\xff\n".to_vec()), None).unwrap();
        // Each reader shares it until the end.
        while Arc::strong_count(&output.shared) > 1 {}
        let mut lines: Vec<String> = std::iter::from_fn(|| output.line()).collect();
        lines.retain(|line| line != "\u{fffd}");
        assert_eq!(lines, ["one", "two words", "last without end"]);
        let (text, tail) = output.finish();
        assert_eq!((text.as_str(), tail.len()), ("one\n\ntwo words\nlast without end", 4));
    }

    #[test]
    fn an_output_that_a_process_elsewhere_keeps_open_is_not_waited_for() {
        let (out, mut elsewhere) = io::pipe().unwrap();
        elsewhere.write_all(b"the result\n").unwrap();
        let output = Output::read(Some(out), io::empty(), None).unwrap();
        assert_eq!(output.finish().0, "the result\n");
        drop(elsewhere);
    }

    #[test]
    fn endless_output_is_detected_and_costs_no_memory() {
        let output = Output::read(Some(io::repeat(b'y').take(LIMIT * 2)), io::empty(), None).unwrap();
        while !output.is_flood() {
            std::thread::yield_now();
        }
        let (text, _) = output.finish();
        assert!(text.len() <= KEPT);
    }
}
