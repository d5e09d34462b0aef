//! `tare why A B`: the answer, a waterfall from A's time to B's, functions, suspects, and what would decide.

use super::style::{Style, add, finish};
use super::text::{heading, plain, wrap};
use crate::words::why as words;
use tare_findings::figures::{Scale, count};
use tare_findings::why::{PartChange, SUSPECTS_SHOWN, Why};
use tare_stats::Interval;

/// Functions listed; `--json` has all that are shown.
const FUNCTIONS: usize = 10;

/// Everything `tare why A B` prints.
pub fn why(found: &Why, style: Style) -> String {
    let mut parts = vec![style.bold(&wrap(style, "", "", &plain(&words::why(found))))];
    let cautions: String =
        words::cautions(found).iter().map(|line| wrap(style, "  ! ", "    ", &plain(line))).collect();
    if !cautions.is_empty() {
        parts.push(style.warn(&cautions));
    }
    parts.push(waterfall(found, style));
    parts.extend(words::not_distinguishable(found).map(|text| wrap(style, "", "", &plain(&text))));
    parts.extend(functions(found, style));
    parts.extend(suspects(found, style));
    parts.extend(words::decides(found).map(|text| wrap(style, "", "  ", &plain(&text))));
    let text = parts.join("\n");
    if style.plain { text.replace('µ', "u") } else { text }
}

/// From A to B, part by part.
fn waterfall(found: &Why, style: Style) -> String {
    let [a, b] = found.sides.each_ref().map(|side| side.us_per_transaction);
    let scale = Scale::new("us", a.max(b), 4);
    let change = |us: f64| format!("{}{}", if us > 0.0 { "+" } else { "" }, scale.number(us));
    let interval =
        |ci: Option<Interval>| ci.map_or("-".to_owned(), |ci| format!("{} to {}", change(ci.low), change(ci.high)));
    let mut rows = style.table(&["part", "A", "B", "B - A", "95% interval", "share"], 1);
    let mut line = |change_of: &PartChange| {
        let star = if change_of.shown { " *" } else { "" };
        let cells = vec![
            plain(&words::part(&change_of.part)),
            scale.number(change_of.a_us),
            scale.number(change_of.b_us),
            change(change_of.us) + star,
            interval(change_of.ci),
            change_of.share.map_or("-".to_owned(), words::signed),
        ];
        add(&mut rows, 1, cells);
    };
    found.parts.iter().chain([&found.not_explained]).for_each(&mut line);
    let whole = found.difference;
    let star = if whole.shown { " *" } else { "" };
    let cells = vec![
        "all".to_owned(),
        scale.number(a),
        scale.number(b),
        change(whole.us) + star,
        interval(whole.ci),
        words::signed(1.0),
    ];
    add(&mut rows, 1, cells);
    let [a, b] = found.sides.each_ref().map(|side| plain(&side.name));
    let over = if found.paired { "trials of the same block" } else { "trials" };
    let head = format!(
        "from A ({a}) to B ({b}), µs a transaction; intervals over {over}; * is shown, all parts tested together"
    );
    format!("{}\n{}", heading(style, &head), finish(rows))
}

fn functions(found: &Why, style: Style) -> Option<String> {
    if found.functions_tested == 0 {
        return None;
    }
    let tested = count(found.functions_tested, "function");
    if found.functions.is_empty() {
        return Some(wrap(
            style,
            "",
            "",
            &format!("No function of the server is shown to differ, of {tested} tested."),
        ));
    }
    let largest = found.functions.iter().map(|f| f.a_us.max(f.b_us)).fold(0.0, f64::max);
    let scale = Scale::new("us", largest, 3);
    let mut rows = style.table(&["function", "A", "B", "B - A", "95% interval"], 1);
    for function in found.functions.iter().take(FUNCTIONS) {
        let interval =
            function.ci.map_or("-".to_owned(), |ci| format!("{} to {}", scale.number(ci.low), scale.number(ci.high)));
        let (a, b, us) = (scale.number(function.a_us), scale.number(function.b_us), scale.number(function.us));
        add(&mut rows, 1, vec![plain(&function.name), a, b, us, interval]);
    }
    let head = format!(
        "functions of the server whose CPU time differs, µs a transaction ({tested} tested, 5% false discoveries)"
    );
    Some(format!("{}\n{}", heading(style, &head), finish(rows)))
}

fn suspects(found: &Why, style: Style) -> Option<String> {
    let lines: String = found
        .causes
        .iter()
        .take(SUSPECTS_SHOWN)
        .map(|cause| {
            let line = format!("{}: {}", words::suspect(&cause.suspect), words::evidence(cause));
            wrap(style, "  ", "    ", &plain(&line))
        })
        .collect();
    let head = heading(style, "suspects, those that are shown first (they may overlap)");
    (!lines.is_empty()).then(|| format!("{head}\n{lines}"))
}
