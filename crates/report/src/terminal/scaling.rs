//! The scalability law, the steps of each ladder, and the predictions of the law; seconds of global counters.

use super::rows::{drawn, lined, titled};
use super::style::Style;
use super::text::{plain, wrap};
use crate::tables;
use crate::words::{between, counters_head, generator, losses};
use tare_findings::counters::CounterTable;
use tare_findings::factors::words_of;
use tare_findings::figures::{decimal, figure, is_known, times};
use tare_findings::scaling::Scaling;
use tare_findings::summary::Summary;
use tare_results::metric;
use tare_stats::Interval;

pub(super) fn laws(summary: &Summary, style: Style) -> Option<String> {
    if summary.scaling.is_empty() {
        return None;
    }
    let row = |law: &Scaling| {
        vec![
            plain(&law.metric),
            law.over.clone(),
            plain(&words_of(&law.levels)),
            with_interval(law.lambda, law.lambda_ci, 1),
            with_interval(law.sigma, law.sigma_ci, 4),
            with_interval(law.kappa, law.kappa_ci, 6),
            law.peak.map_or("none".to_owned(), |peak| decimal(peak, 1)),
            if law.retrograde { "yes" } else { "no" }.to_owned(),
        ]
    };
    let heads = ["metric", "over", "at", "base rate", "contention", "coherency", "peak at", "negative"];
    let head = "scaling: X(N) = base rate N / (1 + contention (N-1) + coherency N (N-1))";
    Some(titled(style, head, &lined(style, &heads, 3, summary.scaling.iter().map(row))))
}

/// `0.0267` above `0.0201 .. 0.0333`.
fn with_interval(value: f64, ci: Option<Interval>, decimals: usize) -> String {
    let number = |value: f64| decimal(value, decimals);
    let interval = ci.map_or(String::new(), |ci| format!("\n{} .. {}", number(ci.low), number(ci.high)));
    format!("{}{interval}", number(value))
}

/// The gain of each step of a ladder, for the headline metric.
pub(super) fn steps(summary: &Summary, style: Style) -> Option<String> {
    let headline = summary.headline_metric.as_deref()?;
    let laws: Vec<&Scaling> = summary.scaling.iter().filter(|law| law.metric == headline).collect();
    if laws.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for law in laws {
        for step in &law.steps {
            let interval = between(step.ci, "-", times);
            let retrograde = if step.retrograde { "yes" } else { "" };
            let name = format!("{} -> {} {}", step.from, step.to, law.over);
            rows.push(vec![plain(&words_of(&law.levels)), name, times(step.ratio), interval, retrograde.to_owned()]);
        }
        if let Some(predicted) = &law.prediction {
            let unit = metric::describe(headline).unit;
            let name = format!("{} {}: predicted", predicted.n, law.over);
            let unknown = if predicted.ci.is_some() { "?" } else { "-" };
            let ci = predicted.ci.filter(|ci| is_known(predicted.value, *ci));
            let interval = between(ci, unknown, |value| figure(value, unit));
            rows.push(vec![
                plain(&words_of(&law.levels)),
                name,
                figure(predicted.value, unit),
                interval,
                String::new(),
            ]);
        }
    }
    let known = if rows.iter().any(|row| row[3] == "?") { "; ?: not known from so few trials" } else { "" };
    let head = format!("steps of {headline} (gain: after / before; predictions were not measured{known})");
    let heads = ["at", "step", "gain", "95% interval", "negative"];
    Some(titled(style, &head, &lined(style, &heads, 2, rows)))
}

/// Seconds by threads and strategy, lost counts, and the time of the random number generator.
pub(super) fn counters(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.counters.iter().map(|table| of_table(table, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn of_table(table: &CounterTable, style: Style) -> String {
    let below = losses(table).into_iter().chain(generator(table));
    let lines: String = below.map(|line| wrap(style, "  ", "    ", &plain(&line))).collect();
    titled(style, &plain(&counters_head(table)), &(drawn(style, &tables::counters(table)) + &lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_of_any_size_fits_its_column() {
        let ci = Some(Interval { low: -1e299, high: 3e300 });
        assert_eq!(with_interval(1e300, ci, 1), "1.00e300\n-1.00e299 .. 3.00e300");
        assert_eq!(with_interval(0.02671, None, 4), "0.0267");
    }
}
