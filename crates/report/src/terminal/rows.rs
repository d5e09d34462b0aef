//! Rows of a table, or one below the other where the terminal is too narrow for one.

use super::style::{Style, add, finish, fits};
use super::text::wrap;

/// A table whose first column is text; where it does not fit, each row's first cell, and below it the others, each
/// after its head.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let mut table = Style { width: None, ..style }.table(heads, 1);
    rows.iter().for_each(|cells| add(&mut table, 1, cells.clone()));
    let table = finish(table);
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
        let shown = |width| table(&heads, &cells, Style { width: Some(width), ..Style::default() });
        assert_eq!(shown(40), "part                       A  B - A\nserver waiting for CPU  0.35  +2.41\n");
        assert_eq!(shown(30), "server waiting for CPU\n  A 0.35, B - A +2.41\n");
    }
}
