//! CSV (RFC 4180): one table, a header line, numbers unrounded, nothing where nothing was measured. No spreadsheet
//! computes with a text of it.

use super::cell::Cell;
use super::source::Source;
use super::tables::{Table, factors};
use std::io::{self, Write};
use tare_text::{as_text_cell, shown};

pub fn write(source: &Source<'_>, table: Table, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let fields = table.fields(&factors(source));
    writer.write_record(fields.iter().map(|field| as_text_cell(&field.name).into_owned()))?;
    table.rows(source, &mut |cells: &[Cell<'_>]| -> io::Result<()> {
        for cell in cells {
            match cell {
                // A reason is any text, and this may go to a terminal.
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
