//! What a verdict claims, and whether two verdicts claim the same. They are compared as values.

use super::pooled::PooledStep;
use super::verdict::{Apart, LessStep, Moved, MovedAlone, OfLoad, Ranked, Verdict};
use std::collections::BTreeSet;
use tare_results::schema::Levels;

impl Verdict {
    /// Whether it is itself a tested result; what [`Self::stated`] has in its place may be one.
    pub fn is_tested(&self) -> bool {
        match self {
            Self::Untested(_) => false,
            Self::ByLoad(loads) => loads.iter().any(|own| own.verdict.is_tested()),
            _ => true,
        }
    }

    /// Whether it claims a difference, not only that none is shown.
    pub fn is_claim(&self) -> bool {
        match self.stated() {
            Self::Untested(_) => false,
            Self::NotMoved { alone, .. } | Self::NotRanked { alone, .. } | Self::NotRankedLevels { alone, .. } => {
                !alone.is_empty()
            }
            Self::Moved { .. } | Self::Ranked { .. } | Self::RankedLevels { .. } => true,
            Self::Raced(race) => race.decided,
            Self::SpreadFrom(from) => !from.sources.is_empty(),
            Self::Steps { less, pooled, .. } => !less.is_empty() || pooled.iter().any(PooledStep::is_claim),
            Self::ByLoad(loads) => loads.iter().any(|own| own.shown && own.verdict.is_claim()),
        }
    }

    /// Whether it claims something that another verdict on the same question does not.
    pub(crate) fn claims_more_than(&self, other: &Self) -> bool {
        match (self.stated(), other.stated()) {
            (Self::Moved { first, rest, .. }, Self::Moved { first: first_other, rest: rest_other, .. }) => {
                let [own, others] = [(first, rest), (first_other, rest_other)]
                    .map(|(first, rest)| claims(rest).into_iter().chain([first.claim()]).collect::<BTreeSet<_>>());
                !own.is_subset(&others)
            }
            _ => self.is_claim() && !self.claims_the_same(other),
        }
    }

    /// Whether another verdict makes the same claim about the same conditions. Figures may differ. So may values that
    /// are only listed if nothing is shown: the extreme means of conditions that do not differ are chance.
    pub fn claims_the_same(&self, other: &Self) -> bool {
        match (self.stated(), other.stated()) {
            (Self::Moved { first, rest, .. }, Self::Moved { first: first_other, rest: rest_other, .. }) => {
                first.claim() == first_other.claim() && claims(rest) == claims(rest_other)
            }
            (Self::NotMoved { terms, alone, .. }, Self::NotMoved { terms: others, alone: alone_other, .. }) => {
                terms == others && claims_alone(alone) == claims_alone(alone_other)
            }
            (Self::Ranked { ranking, .. }, Self::Ranked { ranking: other, .. }) => ranking.claim() == other.claim(),
            (Self::NotRanked { alone, .. }, Self::NotRanked { alone: other, .. }) => {
                claims_alone(alone) == claims_alone(other)
            }
            (
                Self::RankedLevels { of, ranking, .. },
                Self::RankedLevels { of: of_other, ranking: ranking_other, .. },
            ) => of == of_other && ranking.claim() == ranking_other.claim(),
            (Self::NotRankedLevels { of, alone, .. }, Self::NotRankedLevels { of: other, alone: alone_other, .. }) => {
                of == other && claims_alone(alone) == claims_alone(alone_other)
            }
            (Self::SpreadFrom(from), Self::SpreadFrom(other)) => from.claim() == other.claim(),
            (Self::Steps { less, pooled, .. }, Self::Steps { less: others, pooled: pooled_other, .. }) => {
                less.iter().map(LessStep::claim).eq(others.iter().map(LessStep::claim))
                    && pooled.iter().map(PooledStep::claim).eq(pooled_other.iter().map(PooledStep::claim))
            }
            (Self::ByLoad(loads), Self::ByLoad(others)) => {
                let same = |(one, other): (&OfLoad, &OfLoad)| {
                    one.load == other.load && one.shown == other.shown && one.verdict.claims_the_same(&other.verdict)
                };
                loads.len() == others.len() && loads.iter().zip(others).all(same)
            }
            _ => false,
        }
    }
}

impl Moved {
    /// The factor, and which of its levels is higher.
    fn claim(&self) -> (String, bool) {
        (self.term.to_string(), self.ratio > 1.0)
    }
}

/// A set without order: the order of two small effects is no claim.
fn claims(moved: &[Moved]) -> BTreeSet<(String, bool)> {
    moved.iter().map(Moved::claim).collect()
}

/// Which metric differs, between which levels, and in which direction.
fn claims_alone(moved: &[MovedAlone]) -> BTreeSet<(&str, &str, &str, bool)> {
    moved.iter().map(|one| (one.metric.as_str(), one.high.as_str(), one.low.as_str(), one.ratio > 1.0)).collect()
}

impl Ranked {
    fn claim(&self) -> ([(&str, BTreeSet<&String>); 2], Option<&Apart>) {
        let ends = [(&*self.best, self.best_ties.iter().collect()), (&*self.worst, self.worst_ties.iter().collect())];
        (ends, self.apart.as_ref())
    }
}

impl LessStep {
    fn claim(&self) -> (&str, &Levels, f64, f64) {
        (&self.over, &self.levels, self.from, self.to)
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
