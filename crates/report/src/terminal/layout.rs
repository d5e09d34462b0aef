//! Text as wide as the terminal: wrapped lines, table rows, and stacked cells if the terminal is too narrow for a row.
//! No row is wider than the terminal, and no text from outside controls it.

use super::style::{Style, add, finish, fits, plain, table_of};
use crate::tables::{Head, Table};
use std::ops::Range;

/// A heading, on as many lines as the terminal needs.
pub(super) fn heading(style: Style, text: &str) -> String {
    style.bold(wrap(style, "", "", text).trim_end())
}

/// Breaks a sentence between words into lines that fit the terminal; lines after the first are indented. Words longer
/// than a line are not broken.
pub fn wrap(style: Style, first: &str, indent: &str, text: &str) -> String {
    let width = style.prose();
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = indent.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// A name on as many lines as it needs if none may be wider than `width`: broken at a space or after a sign of the
/// second half of a line, or else anywhere. Nothing of a name is left out, as its end may be what distinguishes it.
pub(super) fn folded(name: &str, width: usize) -> String {
    let line = |line: &str| {
        let mut rest: Vec<char> = line.chars().collect();
        let mut lines = Vec::new();
        while rest.len() > width {
            let is_end = |at: &usize| rest[*at] == ' ' || "-_=/,.:+".contains(rest[*at - 1]);
            let at = (width / 2..=width).rev().find(|at| *at > 0 && is_end(at)).unwrap_or(width.max(1));
            let after = rest.split_off(at);
            lines.push(rest.into_iter().collect::<String>());
            rest = after.into_iter().skip_while(|c| *c == ' ').collect();
        }
        lines.push(rest.into_iter().collect());
        lines.join("\n")
    };
    name.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Like [`wrap`], for names and figures in place of a sentence: words longer than a line are broken where it ends.
pub(super) fn wrap_names(style: Style, first: &str, indent: &str, text: &str) -> String {
    let room = style.prose().saturating_sub(first.chars().count().max(indent.chars().count())).max(1);
    let broken = |word: &str| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(room).map(String::from_iter).collect::<Vec<String>>().join(" ")
    };
    match style.width {
        Some(_) => wrap(style, first, indent, &text.split_whitespace().map(broken).collect::<Vec<_>>().join(" ")),
        None => wrap(style, first, indent, text),
    }
}

/// A text of one or more sentences.
pub(super) fn paragraph(style: Style, text: &str) -> String {
    wrap(style, "", "", &plain(text))
}

/// The sentence that an output begins or ends with.
pub(super) fn conclusion(style: Style, text: &str) -> String {
    style.bold(&paragraph(style, text))
}

/// A line of a list.
pub(super) fn item(style: Style, text: &str) -> String {
    wrap(style, "  ", "    ", &plain(text))
}

/// A sentence and its command, which is on a line of its own for copying.
pub(super) fn with_command([sentence, command]: &[String; 2], style: Style) -> String {
    format!("{}  {}\n", paragraph(style, sentence), plain(command))
}

/// Warnings, one sentence each; `None` if there are none.
pub(super) fn warned(style: Style, sentences: &[String]) -> Option<String> {
    let lines: String = sentences.iter().map(|line| wrap(style, "  ! ", "    ", &plain(line))).collect();
    (!lines.is_empty()).then(|| style.warn(&lines))
}

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
            let whole = unwrapped(heads, left, &rows, next..end);
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
    NAMES.iter().find_map(|width| {
        let heads: Vec<String> = heads.iter().map(|head| folded(head, *width)).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let cells = |cells: &Vec<String>| {
            let cells = cells.iter().enumerate();
            cells.map(|(index, cell)| if index < left { folded(cell, *width) } else { cell.clone() }).collect()
        };
        let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
        Some(unwrapped(&heads, left, &rows, columns.clone())).filter(|text| fits(text, style))
    })
}

/// One table with whole names if it fits the terminal, or else with broken ones.
pub(super) fn whole(style: Style, heads: &[&str], left: usize, rows: &[Vec<String>]) -> Option<String> {
    let natural = unwrapped(heads, left, rows, left..heads.len());
    if fits(&natural, style) { Some(natural) } else { broken(style, heads, left, rows, left..heads.len()) }
}

/// One table as wide as its cells: one that is made for a width breaks figures, and not only names.
fn unwrapped(heads: &[&str], left: usize, rows: &[Vec<String>], columns: Range<usize>) -> String {
    let is_shown = |index: usize| index < left || columns.contains(&index);
    let heads: Vec<&str> =
        heads.iter().enumerate().filter(|(index, _)| is_shown(*index)).map(|(_, head)| *head).collect();
    let mut table = table_of(&heads, left);
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
    fn sentences_wrap_at_words_within_the_width() {
        let text = wrap(Style { width: Some(60), ..Style::default() }, "- ", "  ", &"word ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 60);
    }

    #[test]
    fn names_longer_than_a_line_are_broken_and_stay_whole() {
        let name = "postgresql-17.6-with-a-patch transaction=point_select";
        assert_eq!(folded(name, 20), "postgresql-17.6-\nwith-a-patch\ntransaction=point_\nselect");
        assert_eq!([folded(name, 60), folded("abcdefgh", 3)], [name.to_owned(), "abc\ndef\ngh".to_owned()]);
        let shown =
            |width| wrap_names(Style { width, ..Style::default() }, "  ", "  ", &format!("{} 1.0", "x".repeat(40)));
        assert_eq!(shown(Some(30)), format!("  {}\n  {} 1.0\n", "x".repeat(28), "x".repeat(12)));
        assert_eq!(shown(None), format!("  {} 1.0\n", "x".repeat(40)));
    }

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
    fn names_are_broken_before_figures() {
        let name = "placement=a server=node:0.core:1 client=node:0.core:0";
        let cells = vec![[name, "38.81 (38.74 to 38.90)", "1.25 (1.20 to 1.31)"].map(str::to_owned).to_vec()];
        let style = Style { width: Some(80), ..Style::default() };
        let text = lined(style, &["condition", "throughput", "ratio"], 1, cells);
        assert!(text.contains(" 38.81 (38.74 to 38.90)  1.25 (1.20 to 1.31)\n"), "{text}");
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
