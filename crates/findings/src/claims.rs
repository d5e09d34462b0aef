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
                !own.is_subset(&others) || !claims_alone(self.alone()).is_subset(&claims_alone(other.alone()))
            }
            _ => self.is_claim() && !self.claims_the_same(other),
        }
    }

    /// Whether another verdict makes the same claim about the same conditions. Figures may differ. So may values that
    /// are only listed if nothing is shown: the extreme means of conditions that do not differ are chance.
    pub fn claims_the_same(&self, other: &Self) -> bool {
        if claims_alone(self.alone()) != claims_alone(other.alone()) {
            return false;
        }
        match (self.stated(), other.stated()) {
            (Self::Moved { first, rest, .. }, Self::Moved { first: first_other, rest: rest_other, .. }) => {
                first.claim() == first_other.claim() && claims(rest) == claims(rest_other)
            }
            (Self::NotMoved { terms, .. }, Self::NotMoved { terms: others, .. }) => terms == others,
            (Self::Ranked { ranking, .. }, Self::Ranked { ranking: other, .. }) => ranking.claim() == other.claim(),
            (Self::NotRanked { .. }, Self::NotRanked { .. }) => true,
            (
                Self::RankedLevels { of, ranking, .. },
                Self::RankedLevels { of: of_other, ranking: ranking_other, .. },
            ) => of == of_other && ranking.claim() == ranking_other.claim(),
            (Self::NotRankedLevels { of, .. }, Self::NotRankedLevels { of: other, .. }) => of == other,
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
mod tests {
    use super::*;
    use crate::factors::{Extremes, Term, TermFactor};
    use crate::pooled::StepExceptions;
    use crate::spread::{ShownSource, SpreadFrom};
    use crate::verdict::{Answer, Disturbed, LevelsOf, Measured, Selected, Tested, Untested, Without};
    use tare_stats::blocks::{Analysis, Spread};

    const UP: f64 = 1.2;
    const DOWN: f64 = 0.8;

    fn what() -> Measured {
        Measured { metric: "tps".into(), metrics: 1, steps: None }
    }

    fn tested() -> Tested {
        let analysis = Analysis { by_block: true, spread: Spread::Pooled { p_value: 1.0 }, trials: 9, of: 9 };
        Tested { count: 1, of: 1, analysis }
    }

    fn term(factor: &str) -> Term {
        Term(vec![TermFactor { factors: vec![factor.into()], level: None }])
    }

    fn moved(factor: &str, ratio: f64) -> Moved {
        Moved {
            term: term(factor),
            high: "on".into(),
            low: "off".into(),
            ratio,
            ci: None,
            p_value: Some(0.01),
            shown: true,
        }
    }

    fn alone(ratio: f64) -> Vec<MovedAlone> {
        vec![MovedAlone { metric: "qps".into(), by: None, high: "on".into(), low: "off".into(), ratio }]
    }

    /// `more`: figures in place of others, which are no part of a claim.
    fn ranked(best: &str, worst: &str, ties: &[&str], apart: Option<[&str; 2]>, more: f64) -> Ranked {
        Ranked {
            second: None,
            best: best.into(),
            best_ties: ties.iter().map(|name| (*name).into()).collect(),
            worst: worst.into(),
            worst_ties: Vec::new(),
            apart: apart.map(|[high, low]| Apart { high: high.into(), low: low.into() }),
            ratio: 1.5 + more,
            ci: None,
            differing: 1,
            p_value: 0.01,
        }
    }

    fn of_conditions(ranking: Ranked) -> Verdict {
        let (factors, by, range) = (vec!["a".into()], None, None);
        Verdict::Ranked {
            what: what(),
            factors,
            by,
            ranking,
            range,
            fewest_trials: 3,
            tested: tested(),
            alone: Vec::new(),
        }
    }

    fn not_ranked(alone: Vec<MovedAlone>, more: f64) -> Verdict {
        let extremes = Some(Extremes { ratio: 1.1 + more, ci: None });
        Verdict::NotRanked {
            what: what(),
            conditions: 2,
            extremes,
            range: None,
            fewest_trials: 3,
            tested: tested(),
            alone,
        }
    }

    fn levels(factor: &str) -> LevelsOf {
        LevelsOf { factor: factor.into(), levels: 2, at: None }
    }

    fn spread(sources: &[[&str; 3]], more: f64) -> Verdict {
        let shown = |[factor, noisy, quiet]: &[&str; 3]| ShownSource {
            factor: (*factor).into(),
            levels: 2,
            noisy_level: (*noisy).into(),
            quiet_level: (*quiet).into(),
            share: 0.5 + more,
        };
        let sources = sources.iter().map(shown).collect();
        Verdict::SpreadFrom(SpreadFrom { sources, unexplained: 0.1, by_chance: None })
    }

    fn steps(less: Option<f64>, pooled: Option<(bool, usize)>, more: f64) -> Verdict {
        let (over, from, to, ratio, ci) = ("threads".to_owned(), 2.0, 4.0, 0.9 - more, None);
        let of_one = |to| LessStep { over: over.clone(), levels: Levels::default(), from, to, ratio, ci };
        let exception = StepExceptions { levels: Levels::default(), from_threads: None, ladders: 1, ratio: (0.5, 0.6) };
        let pooled = pooled.map(|(less, exceptions)| {
            let exceptions = vec![exception; exceptions];
            PooledStep { over: over.clone(), load: None, from, to, ratio, ci, ladders: 3, less, exceptions }
        });
        Verdict::Steps {
            less: less.map(of_one).into_iter().collect(),
            ladders: 3,
            pooled: pooled.into_iter().collect(),
        }
    }

    fn by_load(loads: &[(&str, bool, Verdict)]) -> Verdict {
        let of = |(load, shown, verdict): &(&str, bool, Verdict)| OfLoad {
            load: (*load).into(),
            verdict: verdict.clone(),
            shown: *shown,
        };
        Verdict::ByLoad(loads.iter().map(of).collect())
    }

    /// Verdicts of which no two make the same claim, and whether each claims a difference.
    fn verdicts(more: f64) -> Vec<(Verdict, bool)> {
        let of_factors = |first: f64, rest: &[(&str, f64)]| {
            let mut rest: Vec<Moved> = rest.iter().map(|(factor, ratio)| moved(factor, ratio + more)).collect();
            if more > 0.0 {
                rest.reverse();
            }
            let (first, alone) = (moved("a", first + more), Vec::new());
            Verdict::Moved { what: what(), first, rest, tested: tested(), alone }
        };
        let of_steps = |alone: Vec<MovedAlone>| {
            let (first, rest) = (moved("a", UP + more), Vec::new());
            Verdict::Moved { what: what(), first, rest, tested: tested(), alone }
        };
        let not_moved = |factor: &str, alone: Vec<MovedAlone>| Verdict::NotMoved {
            what: what(),
            terms: vec![term(factor)],
            largest: Some(moved(factor, 1.0 + more)),
            tested: tested(),
            alone,
        };
        let of_levels = |factor: &str, best: &str, worst: &str| Verdict::RankedLevels {
            what: what(),
            of: levels(factor),
            ranking: ranked(best, worst, &[], None, more),
            tested: tested(),
        };
        let no_levels = |factor: &str| {
            let extremes = Some(Extremes { ratio: 1.1 + more, ci: None });
            Verdict::NotRankedLevels { what: what(), of: levels(factor), extremes, tested: tested(), alone: Vec::new() }
        };
        let (xy, none) = (of_conditions(ranked("x", "y", &[], None, more)), not_ranked(Vec::new(), more));
        vec![
            (of_factors(UP, &[]), true),
            (of_steps(alone(UP + more)), true),
            (of_steps(alone(DOWN + more)), true),
            (of_factors(DOWN, &[]), true),
            (of_factors(UP, &[("b", UP), ("c", UP)]), true),
            (of_factors(UP, &[("b", DOWN), ("c", UP)]), true),
            (not_moved("a", Vec::new()), false),
            (not_moved("b", Vec::new()), false),
            (not_moved("a", alone(UP + more)), true),
            (not_moved("a", alone(DOWN + more)), true),
            (xy.clone(), true),
            (of_conditions(ranked("y", "x", &[], None, more)), true),
            (of_conditions(ranked("x", "y", &["z"], None, more)), true),
            (of_conditions(ranked("x", "y", &[], Some(["z", "y"]), more)), true),
            (none.clone(), false),
            (not_ranked(alone(UP + more), more), true),
            (not_ranked(alone(DOWN + more), more), true),
            (of_levels("a", "on", "off"), true),
            (of_levels("b", "on", "off"), true),
            (of_levels("a", "off", "on"), true),
            (no_levels("a"), false),
            (no_levels("b"), false),
            (spread(&[], more), false),
            (spread(&[["a", "on", "off"]], more), true),
            (spread(&[["a", "off", "on"]], more), true),
            (steps(None, None, more), false),
            (steps(Some(4.0), None, more), true),
            (steps(Some(8.0), None, more), true),
            (steps(None, Some((false, 0)), more), false),
            (steps(None, Some((true, 0)), more), true),
            (steps(None, Some((false, 1)), more), true),
            (by_load(&[("one", true, xy.clone())]), true),
            (by_load(&[("one", false, xy.clone())]), false),
            (by_load(&[("one", true, none.clone())]), false),
            (by_load(&[("two", true, xy.clone())]), true),
            (by_load(&[("one", true, xy), ("two", false, none)]), true),
        ]
    }

    #[test]
    fn claims_are_the_same_whatever_their_figures_and_no_others_are() {
        let (all, others) = (verdicts(0.0), verdicts(0.1));
        for (place, (one, is_claim)) in all.iter().enumerate() {
            assert_eq!(one.is_claim(), *is_claim, "{one:?}");
            for (other_place, (other, _)) in others.iter().enumerate() {
                let same = place == other_place;
                assert_eq!(one.claims_the_same(other), same, "{one:?} {other:?}");
                if !matches!((one, other), (Verdict::Moved { .. }, Verdict::Moved { .. })) {
                    assert_eq!(one.claims_more_than(other), *is_claim && !same, "{one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn of_effects_the_set_counts() {
        let of_factors = |first: &str, rest: &[&str]| {
            let rest = rest.iter().map(|factor| moved(factor, UP)).collect();
            Verdict::Moved { what: what(), first: moved(first, UP), rest, tested: tested(), alone: Vec::new() }
        };
        let (one, two, turned) = (of_factors("a", &[]), of_factors("a", &["b"]), of_factors("b", &["a"]));
        assert!(two.claims_more_than(&one) && !one.claims_more_than(&two) && !one.claims_more_than(&one));
        assert!(!two.claims_more_than(&turned) && !two.claims_the_same(&turned), "the largest effect is another one");
    }

    #[test]
    fn of_too_few_rungs_the_conditions_are_the_result() {
        let conditions = of_conditions(ranked("x", "y", &[], None, 0.0));
        let untested = Verdict::Untested(Untested::NoTrial);
        let rungs = Untested::TooFewRungs { unrealizable: 0, instead: Box::new(conditions.clone()) };
        let rungs = Verdict::Untested(rungs);
        assert!(rungs.is_claim() && rungs.claims_the_same(&conditions) && !rungs.is_tested());
        assert_eq!([&rungs, &conditions].map(Verdict::tested), [Some(tested()); 2]);
        assert!(!untested.is_claim() && untested.tested().is_none() && !untested.claims_the_same(&untested));
        let is_tested =
            |of: &[&Verdict]| by_load(&of.iter().map(|one| ("one", true, (*one).clone())).collect::<Vec<_>>());
        assert!(is_tested(&[&untested, &conditions]).is_tested() && !is_tested(&[&untested]).is_tested());
    }

    #[test]
    fn disturbed_trials_that_leave_the_question_open_leave_no_verdict_and_stay() {
        let [with, clean] = [0.0, 0.1].map(|more| of_conditions(ranked("x", "y", &[], None, more)));
        let selected = Without::Selected { condition: "x".into(), why: Selected::Near, clean: clean.clone() };
        for (without, decides, left_out) in [
            (None, Some(&with), false),
            (Some(Without::Untested), Some(&with), false),
            (Some(Without::Same(clean.clone())), Some(&clean), true),
            (Some(Without::Other(clean.clone())), Some(&clean), true),
            (Some(selected), None, false),
            (Some(Without::TooFew), None, false),
        ] {
            let answer = Answer {
                verdict: with.clone(),
                disturbed: without.map(|without| Disturbed { trials: 1, of: 6, without }),
                is_rehearsal: false,
                left_out: Vec::new(),
                within: None,
                ended_early: None,
                ended_loads: Default::default(),
            };
            assert_eq!((answer.decides(), answer.leaves_disturbed_out()), (decides, left_out), "{answer:?}");
            assert_eq!(answer.shown(), decides.unwrap_or(&with));
        }
    }
}
