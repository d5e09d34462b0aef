//! `tare why A B`: the answer, a waterfall from A's time to B's, functions, suspects, and the experiment that would
//! decide.

use super::captures;
use super::rows::{self, drawn, fitted, titled};
use super::style::Style;
use super::text::{heading, plain, with_command, wrap};
use crate::figures::Scale;
use crate::tables;
use crate::words::{between, proof, suspects as suspect_words, why as words};
use tare_findings::why::{Changes, EventChange, Proof, Trial, Why};
use tare_text::{count, duration, ending};

/// Maximum functions and statements listed; `--json` has all that are shown.
const LISTED: usize = 10;
/// Maximum call chains of sleeps listed.
const CHAINS: usize = 8;
/// Maximum characters of their names, so that the figures fit into 80 columns.
const NAME: usize = 36;

pub fn why(found: &Why, style: Style) -> String {
    let mut parts = vec![style.bold(&wrap(style, "", "", &plain(&words::why(found))))];
    let cautions: String =
        words::cautions(found).iter().map(|line| wrap(style, "  ! ", "    ", &plain(line))).collect();
    if !cautions.is_empty() {
        parts.push(style.warn(&cautions));
    }
    parts.push(waterfall(found, style));
    parts.extend(words::not_distinguishable(found, style.all).map(|text| wrap(style, "", "", &plain(&text))));
    parts.extend(sleeps(&found.sleeps, style));
    parts.extend(changes(&found.statements, ("statement", "of the load"), style));
    parts.extend(changes(&found.functions, ("function", "of the server"), style));
    parts.extend(events(&found.events, style));
    let lines = ["A", "B"].into_iter().zip(&found.lines).filter_map(|(side, found)| Some((side, found.as_ref()?)));
    parts.extend(captures::lines_of(&lines.collect::<Vec<_>>(), "side", style));
    parts.extend(suspects(found, style));
    parts.extend(words::hardware(found).map(|text| wrap(style, "", "  ", &plain(&text))));
    parts.extend(suspect_words::decides(found).map(|message| with_command(&message, style)));
    let text = parts.join("\n");
    if style.plain { text.replace('µ', "u") } else { text }
}

/// The experiments that will be made, and their total time in seconds.
pub fn experiments(trials: &[Trial], within_s: f64, style: Style) -> String {
    let lines: String = trials.iter().map(|trial| wrap(style, "  ", "    ", &plain(&proof::plan(trial)))).collect();
    let each = match trials.len() {
        ..=1 => String::new(),
        several => format!(" together, {} each", duration(within_s / several as f64)),
    };
    format!("{} in {}{each}:\n{lines}", count(trials.len(), "experiment"), duration(within_s))
}

pub fn proofs(found: &Why, proofs: &[Proof], style: Style) -> String {
    let why = wrap(style, "", "", &plain(&words::why(found)));
    let answer = style.bold(&wrap(style, "", "", &plain(&proof::answer(proofs))));
    let lines: String = proofs.iter().map(|one| wrap(style, "  ", "    ", &plain(&proof::outcome(one)))).collect();
    let text = format!("{why}\n{answer}\n{lines}");
    if style.plain { text.replace('µ', "u") } else { text }
}

fn waterfall(found: &Why, style: Style) -> String {
    let [a, b] = found.sides.each_ref().map(|side| plain(&side.name));
    let over = if found.paired { "trials of the same block" } else { "trials" };
    let head = format!(
        "from A ({a}) to B ({b}), µs per transaction; intervals over {over}; * is shown, all parts tested together"
    );
    titled(style, &head, &fitted(style, &tables::waterfall(found)))
}

/// What connections sleep in, by call chain, one per line: a chain is too long for a table.
fn sleeps(found: &Changes, style: Style) -> Option<String> {
    let tested = count(found.tested, "call chain");
    if found.shown.is_empty() {
        let none = format!("No call chain that connections sleep in is shown to differ, of {tested} tested.");
        return (found.tested > 0).then(|| wrap(style, "", "", &none));
    }
    let shown = found.shown.iter().take(CHAINS);
    let lines: String = shown.map(|one| wrap(style, "  ", "    ", &plain(&words::slept(one)))).collect();
    let head = format!(
        "call chains that connections sleep in whose time differs, the nearest function first, per transaction ({tested} \
         tested, 5% false discoveries)"
    );
    Some(titled(style, &head, &lines))
}

/// Functions or statements: those that differ, and the largest of the others.
fn changes(changes: &Changes, (one, of): (&str, &str), style: Style) -> Option<String> {
    if changes.tested == 0 {
        return None;
    }
    let tested = count(changes.tested, one);
    let others = words::not_shown(changes, &format!("{one}s")).map(|text| wrap(style, "", "", &plain(&text)));
    let others = others.unwrap_or_default();
    if changes.shown.is_empty() {
        let none = wrap(style, "", "", &format!("No {one} {of} is shown to differ, of {tested} tested."));
        return Some(none + &others);
    }
    let largest = changes.shown.iter().map(|f| f.a_us.max(f.b_us)).fold(0.0, f64::max);
    let scale = Scale::new("us", largest, 4);
    let mut all = Vec::new();
    for change in changes.shown.iter().take(LISTED) {
        let interval = between(change.ci, "-", |end| scale.number(end));
        let (a, b, us) = (scale.number(change.a_us), scale.number(change.b_us), scale.number(change.us));
        all.push(vec![ending(&plain(&change.name), NAME), a, b, us, interval]);
        for chain in &change.callers {
            let name = format!("  {}", ending(&plain(&words::callers(&chain.chain)), NAME - 2));
            let (a, b, us) =
                (scale.number(chain.a_us), scale.number(chain.b_us), scale.number(chain.b_us - chain.a_us));
            all.push(vec![name, a, b, us, String::new()]);
        }
    }
    let head = format!("{one}s {of} whose time differs, µs per transaction ({tested} tested, 5% false discoveries)");
    let table = rows::table(style, &[one, "A", "B", "B - A", "95% interval"], 1, &all);
    Some(format!("{}\n{table}{others}", heading(style, &head)))
}

/// The events that differ; the others are in the JSON document.
fn events(changes: &[EventChange], style: Style) -> Option<String> {
    let tested = changes.len();
    let shown: Vec<&EventChange> = changes.iter().filter(|change| change.shown).collect();
    match shown.as_slice() {
        _ if changes.is_empty() => None,
        [] => Some(wrap(style, "", "", &format!("No event of {tested} is shown to differ per transaction."))),
        shown => {
            let head = format!("events per transaction that differ ({tested} tested, 5% false discoveries)");
            Some(titled(style, &head, &drawn(style, &tables::event_changes(shown))))
        }
    }
}

pub(super) fn suspects(found: &Why, style: Style) -> Option<String> {
    let lines: String = suspect_words::listed(found)
        .map(|cause| {
            let line = format!("{}: {}", suspect_words::suspect(&cause.suspect), suspect_words::evidence(cause));
            wrap(style, "  ", "    ", &plain(&line))
        })
        .collect();
    let head = heading(style, "suspects, the largest first (they may overlap)");
    (!lines.is_empty()).then(|| format!("{head}\n{lines}"))
}
