//! The result of `tare load FILE`, for scripts and for people.

use super::subject::Subject;
use super::view::{Viewed, slices};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_drive::workload::Measured;

#[derive(Debug, Serialize)]
pub struct Document<'a> {
    measured: &'a Subject,
    elapsed_s: f64,
    metrics: BTreeMap<&'a str, f64>,
    covariates: &'a BTreeMap<String, f64>,
}

impl<'a> Document<'a> {
    pub fn of(viewed: &Viewed<'a>) -> Self {
        let Measured { elapsed_s, covariates, metrics, .. } = viewed.measured;
        let metrics = metrics.iter().map(|(metric, value)| (metric.name(), *value)).collect();
        Self { measured: viewed.subject, elapsed_s: *elapsed_s, metrics, covariates }
    }
}

pub fn words(Viewed { subject, measured, sample, .. }: &Viewed<'_>) -> String {
    let mut text = subject.words() + &format!("time          {:.3} s\n", measured.elapsed_s);
    let width = measured.metrics.iter().map(|(metric, _)| metric.name().len()).max().unwrap_or(0).max(12);
    for (metric, value) in &measured.metrics {
        text += &format!("{:<width$}  {value:>14.3}\n", metric.name());
    }
    text + &slices(sample)
}
