//! A LaTeX table (booktabs): a row a condition, mean and half-width of each metric or its modes, units in the head.

use super::markdown::{middle, scale};
use super::source::Source;
use std::io::{self, Write};
use tare_findings::figures::{Scale, percent};

/// Writes one `tabular`; the document needs `\usepackage{booktabs}`.
pub fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let metrics = source.shown_metrics();
    let scales: Vec<Scale> = metrics.iter().map(|metric| scale(source, &metric.name)).collect();
    writeln!(out, "% {} by tare; needs \\usepackage{{booktabs}}", line(&source.results.study))?;
    writeln!(
        out,
        "% mean and half-width of its 95% interval over trials, or modes with their shares of the trials; \
         between: coefficient of variation of trials"
    )?;
    writeln!(out, "\\begin{{tabular}}{{l{}}}\n\\toprule", "rr".repeat(metrics.len()))?;
    write!(out, "condition")?;
    for (metric, scale) in metrics.iter().zip(&scales) {
        let unit = if scale.unit.is_empty() { String::new() } else { format!(" ({})", escaped(&scale.unit)) };
        write!(out, " & {}{unit} & between", escaped(&metric.name))?;
    }
    writeln!(out, " \\\\\n\\midrule")?;
    for condition in &source.summary.conditions {
        write!(out, "{}", escaped(&condition.name))?;
        for (metric, scale) in metrics.iter().zip(&scales) {
            let Some(found) = condition.metrics.iter().find(|found| found.name == metric.name) else {
                write!(out, " & -- & --")?;
                continue;
            };
            let between = found.between_cov.map_or("--".to_owned(), |cov| escaped(&percent(cov)));
            write!(out, " & {} & {between}", escaped(&middle(found, scale)))?;
        }
        writeln!(out, " \\\\")?;
    }
    writeln!(out, "\\bottomrule\n\\end{{tabular}}")
}

fn line(text: &str) -> String {
    tare_text::shown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What comes from outside stays text.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in line(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
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
