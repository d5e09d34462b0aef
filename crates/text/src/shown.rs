//! Text from outside on a terminal: what would steer it is shown, not sent.

use std::borrow::Cow;

/// The text with control characters and those that turn the direction of writing in their escaped form, `\u{1b}` for
/// one: a server's message, a log's line or a condition's name can neither move the cursor, nor colour, nor rename a
/// window, nor pass for other words than it holds, nor be a command to the CI system that reads the log. All that is
/// left can stand in XML 1.0. Line breaks and tabs stay.
pub fn shown(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A name as one line: [`shown`], with line breaks and tabs escaped too.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    let plain = |c: char| !c.is_control() && !turns(c) && !is_no_character(c);
    if name.chars().all(plain) && !name.contains("::") && !name.contains("##[") {
        return Cow::Borrowed(name);
    }
    Cow::Owned(escaped(name, |_| false))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut begins_word = true;
    for (at, c) in text.char_indices() {
        let steers = (c.is_control() && !stays(c)) || turns(c) || is_no_character(c);
        if steers || commands(&text[at..], begins_word) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        begins_word = c.is_whitespace() && !steers;
    }
    out
}

/// Commands in the logs of GitHub Actions: `::name`, which begins a line and may be wrapped to its beginning, and the
/// older `##[name]` anywhere.
fn commands(rest: &str, begins_word: bool) -> bool {
    let named = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic());
    rest.starts_with("##[") || (begins_word && rest.strip_prefix("::").is_some_and(named))
}

/// Code points that are no characters and that XML 1.0 does not allow, and the separators that some programs take for a
/// line break.
fn is_no_character(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}')
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex 9, table 3), and
/// what has no width, so that two names can look alike.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

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
    fn no_text_is_a_command_to_a_ci_system() {
        assert_eq!(shown("said:\n::stop-commands::x"), "said:\n\\u{3a}:stop-commands::x");
        assert_eq!(shown(" ::error::x"), " \\u{3a}:error::x");
        assert_eq!(shown("a ##[error]b"), "a \\u{23}#[error]b");
        let plain = "std::fs at ::1, # 2";
        assert_eq!(shown(plain), plain);
    }

    #[test]
    fn a_name_is_one_line_and_xml() {
        assert_eq!(shown_name("threads=4 größer"), "threads=4 größer");
        assert_eq!(shown_name("a::b ::1"), "a::b ::1");
        assert_eq!(shown_name("::stop-commands::x"), "\\u{3a}:stop-commands::x");
        assert_eq!(shown_name("a\nb\tc\u{85}\u{2028}\u{ffff}"), "a\\u{a}b\\u{9}c\\u{85}\\u{2028}\\u{ffff}");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_is_as_it_was() {
        let plain = "aslr=on größer\t日本\n";
        assert_eq!(shown(plain), plain);
        assert_eq!(shown("\x1b]0;title\x07\r"), "\\u{1b}]0;title\\u{7}\\u{d}");
        assert_eq!(shown("a\u{202e}b\u{9b}31m\u{200b}"), "a\\u{202e}b\\u{9b}31m\\u{200b}");
    }

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
