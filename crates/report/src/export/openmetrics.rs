//! OpenMetrics text for a push gateway or a text file collector: gauges of every condition's mean and interval.

use super::columns::factor_column;
use super::source::Source;
use std::io::{self, Write};
use tare_findings::collect;
use tare_findings::condition::ConditionSummary;
use tare_results::metric::describe;

/// Writes one family per metric, named `tare_` and the metric; the label `stat` is mean, ci_low or ci_high, the last
/// two only if the mean describes the trials.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let metrics = collect::all_metrics(&collect::conditions(source.results));
    let conditions: Vec<_> = source.summary.conditions.iter().map(|of| (of, of.by_name())).collect();
    for metric in metrics.iter().filter(|metric| source.wants(metric)) {
        let family = format!("tare_{}", name(metric));
        let unit = describe(metric).unit;
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        writeln!(out, "# TYPE {family} gauge\n# HELP {family} {}, mean over trials{unit}", escaped(metric))?;
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
    labels.extend(condition.levels.iter().map(|(factor, level)| (name(&factor_column(factor)), level.as_str())));
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    labels.join(",")
}

fn name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
