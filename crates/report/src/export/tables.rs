//! The tables: the columns of each, and its rows one after another, so that no table is held in memory as a whole.

use super::columns::{
    CONDITION, COVARIATE, Cell, Column, DISTURBED, ENDED, FAILED, Field, Kind, METRIC, METRIC_UNIT, RELATIVE, SAMPLE,
    SAMPLE_TIME, SUMMARY, THREAD, TRIAL, TidyRow, VALUE, VALUE_OF_TRIAL, factor_column,
};
use super::source::Source;
use crate::words::failure;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use tare_findings::collect;
use tare_findings::relative::RelativeTable;
use tare_findings::state::{self, State};
use tare_results::schema::{Levels, TrialRecord};
use tare_text::{as_text_cell, shown};

/// One of the tidy tables: a row is one observation, a column one variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, clap::ValueEnum)]
#[strum(serialize_all = "lowercase")]
pub enum Table {
    /// One row per condition, trial, sample and metric: every measured value
    Samples,
    /// One row per attempt at a trial, failed and disturbed ones too
    Trials,
    /// One row per thread and sample: where it was allowed to run, where it ran, and its CPU time
    Threads,
    /// One row per sample and covariate: what was recorded alongside the metrics
    Covariates,
    /// One row per condition and metric: mean, interval and spread, as `tare show` has them
    Conditions,
    /// One row per load and build, or value of an option: relative throughput, and the cost of an operation
    Relative,
    /// What `tare show` and `tare compare` read again, of trials that count or failed:
    /// condition,trial,sample,metric,value,block,disturbed,failed
    Values,
}

type Each<'e, E> = &'e mut dyn FnMut(&[Cell<'_>]) -> Result<(), E>;

impl Table {
    fn columns(self) -> Vec<&'static Column> {
        let groups: &[&'static [Column]] = match self {
            Self::Samples => &[CONDITION, TRIAL, SAMPLE, SAMPLE_TIME, METRIC, METRIC_UNIT, VALUE],
            Self::Trials => &[CONDITION, TRIAL, ENDED],
            Self::Threads => &[CONDITION, TRIAL, SAMPLE, THREAD],
            Self::Covariates => &[CONDITION, TRIAL, SAMPLE, COVARIATE, VALUE],
            Self::Conditions => &[CONDITION, METRIC, METRIC_UNIT, SUMMARY],
            Self::Relative => &[CONDITION, METRIC, METRIC_UNIT, VALUE, RELATIVE],
            Self::Values => {
                let of_trial = [&CONDITION[0], &TRIAL[0], &SAMPLE[0], &METRIC[0], &VALUE_OF_TRIAL];
                return [of_trial.as_slice(), &[&ENDED[0], &DISTURBED[0], &FAILED[0]]].concat();
            }
        };
        groups.iter().flat_map(|group| group.iter()).collect()
    }

    /// The columns as readers see them; a column a factor stands after the condition, but in `values`.
    pub fn fields(self, factors: &[String]) -> Vec<Field> {
        let mut fields: Vec<Field> = self.columns().iter().map(|column| column.field()).collect();
        let factors = factors.iter().filter(|_| self != Self::Values).map(|factor| Field {
            name: Cow::Owned(factor_column(factor)),
            kind: Kind::Text,
            help: "level of this factor",
        });
        fields.splice(1..1, factors);
        fields
    }

    /// Hands every row to `each`, its cells in the order of [`Table::fields`].
    pub(crate) fn rows<E>(self, source: &Source<'_>, each: Each<'_, E>) -> Result<(), E> {
        let (columns, factors) = (self.columns(), if self == Self::Values { Vec::new() } else { factors(source) });
        let mut emit = |row: &TidyRow<'_>| {
            let mut cells: Vec<Cell<'_>> = Vec::with_capacity(columns.len() + factors.len());
            cells.push((columns[0].get)(row));
            cells.extend(factors.iter().map(|factor| row.levels.get(factor).map_or(Cell::Nothing, Cell::text)));
            cells.extend(columns[1..].iter().map(|column| (column.get)(row)));
            each(&cells)
        };
        match self {
            Self::Conditions => conditions(source, &mut emit),
            Self::Relative => relative(source, &mut emit),
            _ => records(self, source, &mut emit),
        }
    }
}

pub(crate) fn factors(source: &Source<'_>) -> Vec<String> {
    let planned = source.results.plan.iter().flat_map(|plan| &plan.conditions).map(|condition| &condition.levels);
    let recorded = source.results.trials.iter().map(|trial| &trial.levels);
    let names: BTreeSet<&String> = planned.chain(recorded).flat_map(Levels::keys).collect();
    names.into_iter().cloned().collect()
}

