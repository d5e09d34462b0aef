//! CSV for the importer of Apache Otava: one row per set of results, with the time of the run and one column per
//! condition and metric.

use super::source::Source;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use tare_text::as_text_cell;

/// Writes the given results as a history, in the given order; a condition that a run does not have is empty in its row.
pub(crate) fn write(history: &[Source<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut columns: BTreeSet<String> = BTreeSet::new();
    let rows: Vec<HashMap<String, f64>> = history.iter().map(values).collect();
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

fn values(source: &Source<'_>) -> HashMap<String, f64> {
    let conditions = source.summary.conditions.iter();
    conditions
        .flat_map(|condition| condition.metrics.iter().map(move |metric| (condition, metric)))
        .filter(|(_, metric)| source.headlines(&metric.name))
        .map(|(condition, metric)| (format!("{} {}", condition.name, metric.name), metric.mean))
        .collect()
}
