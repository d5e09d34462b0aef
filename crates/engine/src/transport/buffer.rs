//! Received bytes that are not consumed yet: one read per response, if the kernel has all of it; and limits on the
//! duration and the size of an answer: a server could send rows for ever. The memory for the answers of all connections
//! together has a limit too: a server could send to each of many clients the most that one answer may take.

use crate::contract::session::RESULT_LIMIT;
use crate::{SqlError, SqlErrorKind};
use std::io::{self, ErrorKind, Read};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Initial size, bytes: the largest response of the OLTP queries (100 rows of 120 bytes) fits several times.
const INITIAL_BYTES: usize = 64 * 1024;
/// What a buffer keeps after a longer answer, bytes.
const KEPT_BYTES: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// What it takes beyond its initial size.
    reserved: Reservation,
}

impl ReadBuffer {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; INITIAL_BYTES], start: 0, end: 0, reserved: Reservation::default() }
    }

    /// The first `length` unconsumed bytes; reads the missing ones from `source`.
    #[inline]
    pub(crate) fn peek(&mut self, source: &mut impl Read, length: usize) -> io::Result<&[u8]> {
        if self.end - self.start < length {
            self.fill(source, length)?;
        }
        Ok(&self.bytes[self.start..self.start + length])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Drops bytes that were peeked.
    #[inline]
    pub(crate) fn consume(&mut self, length: usize) {
        self.start = self.end.min(self.start + length);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.bytes.len() > KEPT_BYTES {
                self.shrink();
            }
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.bytes.truncate(KEPT_BYTES);
        self.bytes.shrink_to_fit();
        // Less than before is never refused.
        let _ = self.reserved.set(KEPT_BYTES - INITIAL_BYTES);
    }

    fn fill(&mut self, source: &mut impl Read, length: usize) -> io::Result<()> {
        if self.start + length > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < length {
            if self.end == self.bytes.len() {
                // Grows as data arrive: not at once to the announced length, and never beyond it.
                let size = (2 * self.end).min((self.start + length).max(INITIAL_BYTES));
                self.reserved.set(size - INITIAL_BYTES).map_err(io::Error::other)?;
                self.bytes.resize(size, 0);
            }
            match source.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Rows and results (a power of two) between two checks of the clock, so that a measured statement needs none.
const LOOK_EVERY: u64 = 1 << 16;
/// Limit on the results of one statement: usually one, but procedures return several.
const RESULTS: u32 = 1_000;

/// Overhead of a memory allocation, bytes.
const ALLOCATION: usize = 24;
/// Kept rows are counted to the limit of all connections in steps of this size, bytes.
const STEP: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct AnswerLimits {
    limit: Option<Duration>,
    since: Option<Instant>,
    parts: u64,
    results: u32,
    bytes: usize,
    reserved: Reservation,
}

impl AnswerLimits {
    #[inline]
    pub(crate) fn of(limit: Option<Duration>) -> Self {
        Self { limit, since: None, parts: 0, results: 0, bytes: 0, reserved: Reservation::default() }
    }

    #[inline]
    pub(crate) fn part(&mut self) -> Result<(), SqlError> {
        self.parts += 1;
        if self.parts & (LOOK_EVERY - 1) == 0 { self.look() } else { Ok(()) }
    }

    pub(crate) fn result(&mut self) -> Result<(), SqlError> {
        self.results += 1;
        if self.results < RESULTS { Ok(()) } else { Err(refused(format!("more than {RESULTS} results"))) }
    }

    /// Counts a row that is kept, by the memory that it takes. That can be more than its size on the wire: NULLs,
    /// short values and invalid UTF-8 take more.
    pub(crate) fn kept(&mut self, row: &Vec<Option<String>>) -> Result<(), SqlError> {
        let text = |value: &Option<String>| value.as_ref().map_or(0, |text| text.capacity() + ALLOCATION);
        let values: usize = row.iter().map(text).sum();
        // The list of rows grows by doubling.
        self.bytes += values + row.capacity() * size_of::<Option<String>>() + ALLOCATION + 2 * size_of_val(row);
        if self.bytes > RESULT_LIMIT {
            return Err(refused(format!("a result of more than {} MiB", RESULT_LIMIT >> 20)));
        }
        if self.bytes > self.reserved.bytes() + STEP {
            self.reserved.set(self.bytes).map_err(refused)?;
        }
        self.part()
    }

    /// The clock runs from the first check on.
    #[cold]
    fn look(&mut self) -> Result<(), SqlError> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        match self.limit {
            Some(limit) if now - since > limit => {
                Err(refused(format!("an answer that has not ended after {:.0} s", limit.as_secs_f64())))
            }
            _ => Ok(()),
        }
    }
}

/// The rest of the answer is still outstanding, so the session cannot be used any more.
#[cold]
fn refused(what: String) -> SqlError {
    SqlError::own(SqlErrorKind::Lost, format!("the server sent {what}"))
}

/// The limit, bytes: four answers of the largest size.
const ALL_ANSWERS: usize = 4 * RESULT_LIMIT;

static ALL: AtomicUsize = AtomicUsize::new(0);

/// The part of one connection, released when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation(usize);

impl Reservation {
    pub(crate) fn bytes(&self) -> usize {
        self.0
    }

    /// Records that it takes this many bytes from now on.
    ///
    /// # Errors
    /// When all connections together would take too many; then nothing is recorded.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), String> {
        if let Some(more) = bytes.checked_sub(self.0)
            && ALL.fetch_add(more, Relaxed).saturating_add(more) > ALL_ANSWERS
        {
            ALL.fetch_sub(more, Relaxed);
            return Err(format!("answers of more than {} MiB to all connections together", ALL_ANSWERS >> 20));
        }
        ALL.fetch_sub(self.0.saturating_sub(bytes), Relaxed);
        self.0 = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        ALL.fetch_sub(self.0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns its bytes in pieces, as a socket may.
    struct Pieces {
        bytes: Vec<u8>,
        at: usize,
        piece: usize,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.piece.min(buffer.len()).min(self.bytes.len() - self.at);
            buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }

    #[test]
    fn an_announced_length_allocates_no_memory_before_its_bytes_arrive() {
        let mut buffer = ReadBuffer::new();
        let mut little = Pieces { bytes: vec![1; 100], at: 0, piece: 7 };
        assert_eq!(buffer.peek(&mut little, 16 << 20).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(buffer.bytes.len(), INITIAL_BYTES);
    }

    proptest! {
        #[test]
        fn the_read_buffer_returns_exactly_the_received_bytes(
            lengths in prop::collection::vec(0usize..50_000, 0..6),
            piece in 1usize..70_000,
        ) {
            let total: usize = lengths.iter().sum();
            let bytes: Vec<u8> = (0..total).map(|i| (i * 31 % 251) as u8).collect();
            let mut source = Pieces { bytes: bytes.clone(), at: 0, piece };
            let mut buffer = ReadBuffer::new();
            let mut taken = Vec::new();
            for length in lengths {
                taken.extend_from_slice(buffer.peek(&mut source, length).unwrap());
                buffer.consume(length);
            }
            prop_assert_eq!(taken, bytes);
            prop_assert_eq!(buffer.peek(&mut source, 1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn an_answer_of_endless_rows_is_aborted() {
        let mut limits = AnswerLimits::of(Some(Duration::ZERO));
        let error = (0..).find_map(|_| limits.part().err()).unwrap();
        assert!(limits.parts < 10 * LOOK_EVERY && error.message.contains("has not ended"), "{error}");
        let mut limits = AnswerLimits::of(None);
        let row = vec![Some("x".repeat(1000)), None, None];
        let (kept, error) = (0usize..).find_map(|number| limits.kept(&row).err().map(|e| (number, e))).unwrap();
        assert!(kept * 1000 < RESULT_LIMIT && error.message.contains("256 MiB"), "{error}");
        drop(limits);
        // NULLs without bytes on the wire take memory here.
        let mut limits = AnswerLimits::of(None);
        let nulls: Vec<Option<String>> = vec![None; 65_535];
        let kept = (0usize..).find(|_| limits.kept(&nulls).is_err()).unwrap();
        assert!(kept * size_of_val(nulls.as_slice()) <= RESULT_LIMIT, "{kept} rows");
        drop(limits);
        // All connections together.
        let full = || {
            let mut limits = AnswerLimits::of(None);
            (1..kept).try_for_each(|_| limits.kept(&nulls)).map(|()| limits)
        };
        let four: Vec<AnswerLimits> = (0..4).map(|_| full().unwrap()).collect();
        assert!(full().unwrap_err().message.contains("all connections together"));
        drop(four);
        assert!(full().is_ok());
        let mut limits = AnswerLimits::of(None);
        assert!((0..).find_map(|_| limits.result().err()).unwrap().message.contains("1000 results"));
    }
}
