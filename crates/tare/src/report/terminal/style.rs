//! Width and colour of the terminal output.

use clap::builder::styling::{AnsiColor, Style as Ansi};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use std::io::IsTerminal;

/// Columns that tables fit into.
pub const WIDTH: u16 = 100;

/// Whether and how words are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Bold heads and yellow warnings.
    pub colour: bool,
}

impl Style {
    /// Colour only on a terminal, and never when `NO_COLOR` is set to anything but nothing (no-color.org).
    pub fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colour: !refused && std::io::stdout().is_terminal() }
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
}

/// A table without borders: the first `left` columns are text, the others numbers.
pub(super) fn table(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(head.iter().enumerate().map(|(index, name)| cell(index, left, (*name).to_owned())));
    table
}

/// Adds a row to such a table.
pub(super) fn add(table: &mut Table, left: usize, cells: Vec<String>) {
    table.add_row(cells.into_iter().enumerate().map(|(index, text)| cell(index, left, text)));
}

fn cell(index: usize, left: usize, text: String) -> Cell {
    let align = if index < left { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new(text).set_alignment(align)
}

/// The table as text: no spaces at line ends, columns two spaces apart.
pub(super) fn finish(mut table: Table) -> String {
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}
