//! The scalability law, the steps of each ladder, and what the law predicts.

use super::rows::{lined, titled};
use super::style::Style;
use super::text::plain;
use crate::words::between;
use tare_findings::figures::{figure, times};
use tare_findings::level_words::words_of;
use tare_findings::summary::{Scaling, Summary};
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
            law.peak.map_or("none".to_owned(), |peak| format!("{peak:.1}")),
            if law.retrograde { "yes" } else { "no" }.to_owned(),
        ]
    };
    let heads = ["metric", "over", "at", "lambda", "sigma", "kappa", "peak", "retrograde"];
    let head = "scaling: X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1))";
    Some(titled(style, head, &lined(style, &heads, 3, summary.scaling.iter().map(row))))
}

/// `0.0267` over `0.0201 .. 0.0333`.
fn with_interval(value: f64, ci: Option<Interval>, decimals: usize) -> String {
    let interval =
        ci.map_or(String::new(), |Interval { low, high }| format!("\n{low:.decimals$} .. {high:.decimals$}"));
    format!("{value:.decimals$}{interval}")
}

/// What each step of a ladder gave, of the headline metric.
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
            let interval = between(predicted.ci, "-", |value| figure(value, unit));
            rows.push(vec![
                plain(&words_of(&law.levels)),
                name,
                figure(predicted.value, unit),
                interval,
                String::new(),
            ]);
        }
    }
    let head = format!("steps of {headline} (gain: after / before; predictions were not measured)");
    let heads = ["at", "step", "gain", "95% interval", "more gave less"];
    Some(titled(style, &head, &lined(style, &heads, 2, rows)))
}
