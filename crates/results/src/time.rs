//! Time stamps as results write them.

/// Now, RFC 3339 in UTC with microseconds.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
