//! Texts in CSV files that a spreadsheet would take for formulas, as OWASP describes under "CSV injection".

use std::borrow::Cow;

/// What a spreadsheet begins to compute with.
const BEGINNINGS: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];
/// What it takes for the sign that a text follows.
const MARK: char = '\'';

/// A text as a cell that is shown and never computed: behind an apostrophe where it would be. A number stays one.
pub fn as_text_cell(text: &str) -> Cow<'_, str> {
    if is_formula(text) { Cow::Owned(format!("{MARK}{text}")) } else { Cow::Borrowed(text) }
}

/// The text that [`as_text_cell`] made a cell of.
pub fn of_text_cell(cell: &str) -> &str {
    cell.strip_prefix(MARK).filter(|text| is_formula(text)).unwrap_or(cell)
}

/// What follows apostrophes counts, so that every text comes back as it was.
fn is_formula(text: &str) -> bool {
    let is_number = || text.parse::<f64>().is_ok();
    text.trim_start_matches(MARK).starts_with(BEGINNINGS) && !is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_computed_numbers_stay_and_every_text_comes_back() {
        for formula in
            ["=1+1", "=cmd|'/c calc'!A0", "+1+1", "-O2", "@SUM(1)", "\t=1", "\r=1", "\n=1", "-", "'=1", "''+x"]
        {
            let cell = as_text_cell(formula);
            assert_eq!(cell, format!("'{formula}"));
            assert_eq!(of_text_cell(&cell), formula);
        }
        for plain in ["", "base", "threads=4", "-1", "+2.5e-3", "-.5", "it's", "'quoted'", "a-b", "1-2"] {
            assert_eq!(as_text_cell(plain), plain);
            assert_eq!(of_text_cell(plain), plain);
        }
    }
}
