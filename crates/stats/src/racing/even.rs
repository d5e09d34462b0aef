//! What two candidates differ by where nothing disturbed one of them alone.

use super::fit::{Fit, difference};
use crate::interval::{Estimate, Interval};
use crate::quantiles::t;
use crate::sequential::is_one_sided;

/// Chance of an end of the interval by which the parts are compared.
const TAIL: f64 = 0.01;

/// What ran so far: by block and candidate.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// y = ln(metric), turned so that larger is better; none where a candidate was not in it or gave no value.
    pub values: &'a [Vec<Option<f64>>],
    /// Whether the trial was disturbed; of the blocks that are missing here none was.
    pub disturbed: &'a [Vec<bool>],
}

impl Blocks<'_> {
    pub(super) fn until(self, count: usize) -> Self {
        Self { values: &self.values[..count], ..self }
    }

    fn is_disturbed(self, block: usize, candidate: usize) -> bool {
        self.disturbed.get(block).is_some_and(|of| of[candidate])
    }
}

/// Blocks taken apart: the trials that nothing disturbed, and those that something did. Each part has its own spread.
pub(super) struct Even<'a> {
    all: Blocks<'a>,
    parts: Vec<Part>,
}

struct Part {
    values: Vec<Vec<Option<f64>>>,
    fit: Fit,
}

/// y_i - y_j, from the part that says more of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub mean: f64,
    pub standard_error: f64,
    pub df: f64,
    /// Of i and of j, whether something disturbed it alone more often than the other alone: it may have taken some time
    /// of it unseen too, in any of its trials.
    pub one_sided: [bool; 2],
}

impl Difference {
    /// The ends of an interval, each of which fails with chance `share`; infinite where nothing can be claimed.
    pub fn ends(&self, share: f64) -> (f64, f64) {
        let half = self.half_width(share);
        let [i_is_worse_off, j_is_worse_off] = self.one_sided;
        let low = if j_is_worse_off { f64::NEG_INFINITY } else { self.mean - half };
        (low, if i_is_worse_off { f64::INFINITY } else { self.mean + half })
    }

    fn half_width(&self, share: f64) -> f64 {
        t(1.0 - share, self.df) * self.standard_error
    }
}

impl<'a> Even<'a> {
    /// None without a degree of freedom.
    pub fn of(all: Blocks<'a>, candidates: usize) -> Option<Self> {
        let part = |disturbed: bool| {
            let kept = |block: usize, i: usize, y: Option<f64>| y.filter(|_| all.is_disturbed(block, i) == disturbed);
            let of = |(block, of): (usize, &Vec<Option<f64>>)| {
                of.iter().enumerate().map(|(i, y)| kept(block, i, *y)).collect()
            };
            let values: Vec<Vec<Option<f64>>> = all.values.iter().enumerate().map(of).collect();
            Fit::of(&slices(&values), candidates).map(|fit| Part { values, fit })
        };
        let parts: Vec<Part> = [false, true].into_iter().filter_map(part).collect();
        (!parts.is_empty()).then_some(Self { all, parts })
    }

    /// None where the two share no such block.
    pub fn difference(&self, i: usize, j: usize) -> Option<Difference> {
        let one_sided = [self.is_one_sided(i, j), self.is_one_sided(j, i)];
        let of = |part: &Part| {
            let (mean, shared) = difference(&slices(&part.values), i, j)?;
            let (standard_error, df) = part.fit.standard_error(i, j, shared);
            Some(Difference { mean, standard_error, df, one_sided })
        };
        let mut found = self.parts.iter().filter_map(of);
        let (first, second) = (found.next()?, found.next());
        let is_narrower = |other: &Difference| other.half_width(TAIL) < first.half_width(TAIL);
        Some(second.filter(is_narrower).unwrap_or(first))
    }

    /// Blocks that both of two ran in.
    pub fn ran(&self, i: usize, j: usize) -> usize {
        self.both(i, j).count()
    }

    /// Variance of one trial around the model.
    pub fn variance(&self) -> Option<f64> {
        self.parts.first().map(|part| part.fit.variance)
    }

    /// Whether something disturbed i alone more often than j alone.
    pub fn is_one_sided(&self, i: usize, j: usize) -> bool {
        is_one_sided(self.alone(i, j), self.alone(j, i))
    }

    fn alone(&self, i: usize, j: usize) -> usize {
        self.both(i, j).filter(|block| self.all.is_disturbed(*block, i) && !self.all.is_disturbed(*block, j)).count()
    }

    fn both(&self, i: usize, j: usize) -> impl Iterator<Item = usize> {
        let has = move |(block, of): (usize, &Vec<Option<f64>>)| (of[i].is_some() && of[j].is_some()).then_some(block);
        self.all.values.iter().enumerate().filter_map(has)
    }
}

/// exp(y_i - y_j) with its interval; without one, over all blocks, where none can be used.
pub(super) fn ratio(all: Blocks<'_>, even: Option<&Even<'_>>, [i, j]: [usize; 2], share: f64) -> Option<Estimate> {
    let Some(found) = even.and_then(|even| even.difference(i, j)) else {
        let (mean, _) = difference(&slices(all.values), i, j)?;
        return Some(Estimate { value: mean.exp(), ci: None });
    };
    let (low, high) = found.ends(share);
    Some(Estimate { value: found.mean.exp(), ci: Interval::finite(low.exp(), high.exp()) })
}

fn slices(values: &[Vec<Option<f64>>]) -> Vec<&[Option<f64>]> {
    values.iter().map(Vec::as_slice).collect()
}
