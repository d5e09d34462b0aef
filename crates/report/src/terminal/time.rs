//! Where the time of a transaction goes: one line per condition, and in full.

use super::style::Style;
use super::text::{heading, plain, warned, with_command, wrap};
use super::why::suspects;
use super::{captures, rows};
use crate::figures::Scale;
use crate::words::{between, why as words};
use tare_findings::summary::Summary;
use tare_findings::time::{self, ConditionTime, Part};
use tare_findings::why::{self, Times};
use tare_results::Results;
use tare_stats::Interval;
use tare_text::{count, percent};

/// Time taken by other programs has a column from this share of a transaction's time on.
const SEEN: f64 = 0.005;

/// One line per condition, for `tare show`; `None` when nothing was recorded.
pub(super) fn summary(summary: &Summary, style: Style) -> Option<String> {
    let times = &summary.time;
    let largest = times.iter().map(|time| time.us_per_transaction).fold(0.0, f64::max);
    let scale = Scale::new("us", largest, 3);
    let mut names = vec!["condition", "all", "client", "waits", "server", "waits", "locks", "rest"];
    let strangers =
        |time: &ConditionTime| time.parts.iter().any(|part| part.part == Part::OtherPrograms && part.share > SEEN);
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
                        | Part::Pause
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
    let head = heading(
        style,
        &format!(
            "where the time of a transaction goes, µs: CPU time of client and server, each with its waits for a CPU; in full with \
         tare why{more}"
        ),
    );
    let rows: Vec<Vec<String>> = shown.into_iter().map(row).collect();
    // For narrower terminals, `tare why` prints the shares.
    let table = rows::whole(style, &names, 1, &rows).filter(|_| !times.is_empty())?;
    let labelled: Vec<(&str, &ConditionTime)> = times.iter().map(|time| (time.name.as_str(), time)).collect();
    let twice = warned(style, &words::overlaps(&labelled)).unwrap_or_default();
    let twice = if style.plain { twice.replace('µ', "u") } else { twice };
    Some(format!("{head}\n{table}{twice}"))
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
    let text = format!("{}{listed}", wrap(style, "", "", &plain(&sentence)));
    Some(if style.plain { text.replace('µ', "u") } else { text })
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
    let parts: Vec<String> =
        times.iter().map(|time| one(time, style)).chain(cautions).chain(below).chain(next).collect();
    let text = parts.join("\n");
    if style.plain { text.replace('µ', "u") } else { text }
}

fn one(time: &ConditionTime, style: Style) -> String {
    let scale = Scale::new("us", time.us_per_transaction, 4);
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
    let table = rows::table(style, &["part", "µs", "95% interval", "share"], 1, &all);
    let events = words::events(&time.events).into_iter().map(|line| wrap(style, "  ", "    ", &plain(&line)));
    format!("{}\n{table}{}{}", heading(style, &head), wrap(style, "  ", "  ", &alongside), events.collect::<String>())
}
