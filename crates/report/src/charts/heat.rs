//! A heat map: a table whose cells are darker for larger values and also contain the figures.

use super::axis::px;
use crate::figures::change;
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_text::percent;

/// Height of a cell; its width depends on the figures.
const HEIGHT: f64 = 24.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 22.0;
/// Opacity of the lightest and the darkest cell; figures are readable on both.
const FAINT: f64 = 0.04;
const DARK: f64 = 0.62;
/// Absolute changes from which each shade is used, the same in every map; smaller changes have no shade.
const STEPS: [f64; 4] = [0.01, 0.05, 0.2, 0.5];
const STRENGTHS: [f64; 4] = [0.1, 0.24, 0.42, DARK];
/// Coefficients of variation from which each shade is used.
const SPREADS: [f64; 4] = [0.005, 0.02, 0.05, 0.2];

#[derive(Default)]
pub(crate) struct Heat {
    pub title: String,
    pub note: String,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// One list per row; `None` for a cell that was not measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// Cells (row, column) with a figure but no colour, because no difference is shown.
    pub unshown: BTreeSet<(usize, usize)>,
    pub figures: Figures,
}

/// How values are printed, and where their scale begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Figures {
    /// With this many decimals; the smallest value is the lightest.
    Digits(usize),
    /// Fractions as percentages; the smallest value is the lightest.
    #[default]
    Percent,
    /// Coefficients of variation as percentages, in shades that every map shares.
    Spread,
    /// Fractions as signed percentages. The absolute value determines the shade, in steps that every map shares; the
    /// sign determines the colour.
    Change,
}

impl Figures {
    fn write(self, value: f64) -> String {
        match self {
            Self::Digits(digits) => format!("{value:.digits$}"),
            Self::Percent | Self::Spread => percent(value),
            Self::Change => change(value),
        }
    }

    /// The values from which the shades of a fixed scale are used.
    fn steps(self) -> Option<[f64; 4]> {
        match self {
            Self::Spread => Some(SPREADS),
            Self::Change => Some(STEPS),
            Self::Digits(_) | Self::Percent => None,
        }
    }
}

pub(crate) fn ends(heat: &Heat) -> (f64, f64) {
    let all = heat.values.iter().flatten().flatten().copied();
    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
}

pub(crate) fn draw(heat: &Heat) -> Markup {
    draw_between(heat, ends(heat))
}

/// Draws a map with given lightest and darkest values, so that several maps share a scale.
pub(crate) fn draw_between(heat: &Heat, (low, high): (f64, f64)) -> Markup {
    let signed = heat.figures == Figures::Change;
    let all = || heat.values.iter().flatten().flatten().copied();
    let shade = |value: f64| match heat.figures.steps() {
        Some(steps) => steps.iter().zip(STRENGTHS).rev().find(|(step, _)| value.abs() >= **step).map_or(0.0, |s| s.1),
        None if high > low => FAINT + (value - low) / (high - low) * (DARK - FAINT),
        None => FAINT,
    };
    let keys: Vec<(f64, String)> = match heat.figures.steps() {
        Some(steps) => STRENGTHS.into_iter().zip(steps.map(|step| format!("{}%", 100.0 * step))).collect(),
        None if high > low => [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]
            .map(|share| low + share * (high - low))
            .map(|value| (shade(value), heat.figures.write(value)))
            .into(),
        None => Vec::new(),
    };
    let longest = all().map(|value| heat.figures.write(value).len()).chain(heat.columns.iter().map(String::len)).max();
    // Wide enough to look like cells even if there are few.
    let cell = (14.0 + 7.0 * longest.unwrap_or(1) as f64).max(440.0 / heat.columns.len().max(8) as f64);
    let names = heat.rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(16.0 + 6.6 * names as f64);
    let (x, y) = (|column: usize| left + column as f64 * cell, |row: usize| TOP + row as f64 * HEIGHT);
    let foot = y(heat.rows.len()) + 12.0;
    let width = (x(heat.columns.len()) + 2.0).max(if keys.is_empty() { 0.0 } else { LEGEND });
    let signs: &[(&str, &str)] = if signed { &[("m0", "+"), ("m1", "-")] } else { &[("m0", "")] };
    let height = match keys.is_empty() {
        false => foot + LEGEND_ROW * signs.len() as f64 + LEGEND_WORDS,
        true => y(heat.rows.len()) + 2.0,
    };
    let words = match heat.figures.steps() {
        Some(_) if !signed => "or more; the same shades in every report",
        Some(_) if heat.unshown.is_empty() => "or more each way",
        Some(_) => "or more each way; no colour: not shown to differ",
        None => "from the lowest to the highest value",
    };
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
                            fill-opacity=(format!("{:.2}", if heat.unshown.contains(&(i, j)) { 0.0 } else { shade(*value) })) {
                            title { (name) ", " (heat.columns[j]) ": " (heat.figures.write(*value)) }
                        }
                        text.value x=(px(x(j) + cell / 2.0)) y=(px(y(i) + 16.0)) text-anchor="middle" {
                            (heat.figures.write(*value))
                        }
                    }
                }
            }
            @if !keys.is_empty() { (legend(foot, signs, &keys, words)) }
        }
    }
}

