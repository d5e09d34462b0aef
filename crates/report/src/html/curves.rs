//! Curves of the headline metric, and folded those of the other primary ones.

use super::document::either;
use super::given::Page;
use crate::charts::{self, frame::Frame};
use crate::words::better_word;
use maud::{Markup, html};
use tare_findings::collect;
use tare_findings::curves::{self, Curves};
use tare_findings::level_words::words_of;
use tare_findings::state::is_disturbed;
use tare_results::metric;
use tare_results::schema::Outcome;

/// What a hollow dot is, in every chart of trials.
pub(super) const HOLLOW: &str =
    " A hollow dot is a trial that was disturbed and counts, as none of its attempts was clean.";
/// Bytes after which further charts are left out.
const BYTES: usize = 400_000;

/// Every curve over a numeric factor; none where no numeric factor varies.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let headline = page.summary.headline_metric.as_deref()?;
    let mut metrics = vec![headline.to_owned()];
    let all = collect::all_metrics(&page.conditions);
    metrics.extend(all.into_iter().filter(|name| name != headline && metric::describe(name).is_primary()));
    let mut budget = BYTES;
    let mut left_out = 0;
    let mut parts = Vec::new();
    for name in &metrics {
        let charts = curves::curves(page.summary, &page.conditions, name);
        let mut drawn = Vec::new();
        for chart in &charts {
            let figure = figure(chart);
            match budget.checked_sub(figure.0.len()) {
                Some(rest) => budget = rest,
                None => {
                    left_out += 1;
                    continue;
                }
            }
            drawn.push(figure);
        }
        if !drawn.is_empty() {
            parts.push((name, drawn));
        }
    }
    let first = parts.first()?.0;
    Some(html! {
        p.note { (note(page)) }
        @for (name, drawn) in &parts {
            @if *name == first { @for figure in drawn { (figure) } } @else {
                details { summary { (name) ", " (better_word(metric::describe(name).better)) } @for figure in drawn { (figure) } }
            }
        }
        @if left_out > 0 { p.note { (left_out) " more charts are left out to keep this file small; their figures are in the tables." } }
    })
}

fn figure(chart: &Curves) -> Markup {
    let at = if chart.at.is_empty() { String::new() } else { format!(", {}", words_of(&chart.at)) };
    let name = format!("{} over {}{at}", chart.metric, chart.over);
    let frames = [Frame::wide(chart.lines.iter().map(|line| line.label.as_str())), Frame::SLIM];
    let [wide, slim] = frames.map(|frame| charts::curves::draw(chart, &frame));
    html! { figure { figcaption { (name) } (either(&name, &wide, &slim)) } }
}

fn note(page: &Page<'_>) -> String {
    let mut note = "A pale dot is a trial, a mark their mean, the whisker its 95% interval over trials.".to_owned();
    if !page.summary.scaling.is_empty() {
        note.push_str(
            " Dotted: the fitted scalability law; the bar at its end is what it predicts for twice the largest number \
             measured, with the interval of one more trial. It is a prediction: nothing was measured there.",
        );
    }
    let all = || page.summary.conditions.iter().flat_map(|condition| &condition.metrics);
    if page.results.trials.iter().any(|trial| trial.outcome == Outcome::Ok && is_disturbed(trial)) {
        note.push_str(HOLLOW);
    }
    if all().any(|metric| !metric.has_mean()) {
        note.push_str(" Where there is no mark the mean describes no trial.");
    }
    note
}
