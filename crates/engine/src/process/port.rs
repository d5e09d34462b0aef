//! What a server needs that listens on a port: a free one, and a password.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, TcpListener};
use std::path::Path;

use crate::EngineError;

/// 128 random bits from the kernel as hexadecimal digits.
pub(crate) fn random_password() -> Result<String, EngineError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0u8; 16];
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| EngineError::io("read", source, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A port that was free a moment ago; when someone else takes it first the server dies and says so.
pub(crate) fn free_port(at: IpAddr) -> Result<u16, EngineError> {
    let listener = TcpListener::bind((at, 0)).and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|e| EngineError::io("find a free port on", Path::new(&at.to_string()), e))
}
