//! LOAD DATA LOCAL: rows that the client sends as packets after a statement.

use super::connection::Connection;
use super::framing::{HEADER, Packets};
use super::response;
use crate::SqlError;
use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use std::io::{self, Write};

/// The server's request for the rows.
const WANTS_ROWS: u8 = 0xfb;
const PIECE: usize = 64 << 10;

impl<S: Channel> Connection<S> {
    /// Runs a LOAD DATA LOCAL. Returns the number of accepted rows. The rows come from `feed`: the file name that the
    /// server requests is ignored, and after any other statement such a request is an error.
    pub(super) fn load_local(
        &mut self,
        sql: &str,
        feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64, SqlError> {
        self.send_query(sql)?;
        let payload = self.packets.receive().map_err(lost)?;
        match payload.first() {
            Some(&WANTS_ROWS) => {}
            Some(0xff) => return Err(response::error(payload)),
            _ => return Err(malformed("something other than a request for rows")),
        }
        let mut pieces = Pieces { packets: &mut self.packets, out: vec![0; HEADER] };
        let fed = feed(&mut pieces).and_then(|()| pieces.flush());
        // An empty packet ends the rows. The protocol cannot say that they ended early.
        self.packets.send_reply(&mut [0; HEADER]).map_err(lost)?;
        let taken = self.discard()?;
        fed.map(|()| taken).map_err(lost)
    }
}

/// Sends what is written into it as packets.
struct Pieces<'a, S> {
    packets: &'a mut Packets<S>,
    /// The next packet, which begins with space for its header.
    out: Vec<u8>,
}

impl<S: Channel> Write for Pieces<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PIECE + HEADER - self.out.len())];
        self.out.extend_from_slice(taken);
        if self.out.len() == PIECE + HEADER {
            self.flush()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // An empty packet would end the rows.
        if self.out.len() > HEADER {
            self.packets.send_reply(&mut self.out)?;
            self.out.truncate(HEADER);
        }
        Ok(())
    }
}
