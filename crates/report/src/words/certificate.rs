//! Sentences on a machine's certificate, which is measured by comparing one side with itself.

use tare_findings::certificate::{Against, Alarms, Certificate, Certified, Decides, Ratio, Twin};
use tare_stats::sequential::Rule;
use tare_text::{count, duration, percent, small_percent};

/// One sentence of at most 25 words.
pub fn sentence(certificate: &Certificate) -> String {
    let alarms = certificate.alarms(Rule::Looks);
    let of = format!("in {} of A with itself", count(alarms.comparisons, "comparison"));
    match alarms.comparisons {
        0 => "Too few pairs for one comparison of A with itself: the rate of false alarms here is unknown.".to_owned(),
        _ => format!("{} {of}: the rate here is at most {} (at 95%).", times(alarms), percent(alarms.at_most())),
    }
}

fn times(alarms: Alarms) -> String {
    match alarms.false_alarms {
        0 => "No false alarm".to_owned(),
        some => count(some, "false alarm"),
    }
}

pub fn rows(certificate: &Certificate) -> Vec<(&'static str, String)> {
    let mut rows = vec![("measured", load(certificate)), ("metric", certificate.metric.clone())];
    rows.extend(certificate.against.iter().map(|own| (twin(own.twin), against(own))));
    rows.extend(certificate.against.iter().filter_map(|own| Some(("slot", slot(own)?))));
    rows.push(("decides", decides(&certificate.decides)));
    rows.extend(certificate.by_itself().map(|change| ("but", but(change))));
    let alarms = certificate.alarms(Rule::Looks);
    if alarms.at_most() > 0.05 {
        rows.push(("to show 5%", "59 comparisons without a false alarm; another --certify adds to these".to_owned()));
    }
    rows
}

fn but(change: f64) -> String {
    format!(
        "another copy, layout or link of A moved by {}: a smaller difference is no evidence of a changed build",
        percent(change)
    )
}

/// The sentence about the certificate next to a verdict.
pub fn alongside(certified: Option<&Certified>) -> String {
    let Some(certified) = certified else {
        return "not measured on this machine; measure it with: tare ab --certify".to_owned();
    };
    let newest = &certified.newest;
    let of = match certified.same_load {
        true => String::new(),
        // What it is of may differ in any of these.
        false => format!(" of {} ({}, within {})", load(newest), newest.metric, small_percent(newest.minimum_effect)),
    };
    let alarms = certified.alarms;
    if alarms.comparisons == 0 {
        return format!(
            "too few pairs{of} for a comparison; decides {}; more: tare ab --certify",
            decides(&newest.decides)
        );
    }
    let own = newest.by_itself().map_or_else(String::new, |change| format!("; {}", but(change)));
    format!(
        "{} in {}{of} (at most {}); decides {}{own}",
        times(alarms).to_lowercase(),
        count(alarms.comparisons, "comparison"),
        percent(alarms.at_most()),
        decides(&newest.decides)
    )
}

fn load(certificate: &Certificate) -> String {
    let side = if certificate.side.is_empty() { String::new() } else { format!(", {}", certificate.side) };
    let turns = if certificate.by_turns { ", by turns" } else { "" };
    match &certificate.engine {
        Some(engine) => format!("{} on {engine}{turns}{side}", certificate.load),
        None => format!("{}{side}", certificate.load),
    }
}

fn twin(twin: Twin) -> &'static str {
    match twin {
        Twin::Same => "same file",
        Twin::Copy => "a copy",
        Twin::Layout => "layout",
        Twin::Relinked => "relinked",
    }
}

fn against(own: &Against) -> String {
    if let Some(reason) = &own.reason {
        return format!("not measured: {reason}");
    }
    let left_out = if own.left_out > 0 { format!(", {} left out", own.left_out) } else { String::new() };
    let message = |alarms: Alarms| format!("{} of {}", alarms.false_alarms, alarms.comparisons);
    format!(
        "{}; {} in {}{left_out}; false alarms {}, any time {}",
        own.ratio.map_or_else(|| "no interval yet".to_owned(), |found| format!("B/A {}", ratio(found))),
        count(own.pairs, "pair"),
        duration(own.elapsed_s),
        message(own.looks),
        message(own.anytime)
    )
}

fn slot(own: &Against) -> Option<String> {
    Some(format!("second/first of a pair {} ({})", ratio(own.slot?), twin(own.twin)))
}

fn ratio(found: Ratio) -> String {
    match (found.ci_low, found.ci_high) {
        (Some(low), Some(high)) => format!("{:.4} ({low:.4} to {high:.4})", found.ratio),
        _ => format!("{:.4}", found.ratio),
    }
}

fn decides(all: &[Decides]) -> String {
    let message = |one: &Decides| match one.change {
        Some(change) => format!("{} in {} min", percent(change), one.minutes),
        None => format!("nothing in {} min", one.minutes),
    };
    if all.is_empty() { "not known yet".to_owned() } else { all.iter().map(message).collect::<Vec<_>>().join(", ") }
}
