//! `tare show`: the answer and its table, then warnings and notes, then the other tables.

use super::layout::{conclusion, fitted, paragraph, titled, warned, wrap};
use super::style::{Style, plain};
use super::{captures, conditions, others, scaling, spread, why};
use crate::tables;
use crate::words::{self, first_screen, warnings_in_full};
use tare_findings::effects::Effect;
use tare_findings::relative::RelativeTable;
use tare_findings::summary::Summary;
use tare_results::Results;

pub fn show(results: &Results, summary: &Summary, style: Style) -> String {
    let screen = first_screen(summary, results);
    let mut parts = vec![conclusion(style, &screen.out)];
    let (mut first, mut last) = (scaling::relative(summary, style).or_else(|| captures::builds(summary, style)), None);
    if !RelativeTable::is_the_answer(summary) {
        std::mem::swap(&mut first, &mut last);
    }
    parts.extend(first);
    parts.extend(scaling::load_steps(summary, style));
    parts.extend(conditions::headline(summary, style));
    parts.extend(conditions::grids(summary, style));
    let further: String = screen.further.iter().map(|sentence| paragraph(style, sentence)).collect();
    if !further.is_empty() {
        parts.push(further);
    }
    let warnings = if style.all { warnings_in_full(summary, results) } else { screen.warnings };
    parts.extend(warned(style, &warnings));
    let facts: String = [("ran", &screen.run), ("on", &screen.machine), ("sure", &screen.sure)]
        .iter()
        .map(|(label, text)| wrap(style, &format!("{label:<5} "), "      ", &plain(text)))
        .collect();
    parts.push(facts);
    let distance: String =
        summary.distance.iter().map(|found| wrap(style, "", "  ", &plain(&words::distance(found)))).collect();
    parts.extend((!distance.is_empty()).then_some(distance));
    parts.extend(scaling::counters(summary, style));
    parts.extend(spread::spread(summary, style));
    parts.extend(spread::sources(summary, style));
    parts.extend(spread::probes(summary, style));
    parts.extend(why::summary(summary, style));
    parts.extend(why::difference(results, summary, style));
    parts.extend(others::others(summary, style));
    parts.extend(effects(summary, style));
    parts.extend(scaling::laws(summary, style));
    parts.extend(scaling::steps(summary, style));
    parts.extend(last);
    parts.extend(captures::growth(summary, style));
    parts.extend(captures::thread_times(&summary.captures, style));
    parts.extend(captures::charged(&summary.captures, style));
    parts.extend(captures::callers(&summary.captures, style));
    parts.extend(captures::lines(&summary.captures, style));
    parts.extend(captures::cost(summary, style));
    let text = parts.join("\n");
    if style.plain { text.replace(['·', '•'], ".").replace('─', "-").replace('●', "o") } else { text }
}

fn effects(summary: &Summary, style: Style) -> Option<String> {
    let headline = summary.headline_metric.as_deref()?;
    let of = |effect: &&Effect| effect.metric == headline;
    let table = tables::effects(summary.effects.iter().filter(of), false);
    let head = format!("effects on {headline} (first level / second; 1x is none; * is shown, all tested together)");
    (!table.rows.is_empty()).then(|| titled(style, &head, &fitted(style, &table)))
}
