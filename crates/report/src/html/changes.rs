//! The page of `tare compare A B C ... --html`: relative changes as a heat map, and the same with intervals.

use super::document::document;
use super::scroll::scroll;
use crate::charts::heat::{self, Figures, Heat};
use crate::words;
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::compare::groups::letters;
use tare_findings::compare::{AgainstFirst, Grouped, InGroups, ManyComparison};
use tare_findings::figures::{change, changes_of};
use tare_results::metric::{self, Better};
use tare_stats::ratio::Verdict;

pub fn changes(found: &ManyComparison) -> String {
    let map = map(found);
    let base = found.sides.first().map_or("", String::as_str);
    let body = html! {
        header {
            p.study { "tare · changes against " (base) }
            h1 { (sentence(found, base)) }
        }
        main {
            @if !found.notes.is_empty() {
                div.warnings role="note" { strong { "Warnings" } ul { @for note in words::notes(&found.notes) { li { (note) } } } }
            }
            section {
                h2 { (map.title) }
                p.note { (map.note) }
                (scroll(&map.title, &heat::draw(&map)))
            }
            section {
                h2 { "With intervals" }
                @if !found.groups.is_empty() {
                    p.note {
                        "Sides that share a letter are not distinguishable, at 95% over all pairs of sides together; " (base)
                        " is among them, without a change of its own."
                    }
                }
                (rows(found))
            }
        }
        footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
    };
    document("changes", &body)
}

fn sentence(found: &ManyComparison, base: &str) -> String {
    let shown = found.metrics.iter().filter(|row| matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower));
    let size = |row: &AgainstFirst| gain(row).map_or(0.0, |gain| gain.ln_1p().abs());
    let Some(row) = shown.filter(|row| row.metric.judged).max_by(|a, b| size(a).total_cmp(&size(b))) else {
        return format!("No side is shown to differ from {base}.");
    };
    let by = row.metric.ratio.map_or("–".to_owned(), |ratio| change(ratio - 1.0));
    let ends = row.metric.ci.map_or("no interval".to_owned(), changes_of);
    let way = if row.metric.verdict == Verdict::Faster { "faster" } else { "slower" };
    format!("{} is {way} than {base}: {} {by} ({ends}).", row.against, row.metric.name)
}

/// How much better, as a fraction: positive whichever way the metric improves.
fn gain(row: &AgainstFirst) -> Option<f64> {
    let ratio = row.metric.ratio?;
    Some(match row.metric.better {
        Better::Higher => ratio - 1.0,
        Better::Lower => 1.0 / ratio - 1.0,
    })
}

/// A column for each side, a row for each condition and judged metric.
fn map(found: &ManyComparison) -> Heat {
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    let mut rows: Vec<String> = Vec::new();
    let columns: Vec<String> = found.sides.iter().skip(1).cloned().collect();
    let mut values: Vec<Vec<Option<f64>>> = Vec::new();
    let mut unshown = BTreeSet::new();
    for row in judged {
        // A side that is one condition of many names both; the first name is the base, the same in every row.
        let name = format!("{} {}", row.metric.condition.a, row.metric.name);
        let place = rows.iter().position(|known| *known == name).unwrap_or_else(|| {
            rows.push(name);
            values.push(vec![None; columns.len()]);
            values.len() - 1
        });
        if let Some(column) = columns.iter().position(|side| *side == row.against) {
            values[place][column] = gain(row);
            if !matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower) {
                unshown.insert((place, column));
            }
        }
    }
    Heat {
        title: "How much better than the first side".into(),
        note: "Two colours, and signs, for better and worse; only what is shown to differ has a colour.".into(),
        rows,
        columns,
        values,
        unshown,
        figures: Figures::Change,
    }
}

fn bases(found: &ManyComparison) -> impl Iterator<Item = (&Grouped, &InGroups)> {
    let base = found.sides.first();
    found.groups.iter().filter_map(move |cell| Some((cell, cell.sides.iter().find(|side| Some(&side.side) == base)?)))
}

fn rows(found: &ManyComparison) -> Markup {
    let by = found.metrics.iter().find_map(|row| row.metric.adjusted.as_ref()).map(|adjusted| adjusted.by.clone());
    let shown = |row: &AgainstFirst| row.metric.judged || metric::is_server_cost(&row.metric.name);
    let interval = |ci: Option<_>| ci.map_or("–".to_owned(), changes_of);
    html! {
        (scroll("Table of changes", &html! {
            table {
                thead { tr {
                    th.l scope="col" { "side" } th.l scope="col" { "condition" } th.l scope="col" { "metric" }
                    th scope="col" { "change" } th scope="col" { "95% interval" }
                    @if let Some(by) = &by { th scope="col" { "adjusted by the probe " (by) } }
                    @if !found.groups.is_empty() { th.l scope="col" { "group" } }
                    th.l scope="col" { "verdict" }
                } }
                tbody {
                @for (cell, own) in bases(found) { tr {
                    th scope="row" { (own.side) } td.l { (cell.condition) } td.l { (cell.name) }
                    td { "base" } td { "–" } @if by.is_some() { td { "–" } } td.l { (own.letters) } td.l { "–" }
                } }
                @for row in found.metrics.iter().filter(|row| shown(row)) { tr {
                    th scope="row" { (row.against) } td.l { (row.metric.condition.to_string().replace(" -> ", " → ")) } td.l { (row.metric.name) }
                    @match row.metric.difference.map(|found| words::difference(&found, &row.metric.unit)) {
                        Some((value, ends)) => { td { (value) } td { (ends.as_deref().unwrap_or("–")) } }
                        None => {
                            td { (row.metric.ratio.map_or("–".to_owned(), |ratio| change(ratio - 1.0))) }
                            td { (interval(row.metric.ci)) }
                        }
                    }
                    @if by.is_some() { td { (interval(row.metric.adjusted.as_ref().and_then(|found| found.ci))) } }
                    @if !found.groups.is_empty() { td.l { (letters(&found.groups, &row.against, &row.metric)) } }
                    td.l { (words::verdict(&row.metric)) }
                } } }
            }
        }))
    }
}
