//! Scaling laws, the steps of each ladder, and predictions that say what they are.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{head, row, scroll, table};
use crate::words::between;
use maud::{Markup, html};
use tare_findings::figures::{figure, times};
use tare_findings::level_words::words_of;
use tare_findings::summary::Scaling;
use tare_results::metric;
use tare_stats::Interval;

/// Laws and steps; none where threads or nodes do not vary.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let laws = &page.summary.scaling;
    (!laws.is_empty()).then(|| {
        html! {
            p.note {
                "Universal scalability law: X(N) = λN / (1 + σ(N-1) + κN(N-1)), with the base rate λ (what one gives), contention σ "
                "(what has to wait for others) and coherency κ (what it costs that each keeps up with all others). 95% intervals "
                "stand below each value. A prediction takes for granted that the law goes on to hold; nothing was measured there."
            }
            (table("Table of scaling laws", &[L("metric"), L("over"), L("at"), R("λ base rate"), R("σ contention"),
                R("κ coherency"), R("peak at"), L("more gave less"), R("predicted")], laws.iter().map(|law| row![
                law.metric, law.over, words_of(&law.levels), with_interval(law.lambda, law.lambda_ci, 1),
                with_interval(law.sigma, law.sigma_ci, 4), with_interval(law.kappa, law.kappa_ci, 6),
                law.peak.map_or("none".to_owned(), |peak| format!("{peak:.1}")),
                if law.retrograde { "yes" } else { "no" }, predicted(law)
            ])))
            (steps(page))
        }
    })
}

fn with_interval(value: f64, ci: Option<Interval>, decimals: usize) -> Markup {
    html! {
        (format!("{value:.decimals$}"))
        @if let Some(Interval { low, high }) = ci { br; small { (format!("{low:.decimals$} to {high:.decimals$}")) } }
    }
}

fn predicted(law: &Scaling) -> Markup {
    let unit = metric::describe(&law.metric).unit;
    html! {
        @if let Some(found) = &law.prediction {
            (figure(found.value, unit)) " at " (found.n)
            @if let Some(Interval { low, high }) = found.ci {
                br; small { (figure(low, unit)) " to " (figure(high, unit)) }
            }
        }
    }
}

/// What each step of a ladder gave, of the headline metric.
fn steps(page: &Page<'_>) -> Markup {
    let headline = page.summary.headline_metric.as_deref().unwrap_or_default();
    html! {
        (scroll("Steps of the ladders", &html! { table {
            caption { "Steps of " (headline) ": after / before" }
            (head(&[L("at"), L("step"), R("gain"), R("95% interval"), L("more gave less")]))
            @for law in page.summary.scaling.iter().filter(|law| law.metric == headline) {
                tbody { @for step in &law.steps { tr {
                    th scope="row" { (words_of(&law.levels)) }
                    td.l { (step.from) " → " (step.to) " " (law.over) } td { (times(step.ratio)) }
                    td { (between(step.ci, "–", times)) }
                    td.l { (if step.retrograde { "yes" } else { "" }) }
                } } }
            }
        } }))
    }
}
