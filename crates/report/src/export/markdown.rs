//! A Markdown summary: the answer, then a table of conditions, for pull requests and notes.

use super::source::Source;
use crate::tables::Cell;
use crate::words::{answer, warnings};
use std::io::{self, Write};
use tare_text::count;

/// Writes the answer, the warnings, and the means of the primary metrics by condition.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (text, details) = answer(&source.summary, source.results);
    writeln!(out, "### {}\n\n**{}**\n", escaped(&source.results.study), escaped(&text))?;
    for detail in &details {
        writeln!(out, "{}\n", escaped(detail))?;
    }
    let [heads, rows @ ..] = &source.conditions(|unit| format!(", {unit}"))[..] else { return Ok(()) };
    let row = |cells: &[Cell]| cells.iter().map(|cell| escaped(cell.0.as_deref().unwrap_or("-"))).collect::<Vec<_>>();
    writeln!(out, "| {} |\n| --- |{}", row(heads).join(" | "), " ---: |".repeat(heads.len() - 1))?;
    rows.iter().try_for_each(|cells| writeln!(out, "| {} |", row(cells).join(" | ")))?;
    let warnings = warnings(&source.summary, source.results);
    if !warnings.is_empty() {
        writeln!(out, "\n<details><summary>{}</summary>\n", count(warnings.len(), "note"))?;
        warnings.iter().try_for_each(|line| writeln!(out, "- {}", escaped(line)))?;
        writeln!(out, "\n</details>")?;
    }
    Ok(())
}

/// Ends a mention, a reference or an address, which GitHub and others make of text even if it is escaped.
const CUT: &str = "<!-- -->";

/// Escapes text from outside: no markup, no table cells, one line; it mentions no user or issue and links to nothing.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in tare_text::shown(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' | '$' => out.extend(['\\', c]),
            c if c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
        let last = |length: usize| out.len().checked_sub(length).and_then(|at| out.get(at..)).unwrap_or_default();
        let begins = |beginning: &&str| last(beginning.len()).eq_ignore_ascii_case(beginning);
        if matches!(c, '@' | '#') || ["://", "www.", "gh-"].iter().any(begins) {
            out.push_str(CUT);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_mentions_no_one_and_links_to_nothing() {
        assert_eq!(
            escaped("@user #1 <details> a|b `c` $d$"),
            r"@<!-- -->user \#<!-- -->1 \<details\> a\|b \`c\` \$d\$"
        );
        assert_eq!(escaped("![a](http://b.c) WWW.d"), r"!\[a\](http://<!-- -->b.c) WWW.<!-- -->d");
        assert_eq!(escaped("GH-1"), "GH-<!-- -->1");
    }
}
