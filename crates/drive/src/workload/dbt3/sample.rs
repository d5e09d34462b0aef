//! One sample of dbt3, put together from an execution of each query.

use crate::sut::Surroundings;
use crate::workload::Measured;
use tare_results::metric::Named;
use tare_results::probe::Probe;
use tare_results::server_cost::Operation;

/// One sample while its queries come in.
#[derive(Debug, Clone, Default)]
pub struct SampleBuilder {
    metrics: Vec<(Named, f64)>,
    around: Option<Surroundings>,
    elapsed_s: f64,
}

impl SampleBuilder {
    /// An execution, and what was seen alongside it.
    pub fn add(&mut self, metric: Named, seconds: f64, mut around: Surroundings) {
        // The machine alongside this query, which is not the machine alongside all of them.
        for probe in Probe::ALL {
            if let Some(ns) = around.covariates.get(probe.covariate()).copied() {
                around.covariates.insert(probe.beside(metric.name()), ns);
            }
        }
        self.metrics.push((metric, seconds));
        self.elapsed_s += seconds;
        match &mut self.around {
            Some(all) => all.merge(around),
            None => self.around = Some(around),
        }
    }

    /// Seconds of a query's execution; none before it was added.
    pub fn seconds(&self, metric: &Named) -> Option<f64> {
        self.metrics.iter().find(|(known, _)| known.name() == metric.name()).map(|(_, seconds)| *seconds)
    }

    /// What the queries came to as one sample of the trial.
    pub fn build(self) -> Measured {
        Measured {
            elapsed_s: self.elapsed_s,
            operations: Some((Operation::Query, self.metrics.len() as f64)),
            metrics: self.metrics,
            surroundings: self.around.unwrap_or_default(),
            ..Measured::default()
        }
    }
}
