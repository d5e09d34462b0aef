//! Rows that a client sends in messages of limited size.

use std::io::{self, Write};

const PIECE: usize = 64 << 10;

/// Sends what `feed` writes in messages that begin with space for a header of this size; none is empty.
pub(crate) fn in_pieces(
    header: usize,
    feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    send: impl FnMut(&mut [u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut pieces = Pieces { header, out: vec![0; header], send };
    feed(&mut pieces)?;
    pieces.flush()
}

struct Pieces<F> {
    header: usize,
    out: Vec<u8>,
    send: F,
}

impl<F: FnMut(&mut [u8]) -> io::Result<()>> Write for Pieces<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PIECE + self.header - self.out.len())];
        self.out.extend_from_slice(taken);
        if self.out.len() == PIECE + self.header {
            self.flush()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.out.len() > self.header {
            (self.send)(&mut self.out)?;
            self.out.truncate(self.header);
        }
        Ok(())
    }
}
