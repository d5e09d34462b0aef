//! The pages of comparisons: of several sides with the first, of published claims with the measured figures, and of the
//! runs of a history with those before them.

use super::document::{Head, document, drawn, either, row, scroll, table};
use crate::charts::heat::{self, Figures, Heat};
use crate::charts::marks::Frame;
use crate::charts::ratios::{self, ClaimLine};
use crate::charts::{alone, history};
use crate::figures::{change, changes_of};
use crate::tables;
use crate::words::{self, reproduce};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::compare::groups::letters;
use tare_findings::compare::{AgainstFirst, ConditionPair, Grouped, InGroups, ManyComparison};
use tare_findings::history::{History, MetricHistory};
use tare_findings::reproduce::{Claimed, Figure, Reproduced};
use tare_results::claim::Published;
use tare_results::metric::{self, Better};
use tare_stats::Interval;
use tare_stats::ratio::Verdict;

pub fn changes(found: &ManyComparison, min_effect: f64) -> String {
    let map = map(found);
    let base = found.sides.first().map_or("", String::as_str);
    let body = html! {
        header {
            p.study { "tare · changes against " (base) }
            h1 { (words::many_sentence(found, min_effect)) }
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
                (change_rows(found))
            }
        }
        footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
    };
    document("changes", &body)
}

/// The improvement as a fraction: positive in the better direction of the metric.
fn gain(row: &AgainstFirst) -> Option<f64> {
    let ratio = row.metric.decisive()?.value;
    Some(match row.metric.better {
        Better::Higher => ratio - 1.0,
        Better::Lower => 1.0 / ratio - 1.0,
    })
}

/// One column per side, one row per condition and judged metric.
fn map(found: &ManyComparison) -> Heat {
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    let one = one_of(judged.iter().map(|row| &row.metric.condition.a)).is_some();
    let mut rows: Vec<String> = Vec::new();
    let columns: Vec<String> = found.sides.iter().skip(1).cloned().collect();
    let mut values: Vec<Vec<Option<f64>>> = Vec::new();
    let mut unshown = BTreeSet::new();
    for row in judged {
        // If a side is one condition of many, the pair has two names; the row has that of the base, which is the same
        // for all sides.
        let of = if one { String::new() } else { format!("{} ", row.metric.condition.a) };
        let name = of + &row.metric.name;
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

/// The common value of all; `None` if they differ, or there are none.
fn one_of<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Whether a row is printed: judged metrics, metrics that differ, and those of a short table.
fn says_something(row: &AgainstFirst) -> bool {
    let differs = matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower);
    let name = &row.metric.name;
    row.metric.judged || differs || !(metric::describe(name).is_detail() || metric::is_further(name))
}

fn change_rows(found: &ManyComparison) -> Markup {
    let by = found.metrics.iter().find_map(|row| row.metric.adjusted.as_ref()).map(|adjusted| adjusted.by);
    let interval = |ci: Option<_>| ci.map_or("–".to_owned(), changes_of);
    let shown: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| says_something(row)).collect();
    // Values that all rows share are printed once, above them.
    let grouped = !found.groups.is_empty();
    let side = one_of(shown.iter().map(|row| &row.against)).filter(|_| !grouped);
    let condition = one_of(shown.iter().map(|row| &row.metric.condition)).filter(|_| !grouped);
    let is_side = |row: &&AgainstFirst| row.against.ends_with(&format!(":{}", row.metric.condition.b));
    let conditions = condition.is_none() && !shown.iter().all(is_side);
    let pair = |condition: &ConditionPair| condition.to_string().replace(" -> ", " → ");
    let caption = side.map(|side| format!("{side} against {}", found.sides[0]));
    let caption: Vec<String> = caption.into_iter().chain(condition.map(pair)).collect();
    html! {
        @if !caption.is_empty() { p.note { (caption.join(": ")) } }
        (scroll("Table of changes", &html! {
            table {
                thead { tr {
                    @if side.is_none() { th.l scope="col" { "side" } }
                    @if conditions { th.l scope="col" { "condition" } }
                    th.l scope="col" { "metric" }
                    th scope="col" { "change" } th scope="col" { "95% interval" }
                    @if let Some(by) = &by { th scope="col" { "adjusted by the probe " (by) } }
                    @if grouped { th.l scope="col" { "group" } }
                    th.l scope="col" { "verdict" }
                } }
                tbody {
                @for (cell, own) in bases(found) { tr {
                    th scope="row" { (own.side) } @if conditions { td.l { (cell.condition) } } td.l { (cell.name) }
                    td { "base" } td { "–" } @if by.is_some() { td { "–" } } td.l { (own.letters) } td.l { "–" }
                } }
                @for row in shown { tr {
                    @if side.is_none() { th scope="row" { (row.against) } }
                    @if conditions { td.l { (pair(&row.metric.condition)) } }
                    @if side.is_none() { td.l { (row.metric.name) } } @else { th scope="row" { (row.metric.name) } }
                    @match row.metric.difference.map(|found| words::difference(&found, row.metric.unit)) {
                        Some((value, ends)) => { td { (value) } td { (ends.as_deref().unwrap_or("–")) } }
                        None => {
                            td { (row.metric.ratio.map_or("–".to_owned(), |ratio| change(ratio - 1.0))) }
                            td { (interval(row.metric.ci)) }
                        }
                    }
                    @if by.is_some() { td { (interval(row.metric.adjusted.as_ref().and_then(|found| found.ci))) } }
                    @if grouped { td.l { (letters(&found.groups, &row.against, &row.metric)) } }
                    td.l { (words::verdict(&row.metric)) }
                } } }
            }
        }))
    }
}

