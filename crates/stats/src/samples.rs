//! Values in groups, checked once: the input of functions of several groups.

use crate::descriptive::mean;
use crate::error::{Error, all_finite};

/// Samples in trials, all finite, with at least one sample. Trials without samples are allowed, and left out of every
/// figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trials<'a>(&'a [Vec<f64>]);

impl<'a> Trials<'a> {
    /// Checks samples in trials; outer = trials.
    ///
    /// # Errors
    /// [`Error::TooFew`] without any sample, [`Error::NotFinite`] for one that is not finite.
    pub fn new(trials: &'a [Vec<f64>]) -> Result<Self, Error> {
        trials.iter().try_for_each(|samples| all_finite("samples", samples))?;
        if trials.iter().all(Vec::is_empty) {
            return Err(Error::TooFew { what: "samples".into(), needed: 1, got: 0 });
        }
        Ok(Self(trials))
    }

    /// The samples of each trial that has any, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [f64]> {
        self.0.iter().map(Vec::as_slice).filter(|samples| !samples.is_empty())
    }

    /// The mean of each trial that has samples, in order.
    pub fn means(self) -> Vec<f64> {
        self.iter().filter_map(mean).collect()
    }
}

/// Two or more groups, each with at least one value, all of them finite: for instance machines with the values of their
/// blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Groups<'a>(&'a [Vec<f64>]);

impl<'a> Groups<'a> {
    /// Checks values in groups; outer = groups.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer than two groups and for a group without values, [`Error::NotFinite`] for a value
    /// that is not finite.
    pub fn new(groups: &'a [Vec<f64>]) -> Result<Self, Error> {
        if groups.len() < 2 {
            return Err(Error::TooFew { what: "groups".into(), needed: 2, got: groups.len() });
        }
        if groups.iter().any(Vec::is_empty) {
            return Err(Error::TooFew { what: "values of a group".into(), needed: 1, got: 0 });
        }
        groups.iter().try_for_each(|values| all_finite("values of groups", values))?;
        Ok(Self(groups))
    }

    /// The values of each group, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [f64]> {
        self.0.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_without_usable_values_are_refused() {
        for nothing in [vec![], vec![vec![]]] {
            assert!(matches!(Trials::new(&nothing), Err(Error::TooFew { .. })), "{nothing:?}");
        }
        assert!(matches!(Trials::new(&[vec![1.0], vec![f64::NAN]]), Err(Error::NotFinite { .. })));
        for few in [vec![], vec![vec![1.0]], vec![vec![1.0], vec![]]] {
            assert!(matches!(Groups::new(&few), Err(Error::TooFew { .. })), "{few:?}");
        }
        assert!(matches!(Groups::new(&[vec![1.0], vec![f64::INFINITY]]), Err(Error::NotFinite { .. })));
    }

    #[test]
    fn trials_without_samples_are_left_out() {
        let samples = [vec![1.0, 3.0], vec![], vec![5.0]];
        let trials = Trials::new(&samples).unwrap();
        assert_eq!(trials.means(), [2.0, 5.0]);
        assert_eq!(trials.iter().count(), 2);
    }
}
