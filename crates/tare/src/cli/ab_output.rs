//! The output of `tare ab`: text or one JSON document, and a picture in the results directory.

use super::{Problem, output};
use serde::Serialize;
use tare_findings::ab::{Ab, course};
use tare_findings::certificate::{Certified, Ratio};
use tare_report::charts::pairs::picture;
use tare_report::words::{ab as words, ab_rows, certificate};
use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::Directory;
use tare_text::object;

/// Prints a comparison, with the certificate of this machine if there is one.
pub(crate) fn print(ab: &Ab, certified: Option<&Certified>, json: bool) -> Result<(), Problem> {
    if json {
        let document = object! {
            text: words::sentence(ab),
            metric: &ab.metric,
            ratio: ab.ratio,
            ci_low: ab.ci.map(|ci| ci.low),
            ci_high: ab.ci.map(|ci| ci.high),
            verdict: ab.verdict,
            minimum_effect: ab.rule.minimum_effect,
            pairs: ab.pairs,
            lost_pairs: ab.lost,
            disturbed_pairs: ab.disturbed,
            disturbed_alone: object! { a: ab.disturbed_alone[0], b: ab.disturbed_alone[1] },
            stopped: ab.stop,
            sessions: ab.sessions,
            sessions_asked: ab.rule.sessions,
            boots: ab.rule.boots(),
            over_sessions: ab.is_over_sessions(),
            duet: ab.rule.duet.is_some(),
            interleaved: ab.by_turns,
            elapsed_s: ab.elapsed_s,
            smallest_detectable: ab.smallest_detectable,
            pairs_to_go: ab.to_go.about(),
            pairs_to_go_at_most: ab.to_go.at_most(),
            new_comparison: ab.to_go.anew(),
            slot: ab.slot.map(Ratio::of),
            controls: &ab.controls,
            certificate: certified.map(certificate_json),
        };
        return output::document("tare-ab", &document);
    }
    let mut rows = ab_rows::rows(ab);
    rows.push(("A/A here", certificate::alongside(certified)));
    output::lines(&format!("{}\n\n{}", words::sentence(ab), lines(&rows)))
}

/// The machine's certificate in the document of a verdict.
pub(crate) fn certificate_json(certified: &Certified) -> impl Serialize {
    object! {
        made_at: &certified.newest.made_at,
        engine: &certified.newest.engine,
        load: &certified.newest.load,
        same_load: certified.same_load,
        false_alarms: certified.alarms.false_alarms,
        comparisons: certified.alarms.comparisons,
        at_most: certified.alarms.at_most(),
        decides: &certified.newest.decides,
        by_itself: certified.newest.by_itself(),
    }
}

pub(crate) fn lines(rows: &[(&str, String)]) -> String {
    rows.iter().map(|(name, value)| format!("  {name:<10} {}\n", tare_text::shown(value))).collect()
}

/// Writes the comparison as a picture into its directory and returns a note on where it is. A picture that cannot be
/// written does not change the exit code. Without a font only the SVG is written.
pub(crate) fn draw(ab: &Ab, plan: &Plan, records: &[TrialRecord], directory: &Directory) -> String {
    let course = course(plan, records);
    if course.is_empty() {
        return String::new();
    }
    let svg = picture(&words::sentence(ab), ab, &course);
    let pictures = [("ab.svg", Some(svg.clone().into_bytes())), ("ab.png", png(&svg))];
    let mut written = Vec::new();
    for (name, bytes) in pictures {
        match bytes.map(|bytes| directory.folder().write(name, &bytes)) {
            Some(Ok(())) => written.push(directory.path().join(name).display().to_string()),
            Some(Err(error)) => return format!("\nno picture: {error}"),
            None => {}
        }
    }
    format!("\npicture: {}", written.join(", "))
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Option<Vec<u8>> {
    tare_report::export::png::draw(svg).ok()
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str) -> Option<Vec<u8>> {
    None
}
