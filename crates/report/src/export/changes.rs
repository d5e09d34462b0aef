//! A comparison for pull requests: a Markdown table, and GitHub commands that annotate a check.

use super::markdown::escaped;
use crate::figures::{Scale, change, changes_of};
use crate::words;
use std::fmt::Write;
use tare_findings::compare::{Gate, Losses, MetricComparison, Verdict};
use tare_text::count;

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
        escaped(base)
    );
    text.push_str("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n");
    for (side, metric) in judged {
        let scale = Scale::new(&metric.unit, metric.mean_a.abs().max(metric.mean_b.abs()), 4);
        let difference = metric.difference.map(|found| words::difference(&found, &metric.unit));
        let (change, interval) = difference.unwrap_or_else(|| {
            let found = metric.decisive();
            let change = found.map_or("-".to_owned(), |found| change(found.value - 1.0) + &words::adjusted_by(metric));
            (change, found.and_then(|found| found.ci).map(changes_of))
        });
        let interval = interval.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {change} | {interval} | {} |",
            escaped(side),
            escaped(&metric.condition.to_string()),
            escaped(&metric.name),
            scale.middle_figure(metric.mean_a, &metric.modes_a).join(" or "),
            scale.middle_figure(metric.mean_b, &metric.modes_b).join(" or "),
            words::verdict_in_markdown(metric),
        );
    }
    if !notes.is_empty() {
        let _ = writeln!(text, "\n<details><summary>{}</summary>\n", count(notes.len(), "note"));
        for note in notes {
            let _ = writeln!(text, "- {}", escaped(note));
        }
        text.push_str("\n</details>\n");
    }
    text
}

/// Commands for the log of a GitHub Actions step: if the gate failed, an error for each metric that is slower and each
/// side that fails more often; a warning if the gate could not decide.
pub fn annotations(judged: &[Judged<'_>], losses: &[Losses], gate: Option<Gate>) -> Vec<String> {
    let line = |level: &str, text: &str| format!("::{level} title=tare::{}", data(&tare_text::shown(text)));
    match gate {
        Some(Gate::Failed) => {
            let slower = judged.iter().filter(|(_, metric)| metric.verdict == Verdict::Slower);
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
