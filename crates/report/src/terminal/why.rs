//! Where the time of a transaction goes: one line per condition, in full, and as the explanation of a difference with
//! functions, suspects and the experiment that would decide.

use super::captures;
use super::layout::{self, conclusion, drawn, fitted, item, paragraph, titled, warned, with_command, wrap};
use super::style::{Style, plain};
use crate::figures::Scale;
use crate::tables;
use crate::words::suspects::{self, NextStep};
use crate::words::{between, why as words};
use tare_findings::summary::Summary;
use tare_findings::time::{self, ConditionTime, Part};
use tare_findings::why::{self, Cause, Changes, EventChange, Proof, Times, Trial, Why};
use tare_results::Results;
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_text::{count, duration, ending, percent};

/// Maximum functions and statements listed; `--json` has all that are shown.
const LISTED: usize = 10;
/// Maximum call chains of sleeps listed.
const CHAINS: usize = 8;
/// Maximum characters of their names, so that the figures fit into 80 columns.
const NAME: usize = 36;

pub fn why(found: &Why, style: Style) -> String {
    let mut parts = vec![conclusion(style, &words::why(found))];
    parts.extend(warned(style, &words::cautions(found)));
    parts.push(waterfall(found, style));
    parts.extend(words::not_distinguishable(found, style.all).map(|text| paragraph(style, &text)));
    parts.extend(sleeps(&found.sleeps, style));
    parts.extend(changes(&found.statements, ("statement", "of the load"), style));
    parts.extend(changes(&found.functions, ("function", "of the server"), style));
    parts.extend(events(&found.events, style));
    let lines = ["A", "B"].into_iter().zip(&found.lines).filter_map(|(side, found)| Some((side, found.as_ref()?)));
    parts.extend(captures::lines_of(&lines.collect::<Vec<_>>(), "side", style));
    parts.extend(suspects(found, style));
    parts.extend(words::hardware(found).map(|text| wrap(style, "", "  ", &plain(&text))));
    parts.push(next_step(suspects::decides(found), style));
    style.in_letters(parts.join("\n"))
}

fn next_step(NextStep { sentence, command }: NextStep, style: Style) -> String {
    match command {
        Some(command) => with_command(&[sentence, command], style),
        None => paragraph(style, &sentence),
    }
}

/// The experiments that will be made, and their total time in seconds.
pub fn experiments(trials: &[Trial], within_s: f64, style: Style) -> String {
    let lines: String = trials.iter().map(|trial| item(style, &suspects::plan_of_trial(trial))).collect();
    let each = match trials.len() {
        ..=1 => String::new(),
        several => format!(" together, {} each", duration(within_s / several as f64)),
    };
    format!("{} in {}{each}:\n{lines}", count(trials.len(), "experiment"), duration(within_s))
}

pub fn proofs(found: &Why, proofs: &[Proof], style: Style) -> String {
    let why = paragraph(style, &words::why(found));
    let answer = conclusion(style, &suspects::answer_of_proofs(proofs));
    let lines: String = proofs.iter().map(|one| item(style, &suspects::outcome_of_proof(one))).collect();
    style.in_letters(format!("{why}\n{answer}\n{lines}"))
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
    let lines: String = shown.map(|one| item(style, &words::slept(one))).collect();
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
    let others = words::not_shown(changes, &format!("{one}s")).map(|text| paragraph(style, &text));
    let others = others.unwrap_or_default();
    if changes.shown.is_empty() {
        let none = wrap(style, "", "", &format!("No {one} {of} is shown to differ, of {tested} tested."));
        return Some(none + &others);
    }
    let largest = changes.shown.iter().map(|f| f.a_us.max(f.b_us)).fold(0.0, f64::max);
    let scale = Scale::new(Unit::Us, largest, 4);
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
    let table = layout::table(style, &[one, "A", "B", "B - A", "95% interval"], 1, &all);
    Some(titled(style, &head, &(table + &others)))
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
    let line = |cause: &Cause| format!("{}: {}", suspects::suspect(&cause.suspect), suspects::evidence(cause));
    let lines: String = suspects::listed(found).map(|cause| item(style, &line(cause))).collect();
    (!lines.is_empty()).then(|| titled(style, "suspects, the largest first (they may overlap)", &lines))
}

/// Time taken by other programs has a column from this share of a transaction's time on.
const SEEN_SHARE: f64 = 0.005;

