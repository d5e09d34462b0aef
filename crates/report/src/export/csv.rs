//! CSV (RFC 4180): one table with a header line; numbers are not rounded, and values that were not measured are empty.
//! Texts are written so that no spreadsheet evaluates them as formulas.

use super::cell::Cell;
use super::source::Source;
use super::tables::{Table, factors};
use std::io::{self, Write};
use tare_text::{as_text_cell, shown};

pub(crate) fn write(source: &Source<'_>, table: Table, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let fields = table.fields(&factors(source));
    writer.write_record(fields.iter().map(|field| as_text_cell(&field.name).into_owned()))?;
    table.rows(source, &mut |cells: &[Cell<'_>]| -> io::Result<()> {
        for cell in cells {
            match cell {
                // A reason may be any text, and the output may go to a terminal.
                Cell::Text(text) => writer.write_field(as_text_cell(&shown(text)).as_bytes())?,
                Cell::Whole(whole) => writer.write_field(whole.to_string())?,
                Cell::Number(number) => writer.write_field(number.to_string())?,
                Cell::Flag(flag) => writer.write_field(flag.to_string())?,
                Cell::Nothing => writer.write_field("")?,
            }
        }
        Ok(writer.write_record(None::<&[u8]>)?)
    })?;
    writer.flush()
}
