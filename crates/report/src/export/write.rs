//! The export formats with their requirements, and the entry point that writes one of them to one destination.

use super::source::Source;
use super::tables::{self, Table};
use super::{documents, junit, svg, trackers};
use std::io::{self, Write};

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, clap::ValueEnum)]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// One tidy table as comma-separated values (--table)
    Csv,
    /// One tidy table as Apache Parquet (--table)
    Parquet,
    /// The dot plot of a metric as a picture of its own
    Svg,
    /// The same as pixels, twice as large, with the fonts of this machine
    Png,
    /// A booktabs table of the conditions
    Latex,
    /// The answer and a table, for a pull request
    Markdown,
    /// JUnit XML: one suite per condition, one case per attempt at a trial
    Junit,
    /// The Go benchmark format, one line per trial, for benchstat
    Benchstat,
    /// Bencher Metric Format (JSON)
    Bmf,
    /// One row per set of results, for Apache Otava's CSV importer; takes several RESULTS
    Otava,
    /// OpenMetrics text, for Prometheus
    Openmetrics,
}

impl Format {
    /// The cargo feature that this build would need to write it; none where it does.
    pub fn missing_feature(self) -> Option<&'static str> {
        match self {
            Self::Parquet if !cfg!(feature = "parquet") => Some("parquet"),
            Self::Png if !cfg!(feature = "png") => Some("png"),
            _ => None,
        }
    }

    /// Whether its bytes are no text, and do not belong on a terminal.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Png)
    }
}

/// Writes the first of the sources, or all of them for Otava's history.
///
/// # Errors
/// Those of `out`, and a format that this build does not support ([`Format::missing_feature`]).
pub fn write(sources: &[Source<'_>], format: Format, table: Table, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let Some(source) = sources.first() else { return Ok(()) };
    match format {
        Format::Csv => tables::write_csv(source, table, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet::write(source, table, out),
        Format::Svg => svg::write(source, out),
        #[cfg(feature = "png")]
        Format::Png => super::png::write(source, out),
        Format::Latex => documents::write_latex(source, out),
        Format::Markdown => documents::write_markdown(source, out),
        Format::Junit => junit::write(source, out),
        Format::Benchstat => trackers::write_benchstat(source, out),
        Format::Bmf => trackers::write_bmf(source, out),
        Format::Otava => trackers::write_otava(sources, out),
        Format::Openmetrics => trackers::write_openmetrics(source, out),
        #[cfg(not(all(feature = "parquet", feature = "png")))]
        absent => Err(io::Error::new(io::ErrorKind::Unsupported, format!("this build does not write {absent}"))),
    }
}
