//! A LaTeX table (booktabs): one row per condition, mean and half-width of each metric, its range or its modes,
//! units in the head.

use super::source::Source;
use crate::tables::Cell;
use std::io::{self, Write};

/// Writes one `tabular`; the document needs `\usepackage{booktabs}`.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let [heads, rows @ ..] = &source.conditions(|unit| format!(" ({unit})"))[..] else { return Ok(()) };
    // All columns except the number of trials.
    let row = |cells: &[Cell]| {
        let texts = cells.iter().enumerate().filter(|(place, _)| *place != 1);
        texts.map(|(_, cell)| cell.0.as_deref().map_or("--".to_owned(), escaped)).collect::<Vec<_>>().join(" & ")
    };
    writeln!(out, "% {} by tare; needs \\usepackage{{booktabs}}", line(&source.results.study))?;
    writeln!(
        out,
        "% mean and half-width of its 95% interval over trials; if the mean describes no trial, their range or their \
         modes with shares; between: coefficient of variation of trials"
    )?;
    writeln!(out, "\\begin{{tabular}}{{l{}}}\n\\toprule", "r".repeat(heads.len() - 2))?;
    writeln!(out, "{} \\\\\n\\midrule", row(heads))?;
    rows.iter().try_for_each(|cells| writeln!(out, "{} \\\\", row(cells)))?;
    writeln!(out, "\\bottomrule\n\\end{{tabular}}")
}

fn line(text: &str) -> String {
    tare_text::shown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in line(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            // At the beginning of a row they would be an argument of the line break before it.
            '[' | '*' => out.extend(['{', c, '}']),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            'µ' => out.push_str("$\\mu$"),
            '±' => out.push_str("$\\pm$"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_an_argument_of_the_line_break_before_it() {
        assert_eq!([escaped("[9cm] a"), escaped("*\n[b_")], ["{[}9cm] a", "{*} {[}b\\_"]);
    }
}
