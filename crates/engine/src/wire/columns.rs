//! A prepared statement: the packet that executes it, its columns, and its rows, whose values are in binary format.

use super::framing::{Bytes, HEADER, put_length};
use super::response::Prepared;
use crate::{Param, SqlError};

/// The properties of a column that are needed to read its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    code: u8,
    is_unsigned: bool,
}

/// The names of catalog, schema, table and column (some twice) before the fixed-length fields.
const NAMES: usize = 6;
const UNSIGNED: u16 = 1 << 5;

impl Column {
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(payload);
        for _ in 0..NAMES {
            bytes.string()?;
        }
        let mut fixed = Bytes(bytes.string()?);
        fixed.take(6)?; // character set and length
        let code = fixed.u8()?;
        Some(Self { code, is_unsigned: fixed.u16()? & UNSIGNED != 0 })
    }

    /// The next value, formatted as in the text protocol.
    fn value(self, bytes: &mut Bytes<'_>) -> Option<String> {
        let whole = |bytes: &mut Bytes<'_>, size: usize| {
            let number = bytes.take(size)?.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            let unused = 64 - 8 * size as u32;
            Some(match self.is_unsigned {
                true => number.to_string(),
                false => ((number << unused).cast_signed() >> unused).to_string(),
            })
        };
        match self.code {
            1 => whole(bytes, 1),
            2 | 13 => whole(bytes, 2),
            3 | 9 => whole(bytes, 4),
            8 => whole(bytes, 8),
            4 => bytes.take(4)?.try_into().ok().map(|raw| f32::from_le_bytes(raw).to_string()),
            5 => bytes.take(8)?.try_into().ok().map(|raw| f64::from_le_bytes(raw).to_string()),
            7 | 10 | 12 => moment(Bytes(bytes.string()?), self.code == 10),
            11 => span(Bytes(bytes.string()?)),
            _ => bytes.string().map(|text| String::from_utf8_lossy(text).into_owned()),
        }
    }
}

/// A date, or a date and a time; omitted parts are 0.
fn moment(mut bytes: Bytes<'_>, is_date: bool) -> Option<String> {
    let [mut year, mut rest, mut micros] = [0, 0, 0];
    if !bytes.0.is_empty() {
        year = u32::from(bytes.u16()?);
        rest = u32::from(bytes.u8()?) << 8 | u32::from(bytes.u8()?);
    }
    let date = format!("{year:04}-{:02}-{:02}", rest >> 8, rest & 0xff);
    if is_date {
        return Some(date);
    }
    let [mut hour, mut minute, mut second] = [0, 0, 0];
    if !bytes.0.is_empty() {
        [hour, minute, second] = [bytes.u8()?, bytes.u8()?, bytes.u8()?];
    }
    if !bytes.0.is_empty() {
        micros = bytes.u32()?;
    }
    let fraction = if micros > 0 { format!(".{micros:06}") } else { String::new() };
    Some(format!("{date} {hour:02}:{minute:02}:{second:02}{fraction}"))
}

/// A duration, which may include days and may be negative.
fn span(mut bytes: Bytes<'_>) -> Option<String> {
    if bytes.0.is_empty() {
        return Some("00:00:00".to_owned());
    }
    let sign = if bytes.u8()? == 1 { "-" } else { "" };
    let hours = u64::from(bytes.u32()?) * 24 + u64::from(bytes.u8()?);
    let (minute, second) = (bytes.u8()?, bytes.u8()?);
    let micros = if bytes.0.is_empty() { 0 } else { bytes.u32()? };
    let fraction = if micros > 0 { format!(".{micros:06}") } else { String::new() };
    Some(format!("{sign}{hours:02}:{minute:02}:{second:02}{fraction}"))
}

pub(super) fn binary_row(payload: &[u8], columns: &[Column]) -> Option<Vec<Option<String>>> {
    let mut bytes = Bytes(payload);
    bytes.u8().filter(|header| *header == 0)?;
    // The first two bits of the map belong to no column.
    let nulls = bytes.take((columns.len() + 9) / 8)?;
    let mut row = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        let bit = number + 2;
        let is_null = nulls[bit / 8] >> (bit % 8) & 1 == 1;
        row.push(if is_null { None } else { Some(column.value(&mut bytes)?) });
    }
    Some(row)
}

