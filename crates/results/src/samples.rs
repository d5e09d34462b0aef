//! The samples of a trial in either form: whole records, or columns of [`super::plain`].

use super::plain::Plain;
use super::schema::{SampleRecord, TrialRecord};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum number of column entries per existing value.
const MOST_ROOM: usize = 4;
/// Up to this many values, columns are small however many entries are missing.
const FEW: usize = 1_000;

impl TrialRecord {
    pub fn sample_count(&self) -> usize {
        self.samples.len() + self.plain.len()
    }

    /// Every sample as a record; samples held as columns are converted on the fly.
    pub fn all_samples(&self) -> impl Iterator<Item = Cow<'_, SampleRecord>> {
        let plain = (0..self.plain.len()).map(|place| Cow::Owned(unpacked(&self.plain, place)));
        self.samples.iter().map(Cow::Borrowed).chain(plain)
    }

    /// Sample number, metric and value of everything measured.
    pub fn measured(&self) -> impl Iterator<Item = (usize, &str, f64)> {
        let whole =
            self.samples.iter().flat_map(|s| s.metrics.iter().map(move |(name, v)| (s.sample, name.as_str(), *v)));
        let plain = self.plain.columns().flat_map(move |(name, values)| {
            let numbered = values.iter().enumerate().filter(|(_, v)| !v.is_nan());
            numbered.map(move |(place, v)| (self.plain.number(place), name, *v))
        });
        whole.chain(plain)
    }

    pub fn metric_names(&self) -> BTreeSet<&str> {
        let whole = self.samples.iter().flat_map(|sample| sample.metrics.keys().map(String::as_str));
        whole.chain(self.plain.columns().map(|(name, _)| name)).collect()
    }

    /// The finite values of one metric, as an iterator.
    pub fn finite<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = f64> + 'a {
        let whole = self.samples.iter().filter_map(move |sample| sample.metrics.get(metric));
        whole.chain(self.plain.column(metric)).copied().filter(|value| value.is_finite())
    }

    /// The finite values of one metric, one per sample.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.sample_count());
        values.extend(self.finite(metric));
        values
    }

    /// The values that represent the trial: its samples, or, for a percentile computed over all its transactions, that
    /// single value.
    pub fn representing(&self, metric: &str) -> Vec<f64> {
        self.of_all_samples.get(metric).map_or_else(|| self.values(metric), |merged| vec![*merged])
    }

    /// Whether columns take about as much memory as the values of the samples: each column has an entry for every
    /// sample.
    fn is_dense(&self) -> bool {
        let values: usize = self.samples.iter().map(|sample| sample.metrics.len()).sum();
        self.metric_names().len() * self.samples.len() <= MOST_ROOM * values.max(FEW)
    }

    /// Converts the samples to columns if all of them have nothing but metrics.
    pub(crate) fn pack(&mut self) {
        let bare = |s: &SampleRecord| {
            s.tps_each_second.is_empty()
                && s.covariates.is_empty()
                && s.threads.is_empty()
                && s.histograms.is_empty()
                && s.metrics.values().all(|value| value.is_finite())
        };
        if self.samples.is_empty() || !self.samples.iter().all(bare) || !self.is_dense() {
            return;
        }
        let mut plain = Plain::default();
        for sample in &self.samples {
            let place = plain.push(sample.sample);
            for (name, value) in &sample.metrics {
                plain.set(place, name, *value);
            }
        }
        plain.finish();
        let elapsed_s = self.samples.iter().map(|sample| sample.elapsed_s).collect();
        if plain.set_times(self.samples.iter().map(|sample| sample.started_at.as_str()), elapsed_s) {
            self.plain = plain;
            self.samples = Vec::new();
        }
    }
}

fn unpacked(plain: &Plain, place: usize) -> SampleRecord {
    let values = plain.columns().filter_map(|(name, values)| Some((name.to_owned(), *values.get(place)?)));
    SampleRecord {
        sample: plain.number(place),
        started_at: plain.started_at(place),
        elapsed_s: plain.elapsed_s(place),
        metrics: values.filter(|(_, value)| !value.is_nan()).collect(),
        ..SampleRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Levels, PlannedTrial};
    use proptest::prelude::*;

    fn sample(number: usize, metrics: &[(&str, f64)]) -> SampleRecord {
        SampleRecord {
            sample: number,
            started_at: format!("2026-01-01T00:00:{:02}Z", number % 60),
            elapsed_s: 0.5,
            metrics: metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..SampleRecord::default()
        }
    }

    fn trial(samples: Vec<SampleRecord>) -> TrialRecord {
        let planned = PlannedTrial { trial: 0, block: 0, condition: "a".into(), lifetime: None };
        TrialRecord { samples, ..TrialRecord::new(&planned, 1, Levels::new(), String::new()) }
    }

    #[test]
    fn a_sample_with_more_than_metrics_stays_whole() {
        let mut one = trial(vec![sample(0, &[("tps", 1.0)]), sample(1, &[("tps", 2.0)])]);
        one.samples[1].covariates.insert("steal_fraction".into(), 0.0);
        one.pack();
        assert_eq!((one.samples.len(), one.plain.len()), (2, 0));
    }

    proptest! {
        #[test]
        fn packed_samples_give_equal_figures(rows in prop::collection::vec((0usize..9, prop::option::of(0.1f64..9.0),
            prop::option::of(-5.0f64..5.0)), 0..20))
        {
            let samples = rows.iter().map(|(number, a, b)| {
                let metrics: Vec<(&str, f64)> = [("a", a), ("b", b)].iter().filter_map(|(n, v)| Some((*n, (**v)?))).collect();
                sample(*number, &metrics)
            });
            let whole = trial(samples.collect());
            let mut packed = whole.clone();
            packed.pack();
            prop_assert_eq!(packed.plain.len(), rows.len());
            let records = |t: &TrialRecord| t.all_samples().map(Cow::into_owned).collect::<Vec<_>>();
            prop_assert_eq!(records(&packed), records(&whole));
            prop_assert_eq!(packed.values("a"), whole.values("a"));
            prop_assert_eq!(packed.metric_names(), whole.metric_names());
            prop_assert_eq!(packed.measured().count(), whole.measured().count());
        }
    }
}
