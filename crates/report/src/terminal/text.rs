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
    fn escape_sequences_from_outside_are_defused() {
        assert_eq!(plain("a\u{1b}[2Jb\tc\u{9b}"), "a\\u{1b}[2Jb c\\u{9b}");
    }
}
