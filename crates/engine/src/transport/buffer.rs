//! Received bytes that are not consumed yet: one read per response, if the kernel has all of it.

use super::reservation::Reservation;
use std::io::{self, ErrorKind, Read};

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
}