/// One line per condition, for `tare show`; `None` when nothing was recorded.
pub(super) fn summary(summary: &Summary, style: Style) -> Option<String> {
    let times = &summary.time;
    let largest = times.iter().map(|time| time.us_per_transaction).fold(0.0, f64::max);
    let scale = Scale::new(Unit::Us, largest, 3);
    let mut names = vec!["condition", "all", "client", "waits", "server", "waits", "locks", "rest"];
    let strangers = |time: &ConditionTime| {
        time.parts.iter().any(|part| part.part == Part::OtherPrograms && part.share > SEEN_SHARE)
    };
    let disturbed = times.iter().any(strangers);
    names.extend(disturbed.then_some("others"));
    let mut shown: Vec<&ConditionTime> = times.iter().collect();
    let left_out = style.shorten(&mut shown);
    let row = |time: &ConditionTime| {
        let sum = |of: &dyn Fn(&Part) -> bool| {
            let found: Vec<f64> = time.parts.iter().filter(|part| of(&part.part)).map(|part| part.us).collect();
            if found.is_empty() { "-".to_owned() } else { scale.number(found.iter().sum()) }
        };
        let mut cells = vec![
            plain(&time.name),
            scale.number(time.us_per_transaction),
            sum(&|part| matches!(part, Part::ClientUser | Part::ClientSystem)),
            sum(&|part| *part == Part::ClientWaited),
            sum(&|part| matches!(part, Part::ServerUser | Part::ServerSystem)),
            sum(&|part| *part == Part::ServerWaited),
            sum(&|part| {
                matches!(
                    part,
                    Part::RowLock
                        | Part::Lock(_)
                        | Part::Futex(_)
                        | Part::OtherLocks
                        | Part::Flush
                        | Part::Io
                        | Part::TemporaryFiles
                        | Part::Pause
                        | Part::StatementSleep
                        | Part::Asleep
                        | Part::Throttled
                )
            }),
            scale.number(time.not_explained.us + on_the_way(time)),
        ];
        cells.extend(disturbed.then(|| sum(&|part| *part == Part::OtherPrograms)));
        cells
    };
    let more =
        if left_out > 0 { format!("; {} between left out", count(left_out, "condition")) } else { String::new() };
    let head = format!(
        "where the time of a transaction goes, µs: CPU time of client and server, each with its waits for a CPU; in full \
         with tare why{more}"
    );
    let rows: Vec<Vec<String>> = shown.into_iter().map(row).collect();
    // For narrower terminals, `tare why` prints the shares.
    let table = layout::whole(style, &names, 1, &rows).filter(|_| !times.is_empty())?;
    let labelled: Vec<(&str, &ConditionTime)> = times.iter().map(|time| (time.name.as_str(), time)).collect();
    let twice = style.in_letters(warned(style, &words::overlaps(&labelled)).unwrap_or_default());
    Some(titled(style, &head, &(table + &twice)))
}

/// What makes up the difference between the fastest and the slowest condition; `None` if no difference is shown.
pub(super) fn difference(results: &Results, summary: &Summary, style: Style) -> Option<String> {
    let chosen = time::extremes(&summary.time)?;
    let conditions = tare_findings::collect::conditions(results);
    let side = |name: &str| conditions.iter().find(|condition| condition.name == name);
    let found = why::of_conditions(side(&chosen.fastest.name)?, side(&chosen.slowest.name)?, results).ok();
    let found = found.filter(|found| chosen.differ(found.own().p_value))?;
    let sentence = format!("{} {}", words::extremes(&chosen), words::why(&found));
    let listed = suspects(&found, style).unwrap_or_default();
    Some(style.in_letters(paragraph(style, &sentence) + &listed))
}

fn on_the_way(time: &ConditionTime) -> f64 {
    time.parts.iter().filter(|part| part.part == Part::Way).map(|part| part.us).sum()
}

/// The time of each condition in full, and the captures, for `tare why RESULTS`; the last line is the next command.
pub fn times(found: &Times, results: &str, style: Style) -> String {
    let Times { conditions: times, captures: captured, .. } = found;
    let cautions = warned(style, &words::cautions_of(found));
    let below = [captures::functions, captures::thread_times, captures::charged, captures::callers, captures::lines];
    let below = below.into_iter().filter_map(|table| table(captured, style));
    let next = time::extremes(times).map(|chosen| with_command(&words::next(&chosen, results), style));
    let next = next.unwrap_or_else(|| wrap(style, "", "", words::ALONE));
    let parts: Vec<String> =
        times.iter().map(|time| time_in_full(time, style)).chain(cautions).chain(below).chain([next]).collect();
    style.in_letters(parts.join("\n"))
}

fn time_in_full(time: &ConditionTime, style: Style) -> String {
    let scale = Scale::new(Unit::Us, time.us_per_transaction, 4);
    let mut all = Vec::new();
    let known = |ci: &Interval| ci.width() / 2.0 <= time.us_per_transaction;
    let interval =
        |ci: Option<Interval>| between(ci.filter(known), if ci.is_some() { "?" } else { "-" }, |end| scale.number(end));
    let mut cis = time.parts.iter().chain([&time.not_explained]).map(|part| part.ci).chain([time.ci]).flatten();
    let unknown = match cis.all(|ci| known(&ci)) {
        true => "",
        false => "; ?: half of the interval is more than the whole time, not known from so few trials",
    };
    for part in time.parts.iter().chain([&time.not_explained]) {
        let cells =
            vec![plain(&words::part(&part.part)), scale.number(part.us), interval(part.ci), words::signed(part.share)];
        all.push(cells);
    }
    let whole = vec!["all".to_owned(), scale.number(time.us_per_transaction), interval(time.ci), words::signed(1.0)];
    all.push(whole);
    let head = format!(
        "{}: {} per transaction ({} / throughput, {})",
        plain(&time.name),
        scale.figure(time.us_per_transaction),
        count(time.clients, "client"),
        count(time.trials, "trial")
    );
    let remote = time.away_from_memory.map_or(String::new(), |share| {
        format!("; {} of the server's work on another node than its memory", percent(share))
    });
    let alongside = format!(
        "alongside, and no part of it: {} of CPU in background threads; {:.2} voluntary \
         switches per transaction{remote}{unknown}",
        scale.figure(time.background_us),
        time.switches
    );
    let table = layout::table(style, &["part", "µs", "95% interval", "share"], 1, &all);
    let events: String = words::events(&time.events).iter().map(|line| item(style, line)).collect();
    titled(style, &head, &(table + &wrap(style, "  ", "  ", &alongside) + &events))
}
