//! A load in parts that need a server each: they run one after the other, and their samples are joined.

use super::dataset::{TrialData, prepared};
use super::{Trial, TrialError};
use tare_drive::workload::{Driven, Load, Measured, Pool};
use tare_results::schema::{DataRecord, TrialRecord};

impl Trial<'_> {
    /// Runs each part on the prepared content and a fresh server.
    pub(super) fn measure_parts(
        &self,
        parts: &[Box<dyn Load>],
        first: TrialData,
        record: &mut TrialRecord,
    ) -> Result<Driven, TrialError> {
        let mut all = Driven::default();
        let mut data = Some(first);
        for part in parts {
            let taken = match data.take() {
                Some(first) => first,
                None => {
                    let next = TrialData::take(prepared(self)?)?;
                    add(record.data.as_mut(), next.record());
                    next
                }
            };
            let settings = record.settings.len();
            let driven = self.measure_server(&taken, part.as_ref(), record)?;
            // Every server reports the same settings, so only the first report is kept.
            if !all.samples.is_empty() {
                record.settings.truncate(settings);
            }
            join(&mut all, driven);
        }
        Ok(all)
    }
}

/// Adds the cost of a further copy.
fn add(record: Option<&mut DataRecord>, next: Option<DataRecord>) {
    if let (Some(record), Some(next)) = (record, next) {
        record.files_put_back += next.files_put_back;
        record.bytes_copied += next.bytes_copied;
        record.bytes_compared += next.bytes_compared;
        record.elapsed_s += next.elapsed_s;
    }
}

/// Joins sample j of each part to sample j of the whole.
fn join(all: &mut Driven, part: Driven) {
    let is_first = all.samples.is_empty();
    if is_first {
        all.samples = part.samples;
    } else {
        all.samples.iter_mut().zip(part.samples).for_each(|(whole, more)| join_sample(whole, more));
    }
    // Settings, warm-up and plans of all parts are kept.
    all.applied.extend(part.applied);
    all.warm_up.extend(part.warm_up);
    all.plans.extend(part.plans);
    // The coldest pool of all parts: the limit for a warm pool is compared with it.
    all.pool = match (all.pool, part.pool) {
        (Some((before, after)), Some((more_before, more_after))) => {
            Some((colder(before, more_before), colder(after, more_after)))
        }
        (None, more) if is_first => more,
        (all, _) => all,
    };
}

fn join_sample(whole: &mut Measured, more: Measured) {
    whole.elapsed_s += more.elapsed_s;
    whole.metrics.extend(more.metrics);
    whole.histograms.extend(more.histograms);
    whole.operations = match (whole.operations, more.operations) {
        (Some((kind, count)), Some((_, more))) => Some((kind, count + more)),
        (whole, _) => whole,
    };
    whole.covariates.extend(more.covariates);
    whole.surroundings.merge(more.surroundings);
}

fn colder(one: Pool, other: Pool) -> Pool {
    if one.fraction() <= other.fraction() { one } else { other }
}