fn conditions<E>(source: &Source<'_>, emit: &mut dyn FnMut(&TidyRow<'_>) -> Result<(), E>) -> Result<(), E> {
    for condition in &source.summary.conditions {
        for metric in condition.metrics.iter().filter(|metric| source.wants(&metric.name)) {
            let row = TidyRow {
                value: Some((&metric.name, metric.mean)),
                summary: Some((condition, metric)),
                ..empty(&condition.name, &condition.levels)
            };
            emit(&row)?;
        }
    }
    Ok(())
}

fn relative<E>(source: &Source<'_>, emit: &mut dyn FnMut(&TidyRow<'_>) -> Result<(), E>) -> Result<(), E> {
    let Some(table) = RelativeTable::of(&source.summary) else { return Ok(()) };
    for condition in &source.summary.conditions {
        let Some((row, cell)) = table.cell(&condition.name) else { continue };
        let value = Some((table.metric.as_str(), cell.value));
        emit(&TidyRow { value, relative: Some((row, cell)), ..empty(&condition.name, &condition.levels) })?;
    }
    Ok(())
}

fn records<E>(table: Table, source: &Source<'_>, emit: &mut dyn FnMut(&TidyRow<'_>) -> Result<(), E>) -> Result<(), E> {
    let conditions = collect::conditions(source.results);
    let counting: HashSet<*const TrialRecord> =
        conditions.iter().flat_map(|condition| &condition.ok).map(|trial| std::ptr::from_ref(*trial)).collect();
    // Not those of a pilot that does not count.
    let failed: HashSet<*const TrialRecord> =
        conditions.iter().flat_map(|condition| &condition.failed).map(|trial| std::ptr::from_ref(*trial)).collect();
    let leaves_disturbed_out = source.summary.answer.leaves_disturbed_out();
    for trial in &source.results.trials {
        let counts = counting.contains(&std::ptr::from_ref(trial));
        let analysed = counts && !(leaves_disturbed_out && state::is_disturbed(trial));
        let row = TidyRow { trial: Some(trial), analysed, ..empty(&trial.condition, &trial.levels) };
        if table == Table::Trials {
            emit(&row)?;
            continue;
        }
        if table == Table::Values && !counts {
            // A failed trial is a result: without it a comparison would not know that a side lost some.
            match state::of(trial) {
                State::Failed(why) if failed.contains(&std::ptr::from_ref(trial)) => {
                    emit(&TidyRow { failed: Some(&failure(&why)), ..row })?;
                }
                _ => {}
            }
            continue;
        }
        // Percentiles of all transactions of a trial, which comparisons use; they have no sample of their own.
        let of_trial = |name: &str| trial.of_all_samples.get(name).filter(|_| table == Table::Values);
        for (place, sample) in trial.all_samples().enumerate() {
            let row = TidyRow { sample: Some(&sample), ..row };
            let named = match table {
                Table::Threads => {
                    sample.threads.iter().try_for_each(|thread| emit(&TidyRow { thread: Some(thread), ..row }))?;
                    continue;
                }
                Table::Covariates => &sample.covariates,
                _ => &sample.metrics,
            };
            let wanted = named.iter().filter(|(name, _)| table == Table::Covariates || source.wants(name));
            for (name, value) in wanted.filter(|(name, _)| place == 0 || of_trial(name).is_none()) {
                let value = of_trial(name).unwrap_or(value);
                emit(&TidyRow { value: Some((name, *value)), ..row })?;
            }
        }
    }
    Ok(())
}

fn empty<'a>(condition: &'a str, levels: &'a Levels) -> TidyRow<'a> {
    TidyRow {
        condition,
        levels,
        trial: None,
        analysed: false,
        failed: None,
        sample: None,
        value: None,
        thread: None,
        relative: None,
        summary: None,
    }
}

/// CSV (RFC 4180): one table with a header line; numbers are not rounded, and values that were not measured are empty.
/// Texts are written so that no spreadsheet evaluates them as formulas.
pub(crate) fn write_csv(source: &Source<'_>, table: Table, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let fields = table.fields(&factors(source));
    writer.write_record(fields.iter().map(|field| as_text_cell(&field.name).into_owned()))?;
    table.rows(source, &mut |cells: &[Cell<'_>]| -> io::Result<()> {
        for cell in cells {
            match cell {
                // A reason may be any text, and the output may go to a terminal.
                Cell::Text(text) => writer.write_field(as_text_cell(&shown(text)).as_bytes())?,
                Cell::Whole(whole) => writer.write_field(whole.to_string())?,
                Cell::Number(number) => writer.write_field(number.to_string())?,
                Cell::Flag(flag) => writer.write_field(flag.to_string())?,
                Cell::Nothing => writer.write_field("")?,
            }
        }
        Ok(writer.write_record(None::<&[u8]>)?)
    })?;
    writer.flush()
}
