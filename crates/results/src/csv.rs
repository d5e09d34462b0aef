//! Reads results that another program measured: a CSV file with the columns condition,trial,sample,metric,value and,
//! optionally, block,disturbed,failed.

use super::csv_trials::{CsvRow, Most, Refused, Trials};
use super::directory::{Results, Source};
use super::error::ReadError;
use super::limits::LONGEST_ROW;
use super::schema::TrialRecord;
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;
use tare_text::{of_text_cell, shown_name};

/// Maximum size of a file, bytes: more than twenty million rows.
const LARGEST: u64 = 1 << 30;

const COLUMNS: [&str; 5] = ["condition", "trial", "sample", "metric", "value"];
const FURTHER: [&str; 3] = ["block", "disturbed", "failed"];

struct Order {
    needed: [usize; 5],
    block: Option<usize>,
    disturbed: Option<usize>,
    failed: Option<usize>,
}

struct File<'a> {
    path: &'a Path,
}

impl File<'_> {
    fn malformed(&self, line: usize, column: usize, what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError::Malformed { path: self.path.to_owned(), line, column, what: what.into(), expected: expected.into() }
    }
}

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    // The user named the file, so a link is followed; a pipe is refused, because reading it could block forever.
    let named = std::fs::canonicalize(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let file = tare_files::open_regular(&named)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    if file.metadata().map_err(failed)?.len() > LARGEST {
        return Err(tare_files::FilesError::TooLarge { path: named, limit: LARGEST }.into());
    }
    let study = path.file_stem().map_or_else(String::new, |stem| shown_name(&stem.to_string_lossy()).into_owned());
    let audience = tare_files::Audience::of(&file, &named)?;
    // A file that grows while it is read is not read beyond the limit.
    let trials = rows(&File { path }, file.take(LARGEST))?;
    Ok(Results { path: path.to_owned(), audience, source: Source::Csv, study, trials, ..Results::default() })
}

fn rows(file: &File<'_>, content: impl Read) -> Result<Vec<TrialRecord>, ReadError> {
    let until = Rc::new(Cell::new(LONGEST_ROW));
    let content = RowLimit { content: without_mark(content), given: 0, until: Rc::clone(&until) };
    let mut reader = csv::ReaderBuilder::new().from_reader(content);
    let mut header = reader.headers().map_err(|error| csv_error(file, &error))?.clone();
    header.trim();
    let order = order_of(file, &header)?;
    // One record is reused for all rows: with millions of rows, allocation would dominate.
    let (mut record, mut trials) = (csv::ByteRecord::new(), Trials::within(Most::default()));
    loop {
        until.set(reader.position().byte() + LONGEST_ROW);
        if !reader.read_byte_record(&mut record).map_err(|error| csv_error(file, &error))? {
            break;
        }
        let line = record.position().map_or(0, |position| position.line() as usize);
        let row = row(file, &record, &order, line)?;
        let added = match &*row.failed {
            "" => trials.add(&row),
            reason => trials.add_failed(&row, reason),
        };
        match added {
            Ok(()) => {}
            Err(Refused::Twice) => {
                let what = format!(
                    "a second value of `{}` for condition `{}`, trial {}, sample {}",
                    row.metric, row.condition, row.trial, row.sample
                );
                return Err(file.malformed(line, 1, what, "one row for each condition, trial, sample and metric"));
            }
            Err(Refused::Otherwise) => {
                let what =
                    format!("another block or disturbance for condition `{}`, trial {}", row.condition, row.trial);
                return Err(file.malformed(line, 1, what, "one block and one disturbance for each trial"));
            }
            Err(Refused::TooMany(what, limit)) => {
                return Err(ReadError::TooMany { path: file.path.to_owned(), what, limit });
            }
        }
    }
    match trials.finish() {
        none if none.is_empty() => {
            Err(file.malformed(1, 1, "the file has no rows", "one row per value below the header"))
        }
        trials => Ok(trials),
    }
}

/// Fails on a row that is longer than [`LONGEST_ROW`], because the parser would hold it whole in memory.
struct RowLimit<R> {
    content: R,
    given: u64,
    /// Number of bytes that may be requested before the current row must have ended.
    until: Rc<Cell<u64>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the row is longer than {LONGEST_ROW} bytes")]
struct RowTooLong;

impl<R: Read> Read for RowLimit<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given > self.until.get() {
            return Err(io::Error::other(RowTooLong));
        }
        let read = self.content.read(into)?;
        self.given += read as u64;
        Ok(read)
    }
}

