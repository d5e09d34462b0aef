//! Passwords of servers that listen on a port.

use std::fs::File;
use std::io::Read;
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
