//! Table rows, or stacked cells if the terminal is too narrow for a row. No row is wider than the terminal: names that
//! are too long for it are broken within their cells.

use super::style::{Style, add, finish, fits};
use super::text::{folded, heading, plain, wrap_names};
use crate::tables::{Head, Table};
use std::ops::Range;

/// A heading, on as many lines as the terminal needs, with the text below it.
pub(super) fn titled(style: Style, head: &str, below: &str) -> String {
    format!("{}\n{below}", heading(style, head))
}

/// Widths at which names are broken, in this order, if a table with whole names does not fit the terminal.
const NAMES: [usize; 3] = [48, 32, 20];

/// Rows with heads: the first `left` columns are text, the others figures. A table that is too wide for the terminal
/// has broken names, or is split between columns into several tables, each of which repeats the text columns.
pub(super) fn lined(style: Style, heads: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let mut parts = Vec::new();
    let mut next = left.min(heads.len());
    loop {
        let ends = (next + 1).min(heads.len())..=heads.len();
        let part = |end| {
            let whole = of_columns(style, heads, left, &rows, next..end);
            if fits(&whole, style) { Some(whole) } else { broken(style, heads, left, &rows, next..end) }
        };
        let Some((end, text)) = ends.rev().find_map(|end| Some((end, part(end)?))) else {
            return rows.iter().map(|cells| stacked(heads, cells, style)).collect();
        };
        parts.push(text);
        if end == heads.len() {
            return parts.join("\n");
        }
        next = end;
    }
}

/// One table whose names and heads are broken no more than needed to fit the terminal; none if that is not enough.
fn broken(style: Style, heads: &[&str], left: usize, rows: &[Vec<String>], columns: Range<usize>) -> Option<String> {
    let natural = Style { width: None, ..style };
    NAMES.iter().find_map(|width| {
        let heads: Vec<String> = heads.iter().map(|head| folded(head, *width)).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let cells = |cells: &Vec<String>| {
            let cells = cells.iter().enumerate();
            cells.map(|(index, cell)| if index < left { folded(cell, *width) } else { cell.clone() }).collect()
        };
        let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
        Some(of_columns(natural, &heads, left, &rows, columns.clone())).filter(|text| fits(text, style))
    })
}

/// One table with whole names if it fits the terminal, or else with broken ones.
pub(super) fn whole(style: Style, heads: &[&str], left: usize, rows: &[Vec<String>]) -> Option<String> {
    let natural = of_columns(Style { width: None, ..style }, heads, left, rows, left..heads.len());
    if fits(&natural, style) { Some(natural) } else { broken(style, heads, left, rows, left..heads.len()) }
}

fn of_columns(style: Style, heads: &[&str], left: usize, rows: &[Vec<String>], columns: Range<usize>) -> String {
    let is_shown = |index: usize| index < left || columns.contains(&index);
    let heads: Vec<&str> =
        heads.iter().enumerate().filter(|(index, _)| is_shown(*index)).map(|(_, head)| *head).collect();
    let mut table = style.table(&heads, left);
    for cells in rows {
        let cells = cells.iter().enumerate().filter(|(index, _)| is_shown(*index));
        add(&mut table, left, cells.map(|(_, cell)| cell.clone()).collect());
    }
    finish(table)
}

pub(super) fn drawn(style: Style, table: &Table<'_>) -> String {
    let (heads, rows) = texts(table);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    lined(style, &heads, left(table), rows)
}

/// Like [`table`], for a table that the report and exports also use.
pub(super) fn fitted(style: Style, of: &Table<'_>) -> String {
    let (heads, rows) = texts(of);
    table(style, &heads.iter().map(String::as_str).collect::<Vec<&str>>(), left(of), &rows)
}

fn left(table: &Table<'_>) -> usize {
    table.heads.iter().take_while(|head| matches!(head, Head::L(_))).count().max(1)
}

