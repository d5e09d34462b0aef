//! Apache Parquet: one table, every column nullable, in row groups so that no table is kept in memory as a whole.

use super::columns::{Cell, Field, Kind};
use super::source::Source;
use super::tables::{Table, factors};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

const GROUP: usize = 65_536;

/// The values of a column that are not written yet, and for every row whether it has one.
#[derive(Default)]
struct PendingColumn {
    present: Vec<i16>,
    texts: Vec<ByteArray>,
    wholes: Vec<i64>,
    numbers: Vec<f64>,
    flags: Vec<bool>,
}

pub(crate) fn write(source: &Source<'_>, table: Table, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let fields = table.fields(&factors(source));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = schema(table, &fields).map_err(broken)?;
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(broken)?;
    let mut columns: Vec<PendingColumn> = fields.iter().map(|_| PendingColumn::default()).collect();
    table
        .rows(source, &mut |cells: &[Cell<'_>]| -> Result<(), ParquetError> {
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.take(cell));
            if columns.first().is_some_and(|column| column.present.len() == GROUP) {
                group(&mut file, &fields, &mut columns)
            } else {
                Ok(())
            }
        })
        .and_then(|()| group(&mut file, &fields, &mut columns))
        .and_then(|()| file.close().map(|_| ()))
        .map_err(broken)
}

/// Returns a failed write as the original error; any other error is a bug of this program.
fn broken(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}

fn schema(table: Table, fields: &[Field]) -> Result<Arc<Type>, ParquetError> {
    let columns: Result<Vec<Arc<Type>>, ParquetError> = fields
        .iter()
        .map(|field| {
            let (physical, logical) = match field.kind {
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Kind::Whole => (Physical::INT64, None),
                Kind::Number => (Physical::DOUBLE, None),
                Kind::Flag => (Physical::BOOLEAN, None),
            };
            let column = Type::primitive_type_builder(&field.name, physical).with_repetition(Repetition::OPTIONAL);
            column.with_logical_type(logical).build().map(Arc::new)
        })
        .collect();
    Type::group_type_builder(&table.to_string()).with_fields(columns?).build().map(Arc::new)
}

impl PendingColumn {
    fn take(&mut self, cell: &Cell<'_>) {
        self.present.push(i16::from(*cell != Cell::Nothing));
        match cell {
            Cell::Text(text) => self.texts.push(text.as_ref().into()),
            Cell::Whole(whole) => self.wholes.push(*whole),
            Cell::Number(number) => self.numbers.push(*number),
            Cell::Flag(flag) => self.flags.push(*flag),
            Cell::Nothing => {}
        }
    }
}

type Rows<'w, 'o> = SerializedRowGroupWriter<'w, &'o mut (dyn Write + Send)>;

fn group(
    file: &mut SerializedFileWriter<&mut (dyn Write + Send)>,
    fields: &[Field],
    columns: &mut [PendingColumn],
) -> Result<(), ParquetError> {
    if columns.first().is_none_or(|column| column.present.is_empty()) {
        return Ok(());
    }
    let mut rows = file.next_row_group()?;
    for (field, pending) in fields.iter().zip(columns.iter_mut()) {
        let PendingColumn { present, texts, wholes, numbers, flags } = std::mem::take(pending);
        match field.kind {
            Kind::Text => column::<ByteArrayType>(&mut rows, &texts, &present)?,
            Kind::Whole => column::<Int64Type>(&mut rows, &wholes, &present)?,
            Kind::Number => column::<DoubleType>(&mut rows, &numbers, &present)?,
            Kind::Flag => column::<BoolType>(&mut rows, &flags, &present)?,
        }
    }
    rows.close().map(|_| ())
}

fn column<T: DataType>(rows: &mut Rows<'_, '_>, values: &[T::T], present: &[i16]) -> Result<(), ParquetError> {
    let Some(mut column) = rows.next_column()? else {
        return Err(ParquetError::General("a table has more columns than its schema".to_owned()));
    };
    column.typed::<T>().write_batch(values, Some(present), None)?;
    column.close()
}
