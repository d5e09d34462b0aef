//! `tare history`: a table of segments per metric and condition, and the changes between segments.

use super::rows::{fitted, titled};
use super::style::Style;
use super::text::{plain, wrap};
use crate::{tables, words};
use tare_findings::history::{History, MetricHistory};

/// The whole output; `margin` is the margin of the gate.
pub fn history(found: &History, margin: Option<f64>, style: Style) -> String {
    let mut parts = vec![style.bold(&wrap(style, "", "", &plain(&words::history_sentence(found))))];
    parts.extend(found.lines.iter().map(|line| of_line(line, style)));
    parts.extend(words::history(found).iter().map(|message| wrap(style, "", "", &plain(message))));
    let gate = margin.and_then(|margin| words::history_gate(found, margin));
    parts.extend(gate.map(|message| style.bold(&wrap(style, "", "", &plain(&message)))));
    parts.join("\n")
}

fn of_line(line: &MetricHistory, style: Style) -> String {
    let head = format!("{}, {}", plain(&line.condition), plain(&line.name));
    let message: String = words::line(line).iter().map(|message| wrap(style, "  ", "    ", &plain(message))).collect();
    titled(style, &head, &(fitted(style, &tables::segments(line)) + &message))
}
