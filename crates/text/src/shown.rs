//! Escapes foreign text so that it cannot control a terminal, a CI system or a spreadsheet.

use std::borrow::Cow;

/// The text with control characters, invisible characters and characters that change the direction of writing escaped,
/// for example as `\u{1b}`. A server's message, a line of a log or a condition's name then cannot move the cursor, set
/// colours, rename a window, look like other text, or be a command to the CI system that reads the log. The result is
/// valid in XML 1.0. Line breaks and tabs stay.
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

/// A JSON document in which the characters that [`shown`] escapes have JSON escapes; the values stay equal.
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

/// Whether the text begins with a command to a CI system: `::name` of GitHub Actions at the start of a word (line
/// wrapping may move it to the start of a line), and anywhere its older `##[name]`, `##vso[name` of Azure Pipelines and
/// `##teamcity[name` of TeamCity.
fn commands(rest: &str, begins_word: bool) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let of_system = |rest: &str| rest.trim_start_matches(is_letter).starts_with('[');
    rest.strip_prefix("##").is_some_and(of_system)
        || (begins_word && rest.strip_prefix("::").is_some_and(|rest| rest.starts_with(is_letter)))
}

/// Noncharacters, which XML 1.0 does not allow, and the separators that some programs treat as line breaks.
fn is_no_character(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}')
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex 9, table 3), and
/// invisible code points, with which two different names can look equal: Default_Ignorable_Code_Point of the Unicode
/// database, except the variation selectors of emoji, and annotations.
fn turns(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters that begin a formula in a spreadsheet; the last four do so in some languages.
const BEGINNINGS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
/// The prefix that makes a spreadsheet treat a cell as text.
const MARK: char = '\'';

/// A text as a spreadsheet cell that is never computed: a formula gets an apostrophe in front. Numbers stay numbers.
pub fn as_text_cell(text: &str) -> Cow<'_, str> {
    if is_formula(text) { Cow::Owned(format!("{MARK}{text}")) } else { Cow::Borrowed(text) }
}

/// The original text of a cell that [`as_text_cell`] made.
pub fn of_text_cell(cell: &str) -> &str {
    cell.strip_prefix(MARK).filter(|text| is_formula(text)).unwrap_or(cell)
}

/// Leading apostrophes are ignored, so that [`of_text_cell`] restores every text exactly.
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
    fn control_characters_are_escaped_and_other_text_is_unchanged() {
        let plain = "aslr=on größer\t日本\n";
        assert_eq!(shown(plain), plain);
        assert_eq!(shown("\x1b]0;title\x07\r"), "\\u{1b}]0;title\\u{7}\\u{d}");
        assert_eq!(shown("a\u{202e}b\u{9b}31m\u{200b}"), "a\\u{202e}b\\u{9b}31m\\u{200b}");
        assert_eq!(shown_name("b\u{ad}a\u{3164}s\u{e0061}e"), "b\\u{ad}a\\u{3164}s\\u{e0061}e");
    }

    #[test]
    fn escaped_json_controls_no_terminal_and_keeps_its_meaning() {
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
