//! Entry point of exports: writes one format to one destination.

use super::format::Format;
use super::source::Source;
use super::tables::Table;
use super::{benchstat, bmf, csv, junit, latex, markdown, openmetrics, otava, svg};
use std::io::{self, Write};

/// Writes the first of the sources, or all of them for Otava's history.
///
/// # Errors
/// Those of `out`, and a format that this build does not support ([`Format::missing_feature`]).
pub fn write(sources: &[Source<'_>], format: Format, table: Table, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let Some(source) = sources.first() else { return Ok(()) };
    match format {
        Format::Csv => csv::write(source, table, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet::write(source, table, out),
        Format::Svg => svg::write(source, out),
        #[cfg(feature = "png")]
        Format::Png => super::png::write(source, out),
        Format::Latex => latex::write(source, out),
        Format::Markdown => markdown::write(source, out),
        Format::Junit => junit::write(source, out),
        Format::Benchstat => benchstat::write(source, out),
        Format::Bmf => bmf::write(source, out),
        Format::Otava => otava::write(sources, out),
        Format::Openmetrics => openmetrics::write(source, out),
        #[cfg(not(all(feature = "parquet", feature = "png")))]
        absent => Err(io::Error::new(io::ErrorKind::Unsupported, format!("this build does not write {absent}"))),
    }
}
