//! A heat map: a table whose cells are the darker the larger their value, which they also say in figures.

use super::axis::px;
use maud::{Markup, html};
use tare_findings::figures::{change, percent};

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
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// One row each; none: not measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// How values are written.
    pub figures: Figures,
}

/// How values are written, and where their scale begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// With so many digits after the point; the smallest value is the faintest.
    Digits(usize),
    /// Fractions as percentages; nothing is the faintest, so that a shade twice as strong is twice as much.
    Percent,
    /// Fractions as signed percentages: how far from nothing decides the shade, which way the colour.
    Change,
}

impl Figures {
    fn write(self, value: f64) -> String {
        match self {
            Self::Digits(digits) => format!("{value:.digits$}"),
            Self::Percent => percent(value),
            Self::Change => change(value),
        }
    }
}

/// Draws the cells with their values and the scale.
pub fn draw(heat: &Heat) -> Markup {
    let signed = heat.figures == Figures::Change;
    let size = move |value: f64| if signed { value.abs() } else { value };
    let all = || heat.values.iter().flatten().flatten().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(size(v)), h.max(size(v))));
    let low = if heat.figures == Figures::Percent || signed { 0.0 } else { low };
    let shade =
        |value: f64| if high > low { FAINT + (size(value) - low) / (high - low) * (DARK - FAINT) } else { FAINT };
    let longest = all().map(|value| heat.figures.write(value).len()).chain(heat.columns.iter().map(String::len)).max();
    // Wide enough to be seen as cells where there are few.
    let cell = (14.0 + 7.0 * longest.unwrap_or(1) as f64).max(600.0 / heat.columns.len().max(8) as f64);
    let names = heat.rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(16.0 + 6.6 * names as f64);
    let (x, y) = (|column: usize| left + column as f64 * cell, |row: usize| TOP + row as f64 * HEIGHT);
    let (width, height) = (x(heat.columns.len()) + 2.0, y(heat.rows.len()) + 2.0);
    html! {
        svg.heat width=(px(width)) height=(px(height)) viewBox=(format!("0 0 {} {}", px(width), px(height))) role="img" {
            title { (heat.title) }
            desc { (heat.rows.len()) " rows and " (heat.columns.len()) " columns; the stronger the shade, the larger." }
            @for (j, name) in heat.columns.iter().enumerate() {
                text.tick x=(px(x(j) + cell / 2.0)) y=(px(TOP - 7.0)) text-anchor="middle" { (name) }
            }
            @for (i, (name, row)) in heat.rows.iter().zip(&heat.values).enumerate() {
                text.tick x=(px(left - 8.0)) y=(px(y(i) + 16.0)) text-anchor="end" { (name) }
                @for (j, value) in row.iter().enumerate() {
                    @if let Some(value) = value {
                        rect class=(if signed && *value < 0.0 { "m1" } else { "m0" }) x=(px(x(j))) y=(px(y(i))) width=(px(cell - 1.0)) height=(px(HEIGHT - 1.0)) stroke-opacity="0"
                            fill-opacity=(format!("{:.2}", shade(*value))) {
                            title { (name) ", " (heat.columns[j]) ": " (heat.figures.write(*value)) }
                        }
                        text.value x=(px(x(j) + cell / 2.0)) y=(px(y(i) + 16.0)) text-anchor="middle" {
                            (heat.figures.write(*value))
                        }
                    }
                }
            }
        }
    }
}
