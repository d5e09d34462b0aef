//! Line wrapping, and display of control characters in text from outside.

use super::style::Style;

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

/// A sentence and its command, which is on a line of its own for copying.
pub(super) fn with_command([sentence, command]: &[String; 2], style: Style) -> String {
    format!("{}  {}\n", wrap(style, "", "", &plain(sentence)), plain(command))
}

/// Warnings, one sentence each; `None` if there are none.
pub(super) fn warned(style: Style, sentences: &[String]) -> Option<String> {
    let lines: String = sentences.iter().map(|line| wrap(style, "  ! ", "    ", &plain(line))).collect();
    (!lines.is_empty()).then(|| style.warn(&lines))
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
    fn sentences_wrap_at_words_within_the_width() {
        let text = wrap(Style { width: Some(60), ..Style::default() }, "- ", "  ", &"word ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 60);
    }

    #[test]
    fn escape_sequences_from_outside_are_defused() {
        assert_eq!(plain("a\u{1b}[2Jb\tc\u{9b}"), "a\\u{1b}[2Jb c\\u{9b}");
    }
}
