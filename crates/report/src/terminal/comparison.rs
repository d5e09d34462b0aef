//! Comparisons: of two sides, of several with the first, and of the runs of a history.

use super::layout::{self, conclusion, fitted, item, lined, paragraph, titled, warned, wrap};
use super::style::{Style, plain};
use crate::figures::{Scale, change, changes_of};
use crate::words::find::shown_interval;
use crate::{tables, words};
use std::collections::BTreeSet;
use tare_findings::compare::groups::letters;
use tare_findings::compare::{
    AgainstFirst, Comparison, Gate, Grouped, Losses, ManyComparison, MetricComparison, Note, Options, ProbeChange,
    Verdict,
};
use tare_findings::differences::Difference;
use tare_findings::history::{History, MetricHistory};
use tare_findings::mode::Mode;
use tare_results::metric::{self, describe};
use tare_stats::Interval;
use tare_text::{count, decimal, small_percent};

pub fn comparison(found: &Comparison, options: &Options, style: Style) -> String {
    let first = found.identical.as_ref().map(|programs| words::identical(programs));
    let first = first.or_else(|| words::comparison_sentence(found, options.min_effect));
    let mut parts: Vec<String> = first.iter().map(|sentence| conclusion(style, sentence)).collect();
    parts.push(differences(found, style));
    parts.extend(warned(style, &words::notes(&found.notes)));
    let conditions: BTreeSet<String> = found.metrics.iter().map(|metric| metric.condition.to_string()).collect();
    for condition in conditions {
        let rows: Vec<&MetricComparison> =
            found.metrics.iter().filter(|m| m.condition.to_string() == condition && says_something(m)).collect();
        parts.push(titled(style, &plain(&condition), &metrics(&rows, style)));
    }
    let metrics: Vec<&MetricComparison> = found.metrics.iter().collect();
    let how = found.sessions.as_ref().map_or_else(|| words::how_compared(&metrics), words::how_compared_by_session);
    parts.push(explanation(options, style, "marked *", &how, &metrics));
    let Comparison { losses, notes, one_run, .. } = found;
    parts.extend(found.gate.map(|gate| {
        let gated = Gated { gate, base: "A", metrics: &metrics, losses, notes, one_run: *one_run };
        conclusion(style, &gated.words(options))
    }));
    parts.join("\n")
}

fn differences(found: &Comparison, style: Style) -> String {
    if found.differences.is_empty() {
        return "No recorded property of A and B differs.\n".to_owned();
    }
    let row = |difference: &Difference| {
        let value = |text: &str| if text.is_empty() { "-".to_owned() } else { plain(text) };
        vec![plain(&difference.what.to_string()), value(&difference.a), value(&difference.b)]
    };
    let rows = lined(style, &["differs", "A", "B"], 3, found.differences.iter().map(row));
    titled(style, "how they were made", &rows)
}

/// Metrics that only explain others are shown if they were requested or differ.
fn says_something(metric: &MetricComparison) -> bool {
    let differs = matches!(metric.verdict, Verdict::Faster | Verdict::Slower);
    metric.judged || differs || !describe(&metric.name).is_detail()
}

fn metrics(rows: &[&MetricComparison], style: Style) -> String {
    let adjusted = rows.iter().find_map(|row| row.adjusted.as_ref());
    let by = adjusted.map(|found| [format!("by {}", found.by), format!("{} itself", found.by)]);
    let mut heads = vec!["metric", "A", "B", "B/A", "95% interval"];
    heads.extend(by.iter().flatten().map(String::as_str));
    heads.push("verdict");
    let mut all = Vec::new();
    for metric in rows {
        let scale = Scale::new(metric.unit, metric.mean_a.abs().max(metric.mean_b.abs()), 4);
        let (ratio, interval) = match metric.difference {
            Some(found) => {
                let (value, interval) = words::difference(&found, metric.unit);
                (Some(format!("B - A: {value}")), interval)
            }
            None => (metric.ratio.map(|ratio| decimal(ratio, 3)), shown_interval(metric.ci).map(ends)),
        };
        let name = if metric.judged { format!("{} *", metric.name) } else { metric.name.clone() };
        let mut cells = vec![
            plain(&name),
            middle(&scale, metric.mean_a, &metric.modes_a, metric.trials_a),
            middle(&scale, metric.mean_b, &metric.modes_b, metric.trials_b),
            or_dash(ratio),
            or_dash(interval),
        ];
        if by.is_some() {
            let adjusted = metric.adjusted.as_ref();
            cells.push(or_dash(shown_interval(adjusted.and_then(|found| found.ci)).map(ends)));
            cells.push(probe_cell(adjusted.and_then(|found| found.probe)));
        }
        cells.push(words::verdict(metric));
        all.push(cells);
    }
    layout::table(style, &heads, 1, &all)
}

/// The mean of a side, or each of its modes with its share of the trials.
fn middle(scale: &Scale, mean: f64, modes: &[Mode], trials: usize) -> String {
    format!("{} (n {trials})", scale.middle_figure(mean, modes).join("\n"))
}