const COM_STMT_EXECUTE: u8 = 0x17;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 253;

/// A prepared statement and the parameter types that the server already knows.
#[derive(Debug)]
pub(super) struct Statement {
    id: u32,
    parameters: usize,
    /// Types sent with the last execution; they are omitted if they are the same again.
    sent_types: Vec<u8>,
    /// The columns of its rows; none if the server's definitions cannot be parsed.
    pub(super) columns: Option<Vec<Column>>,
}

impl Statement {
    pub(super) fn new(prepared: Prepared, columns: Option<Vec<Column>>) -> Self {
        Self { id: prepared.id, parameters: usize::from(prepared.parameters), sent_types: Vec::new(), columns }
    }

    /// Writes the packet into `out`, with space for its header.
    #[inline]
    pub(super) fn encode(&mut self, out: &mut Vec<u8>, params: &[Param<'_>]) -> Result<(), SqlError> {
        if params.len() != self.parameters {
            return Err(SqlError::wrong_count(self.parameters, params.len()));
        }
        out.clear();
        out.extend_from_slice(&[0; HEADER]);
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor; one execution
        if params.is_empty() {
            return Ok(());
        }
        out.resize(out.len() + params.len().div_ceil(8), 0); // none of them is NULL
        let known = self.sent_types.len() == params.len()
            && params.iter().zip(&self.sent_types).all(|(param, sent)| type_of(param) == *sent);
        out.push(u8::from(!known));
        if !known {
            self.sent_types = params.iter().map(type_of).collect();
            for code in &self.sent_types {
                out.extend_from_slice(&[*code, 0]);
            }
        }
        for param in params {
            match param {
                Param::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
                Param::Text(text) => {
                    put_length(out, text.len() as u64);
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
        Ok(())
    }
}

#[inline]
fn type_of(param: &Param<'_>) -> u8 {
    match param {
        Param::Int(_) => TYPE_LONGLONG,
        Param::Text(_) => TYPE_VAR_STRING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn definition(code: u8, flags: u16) -> Vec<u8> {
        let mut out = b"\x03def\x01s\x01t\x01t\x01c\x01c\x0c\x3f\0\x0b\0\0\0".to_vec();
        out.push(code);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
        out
    }

    #[test]
    fn values_read_as_the_text_protocol_has_them() {
        let of = |code, flags, bytes: &[u8]| {
            let column = Column::parse(&definition(code, flags)).unwrap();
            binary_row(&[&[0, 0], bytes].concat(), &[column]).unwrap().remove(0).unwrap()
        };
        assert_eq!(of(1, 0, &[0xff]), "-1");
        assert_eq!(of(1, 32, &[0xff]), "255");
        assert_eq!(of(3, 0, &[0xfe, 0xff, 0xff, 0xff]), "-2");
        assert_eq!(of(8, 32, &[0xff; 8]), u64::MAX.to_string());
        assert_eq!(of(246, 0, b"\x0512.50"), "12.50");
        assert_eq!(of(5, 0, &1.5f64.to_le_bytes()), "1.5");
        assert_eq!(of(12, 0, &[7, 0xea, 7, 11, 22, 6, 5, 4]), "2026-11-22 06:05:04");
        assert_eq!(of(10, 0, &[4, 0xea, 7, 11, 22]), "2026-11-22");
        assert_eq!(of(11, 0, &[8, 1, 1, 0, 0, 0, 2, 3, 4]), "-26:03:04");
        let column = Column::parse(&definition(3, 0)).unwrap();
        assert_eq!(binary_row(&[0, 0b1000, 7, 0, 0, 0], &[column, column]), Some(vec![Some("7".into()), None]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_row_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64), codes in prop::collection::vec(any::<u8>(), 0..9)) {
            let _ = Column::parse(&bytes);
            let columns: Vec<Column> = codes.into_iter().map(|code| Column { code, is_unsigned: code % 2 == 0 }).collect();
            let _ = binary_row(&bytes, &columns);
        }
    }
}