/// Claims with the folder of the experiment that tests each.
pub fn claims(claimed: &[(&str, &Claimed)]) -> String {
    let all = || claimed.iter().map(|(_, own)| *own);
    let figures = || all().filter_map(|own| Some((own, figure_of(own)?)));
    let is_ratio = |own: &Claimed| own.claim.measure.is_ratio();
    let ratios: Vec<ClaimLine> = figures().filter(|(own, _)| is_ratio(own)).map(|(own, f)| line(own, f, 1.0)).collect();
    let others = figures().filter(|(own, _)| !is_ratio(own)).filter_map(|(own, f)| match own.claim.published {
        Published::Value(published) if published > 0.0 => Some(line(own, f, published)),
        _ => None,
    });
    let others: Vec<ClaimLine> = others.collect();
    document(
        "published claims",
        &html! {
            header {
                p.study { "tare · published claims" }
                h1 { (reproduce::sentence(all().map(|own| own.verdict.as_ref()))) }
            }
            main {
                @if !ratios.is_empty() || !others.is_empty() {
                    section {
                        p.note {
                            "Shaded: the figures with which a claim holds here, fixed before the run. Diamond: what was "
                            "published. Dot: what was measured here, with its 95% interval; a bar where this is not decisive."
                        }
                        (picture("Ratios", "ratio B / A", &ratios))
                        (picture("Values, as parts of the published ones", "here / published", &others))
                    }
                }
                section { h2 { "Every claim" } (claim_rows(claimed)) }
            }
            footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
        },
    )
}

fn picture(title: &str, what: &str, lines: &[ClaimLine]) -> Markup {
    let [wide, slim] = ratios::draw_claims(title, what, lines);
    html! { @if !lines.is_empty() { figure { figcaption { (title) } (either(title, &wide, &slim)) } } }
}

fn figure_of(own: &Claimed) -> Option<&Figure> {
    match own.verdict.as_ref()? {
        Reproduced::Holds(figure) | Reproduced::DoesNotHold(figure) => Some(figure),
        Reproduced::NotDecided(open) => open.figure.as_ref(),
        Reproduced::CannotBeTested(_) => None,
    }
}

fn line(own: &Claimed, figure: &Figure, unit: f64) -> ClaimLine {
    let claim = &own.claim;
    ClaimLine {
        name: claim.name.clone(),
        published: match claim.published {
            Published::Ratio(figure) | Published::Value(figure) => Some(figure / unit),
            Published::Direction(_) => None,
        },
        holds: Interval { low: claim.holds.from / unit, high: claim.holds.to / unit },
        here: figure.value / unit,
        ci: figure.ci.map(|ci| ci.map(|end| end / unit)),
        verdict: reproduce::verdict(own.verdict.as_ref()),
        decided: matches!(own.verdict, Some(Reproduced::Holds(_) | Reproduced::DoesNotHold(_))),
    }
}

fn claim_rows(claimed: &[(&str, &Claimed)]) -> Markup {
    let heads = [Head::L("claim"), Head::L("published by"), Head::R("published"), Head::L("verdict"), Head::L("here")];
    let rows = claimed.iter().map(|(folder, own)| {
        let claim = &own.claim;
        let name = html! {
            @if figure_of(own).is_some() { a href={ "./" (folder) "/report.html" } { (claim.name) } } @else { (claim.name) }
            br; small { (claim.text) }
        };
        let here = own.verdict.as_ref().map_or_else(String::new, |found| reproduce::behind_verdict(claim, found));
        let verdict = reproduce::verdict(own.verdict.as_ref());
        row![name, claim.source, reproduce::published(claim), verdict, here]
    });
    table("Table of claims", &heads, rows)
}

pub fn history_picture(found: &History) -> String {
    alone::standalone(&history::draw(&found.lines, &Frame::WIDE).into_string())
}

/// The page: the chart, and the content of the terminal output.
pub fn history_page(found: &History, margin: Option<f64>) -> String {
    let [wide, slim] = [Frame::WIDE, Frame::SLIM].map(|frame| history::draw(&found.lines, &frame));
    let gate = margin.and_then(|margin| words::history_gate(found, margin));
    document(
        "history",
        &html! {
            header {
                p.study { "tare · history" }
                h1 { (words::history_sentence(found)) }
                @if let Some(gate) = gate { p { strong { (gate) } } }
            }
            main {
                section { figure { (either("Runs in the order of time", &wide, &slim)) } }
                @for line in &found.lines { section { (of_line(line)) } }
                section { @for message in words::history(found) { p.note { (message) } } }
            }
            footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
        },
    )
}

fn of_line(line: &MetricHistory) -> Markup {
    let name = format!("{}, {}", line.condition, line.name);
    html! {
        h2 { (name) }
        (drawn(&format!("Table of {name}"), None, &tables::segments(line)))
        @for message in words::line(line) { p { (message) } }
    }
}
