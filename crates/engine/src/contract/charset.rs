//! The character set of a connection, which some servers convert every value to and from.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};
use tare_text::UnknownWord;

/// What a client of MariaDB or MySQL says that it sends and wants. A server converts what differs from the tables': a
/// utf8mb4 connection costs a table in latin1 about 5% of the CPU time of a range query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Charset {
    /// Nothing is asked for: what the server has as character_set_server.
    #[default]
    Server,
    /// UTF-8 of up to four bytes.
    Utf8mb4,
    /// UTF-8 of up to three bytes, which servers before MySQL 8.0 call utf8.
    Utf8mb3,
    /// cp1252, West European.
    Latin1,
    /// Seven bits.
    Ascii,
    /// Bytes, converted by no one.
    Binary,
}

impl Charset {
    /// The collation id that the first packet of a client names; 0 is none, and then the server takes its own
    /// (`thd_init_client_charset` of MariaDB 10.11 and MySQL 8.0). All are known to every version.
    pub(crate) fn collation(self) -> u8 {
        match self {
            Self::Server => 0,
            Self::Utf8mb4 => 45,
            Self::Utf8mb3 => 33,
            Self::Latin1 => 8,
            Self::Ascii => 11,
            Self::Binary => 63,
        }
    }

    /// Whether `found`, as the server says it, is what was requested.
    pub fn is(self, found: &str) -> bool {
        match self {
            Self::Server => true,
            Self::Utf8mb3 => ["utf8mb3", "utf8"].contains(&found),
            _ => self.to_string() == found,
        }
    }
}
