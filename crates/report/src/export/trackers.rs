//! The formats of programs that follow benchmarks over time: the Go benchmark format for benchstat
//! (<https://go.dev/design/14313-benchmark-format>), Bencher Metric Format
//! (<https://bencher.dev/docs/reference/bencher-metric-format/>), CSV for Apache Otava's importer, and OpenMetrics.

use super::columns::{better, factor_column};
use super::source::Source;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::{self, Write};
use tare_findings::condition::ConditionSummary;
use tare_findings::{collect, state};
use tare_results::metric::describe;
use tare_results::unit::Unit;
use tare_text::as_text_cell;

/// Writes one result line per analysed trial: its number of samples as iterations, then the trial's mean of every
/// metric, whose name is the unit. Unit lines give the better direction of each. The configuration line `disturbed`
/// holds for all lines below it; benchstat puts results that differ in it into separate tables.
pub(crate) fn write_benchstat(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let conditions = collect::conditions(source.results);
    let metrics: BTreeSet<String> =
        collect::all_metrics(&conditions).into_iter().filter(|metric| source.wants(metric)).collect();
    for metric in &metrics {
        let better = better(describe(metric).better);
        writeln!(out, "Unit {} better={better}", name_part(metric))?;
    }
    if let Some(environment) = &source.results.environment {
        writeln!(out, "cpu: {}\nkernel: {}", one_line(&environment.cpu_model), one_line(&environment.kernel))?;
    }
    let mut last = None;
    for condition in &conditions {
        let name =
            format!("Benchmark{}/{}", capital(&name_part(&source.results.study)), benchmark_name(condition.name));
        for trial in &condition.ok {
            let mut values = String::new();
            for metric in &metrics {
                if let Some(mean) = collect::trial_mean(trial, metric) {
                    let _ = write!(values, " {mean} {}", name_part(metric));
                }
            }
            if !values.is_empty() {
                let disturbed = if state::is_disturbed(trial) { "yes" } else { "no" };
                if last.replace(disturbed) != Some(disturbed) {
                    writeln!(out, "disturbed: {disturbed}")?;
                }
                writeln!(out, "{name} {}{values}", trial.sample_count())?;
            }
        }
    }
    Ok(())
}

/// `factor=level` words as the parts of a name.
fn benchmark_name(condition: &str) -> String {
    condition.split_whitespace().map(name_part).collect::<Vec<_>>().join("/")
}

/// A name without spaces, and without the slash that separates names.
fn name_part(text: &str) -> String {
    let kept = text.trim().chars().map(|c| if c.is_whitespace() || c.is_control() || c == '/' { '_' } else { c });
    kept.collect()
}

/// The word after `Benchmark` must not begin with a lower-case letter.
fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Writes one benchmark per condition and one measure per metric; the bounds are the 95% interval over trials, if the
/// mean describes the trials.
pub(crate) fn write_bmf(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Measure>> = BTreeMap::new();
    for condition in &source.summary.conditions {
        let measures = condition.metrics.iter().filter(|metric| source.wants(&metric.name)).map(|metric| {
            let ci = metric.interval();
            let (lower_value, upper_value) = (ci.map(|ci| ci.low), ci.map(|ci| ci.high));
            (metric.name.as_str(), Measure { value: metric.mean, lower_value, upper_value })
        });
        benchmarks.insert(format!("{} {}", source.results.study, condition.name), measures.collect());
    }
    serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
    out.write_all(b"\n")
}

/// Writes the given results as a history, in the given order; a condition that a run does not have is empty in its row.
/// One row per set of results, with the time of the run and one column per condition and metric.
pub(crate) fn write_otava(history: &[Source<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut columns: BTreeSet<String> = BTreeSet::new();
    let rows: Vec<HashMap<String, f64>> = history.iter().map(otava_values).collect();
    columns.extend(rows.iter().flat_map(HashMap::keys).cloned());
    let mut writer = csv::Writer::from_writer(out);
    let names = columns.iter().map(|column| as_text_cell(column).into_owned());
    writer.write_record(["time", "study", "tare_version"].map(str::to_owned).into_iter().chain(names))?;
    for (source, values) in history.iter().zip(rows) {
        let started = source.results.trials.iter().map(|trial| trial.started_at.as_str()).filter(|at| !at.is_empty());
        let version = source.results.environment.as_ref().map_or("", |environment| environment.tare_version.as_str());
        let mut record = vec![
            as_text_cell(started.min().unwrap_or("")).into_owned(),
            as_text_cell(&source.results.study).into_owned(),
            as_text_cell(version).into_owned(),
        ];
        for column in &columns {
            record.push(values.get(column).map_or(String::new(), f64::to_string));
        }
        writer.write_record(record)?;
    }
    writer.flush()
}

fn otava_values(source: &Source<'_>) -> HashMap<String, f64> {
    let conditions = source.summary.conditions.iter();
    conditions
        .flat_map(|condition| condition.metrics.iter().map(move |metric| (condition, metric)))
        .filter(|(_, metric)| source.headlines(&metric.name))
        .map(|(condition, metric)| (format!("{} {}", condition.name, metric.name), metric.mean))
        .collect()
}

/// Writes one family per metric, named `tare_` and the metric; the label `stat` is mean, ci_low or ci_high, the last
/// two only if the mean describes the trials.
pub(crate) fn write_openmetrics(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let metrics = collect::all_metrics(&collect::conditions(source.results));
    let conditions: Vec<_> = source.summary.conditions.iter().map(|of| (of, of.by_name())).collect();
    for metric in metrics.iter().filter(|metric| source.wants(metric)) {
        let family = format!("tare_{}", metric_name(metric));
        let unit = describe(metric).unit;
        let unit = if unit == Unit::Plain { String::new() } else { format!(", {unit}") };
        writeln!(out, "# TYPE {family} gauge\n# HELP {family} {}, mean over trials{unit}", escaped_label(metric))?;
        for (condition, known) in &conditions {
            let Some(found) = known.get(metric.as_str()) else { continue };
            let labels = labels(&source.results.study, condition);
            let ends = found.interval().map(|ci| [("ci_low", ci.low), ("ci_high", ci.high)]);
            for (stat, value) in [("mean", found.mean)].into_iter().chain(ends.into_iter().flatten()) {
                writeln!(out, "{family}{{{labels},stat=\"{stat}\"}} {value}")?;
            }
        }
    }
    writeln!(out, "# TYPE tare_trials gauge\n# HELP tare_trials Trials by how they ended")?;
    for condition in &source.summary.conditions {
        let labels = labels(&source.results.study, condition);
        let (clean, disturbed) = (condition.clean_trials, condition.disturbed_trials);
        for (state, count) in [("clean", clean), ("disturbed", disturbed), ("failed", condition.failed_trials)] {
            writeln!(out, "tare_trials{{{labels},state=\"{state}\"}} {count}")?;
        }
    }
    writeln!(out, "# EOF")
}

fn labels(study: &str, condition: &ConditionSummary) -> String {
    let mut labels = vec![("study".to_owned(), study), ("condition".to_owned(), condition.name.as_str())];
    labels.extend(condition.levels.iter().map(|(factor, level)| (metric_name(&factor_column(factor)), level.as_str())));
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped_label(value))).collect();
    labels.join(",")
}

fn metric_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn escaped_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
