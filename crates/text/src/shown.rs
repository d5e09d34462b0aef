//! Text from outside on a terminal: what would steer it is shown, not sent.

/// The text with control characters and those that turn the direction of writing in their escaped form, `\u{1b}` for
/// one: a server's message, a log's line or a condition's name can neither move the cursor, nor colour, nor rename a
/// window, nor pass for other words than it holds. Line breaks and tabs stay.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() && !matches!(c, '\n' | '\t')) || turns(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// As [`shown`], on one line: what another machine or program says can begin no line of its own, as a command to a CI
/// system would be.
pub fn shown_line(text: &str) -> String {
    shown(text).replace('\n', "\\n").replace('\t', " ")
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex 9, table 3), and
/// what has no width, so that two names can look alike.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_is_as_it_was() {
        let plain = "aslr=on größer\t日本\n";
        assert_eq!(shown(plain), plain);
        assert_eq!(shown("\x1b]0;title\x07\r"), "\\u{1b}]0;title\\u{7}\\u{d}");
        assert_eq!(shown_line("a\n::stop-commands::x\tb"), "a\\n::stop-commands::x b");
        assert_eq!(shown("a\u{202e}b\u{9b}31m\u{200b}"), "a\\u{202e}b\\u{9b}31m\\u{200b}");
    }
}
