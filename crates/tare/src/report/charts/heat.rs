//! A heat map: a table whose cells are the darker the larger their value, which they also say in figures.

use super::axis::px;
use maud::{Markup, html};

/// Height of a cell; its width follows the figures.
const HEIGHT: f64 = 24.0;
/// Room for the names of rows and of columns.
const LEFT: f64 = 70.0;
const TOP: f64 = 22.0;
/// The faintest and the darkest cell: figures stay readable on both.
const FAINT: f64 = 0.04;
const DARK: f64 = 0.62;

/// A table of values.
pub struct Heat {
    /// What it shows, with the unit.
    pub title: String,
    /// How it was measured.
    pub note: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One row each; none: not measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// Digits after the point.
    pub digits: usize,
}

/// Draws it.
pub fn draw(heat: &Heat) -> Markup {
    let all = || heat.values.iter().flatten().flatten().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let shade = |value: f64| if high > low { FAINT + (value - low) / (high - low) * (DARK - FAINT) } else { FAINT };
    let longest = all().map(|value| figure(value, heat.digits).len()).chain(heat.columns.iter().map(String::len)).max();
    let cell = 14.0 + 7.0 * longest.unwrap_or(1) as f64;
    let (x, y) = (|column: usize| LEFT + column as f64 * cell, |row: usize| TOP + row as f64 * HEIGHT);
    let (width, height) = (x(heat.columns.len()) + 2.0, y(heat.rows.len()) + 2.0);
    html! {
        svg.heat width=(px(width)) height=(px(height)) viewBox=(format!("0 0 {} {}", px(width), px(height))) role="img" {
            title { (heat.title) }
            desc { (heat.rows.len()) " rows and " (heat.columns.len()) " columns; the darker, the larger." }
            @for (j, name) in heat.columns.iter().enumerate() {
                text.tick x=(px(x(j) + cell / 2.0)) y=(px(TOP - 7.0)) text-anchor="middle" { (name) }
            }
            @for (i, (name, row)) in heat.rows.iter().zip(&heat.values).enumerate() {
                text.tick x=(px(LEFT - 8.0)) y=(px(y(i) + 16.0)) text-anchor="end" { (name) }
                @for (j, value) in row.iter().enumerate() {
                    @if let Some(value) = value {
                        rect.m0 x=(px(x(j))) y=(px(y(i))) width=(px(cell - 1.0)) height=(px(HEIGHT - 1.0)) stroke-opacity="0"
                            fill-opacity=(format!("{:.2}", shade(*value))) {
                            title { (name) " to " (heat.columns[j]) ": " (figure(*value, heat.digits)) }
                        }
                        text.value x=(px(x(j) + cell / 2.0)) y=(px(y(i) + 16.0)) text-anchor="middle" {
                            (figure(*value, heat.digits))
                        }
                    }
                }
            }
        }
    }
}

fn figure(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}
