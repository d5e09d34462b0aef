//! The Go benchmark format for benchstat: one line per trial (<https://go.dev/design/14313-benchmark-format>).

use super::columns::better;
use super::source::Source;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use tare_findings::{collect, state};
use tare_results::metric;

/// Writes one result line per analysed trial: its number of samples as iterations, then the trial's mean of every
/// metric, whose name is the unit. Unit lines give the better direction of each. The configuration line `disturbed`
/// holds for all lines below it; benchstat puts results that differ in it into separate tables.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let conditions = collect::conditions(source.results);
    let metrics: BTreeSet<String> =
        collect::all_metrics(&conditions).into_iter().filter(|metric| source.wants(metric)).collect();
    for metric in &metrics {
        let better = better(metric::describe(metric).better);
        writeln!(out, "Unit {} better={better}", word(metric))?;
    }
    if let Some(environment) = &source.results.environment {
        writeln!(out, "cpu: {}\nkernel: {}", line(&environment.cpu_model), line(&environment.kernel))?;
    }
    let mut last = None;
    for condition in &conditions {
        let name = format!("Benchmark{}/{}", capital(&word(&source.results.study)), words(condition.name));
        for trial in &condition.ok {
            let mut values = String::new();
            for metric in &metrics {
                if let Some(mean) = collect::trial_mean(trial, metric) {
                    let _ = write!(values, " {mean} {}", word(metric));
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
fn words(condition: &str) -> String {
    condition.split_whitespace().map(word).collect::<Vec<_>>().join("/")
}

/// A name without spaces, and without the slash that separates names.
fn word(text: &str) -> String {
    let kept = text.trim().chars().map(|c| if c.is_whitespace() || c.is_control() || c == '/' { '_' } else { c });
    kept.collect()
}

/// The word after `Benchmark` must not begin with a lower-case letter.
fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
