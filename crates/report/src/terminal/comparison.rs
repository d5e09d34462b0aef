//! `tare compare`: what differs in how they were made, then metric | A | B | ratio | interval | verdict.

use super::style::{Style, add, finish};
use super::text::{plain, wrap};
use crate::words;
use tare_findings::compare::{Comparison, Gate, MetricComparison, Options, Verdict};
use tare_findings::figures::{Scale, percent};
use tare_results::metric::describe;
use tare_stats::Interval;

/// Everything `tare compare` prints.
pub fn comparison(found: &Comparison, options: &Options, style: Style) -> String {
    let identical =
        found.identical.iter().map(|programs| style.bold(&wrap(style, "", "", &plain(&words::identical(programs)))));
    let mut parts: Vec<String> = identical.collect();
    parts.push(differences(found, style));
    if !found.notes.is_empty() {
        let lines: String =
            words::notes(&found.notes).iter().map(|line| wrap(style, "  ! ", "    ", &plain(line))).collect();
        parts.push(style.warn(&lines));
    }
    let mut conditions: Vec<String> = found.metrics.iter().map(|metric| metric.condition.to_string()).collect();
    conditions.dedup();
    conditions.sort_unstable();
    conditions.dedup();
    for condition in conditions {
        let rows: Vec<&MetricComparison> =
            found.metrics.iter().filter(|m| m.condition.to_string() == condition && says_something(m)).collect();
        parts.push(format!("{}\n{}", style.bold(&plain(&condition)), metrics(&rows, style)));
    }
    parts.push(explanation(options, style, found.metrics.iter().any(|metric| metric.adjusted.is_some())));
    parts.extend(found.gate.map(|gate| {
        style.bold(&wrap(style, "", "", &gate_words(gate, &found.metrics.iter().collect::<Vec<_>>(), options)))
    }));
    parts.join("\n")
}

fn differences(found: &Comparison, style: Style) -> String {
    if found.differences.is_empty() {
        return "Nothing recorded differs in how A and B were made.\n".to_owned();
    }
    let mut rows = style.table(&["differs", "A", "B"], 3);
    for difference in &found.differences {
        let value = |text: &str| if text.is_empty() { "-".to_owned() } else { plain(text) };
        add(&mut rows, 3, vec![plain(&difference.what.to_string()), value(&difference.a), value(&difference.b)]);
    }
    format!("{}\n{}", style.bold("how they were made"), finish(rows))
}

/// What only explains other metrics is shown where it was asked for, or differs.
fn says_something(metric: &MetricComparison) -> bool {
    let differs = matches!(metric.verdict, Verdict::Faster | Verdict::Slower);
    metric.judged || differs || !describe(&metric.name).is_detail()
}

fn metrics(rows: &[&MetricComparison], style: Style) -> String {
    let adjusted = rows.iter().find_map(|row| row.adjusted.as_ref());
    let by = adjusted.map(|found| format!("by {}", found.by));
    let mut heads = vec!["metric", "A", "B", "B/A", "95% interval"];
    heads.extend(by.as_deref());
    heads.push("verdict");
    let mut out = style.table(&heads, 1);
    for metric in rows {
        let scale = Scale::new(&metric.unit, metric.mean_a.abs().max(metric.mean_b.abs()), 4);
        let interval = match metric.ci {
            Some(Interval { low, high }) => format!("{low:.3} to {high:.3}"),
            _ => "-".to_owned(),
        };
        let name = if metric.judged { format!("{} *", metric.name) } else { metric.name.clone() };
        let mut cells = vec![
            plain(&name),
            format!("{} (n {})", scale.figure(metric.mean_a), metric.trials_a),
            format!("{} (n {})", scale.figure(metric.mean_b), metric.trials_b),
            metric.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
            interval,
        ];
        if by.is_some() {
            let ci = metric.adjusted.as_ref().and_then(|found| found.ci);
            cells.push(ci.map_or("-".to_owned(), |ci| format!("{:.3} to {:.3}", ci.low, ci.high)));
        }
        cells.push(verdict(metric));
        add(&mut out, 1, cells);
    }
    finish(out)
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The verdict; what rests on disturbed trials says so first.
fn verdict(metric: &MetricComparison) -> String {
    let disturbed = if metric.disturbed { "disturbed: " } else { "" };
    format!("{disturbed}{}", word(metric.verdict))
}

pub(super) fn explanation(options: &Options, style: Style, adjusted: bool) -> String {
    let text = format!(
        "faster and slower say which way B is, by the metric's better direction and by more than {}; equivalent: the \
         difference is smaller. Intervals are for each ratio alone, verdicts at 95% over all marked * together. Conditions \
         of one run are compared block by block. A verdict on disturbed trials stands only if it stands without them.{}",
        percent(options.min_effect),
        match adjusted {
            true =>
                " Intervals adjusted by a probe (by ...) hold the machine's own ups and downs still; verdicts rest on \
                 them, for the study said so before it ran.",
            false => "",
        }
    );
    wrap(style, "", "", &text)
}

pub(super) fn gate_words(gate: Gate, metrics: &[&MetricComparison], options: &Options) -> String {
    let judged: Vec<&str> = metrics.iter().filter(|m| m.judged).map(|m| m.name.as_str()).collect();
    let mut names: Vec<&str> = Vec::new();
    judged.into_iter().for_each(|name| {
        if !names.contains(&name) {
            names.push(name)
        }
    });
    let limit = percent(options.fail_if_slower.unwrap_or(0.0));
    let what = match gate {
        Gate::Passed => format!("gate passed: no judged metric can be more than {limit} slower"),
        Gate::Failed => format!("gate failed: slower by more than {limit}"),
        Gate::Inconclusive if metrics.iter().any(|metric| metric.judged && metric.disturbed) => format!(
            "gate inconclusive: disturbed trials decide whether anything is more than {limit} slower. Run again on a \
             quieter machine, or both in one study, block by block (factors.binary = [\"A\", \"B\"]), so that what \
             disturbs one disturbs the other"
        ),
        Gate::Inconclusive => {
            format!(
                "gate inconclusive: whether anything is more than {limit} slower, these trials do not tell; run more"
            )
        }
    };
    format!("{what} ({}).", names.join(", "))
}