/// Width of the legend below a map, width of each of its cells, height of its rows, and of its text.
const LEGEND: f64 = 310.0;
const LEGEND_CELL: f64 = 64.0;
const LEGEND_ROW: f64 = 20.0;
const LEGEND_WORDS: f64 = 22.0;

fn legend(top: f64, signs: &[(&str, &str)], keys: &[(f64, String)], words: &str) -> Markup {
    html! {
        @for (row, (class, sign)) in signs.iter().enumerate() {
            @for (column, (strength, figure)) in keys.iter().enumerate() {
                @let (x, y) = (2.0 + LEGEND_CELL * column as f64, top + LEGEND_ROW * row as f64);
                path.key class=(class) d=(format!("M{} {}h{w}v18h-{w}z", px(x), px(y), w = LEGEND_CELL - 1.0)) stroke-opacity="0"
                    style=(format!("fill-opacity:{strength:.2}")) {}
                text.value x=(px(x + LEGEND_CELL / 2.0)) y=(px(y + 13.5)) text-anchor="middle" { (sign) (figure) }
            }
        }
        text.tick x="2" y=(px(top + LEGEND_ROW * signs.len() as f64 + 15.5)) { (words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_same_shade_in_every_map_and_every_map_has_a_legend() {
        let drawn = |figures: Figures, values: [f64; 2]| {
            let (rows, columns) = (vec!["tps".into()], vec!["A".into(), "B".into()]);
            let values = vec![values.map(Some).into()];
            draw(&Heat { rows, columns, values, figures, ..Heat::default() }).into_string()
        };
        for other in [0.001, 0.3] {
            let text = drawn(Figures::Spread, [0.06, other]);
            assert!(text.contains("fill-opacity=\"0.42\"") && text.contains("or more; the same shades"), "{text}");
        }
        let text = drawn(Figures::Digits(0), [80.0, 230.0]);
        assert!([80, 130, 180, 230].iter().all(|ns| text.contains(&format!(">{ns}</text>"))), "{text}");
        assert_eq!(text.matches("class=\"key").count(), 4, "{text}");
    }

    #[test]
    fn a_change_has_the_same_colour_in_every_map_and_none_where_nothing_is_shown() {
        let drawn = |values: &[f64], unshown: &[(usize, usize)]| {
            let heat = Heat {
                rows: vec!["tps".into()],
                columns: values.iter().map(f64::to_string).collect(),
                values: vec![values.iter().copied().map(Some).collect()],
                unshown: unshown.iter().copied().collect(),
                figures: Figures::Change,
                ..Heat::default()
            };
            let text = draw(&heat).into_string();
            let shades = text.split("fill-opacity=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
            let shades: Vec<String> = shades.take(values.len()).collect();
            (shades, text)
        };
        let (alone, text) = drawn(&[-0.026], &[]);
        assert_eq!((alone[0].as_str(), text.contains("or more each way")), ("0.10", true), "{text}");
        assert_eq!(drawn(&[-0.026, 3.0, -0.004], &[]).0, ["0.10", "0.62", "0.00"]);
        let (unshown, text) = drawn(&[-0.026, 3.0], &[(0, 0)]);
        assert_eq!(unshown, ["0.00", "0.62"]);
        assert!(text.contains("-2.6%") && text.contains("no colour: not shown to differ"), "{text}");
    }
}
