//! `tare compare A B C ...`: every other side compared with the first, the largest change first.

use super::comparison::{Gated, explanation, probe_cell};
use super::rows::{lined, titled};
use super::style::Style;
use super::text::{plain, warned, wrap};
use crate::figures::{change, changes_of};
use crate::words;
use crate::words::find::shown_interval;
use std::collections::BTreeSet;
use tare_findings::compare::groups::letters;
use tare_findings::compare::{AgainstFirst, Grouped, ManyComparison, MetricComparison, Options};
use tare_results::metric;

pub fn many(found: &ManyComparison, options: &Options, style: Style) -> String {
    let base = found.sides.first().map_or(String::new(), |base| plain(base));
    let mut parts = vec![style.bold(&wrap(style, "", "", &plain(&words::many_sentence(found, options.min_effect))))];
    parts.extend(warned(style, &words::notes(&found.notes)));
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    let head = format!("change against {base}, the largest first");
    parts.push(titled(style, &head, &rows(&judged, &found.groups, style)));
    parts.extend(base_words(found).map(|words| wrap(style, "", "", &plain(&words))));
    let costs: Vec<&AgainstFirst> =
        found.metrics.iter().filter(|row| !row.metric.judged && metric::is_server_cost(&row.metric.name)).collect();
    if !costs.is_empty() {
        let head = "what an operation costs the server (tested separately from the above)";
        parts.push(titled(style, head, &rows(&costs, &[], style)));
    }
    let metrics: Vec<&MetricComparison> = found.metrics.iter().map(|row| &row.metric).collect();
    parts.push(explanation(options, style, "rows of the first table", &words::how_compared(&metrics), &metrics));
    let first = found.sides.first().map_or("", String::as_str);
    parts.extend(found.gate.map(|gate| {
        let gated = Gated {
            gate,
            base: first,
            metrics: &metrics,
            losses: &found.losses,
            notes: &found.notes,
            one_run: found.one_run,
        };
        style.bold(&wrap(style, "", "", &plain(&gated.words(options))))
    }));
    parts.join("\n")
}

/// The group letters of the base, which has no row of its own.
fn base_words(found: &ManyComparison) -> Option<String> {
    let base = found.sides.first()?;
    let own = |cell: &Grouped| {
        let letters = &cell.sides.iter().find(|side| side.side == *base)?.letters;
        Some((format!("{} {}", cell.condition, cell.name), letters.clone()))
    };
    let all: Vec<(String, String)> = found.groups.iter().filter_map(own).collect();
    let letters: BTreeSet<&String> = all.iter().map(|(_, letters)| letters).collect();
    let where_ = match (all.as_slice(), letters.len()) {
        ([], _) => return None,
        ([(_, one), ..], 1) => one.clone(),
        (all, _) => {
            let named: Vec<String> = all.iter().map(|(cell, letters)| format!("{letters} ({cell})")).collect();
            named.join(", ")
        }
    };
    Some(format!(
        "Sides that share a letter (group) are not distinguishable, at 95% over all pairs of sides together; {base} is in \
         {where_}."
    ))
}

fn rows(judged: &[&AgainstFirst], groups: &[Grouped], style: Style) -> String {
    let mut sorted = judged.to_vec();
    sorted.sort_by(|a, b| words::size(&b.metric).total_cmp(&words::size(&a.metric)));
    let by = sorted.iter().find_map(|row| row.metric.adjusted.as_ref()).map(|found| &found.by);
    let by = by.map(|by| [format!("by {by}"), format!("{by} itself")]);
    let mut heads = vec!["side", "condition", "metric", "change", "95% interval"];
    heads.extend(by.iter().flatten().map(String::as_str));
    if !groups.is_empty() {
        heads.push("group");
    }
    heads.push("verdict");
    let cells = |row: &AgainstFirst| {
        let metric = &row.metric;
        let interval = |ci| shown_interval(ci).map_or("-".to_owned(), changes_of);
        let mut cells = vec![
            plain(&row.against),
            plain(&metric.condition.to_string()),
            plain(&metric.name),
            metric.ratio.map_or("-".to_owned(), |ratio| change(ratio - 1.0)),
            interval(metric.ci),
        ];
        if let Some(found) = metric.difference {
            let (value, ends) = words::difference(&found, &metric.unit);
            (cells[3], cells[4]) = (value, ends.unwrap_or_else(|| "-".to_owned()));
        }
        if by.is_some() {
            let adjusted = metric.adjusted.as_ref();
            cells.push(interval(adjusted.and_then(|found| found.ci)));
            cells.push(probe_cell(adjusted.and_then(|found| found.probe)));
        }
        if !groups.is_empty() {
            cells.push(letters(groups, &row.against, metric).to_owned());
        }
        cells.push(words::verdict(metric));
        cells
    };
    lined(style, &heads, 3, sorted.into_iter().map(cells))
}
