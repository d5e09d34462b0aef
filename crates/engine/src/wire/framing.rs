//! Packets over a stream: three bytes of length, one byte of sequence number, then the payload.

use crate::Tls;
use crate::transport::buffer::ReadBuffer;
use crate::transport::reservation::Reservation;
use crate::transport::stream::Channel;
use std::io;
use std::mem::take;

pub(super) const HEADER: usize = 4;
/// A payload of this length is continued in the next packet.
const FULL: usize = 0xff_ffff;
/// Limit on the size of a payload, bytes. No response of a benchmark is larger; a larger length means that the stream
/// is out of step.
const LIMIT: usize = 64 << 20;
/// The limit until the login is complete, bytes.
const HANDSHAKE_LIMIT: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Packets<S> {
    stream: S,
    input: ReadBuffer,
    /// Length of the current packet, header included; it is dropped before the next one.
    current: usize,
    /// Payload of a packet that arrived in several pieces.
    joined: Vec<u8>,
    joined_reserved: Reservation,
    /// Sequence number of the next packet, of either side.
    sequence: u8,
    limit: usize,
}

impl<S: Channel> Packets<S> {
    pub(super) fn new(stream: S) -> Self {
        let (input, joined, joined_reserved) = (ReadBuffer::new(), Vec::new(), Reservation::default());
        Self { stream, input, current: 0, joined, joined_reserved, sequence: 0, limit: HANDSHAKE_LIMIT }
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    pub(super) fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Encrypts everything that follows.
    ///
    /// # Errors
    /// The stream's errors; also unrequested bytes, which would be indistinguishable from encrypted ones.
    pub(super) fn encrypt(&mut self, tls: &Tls, host: &str) -> io::Result<()> {
        self.input.consume(take(&mut self.current));
        if !self.input.is_empty() {
            let what = "unencrypted bytes arrived before the encryption began: the connection may be intercepted";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.stream.encrypt(tls, host)
    }

    /// Raises the limit after login: results may be large.
    pub(super) fn logged_in(&mut self) {
        self.limit = LIMIT;
    }

    /// The next payload. It stays valid until the next call.
    #[inline]
    pub(super) fn receive(&mut self) -> io::Result<&[u8]> {
        self.input.consume(take(&mut self.current));
        let header = self.input.peek(&mut self.stream, HEADER)?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let number = header[3];
        if length >= self.limit.min(FULL) {
            return if length > self.limit { Err(too_large(self.limit)) } else { self.receive_long() };
        }
        self.current = HEADER + length;
        let payload = &self.input.peek(&mut self.stream, HEADER + length)?[HEADER..];
        // A server that closes a connection sends an error at any time, with its own sequence number.
        if number != self.sequence && payload.first() != Some(&0xff) {
            return Err(out_of_order(self.sequence, number));
        }
        self.sequence = number.wrapping_add(1);
        Ok(payload)
    }

    #[cold]
    fn receive_long(&mut self) -> io::Result<&[u8]> {
        self.joined.clear();
        loop {
            let header = self.input.peek(&mut self.stream, HEADER)?;
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            if header[3] != self.sequence {
                return Err(out_of_order(self.sequence, header[3]));
            }
            self.sequence = self.sequence.wrapping_add(1);
            if self.joined.len() + length > self.limit {
                return Err(too_large(self.limit));
            }
            self.joined_reserved.set(self.joined.len() + length).map_err(io::Error::other)?;
            let packet = self.input.peek(&mut self.stream, HEADER + length)?;
            self.joined.extend_from_slice(&packet[HEADER..]);
            self.input.consume(HEADER + length);
            if length < FULL {
                return Ok(&self.joined);
            }
        }
    }

    /// Sends a command: `packet` begins with [`HEADER`] bytes that are filled in here.
    #[inline]
    pub(super) fn send_command(&mut self, packet: &mut [u8]) -> io::Result<()> {
        self.sequence = 0;
        if !self.joined.is_empty() {
            self.joined = Vec::new();
            self.joined_reserved = Reservation::default();
        }
        self.send_reply(packet)
    }

    /// As [`Packets::send_command`], but within an exchange: continues the sequence.
    #[inline]
    pub(super) fn send_reply(&mut self, packet: &mut [u8]) -> io::Result<()> {
        self.input.consume(take(&mut self.current));
        let length = packet.len() - HEADER;
        if length >= FULL {
            return self.send_long(&packet[HEADER..]);
        }
        packet[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        packet[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(packet)
    }

    #[cold]
    fn send_long(&mut self, payload: &[u8]) -> io::Result<()> {
        // A last piece of exactly FULL bytes is followed by an empty one.
        for piece in payload.chunks(FULL).chain(payload.len().is_multiple_of(FULL).then_some(&[][..])) {
            let mut header = (piece.len() as u32).to_le_bytes();
            header[3] = self.sequence;
            self.sequence = self.sequence.wrapping_add(1);
            self.stream.write_all(&header)?;
            self.stream.write_all(piece)?;
        }
        Ok(())
    }
}

#[cold]
fn too_large(limit: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a packet of more than {} KiB, the limit at this point", limit >> 10),
    )
}

#[cold]
fn out_of_order(expected: u8, found: u8) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("packets out of order: received number {found}, expected {expected}"),
    )
}