/// Skips a byte order mark at the beginning.
fn without_mark(content: impl Read) -> impl Read {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut content = BufReader::with_capacity(1 << 16, content);
    if content.fill_buf().is_ok_and(|first| first.starts_with(MARK)) {
        content.consume(MARK.len());
    }
    content
}

/// Position of each column in the file; their order is free, their names are fixed.
fn order_of(file: &File<'_>, header: &csv::StringRecord) -> Result<Order, ReadError> {
    let expected = format!("the header {}, and maybe {}", COLUMNS.join(","), tare_text::list(&FURTHER));
    for (index, name) in header.iter().enumerate() {
        if !COLUMNS.contains(&name) && !FURTHER.contains(&name) {
            // A column of the other tables that `tare export` writes.
            let why = match header.iter().any(|name| name == "analysed") {
                true => ": of the tables of tare export, `values` can be read (--table values)",
                false => "",
            };
            return Err(file.malformed(1, index + 1, format!("unknown column `{name}`{why}"), expected));
        }
        if header.iter().take(index).any(|earlier| earlier == name) {
            return Err(file.malformed(1, index + 1, format!("column `{name}` appears twice"), expected));
        }
    }
    let mut needed = [0; 5];
    for (place, column) in needed.iter_mut().zip(COLUMNS) {
        *place = header.iter().position(|name| name == column).ok_or_else(|| {
            file.malformed(1, header.len().max(1), format!("column `{column}` is missing"), expected.clone())
        })?;
    }
    let [block, disturbed, failed] = FURTHER.map(|column| header.iter().position(|name| name == column));
    Ok(Order { needed, block, disturbed, failed })
}

