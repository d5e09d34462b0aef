//! The packet that executes a prepared statement.

use super::bytes::put_length;
use super::columns::Column;
use super::framing::HEADER;
use super::response::Prepared;
use crate::{Param, SqlError};

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
