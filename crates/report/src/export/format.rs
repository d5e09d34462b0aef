//! The export formats, with their requirements.

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
