//! One chart as a separate file: the page's dot plot, with its styles inside, in light colours.

use super::source::Source;
use crate::charts::alone;
use crate::html;
use std::io::{self, Write};

/// Writes the dot plot of a metric. Results without a usable trial give an empty picture.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(source).as_bytes())
}

/// Every chart of the page as a separate picture, with a name.
pub fn charts(source: &Source<'_>) -> impl Iterator<Item = (String, String)> {
    html::charts(source.results, &source.summary).into_iter().map(|(name, svg)| (name, alone::standalone(&svg)))
}

pub(crate) fn text(source: &Source<'_>) -> String {
    let chart = source.charted().and_then(|metric| html::dot_plot(source.results, &source.summary, metric));
    alone::standalone(&chart.unwrap_or_default())
}
