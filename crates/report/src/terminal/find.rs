//! `tare find`: its sentence, a table of the candidates, the effect of each setting, and the lines to paste.

use super::layout::{conclusion, item, lined, titled, wrap};
use super::style::{Style, plain};
use crate::figures::{Scale, times};
use crate::words::between;
use crate::words::find::{disturbed, failed, fate, knob, sentence, shown_interval, stopped, trade};
use crate::words::not_realizable;
use crate::words::paste::paste;
use tare_findings::find::{Candidate, Find};
use tare_results::metric;
use tare_results::schema::Plan;

pub fn find(found: &Find, plan: &Plan, style: Style) -> String {
    let mut parts = vec![conclusion(style, &sentence(found))];
    parts.extend(stopped(found).map(|why| wrap(style, "stopped: ", "  ", &why)));
    parts.extend(disturbed(found).map(|what| wrap(style, "disturbed: ", "  ", &plain(&what))));
    parts.extend(failed(found).map(|what| wrap(style, "failed: ", "  ", &plain(&what))));
    parts.push(table(found, style));
    if !found.knobs.is_empty() {
        let head = "effect of each factor, averaged over the others (above 1x is better)";
        let lines: String = found.knobs.iter().map(|one| item(style, &knob(one))).collect();
        parts.push(titled(style, head, &lines));
    }
    parts.extend(trade(found).map(|trade| titled(style, "throughput and tail latency", &item(style, &trade))));
    let left_out = not_realizable(plan);
    if !left_out.is_empty() {
        let line = |(which, reason): &(String, &str)| item(style, &format!("{which}: {reason}"));
        parts.push(titled(style, "not raced", &left_out.iter().map(line).collect::<String>()));
    }
    let condition = found.ahead().and_then(|ahead| plan.conditions.iter().find(|known| known.name == ahead.name));
    for paste in condition.filter(|_| found.decided).map(paste).unwrap_or_default() {
        let lines: String = paste.lines.iter().map(|line| format!("  {}\n", plain(line))).collect();
        parts.push(titled(style, &format!("for {}", plain(&paste.into)), &lines));
    }
    parts.join("\n")
}

fn table(found: &Find, style: Style) -> String {
    let metric = found.metric.as_deref().unwrap_or("value");
    let largest = found.candidates.iter().filter_map(|candidate| candidate.value).fold(0.0, f64::max);
    let scale = Scale::new(metric::describe(metric).unit, largest, 4);
    let tail = found.candidates.iter().any(|candidate| candidate.p99_ms.is_some());
    let mut heads = vec!["candidate", "trials"];
    heads.extend((found.disturbed > 0).then_some("disturbed"));
    let any_failed = found.candidates.iter().any(|candidate| candidate.with_failed_attempts > 0);
    heads.extend(any_failed.then_some("failed"));
    heads.extend([metric, "ratio", "interval"]);
    heads.extend(tail.then_some("p99 ms"));
    heads.push("outcome");
    let mut order: Vec<&Candidate> = found.candidates.iter().collect();
    // Nothing is known of a candidate without results.
    let ratio = |candidate: &Candidate| match candidate.ratio {
        Some(ratio) => Some(ratio.value),
        None => found.ahead().is_some_and(|ahead| ahead.name == candidate.name).then_some(1.0),
    };
    let higher = metric::describe(metric).better == metric::Better::Higher;
    let worst = if higher { 0.0 } else { f64::INFINITY };
    let place = |candidate: &Candidate| ratio(candidate).unwrap_or(worst);
    order.sort_by(|a, b| if higher { place(b).total_cmp(&place(a)) } else { place(a).total_cmp(&place(b)) });
    let row = |candidate: &Candidate| {
        let mut cells = vec![plain(&candidate.name), candidate.trials.to_string()];
        cells.extend((found.disturbed > 0).then(|| candidate.disturbed.to_string()));
        cells.extend(any_failed.then(|| candidate.with_failed_attempts.to_string()));
        cells.extend([
            candidate.value.map_or("-".to_owned(), |value| scale.number(value)),
            ratio(candidate).map_or("-".to_owned(), times),
            between(shown_interval(candidate.ratio.and_then(|of| of.ci)), "-", times),
        ]);
        cells.extend(tail.then(|| candidate.p99_ms.map_or("-".to_owned(), |p99| format!("{p99:.3}"))));
        cells.push(fate(candidate, found));
        cells
    };
    let (means, blocks) = match found.disturbed {
        0 => ("", "in which both ran"),
        _ => (", over undisturbed trials if there are any", "in which neither or both were disturbed"),
    };
    let head = format!("{}{means}; ratio to the leader, over the blocks {blocks}", scale.with_unit(metric));
    titled(style, &head, &lined(style, &heads, 1, order.into_iter().map(row)))
}
