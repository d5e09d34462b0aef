//! Reads results that something else measured: a CSV file of condition,trial,sample,metric,value.

use super::error::ReadError;
use super::everything::{Results, Source};
use super::levels::levels_of;
use super::schema::{PlannedTrial, SampleRecord, TrialRecord};
use std::collections::HashMap;
use std::path::Path;

/// The largest file that is read, bytes.
const LARGEST: u64 = 256 << 20;

const COLUMNS: [&str; 5] = ["condition", "trial", "sample", "metric", "value"];

/// One row, and where it stands.
struct Row {
    condition: String,
    trial: usize,
    sample: usize,
    metric: String,
    value: f64,
    line: usize,
}

/// Makes the errors of one file.
struct File<'a> {
    path: &'a Path,
}

impl File<'_> {
    fn malformed(&self, line: usize, column: usize, what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError::Malformed { path: self.path.to_owned(), line, column, what: what.into(), expected: expected.into() }
    }
}

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    // The user named it, so a link is followed; a pipe would be waited for without an end.
    let named = std::fs::canonicalize(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    let bytes = tare_files::read_regular(&named, LARGEST)?
        .ok_or_else(|| ReadError::Io { path: path.to_owned(), source: std::io::ErrorKind::NotFound.into() })?;
    let study = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let trials = trials_of(rows(&File { path }, &bytes)?, &File { path })?;
    Ok(Results {
        path: path.to_owned(),
        source: Source::Csv,
        study,
        plan: None,
        environment: None,
        captures: Default::default(),
        machines: Default::default(),
        study_toml: None,
        trials,
        damaged: Vec::new(),
        warnings: Vec::new(),
    })
}

fn rows(file: &File<'_>, bytes: &[u8]) -> Result<Vec<Row>, ReadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(|error| csv_error(file, &error))?.clone();
    let order = order_of(file, &header)?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| csv_error(file, &error))?;
        let line = record.position().map_or(0, |position| position.line() as usize);
        rows.push(row(file, &record, &order, line)?);
    }
    if rows.is_empty() {
        return Err(file.malformed(1, 1, "the file has no rows", "one row a value below the header"));
    }
    Ok(rows)
}

/// Position of each of [`COLUMNS`] in the file; their order is free, their names are not.
fn order_of(file: &File<'_>, header: &csv::StringRecord) -> Result<[usize; 5], ReadError> {
    let expected = format!("the header {}", COLUMNS.join(","));
    for (index, name) in header.iter().enumerate() {
        if !COLUMNS.contains(&name) {
            return Err(file.malformed(1, index + 1, format!("unknown column `{name}`"), expected));
        }
        if header.iter().take(index).any(|earlier| earlier == name) {
            return Err(file.malformed(1, index + 1, format!("column `{name}` appears twice"), expected));
        }
    }
    let mut order = [0; 5];
    for (place, column) in order.iter_mut().zip(COLUMNS) {
        *place = header.iter().position(|name| name == column).ok_or_else(|| {
            file.malformed(1, header.len().max(1), format!("column `{column}` is missing"), expected.clone())
        })?;
    }
    Ok(order)
}

fn row(file: &File<'_>, record: &csv::StringRecord, order: &[usize; 5], line: usize) -> Result<Row, ReadError> {
    let [condition, trial, sample, metric, value] = order.map(|place| (place + 1, record.get(place).unwrap_or("")));
    let word = |(column, text): (usize, &str), name: &str| {
        if text.is_empty() {
            return Err(file.malformed(line, column, format!("the {name} is empty"), format!("the name of a {name}")));
        }
        Ok(text.to_owned())
    };
    let count = |(column, text): (usize, &str), name: &str| {
        text.parse::<usize>().map_err(|_| {
            let expected = format!("the number of the {name}: 0, 1, 2 ...");
            file.malformed(line, column, format!("`{text}` in column `{name}` is not a whole number"), expected)
        })
    };
    let (value_column, value_text) = value;
    let value = value_text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
        let what = format!("`{value_text}` in column `value` is not a number");
        file.malformed(line, value_column, what, "a finite number such as 38656 or 1.25e-3")
    })?;
    Ok(Row {
        condition: word(condition, "condition")?,
        trial: count(trial, "trial")?,
        sample: count(sample, "sample")?,
        metric: word(metric, "metric")?,
        value,
        line,
    })
}

/// Rows that share condition and trial become one record; conditions and trials keep the order of the file.
fn trials_of(rows: Vec<Row>, file: &File<'_>) -> Result<Vec<TrialRecord>, ReadError> {
    let mut trials: Vec<TrialRecord> = Vec::new();
    let mut index_of: HashMap<(String, usize), usize> = HashMap::new();
    // Place of each sample of each trial: a search through a trial's samples would cost their square.
    let mut places: Vec<HashMap<usize, usize>> = Vec::new();
    for row in rows {
        let index = *index_of.entry((row.condition.clone(), row.trial)).or_insert_with(|| {
            trials.push(record(&row));
            places.push(HashMap::new());
            trials.len() - 1
        });
        let samples = &mut trials[index].samples;
        let place = *places[index].entry(row.sample).or_insert_with(|| {
            samples.push(empty_sample(row.sample));
            samples.len() - 1
        });
        if samples[place].metrics.insert(row.metric.clone(), row.value).is_some() {
            let what = format!(
                "a second value of `{}` for condition `{}`, trial {}, sample {}",
                row.metric, row.condition, row.trial, row.sample
            );
            return Err(file.malformed(row.line, 1, what, "one row for each condition, trial, sample and metric"));
        }
    }
    Ok(trials)
}

fn record(row: &Row) -> TrialRecord {
    let planned = PlannedTrial { trial: row.trial, block: 0, condition: row.condition.clone() };
    TrialRecord::new(&planned, 1, levels_of(&row.condition), String::new())
}

fn empty_sample(sample: usize) -> SampleRecord {
    SampleRecord {
        sample,
        started_at: String::new(),
        elapsed_s: 0.0,
        metrics: Default::default(),
        tps_each_second: Vec::new(),
        covariates: Default::default(),
        threads: Vec::new(),
    }
}

fn csv_error(file: &File<'_>, error: &csv::Error) -> ReadError {
    let line = error.position().map_or(1, |position| position.line() as usize);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { len, expected_len, .. } => {
            let column = (*len.min(expected_len) + 1) as usize;
            file.malformed(line, column, format!("the row has {len} fields"), format!("{expected_len} fields"))
        }
        csv::ErrorKind::Utf8 { err, .. } => {
            file.malformed(line, err.field() + 1, "the field is not UTF-8 text", "UTF-8 text")
        }
        _ => file.malformed(line, 1, error.to_string(), "comma-separated values"),
    }
}
