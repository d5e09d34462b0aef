//! Width and colour of the terminal output, and display of control characters in text from outside.

use clap::builder::styling::{AnsiColor, Style as Ansi};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use std::io::IsTerminal;

/// Columns of a line of prose where nothing limits it: longer ones are hard to read.
const PROSE: usize = 120;

/// A figure that is shown alongside the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Statistic {
    /// The middle one of the trial means
    Median,
    /// The best of the trial means
    Best,
}

/// How words are coloured, how wide lines may be, and how much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Bold heads and yellow warnings.
    pub colour: bool,
    /// Columns that lines fit into; none: a pipe or a file, where a row is a line however long.
    pub width: Option<u16>,
    /// Only letters that every terminal has.
    pub plain: bool,
    /// Every row of every table, however many conditions there are.
    pub all: bool,
    pub statistic: Option<Statistic>,
}

impl Style {
    /// What standard output can show. Colour as the user wants it, else only on a terminal that knows it, and never
    /// when `NO_COLOR` is set to anything but nothing (no-color.org); `COLUMNS` goes before the terminal's own width; a
    /// pipe has none.
    pub fn of_stdout(coloured: Option<bool>) -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (out, dumb) = (std::io::stdout(), std::env::var("TERM").is_ok_and(|term| term == "dumb"));
        let terminal = out.is_terminal();
        let requested =
            set("COLUMNS").and_then(|columns| columns.trim().parse::<u16>().ok()).filter(|columns| *columns > 0);
        let own = || rustix::termios::tcgetwinsize(&out).ok().map(|size| size.ws_col).filter(|columns| *columns > 0);
        let width = requested.or_else(|| if terminal { own().or(Some(80)) } else { None });
        let colour = coloured.unwrap_or(terminal && !dumb) && set("NO_COLOR").is_none();
        Self { colour, width, plain: terminal && dumb, all: false, statistic: None }
    }

    pub(super) fn prose(self) -> usize {
        self.width.map_or(PROSE, |width| usize::from(width).max(20))
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint(Ansi::new().bold(), text)
    }

    pub(super) fn warn(self, text: &str) -> String {
        self.paint(Ansi::new().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    fn paint(self, style: Ansi, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A text whose only letter that some terminals do not have is µ.
    pub(super) fn in_letters(self, text: String) -> String {
        if self.plain { text.replace('µ', "u") } else { text }
    }

    /// Takes out what is not shown of a long list, between its first and last rows; how many these were.
    pub(super) fn shorten<T>(self, rows: &mut Vec<T>) -> usize {
        if self.all || rows.len() <= LONG { 0 } else { rows.drain(FIRST..rows.len() - LAST).count() }
    }
}

/// A table without borders: the first `left` columns are text, the others numbers.
pub(super) fn table_of(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().enumerate().map(|(index, name)| cell(index, left, (*name).to_owned())));
    table
}

pub(super) fn fits(text: &str, style: Style) -> bool {
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    style.width.is_none_or(|width| widest <= usize::from(width))
}

/// Rows from which a table is shortened, and how many of its first and last ones are then shown.
const LONG: usize = 30;
const FIRST: usize = 16;
const LAST: usize = 6;

pub(super) fn add(table: &mut Table, left: usize, cells: Vec<String>) {
    table.add_row(cells.into_iter().enumerate().map(|(index, text)| cell(index, left, text)));
}

fn cell(index: usize, left: usize, text: String) -> Cell {
    let align = if index < left { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new(text).set_alignment(align)
}

/// The table as text: no spaces at line ends, columns two spaces apart. Cells break between words and never inside one:
/// a table too wide for the terminal then stays too wide.
pub(super) fn finish(mut table: Table) -> String {
    let last = table.column_count().saturating_sub(1);
    let mut longest = vec![0; last + 1];
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (widest, cell) in longest.iter_mut().zip(row.cell_iter()) {
            let content = cell.content();
            let words = content.split_whitespace().map(|word| word.chars().count());
            *widest = words.max().unwrap_or(0).max(*widest);
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let padding = if index == last { 0 } else { 2 };
        column.set_padding((0, padding));
        let least = u16::try_from(longest[index]).unwrap_or(u16::MAX).saturating_add(padding);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Makes control characters visible: a condition name or a log line must not control the reader's terminal.
pub(crate) fn plain(text: &str) -> String {
    // The width of a tab in a table is undefined.
    tare_text::shown(text).replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_from_outside_are_defused() {
        assert_eq!(plain("a\u{1b}[2Jb\tc\u{9b}"), "a\\u{1b}[2Jb c\\u{9b}");
    }
}