fn ends(ci: Interval) -> String {
    format!("{} to {}", decimal(ci.low, 3), decimal(ci.high, 3))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn probe_cell(probe: Option<ProbeChange>) -> String {
    or_dash(probe.and_then(|found| found.ci).map(ends))
}

pub(super) fn explanation(
    options: &Options,
    style: Style,
    tested: &str,
    how: &str,
    metrics: &[&MetricComparison],
) -> String {
    let by = match options.min_effect {
        0.0 => String::new(),
        effect => format!(", by more than {}; equivalent: the difference is smaller", small_percent(effect)),
    };
    let text = format!(
        "faster, slower: in the metric's better direction{by}. \
         Intervals are for each ratio alone, verdicts at 95% over all {tested} together. {how} A verdict on disturbed \
         trials is given only if it holds without them, or exceeds what the CPU time taken could explain.{}",
        match metrics.iter().any(|metric| metric.adjusted.is_some()) {
            true =>
                " Intervals adjusted by a probe (by ...) exclude variation of the machine itself; verdicts use them, \
                 because the study declared so before it ran, and are wrong if what is compared changes the probe \
                 itself (... itself: its time in B against A).",
            false => "",
        }
    );
    wrap(style, "", "", &text)
}

struct Gated<'a> {
    pub gate: Gate,
    pub base: &'a str,
    pub metrics: &'a [&'a MetricComparison],
    pub losses: &'a [Losses],
    pub notes: &'a [Note],
    pub one_run: bool,
}

impl Gated<'_> {
    pub(crate) fn words(&self, options: &Options) -> String {
        // A failed gate names the metrics that fail it, unless it is failed trials that do.
        let fails = self.gate == Gate::Failed && !self.losses.iter().any(|found| found.b_fails_more);
        let judged = || self.metrics.iter().filter(|metric| metric.judged && (metric.fails_gate || !fails));
        let mut names: Vec<&str> = Vec::new();
        judged().for_each(|metric| {
            if !names.contains(&metric.name.as_str()) {
                names.push(&metric.name);
            }
        });
        let what = self.what(&small_percent(options.fail_if_slower.unwrap_or(0.0)));
        if names.is_empty() { format!("{what}.") } else { format!("{what} ({}).", names.join(", ")) }
    }

    /// What the comparison lacks, so that the gate cannot pass.
    fn incomplete(&self) -> Option<String> {
        let lacks = |note: &&Note| matches!(note, Note::Unfinished { .. }) || words::is_only_in_first(note, self.base);
        self.notes.iter().find(lacks).map(words::note)
    }

    fn what(&self, limit: &str) -> String {
        let disturbed = self.metrics.iter().any(|metric| metric.judged && metric.disturbed);
        let lost: usize = self.losses.iter().map(|found| found.a.lost + found.b.lost).sum();
        let lacking = self.incomplete();
        match (self.gate, self.losses.iter().find(|found| found.b_fails_more)) {
            (Gate::Passed, _) => format!("gate passed: no judged metric can be more than {limit} slower"),
            (Gate::Failed, Some(more)) => format!("gate failed: {}", words::fails_more_by_test(more)),
            (Gate::Failed, None) => match self.metrics.iter().find_map(|metric| words::beyond_disturbance(metric)) {
                Some(beyond) => format!("gate failed: slower by more than {limit}; {beyond}"),
                None => format!("gate failed: slower by more than {limit}"),
            },
            (Gate::Inconclusive, _) if lost > 0 => format!(
                "gate inconclusive: {} gave no result, so the gate cannot pass; see why with tare show, and run again",
                count(lost, "trial")
            ),
            (Gate::Inconclusive, _) if lacking.is_some() => {
                format!("gate inconclusive: {}, so the gate cannot pass", lacking.unwrap_or_default())
            }
            (Gate::Inconclusive, _) if disturbed => format!(
                "gate inconclusive: disturbed trials decide whether anything is more than {limit} slower, and what \
                 disturbed them could explain it. Run again on a quieter machine{}. The limits are \
                 sampling.foreign_cpu_limit and sampling.steal_limit",
                match words::in_one_study(self.notes).filter(|_| !self.one_run) {
                    None => String::new(),
                    Some(both) => format!(", or {both}, so that what disturbs one disturbs the other"),
                }
            ),
            (Gate::Inconclusive, _) => format!(
                "gate inconclusive: these trials do not show whether anything is more than {limit} slower; run more"
            ),
        }
    }
}

