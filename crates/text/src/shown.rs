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
    if name.chars().all(plain) && !name.contains("::") && !name.contains("##") {
        return Cow::Borrowed(name);
    }
    Cow::Owned(escaped(name, |_| false))
}

/// A document of JSON in which what [`shown`] escapes stands as JSON escapes it: it says the same.
pub fn shown_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for (at, c) in document.char_indices() {
        let steers = (c.is_control() && c != '\n') || turns(c) || is_no_character(c);
        if steers || commands(&document[at..], false) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
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

/// Commands in the logs of CI systems: `::name` of GitHub Actions, which begins a line and may be wrapped to its
/// beginning, and anywhere its older `##[name]`, `##vso[name` of Azure Pipelines and `##teamcity[name` of TeamCity.
fn commands(rest: &str, begins_word: bool) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let of_system = |rest: &str| rest.trim_start_matches(is_letter).starts_with('[');
    rest.strip_prefix("##").is_some_and(of_system)
        || (begins_word && rest.strip_prefix("::").is_some_and(|rest| rest.starts_with(is_letter)))
}

/// Code points that are no characters and that XML 1.0 does not allow, and the separators that some programs take for a
/// line break.
fn is_no_character(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}')
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex 9, table 3), and
/// what is not shown, so that two names can look alike: code points to be ignored (Default_Ignorable_Code_Point of the
/// Unicode database, but for the variants of emoji) and annotations.
fn turns(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// What a spreadsheet begins to compute with; the last four in some languages.
const BEGINNINGS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
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
        assert_eq!(shown("a ##vso[task.setvariable]b"), "a \\u{23}#vso[task.setvariable]b");
        assert_eq!(shown_name("###teamcity[x"), "#\\u{23}#teamcity[x");
        let plain = "std::fs at ::1, # 2, ## 3, ##-@@";
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
        assert_eq!(shown_name("b\u{ad}a\u{3164}s\u{e0061}e"), "b\\u{ad}a\\u{3164}s\\u{e0061}e");
    }

    #[test]
    fn what_json_says_steers_no_terminal_and_is_the_same() {
        let value = "a\u{9b}31m\u{202e}\u{7f}\u{e0061} ##vso[task.x] ::error::x größer";
        let document = format!("{{\n  \"a\": \"{value}\"\n}}\n");
        let shown = "a\\u009b31m\\u202e\\u007f\\udb40\\udc61 \\u0023#vso[task.x] ::error::x größer";
        assert_eq!(shown_json(&document), format!("{{\n  \"a\": \"{shown}\"\n}}\n"));
    }

    #[test]
    fn nothing_is_computed_numbers_stay_and_every_text_comes_back() {
        for formula in
            ["=1+1", "=cmd|'/c calc'!A0", "+1+1", "-O2", "@SUM(1)", "\t=1", "\r=1", "\n=1", "-", "'=1", "''+x", "＝1"]
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