fn row<'r>(file: &File<'_>, record: &'r csv::ByteRecord, order: &Order, line: usize) -> Result<CsvRow<'r>, ReadError> {
    let field = |place: usize| match std::str::from_utf8(record.get(place).unwrap_or_default()) {
        Ok(text) => Ok((place + 1, text.trim())),
        Err(_) => Err(file.malformed(line, place + 1, "the field is not UTF-8 text", "UTF-8 text")),
    };
    let word = |place: usize, name: &str| match field(place)? {
        (column, "") => {
            Err(file.malformed(line, column, format!("the {name} is empty"), format!("the name of a {name}")))
        }
        (_, text) => Ok(text),
    };
    let count = |place: usize, name: &str| {
        let (column, text) = field(place)?;
        text.parse::<usize>().map_err(|_| {
            let expected = format!("the number of the {name}: 0, 1, 2 ...");
            file.malformed(line, column, format!("`{text}` in column `{name}` is not a whole number"), expected)
        })
    };
    let needed = &order.needed;
    let text_of =
        |place: Option<usize>| place.map_or(Ok(""), |place| field(place).map(|(_, text)| text)).map(shown_name);
    let (condition, trial) = (word(needed[0], "condition")?, count(needed[1], "trial")?);
    let condition = shown_name(of_text_cell(condition));
    let block = order.block.map_or(Ok(0), |place| count(place, "block"))?;
    let (disturbed, failed) = (text_of(order.disturbed)?, text_of(order.failed)?);
    if !failed.is_empty() {
        let filled = ["sample", "metric", "value"].into_iter().zip(&needed[2..]);
        for (name, place) in filled {
            let (column, text) = field(*place)?;
            if !text.is_empty() {
                let what = format!("`{text}` in column `{name}` of a failed trial");
                return Err(file.malformed(line, column, what, "nothing: a failed trial has no values"));
            }
        }
        return Ok(CsvRow { condition, trial, sample: 0, metric: "".into(), value: 0.0, block, disturbed, failed });
    }
    let (column, text) = field(needed[4])?;
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
        let what = format!("`{text}` in column `value` is not a number");
        file.malformed(line, column, what, "a finite number such as 38656 or 1.25e-3")
    })?;
    Ok(CsvRow {
        condition,
        trial,
        sample: count(needed[2], "sample")?,
        metric: shown_name(of_text_cell(word(needed[3], "metric")?)),
        value,
        block,
        disturbed,
        failed,
    })
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
        csv::ErrorKind::Io(source) if source.get_ref().is_some_and(|source| source.is::<RowTooLong>()) => {
            let what = format!("the row is longer than {LONGEST_ROW} bytes");
            file.malformed(line, 1, what, "five to eight fields, and quotes that are closed")
        }
        _ => file.malformed(line, 1, error.to_string(), "comma-separated values"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MOST_METRICS;

    const HEADER: &str = "condition,trial,sample,metric,value\n";

    fn read(content: impl Read) -> Result<Vec<TrialRecord>, ReadError> {
        rows(&File { path: Path::new("x.csv") }, content)
    }

    struct Counting<R>(R, Rc<Cell<u64>>);

    impl<R: Read> Read for Counting<R> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(into)?;
            self.1.set(self.1.get() + read as u64);
            Ok(read)
        }
    }

    #[test]
    fn an_endless_row_is_refused_before_it_fills_memory() {
        for beginning in [HEADER.to_owned(), format!("{HEADER}\""), String::new(), "\"".to_owned()] {
            let requested = Rc::new(Cell::new(0));
            let endless = beginning.as_bytes().chain(io::repeat(b'x').take(240 << 20));
            let error = read(Counting(endless, Rc::clone(&requested))).unwrap_err();
            assert!(error.to_string().contains("longer than 65536 bytes"), "{error}");
            assert!(requested.get() < 1 << 20, "{} bytes were read", requested.get());
        }
        let long = format!("{HEADER}{},0,0,tps,1\n", "x".repeat(60_000));
        assert_eq!(read(long.as_bytes()).unwrap()[0].condition.len(), 60_000);
    }

    #[test]
    fn more_than_is_held_in_memory_is_refused_with_the_limit() {
        let most = Most { conditions: 5, trials: 7, metrics: 10, values: 120 };
        let too_many = |place: &dyn Fn(usize) -> [usize; 4]| {
            let mut trials = Trials::within(most);
            (0..120).find_map(|number| {
                let [condition, trial, sample, metric] = place(number);
                let (condition, metric) = (format!("c{condition}").into(), format!("m{metric}").into());
                trials
                    .add(&CsvRow {
                        condition,
                        trial,
                        sample,
                        metric,
                        value: 1.0,
                        block: 0,
                        disturbed: "".into(),
                        failed: "".into(),
                    })
                    .err()
            })
        };
        assert_eq!(too_many(&|n| [n, 0, 0, 0]), Some(Refused::TooMany("conditions", 5)));
        assert_eq!(too_many(&|n| [0, n, 0, 0]), Some(Refused::TooMany("trials", 7)));
        assert_eq!(too_many(&|n| [0, 0, 0, n]), Some(Refused::TooMany("metrics", 10)));
        // Each sample of a metric that no other sample has makes every column longer.
        let values = Some(Refused::TooMany("values with those that are missing", 120));
        assert_eq!(too_many(&|n| [0, 0, n.saturating_sub(9), n.min(9)]), values);
        assert_eq!(too_many(&|n| [n / 60, n / 40, n % 20, n / 20 % 2]), None);
        let columns: String = (0..=MOST_METRICS).map(|n| format!("c,0,0,m{n},1\n")).collect();
        let error = read(format!("{HEADER}{columns}").as_bytes()).unwrap_err().to_string();
        assert!(error.contains("more than 1000 metrics"), "{error}");
    }

    #[test]
    fn a_failed_trial_is_a_row_without_values() {
        let header = "condition,trial,sample,metric,value,failed\n";
        let trials = read(format!("{header}c,0,0,tps,1,\nc,1,,,,died\nc,1,,,,died again\n").as_bytes()).unwrap();
        let found: Vec<_> = trials.iter().map(|t| (t.trial, t.attempt, t.outcome, t.reason.as_deref())).collect();
        let failed = |attempt, why| (1, attempt, crate::schema::Outcome::Failed, Some(why));
        assert_eq!(found[1..], [failed(1, "died"), failed(2, "died again")]);
        assert_eq!((found[0].2, found.len()), (crate::schema::Outcome::Ok, 3));
        let error = read(format!("{header}c,1,0,tps,1,died\n").as_bytes()).unwrap_err().to_string();
        assert!(error.contains("`0` in column `sample` of a failed trial"), "{error}");
        assert!(read(format!("{header}c,0,0,,1,\n").as_bytes()).is_err(), "a value without a metric");
    }

    #[test]
    fn names_are_one_line_of_plain_text() {
        let trials = read(format!("{HEADER}\"a\n::stop-commands::x\",0,0,\"m\u{1}\",1\n").as_bytes()).unwrap();
        assert_eq!(trials[0].condition, "a\\u{a}::stop-commands::x");
        assert_eq!(trials[0].metric_names().into_iter().collect::<Vec<_>>(), ["m\\u{1}"]);
    }
}
