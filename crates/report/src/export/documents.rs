//! Tables for documents: LaTeX (booktabs) for papers, Markdown for notes and pull requests, and GitHub commands that
//! annotate a check.

use super::source::Source;
use crate::figures::{Scale, change, changes_of};
use crate::tables::Cell;
use crate::words::{self, answer, warnings};
use std::fmt::Write as _;
use std::io::{self, Write};
use tare_findings::compare::{Gate, Losses, MetricComparison};
use tare_text::count;

/// Writes one `tabular`; the document needs `\usepackage{booktabs}`. One row per condition: mean and half-width of each
/// metric, its range or its modes, with units in the head.
pub(crate) fn write_latex(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let [heads, rows @ ..] = &source.conditions(|unit| format!(" ({unit})"))[..] else { return Ok(()) };
    // All columns except the number of trials.
    let row = |cells: &[Cell]| {
        let texts = cells.iter().enumerate().filter(|(place, _)| *place != 1);
        texts
            .map(|(_, cell)| cell.0.as_deref().map_or("--".to_owned(), escaped_for_latex))
            .collect::<Vec<_>>()
            .join(" & ")
    };
    writeln!(out, "% {} by tare; needs \\usepackage{{booktabs}}", latex_row(&source.results.study))?;
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

fn latex_row(text: &str) -> String {
    tare_text::shown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escaped_for_latex(text: &str) -> String {
    let mut out = String::new();
    for c in latex_row(text).chars() {
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

/// Writes the answer, the warnings, and the means of the primary metrics by condition.
pub(crate) fn write_markdown(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (text, details) = answer(&source.summary, source.results);
    writeln!(out, "### {}\n\n**{}**\n", escaped_for_markdown(&source.results.study), escaped_for_markdown(&text))?;
    for detail in &details {
        writeln!(out, "{}\n", escaped_for_markdown(detail))?;
    }
    let [heads, rows @ ..] = &source.conditions(|unit| format!(", {unit}"))[..] else { return Ok(()) };
    let row = |cells: &[Cell]| {
        cells.iter().map(|cell| escaped_for_markdown(cell.0.as_deref().unwrap_or("-"))).collect::<Vec<_>>()
    };
    writeln!(out, "| {} |\n| --- |{}", row(heads).join(" | "), " ---: |".repeat(heads.len() - 1))?;
    rows.iter().try_for_each(|cells| writeln!(out, "| {} |", row(cells).join(" | ")))?;
    let warnings = warnings(&source.summary, source.results);
    if !warnings.is_empty() {
        writeln!(out, "\n<details><summary>{}</summary>\n", count(warnings.len(), "note"))?;
        warnings.iter().try_for_each(|line| writeln!(out, "- {}", escaped_for_markdown(line)))?;
        writeln!(out, "\n</details>")?;
    }
    Ok(())
}

/// Ends a mention, a reference or an address, which GitHub and others make of text even if it is escaped.
const CUT: &str = "<!-- -->";

/// Escapes text from outside: no markup, no table cells, one line; it mentions no user or issue and links to nothing.
fn escaped_for_markdown(text: &str) -> String {
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

/// A judged metric of a side, with the side's name.
pub type Judged<'a> = (&'a str, &'a MetricComparison);

pub fn markdown(base: &str, judged: &[Judged<'_>], losses: &[Losses], gate: Option<Gate>, notes: &[String]) -> String {
    let mut text = match gate {
        Some(Gate::Passed) => "### ✅ tare: gate passed\n\n".to_owned(),
        Some(Gate::Failed) if losses.iter().any(|found| found.b_fails_more) => {
            "### ❌ tare: more trials fail\n\n".to_owned()
        }
        Some(Gate::Failed) => "### ❌ tare: slower than allowed\n\n".to_owned(),
        Some(Gate::Inconclusive) => "### ❔ tare: these trials cannot decide\n\n".to_owned(),
        None => "### tare: comparison\n\n".to_owned(),
    };
    let _ = writeln!(
        text,
        "| against {} | condition | metric | before | after | change | 95% interval | verdict |",
        escaped_for_markdown(base)
    );
    text.push_str("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n");
    for (side, metric) in judged {
        let scale = Scale::new(metric.unit, metric.mean_a.abs().max(metric.mean_b.abs()), 4);
        let difference = metric.difference.map(|found| words::difference(&found, metric.unit));
        let (change, interval) = difference.unwrap_or_else(|| {
            let found = metric.decisive();
            let change = found.map_or("-".to_owned(), |found| change(found.value - 1.0) + &words::adjusted_by(metric));
            (change, found.and_then(|found| found.ci).map(changes_of))
        });
        let interval = interval.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {change} | {interval} | {} |",
            escaped_for_markdown(side),
            escaped_for_markdown(&metric.condition.to_string()),
            escaped_for_markdown(&metric.name),
            scale.middle_figure(metric.mean_a, &metric.modes_a).join(" or "),
            scale.middle_figure(metric.mean_b, &metric.modes_b).join(" or "),
            words::verdict_in_markdown(metric),
        );
    }
    if !notes.is_empty() {
        let _ = writeln!(text, "\n<details><summary>{}</summary>\n", count(notes.len(), "note"));
        for note in notes {
            let _ = writeln!(text, "- {}", escaped_for_markdown(note));
        }
        text.push_str("\n</details>\n");
    }
    text
}

/// Commands for the log of a GitHub Actions step: if the gate failed, an error for each metric that fails it and each
/// side that fails more often; a warning if the gate could not decide.
pub fn annotations(judged: &[Judged<'_>], losses: &[Losses], gate: Option<Gate>) -> Vec<String> {
    let line = |level: &str, text: &str| format!("::{level} title=tare::{}", data(&tare_text::shown(text)));
    match gate {
        Some(Gate::Failed) => {
            let slower = judged.iter().filter(|(_, metric)| metric.fails_gate);
            let failing = losses
                .iter()
                .filter(|found| found.b_fails_more)
                .map(|found| line("error", &words::fails_more_by_test(found)));
            let marked = slower.map(|(side, metric)| {
                let by = metric.decisive().map_or(String::new(), |found| {
                    format!(" by {}{}", change(found.value - 1.0), words::adjusted_by(metric))
                });
                line("error", &format!("{} of {} is slower in {side}{by}", metric.name, metric.condition))
            });
            marked.chain(failing).collect()
        }
        Some(Gate::Inconclusive) => {
            let lost = losses.iter().any(|found| found.a.lost + found.b.lost > 0);
            vec![line(
                "warning",
                match lost {
                    true => "trials gave no result, so the gate cannot pass: see why they failed",
                    false => "the trials do not show whether anything is slower: run more of them",
                },
            )]
        }
        Some(Gate::Passed) | None => Vec::new(),
    }
}

/// Escapes characters that would end or change a command in the log, as GitHub requires.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_an_argument_of_the_line_break_before_it() {
        assert_eq!([escaped_for_latex("[9cm] a"), escaped_for_latex("*\n[b_")], ["{[}9cm] a", "{*} {[}b\\_"]);
    }

    #[test]
    fn foreign_text_mentions_no_one_and_links_to_nothing() {
        assert_eq!(
            escaped_for_markdown("@user #1 <details> a|b `c` $d$"),
            r"@<!-- -->user \#<!-- -->1 \<details\> a\|b \`c\` \$d\$"
        );
        assert_eq!(escaped_for_markdown("![a](http://b.c) WWW.d"), r"!\[a\](http://<!-- -->b.c) WWW.<!-- -->d");
        assert_eq!(escaped_for_markdown("GH-1"), "GH-<!-- -->1");
    }
}