pub fn many(found: &ManyComparison, options: &Options, style: Style) -> String {
    let base = found.sides.first().map_or(String::new(), |base| plain(base));
    let mut parts = vec![conclusion(style, &words::many_sentence(found, options.min_effect))];
    parts.extend(warned(style, &words::notes(&found.notes)));
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    let head = format!("change against {base}, the largest first");
    parts.push(titled(style, &head, &rows_of_many(&judged, found, &found.groups, style)));
    parts.extend(base_words(found).map(|words| paragraph(style, &words)));
    let is_none = |metric: &MetricComparison| metric.mean_a == 0.0 && metric.mean_b == 0.0;
    let is_cost =
        |row: &&AgainstFirst| !row.metric.judged && metric::is_server_cost(&row.metric.name) && !is_none(&row.metric);
    let costs: Vec<&AgainstFirst> = found.metrics.iter().filter(is_cost).collect();
    if !costs.is_empty() {
        let head = "what an operation costs the server (tested separately from the above)";
        parts.push(titled(style, head, &rows_of_many(&costs, found, &[], style)));
    }
    let metrics: Vec<&MetricComparison> = found.metrics.iter().map(|row| &row.metric).collect();
    parts.push(explanation(options, style, "rows of the first table", &words::how_compared(&metrics), &metrics));
    let base = found.sides.first().map_or("", String::as_str);
    let ManyComparison { losses, notes, one_run, .. } = found;
    parts.extend(found.gate.map(|gate| {
        let gated = Gated { gate, base, metrics: &metrics, losses, notes, one_run: *one_run };
        conclusion(style, &gated.words(options))
    }));
    parts.join("\n")
}

/// The group letters of the base, which has no row of its own.
fn base_words(found: &ManyComparison) -> Option<String> {
    let base = found.sides.first()?;
    let own = |cell: &Grouped| {
        let letters = &cell.sides.iter().find(|side| side.side == *base)?.letters;
        Some((format!("{} {}", cell.condition, cell.name), letters.clone()))
    };
    let all: Vec<(String, String)> = found.groups.iter().filter_map(own).collect();
    let letters: BTreeSet<&String> = all.iter().map(|(_, letters)| letters).collect();
    let where_ = match (all.as_slice(), letters.len()) {
        ([], _) => return None,
        ([(_, one), ..], 1) => one.clone(),
        (all, _) => {
            let named: Vec<String> = all.iter().map(|(cell, letters)| format!("{letters} ({cell})")).collect();
            named.join(", ")
        }
    };
    Some(format!(
        "Sides that share a letter (group) are not distinguishable, at 95% over all pairs of sides together; {base} is in \
         {where_}."
    ))
}

fn rows_of_many(judged: &[&AgainstFirst], of: &ManyComparison, groups: &[Grouped], style: Style) -> String {
    let base = of.sides.first();
    let is_side = |row: &&AgainstFirst| Some(&row.metric.condition.a) == base && row.metric.condition.b == row.against;
    // Conditions of one run as sides: the name of the side says which.
    let shows_conditions = !judged.iter().all(is_side);
    let mut sorted = judged.to_vec();
    sorted.sort_by(|a, b| words::size(&b.metric).total_cmp(&words::size(&a.metric)));
    let by = sorted.iter().find_map(|row| row.metric.adjusted.as_ref()).map(|found| &found.by);
    let by = by.map(|by| [format!("by {by}"), format!("{by} itself")]);
    let mut heads = vec!["side"];
    heads.extend(shows_conditions.then_some("condition"));
    heads.extend(["metric", "change", "95% interval"]);
    let left = heads.len() - 2;
    heads.extend(by.iter().flatten().map(String::as_str));
    if !groups.is_empty() {
        heads.push("group");
    }
    heads.push("verdict");
    let cells = |row: &AgainstFirst| {
        let metric = &row.metric;
        let interval = |ci| shown_interval(ci).map_or("-".to_owned(), changes_of);
        let mut cells = vec![plain(&row.against)];
        cells.extend(shows_conditions.then(|| plain(&metric.condition.to_string())));
        cells.push(plain(&metric.name));
        cells.extend(match metric.difference {
            Some(found) => {
                let (value, ends) = words::difference(&found, metric.unit);
                [value, ends.unwrap_or_else(|| "-".to_owned())]
            }
            None => [metric.ratio.map_or("-".to_owned(), |ratio| change(ratio - 1.0)), interval(metric.ci)],
        });
        if by.is_some() {
            let adjusted = metric.adjusted.as_ref();
            cells.push(interval(adjusted.and_then(|found| found.ci)));
            cells.push(probe_cell(adjusted.and_then(|found| found.probe)));
        }
        if !groups.is_empty() {
            cells.push(letters(groups, &row.against, metric).to_owned());
        }
        cells.push(words::verdict(metric));
        cells
    };
    lined(style, &heads, left, sorted.into_iter().map(cells))
}

/// The whole output; `margin` is the margin of the gate.
pub fn history(found: &History, margin: Option<f64>, style: Style) -> String {
    let mut parts = vec![conclusion(style, &words::history_sentence(found))];
    parts.extend(found.lines.iter().map(|line| history_line(line, style)));
    parts.extend(words::history(found).iter().map(|message| paragraph(style, message)));
    let gate = margin.and_then(|margin| words::history_gate(found, margin));
    parts.extend(gate.map(|message| conclusion(style, &message)));
    parts.join("\n")
}

fn history_line(line: &MetricHistory, style: Style) -> String {
    let head = format!("{}, {}", plain(&line.condition), plain(&line.name));
    let message: String = words::line(line).iter().map(|message| item(style, message)).collect();
    titled(style, &head, &(fitted(style, &tables::segments(line)) + &message))
}
