//! Queries by conditions: the spread between trials as shade and as figure.

use super::axis::px;
use crate::analysis::figures::percent;
use maud::{Markup, html};

const CELL_HEIGHT: f64 = 23.0;
const LEFT: f64 = 130.0;
const TOP: f64 = 24.0;
/// Opacity of the largest value: figures stay readable on it, in the light and in the dark.
const DARKEST: f64 = 0.62;

/// One row of the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The query or metric.
    pub label: String,
    /// A CoV a condition, as a fraction.
    pub values: Vec<Option<f64>>,
}

/// Draws it. Columns are named by letters, whose meaning stands below. The scale is one hue from nothing at zero, its
/// opacity proportional to the value, so that equal steps look equal on any background.
pub fn draw(columns: &[String], rows: &[Row]) -> Markup {
    let largest = rows.iter().flat_map(|row| &row.values).flatten().copied().fold(0.0, f64::max);
    let width = (820.0 / columns.len().max(1) as f64).clamp(46.0, 92.0);
    let x = |column: usize| LEFT + column as f64 * width;
    let y = |row: usize| TOP + row as f64 * CELL_HEIGHT;
    let opacity = |value: f64| if largest > 0.0 { value / largest * DARKEST } else { 0.0 };
    let (right, bottom) = (x(columns.len()), y(rows.len()));
    html! {
        svg.map viewBox=(format!("0 0 {} {}", px(right + 2.0), px(bottom + 40.0))) width=(px(right + 2.0)) role="img" {
            title { "Spread between trials of each query under each condition" }
            desc { (description(columns, rows)) }
            @for (column, name) in columns.iter().enumerate() {
                text.tick x=(px(x(column) + width / 2.0)) y=(px(TOP - 8.0)) text-anchor="middle" { (name) }
            }
            @for (index, row) in rows.iter().enumerate() {
                text.label x=(px(LEFT - 10.0)) y=(px(y(index) + 16.0)) text-anchor="end" { (row.label) }
                @for (column, value) in row.values.iter().enumerate() {
                    @if let Some(value) = value {
                        rect.heat x=(px(x(column))) y=(px(y(index))) width=(px(width - 1.5)) height=(px(CELL_HEIGHT - 1.5))
                            fill-opacity=(format!("{:.3}", opacity(*value))) {}
                        text.value x=(px(x(column) + width / 2.0)) y=(px(y(index) + 15.5)) text-anchor="middle" { (percent(*value)) }
                    }
                }
            }
            (scale(bottom + 14.0, largest))
        }
    }
}

/// The shades and what they mean.
fn scale(y: f64, largest: f64) -> Markup {
    const STEPS: usize = 10;
    html! {
        text.tick x=(px(LEFT - 10.0)) y=(px(y + 11.0)) text-anchor="end" { "0%" }
        @for step in 0..STEPS {
            rect.heat x=(px(LEFT + 16.0 * step as f64)) y=(px(y)) width="16" height="13"
                fill-opacity=(format!("{:.3}", DARKEST * (step as f64 + 0.5) / STEPS as f64)) {}
        }
        text.tick x=(px(LEFT + 16.0 * STEPS as f64 + 8.0)) y=(px(y + 11.0)) { (percent(largest)) }
    }
}

fn description(columns: &[String], rows: &[Row]) -> String {
    let all = rows.iter().flat_map(|row| row.values.iter().enumerate().map(move |(c, value)| (row, c, *value)));
    let worst = all.filter_map(|(row, column, value)| Some((row, column, value?))).max_by(|a, b| a.2.total_cmp(&b.2));
    let worst = worst.map_or(String::new(), |(row, column, value)| {
        let name = columns.get(column).map_or("", String::as_str);
        format!(" The largest is {} of {} at {name}.", percent(value), row.label)
    });
    format!("{} rows and {} columns; the darker, the less steady.{worst}", rows.len(), columns.len())
}