fn texts(table: &Table<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let heads = table.heads.iter().map(|(Head::L(text) | Head::R(text))| plain(text)).collect();
    let cell = |text: Option<&String>| {
        text.map_or("-".to_owned(), |text| text.lines().map(plain).collect::<Vec<_>>().join("\n"))
    };
    (heads, table.rows.iter().map(|row| row.iter().map(|of| cell(of.0.as_ref())).collect()).collect())
}

/// Like [`lined`]; if a row does not fit, its first cell, and below it the others, each after its head.
pub(super) fn table(style: Style, heads: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    whole(style, heads, left, rows).unwrap_or_else(|| rows.iter().map(|cells| stacked(heads, cells, style)).collect())
}

fn stacked(heads: &[&str], cells: &[String], style: Style) -> String {
    let [name, rest @ ..] = cells else { return String::new() };
    let words: Vec<String> = heads
        .iter()
        .skip(1)
        .zip(rest)
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(head, cell)| match *head {
            "verdict" => cell.clone(),
            head => format!("{head} {}", cell.replace('\n', " or ")),
        })
        .collect();
    let name = style.width.map_or_else(|| name.clone(), |width| folded(name, usize::from(width)));
    format!("{}\n{}", name.trim_end(), wrap_names(style, "  ", "  ", &words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_too_wide_for_the_terminal_stand_one_below_the_other() {
        let cells = vec![["server waiting for CPU", "0.35", "+2.41"].map(str::to_owned).to_vec()];
        let heads = ["part", "A", "B - A"];
        let shown = |width| table(Style { width: Some(width), ..Style::default() }, &heads, 1, &cells);
        assert_eq!(shown(40), "part                       A  B - A\nserver waiting for CPU  0.35  +2.41\n");
        assert_eq!(shown(30), "server waiting for CPU\n  A 0.35, B - A +2.41\n");
    }

    #[test]
    fn long_names_are_broken_within_their_cells_before_a_row_is_wider_than_the_terminal() {
        let name = "build=postgresql-17.6-gcc-14-O3-march-native-with-lto transaction=point_select";
        let cells = vec![[name, "12.00", "3.00", "0.50"].map(str::to_owned).to_vec()];
        let heads = ["condition", "cpu", "switches", "reads"];
        let drawn = |style| [lined(style, &heads, 1, cells.clone()), table(style, &heads, 1, &cells)];
        for width in [20, 40, 60, 80] {
            let style = Style { width: Some(width), ..Style::default() };
            for text in drawn(style) {
                assert!(fits(&text, style), "{width}: {text}");
                assert!(["12.00", "3.00", "0.50"].iter().all(|figure| text.contains(figure)), "{text}");
            }
        }
        let head = format!("{:45}  {:>5}  switches  reads\n", "condition", "cpu");
        let first = format!("{:45}  12.00  {:>8}   0.50\n", "build=postgresql-17.6-gcc-14-O3-march-native-", "3.00");
        let rest = "with-lto transaction=point_select\n";
        for text in drawn(Style { width: Some(70), ..Style::default() }) {
            assert_eq!(text, format!("{head}{first}{rest}"));
        }
        // A pipe has no width.
        assert!(drawn(Style::default()).iter().all(|text| text.contains(name)));
    }

    #[test]
    fn figures_too_wide_for_the_terminal_are_several_tables_led_by_the_same_names() {
        let cells = vec![["scan", "12.00", "3.00", "0.50"].map(str::to_owned).to_vec()];
        let heads = ["load", "cpu", "switches", "reads"];
        let shown = |width| lined(Style { width: Some(width), ..Style::default() }, &heads, 1, cells.clone());
        assert_eq!(shown(28), "load    cpu  switches  reads\nscan  12.00      3.00   0.50\n");
        let cut = "load    cpu  switches\nscan  12.00      3.00\n\nload  reads\nscan   0.50\n";
        assert_eq!([shown(27), shown(21)], [cut, cut]);
        assert_eq!(shown(13), "scan\n  cpu 12.00,\n  switches 3.00,\n  reads 0.50\n", "as rows where no column fits");
    }
}
