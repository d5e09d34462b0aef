//! Packets over a stream: three bytes of length, one byte of sequence number, then the payload. Numbers and strings are
//! read from it; `None` if it is too short.

use crate::Tls;
use crate::transport::buffer::{ReadBuffer, Reservation};
use crate::transport::stream::Channel;
use std::mem::take;
use std::{io, str};

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

#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.number(1).map(|number| number as u8)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    /// A length-encoded integer: one byte, or 0xFC, 0xFD, 0xFE and 2, 3, 8 bytes.
    pub(super) fn length_encoded(&mut self) -> Option<u64> {
        match self.u8()? {
            byte @ 0..=0xfa => Some(u64::from(byte)),
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            _ => None,
        }
    }

    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.length_encoded()?).ok()?;
        self.take(length)
    }

    /// A string up to a NUL byte, which is consumed.
    pub(super) fn until_nul(&mut self) -> Option<&'a str> {
        let length = self.0.iter().position(|byte| *byte == 0)?;
        let text = str::from_utf8(self.take(length)?).ok()?;
        self.take(1)?;
        Some(text)
    }
}

pub(super) fn put_length(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=0xfa => out.push(number as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&number.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_reads_back(number in prop_oneof![0u64..0x300, any::<u32>().prop_map(u64::from), any::<u64>()]) {
            let mut out = Vec::new();
            put_length(&mut out, number);
            let mut bytes = Bytes(&out);
            prop_assert_eq!(bytes.length_encoded(), Some(number));
            prop_assert!(bytes.0.is_empty());
        }
    }
}
