//! Rows of a table, or one below the other where the terminal is too narrow for one.

use super::style::{Style, add, finish, fits};
use super::text::{heading, plain, wrap};
use crate::tables::{Head, Table};

/// What stands under a heading, which takes as many lines as the terminal needs.
pub(super) fn titled(style: Style, head: &str, below: &str) -> String {
    format!("{}\n{below}", heading(style, head))
}

/// Rows under their heads: the first `left` columns are text, the others figures.
pub(super) fn lined(style: Style, heads: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = style.table(heads, left);
    rows.into_iter().for_each(|cells| add(&mut table, left, cells));
    finish(table)
}

pub(super) fn drawn(style: Style, table: &Table<'_>) -> String {
    let (heads, rows) = texts(table);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    lined(style, &heads, left(table), rows)
}

/// As [`table`], of a table that other drawings share.
pub(super) fn fitted(style: Style, of: &Table<'_>) -> String {
    let (heads, rows) = texts(of);
    table(style, &heads.iter().map(String::as_str).collect::<Vec<&str>>(), left(of), &rows)
}

/// How many of its first columns are text.
fn left(table: &Table<'_>) -> usize {
    table.heads.iter().take_while(|head| matches!(head, Head::L(_))).count().max(1)
}

fn texts(table: &Table<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let heads = table.heads.iter().map(|(Head::L(text) | Head::R(text))| plain(text)).collect();
    let cell = |text: Option<&String>| text.map_or("-".to_owned(), |text| plain(text));
    (heads, table.rows.iter().map(|row| row.iter().map(|of| cell(of.0.as_ref())).collect()).collect())
}

/// As [`lined`]; where it does not fit, each row's first cell, and below it the others, each
/// after its head.
pub(super) fn table(style: Style, heads: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    let table = lined(Style { width: None, ..style }, heads, left, rows.iter().cloned());
    if fits(&table, style) { table } else { rows.iter().map(|cells| stacked(heads, cells, style)).collect() }
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
    let name = name.trim_end();
    format!("{name}\n{}", wrap(style, "  ", "  ", &words.join(", ")))
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
}
