//! LOAD DATA LOCAL: rows that the client sends as packets after a statement.

use super::connection::Connection;
use super::framing::HEADER;
use super::response;
use crate::SqlError;
use crate::transport::pieces::in_pieces;
use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use std::io::{self, Write};

/// The server's request for the rows.
const WANTS_ROWS: u8 = 0xfb;

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
        let fed = in_pieces(HEADER, feed, |packet| self.packets.send_reply(packet));
        // An empty packet ends the rows. The protocol cannot say that they ended early.
        self.packets.send_reply(&mut [0; HEADER]).map_err(lost)?;
        let taken = self.discard()?;
        fed.map(|()| taken).map_err(lost)
    }
}
