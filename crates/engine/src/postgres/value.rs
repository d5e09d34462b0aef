//! Parameters on their way to the server: in binary where its type is known to be a number or text.

use crate::{Param, SqlError, SqlErrorKind};

const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const BPCHAR: u32 = 1042;
const VARCHAR: u32 = 1043;
/// CHAR(n): blanks at its end are no part of its value, but are sent.
pub(super) const BLANK_PADDED: u32 = BPCHAR;

/// Whether a parameter of this type is sent in binary.
#[inline]
pub(super) fn is_binary(param: &Param<'_>, oid: u32) -> bool {
    match param {
        Param::Int(_) => matches!(oid, INT2 | INT4 | INT8),
        Param::Text(_) => matches!(oid, TEXT | BPCHAR | VARCHAR),
    }
}

/// Appends its length and its bytes.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, param: &Param<'_>, oid: u32) -> Result<(), SqlError> {
    match (param, oid) {
        (Param::Int(number), INT4) => {
            put_bytes(out, &i32::try_from(*number).map_err(|_| range(*number))?.to_be_bytes())
        }
        (Param::Int(number), INT2) => {
            put_bytes(out, &i16::try_from(*number).map_err(|_| range(*number))?.to_be_bytes())
        }
        (Param::Int(number), INT8) => put_bytes(out, &number.to_be_bytes()),
        (Param::Int(number), _) => put_bytes(out, number.to_string().as_bytes()),
        (Param::Text(text), _) => put_bytes(out, text.as_bytes()),
    }
    Ok(())
}

#[inline]
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

#[cold]
fn range(number: i64) -> SqlError {
    let message = format!("{number} is too large for the column it is meant for");
    SqlError::own(SqlErrorKind::Other, message)
}
