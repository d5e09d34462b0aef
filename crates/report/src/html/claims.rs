//! The page of `tare reproduce`: published figures next to measured ones.

use super::document::{document, either};
use super::scroll::{Head, row, table};
use crate::charts::claims::{self, ClaimLine};
use crate::words::reproduce as words;
use maud::{Markup, html};
use tare_findings::reproduce::{Claimed, Figure, Reproduced};
use tare_results::claim::Published;
use tare_stats::Interval;

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
                h1 { (words::sentence(all().map(|own| own.verdict.as_ref()))) }
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
                section { h2 { "Every claim" } (rows(claimed)) }
            }
            footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
        },
    )
}

fn picture(title: &str, what: &str, lines: &[ClaimLine]) -> Markup {
    let [wide, slim] = claims::draw(title, what, lines);
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
        verdict: words::verdict(own.verdict.as_ref()),
        decided: matches!(own.verdict, Some(Reproduced::Holds(_) | Reproduced::DoesNotHold(_))),
    }
}

fn rows(claimed: &[(&str, &Claimed)]) -> Markup {
    let heads = [Head::L("claim"), Head::L("published by"), Head::R("published"), Head::L("verdict"), Head::L("here")];
    let rows = claimed.iter().map(|(folder, own)| {
        let claim = &own.claim;
        let name = html! {
            @if figure_of(own).is_some() { a href={ "./" (folder) "/report.html" } { (claim.name) } } @else { (claim.name) }
            br; small { (claim.text) }
        };
        let here = own.verdict.as_ref().map_or_else(String::new, |found| words::behind_verdict(claim, found));
        let verdict = words::verdict(own.verdict.as_ref());
        row![name, claim.source, words::published(claim), verdict, here]
    });
    table("Table of claims", &heads, rows)
}
