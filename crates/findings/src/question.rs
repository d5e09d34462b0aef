//! The question of a study, and whether the run was a rehearsal.

use super::collect;
use super::confidence::{ANSWER, FURTHER, OF_PILOT};
use super::factors::{self, LADDERS_OVER};
use super::find::Find;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::factor::LOADS;
use tare_results::looks::{Look, ended_loads};
use tare_results::question::Question;
use tare_results::schema::{LeftOut, Outcome, Within};
use tare_results::{Results, Source};

/// The inputs of an answer other than the trials.
pub(super) struct AnswerContext {
    /// The question of the study; none if it declares none.
    pub question: Option<Question>,
    pub is_rehearsal: bool,
    /// Machine settings that the study could not apply.
    pub left_out: Vec<LeftOut>,
    /// What was cut to fit a time limit, and how many planned conditions were not measured.
    pub within: Option<(Within, usize)>,
    /// The result of the race; none if the study is no race.
    pub race: Option<Find>,
    /// Which interim look this is; none if the study is looked at once, after all trials.
    pub look: Option<Look>,
    /// Loads that a look decided before others, with the number of their blocks.
    pub ended_loads: BTreeMap<String, usize>,
    /// Whether the number of trials was chosen after a pilot.
    pub has_pilot: bool,
    pub attempts: usize,
    /// Attempts that were disturbed and are to be repeated.
    pub set_aside: usize,
    pub unrealizable: usize,
}

impl AnswerContext {
    pub(crate) fn of(results: &Results) -> Self {
        let planned = results.plan.iter().flat_map(|plan| &plan.conditions);
        Self {
            question: question(results).or_else(|| of_csv(results)),
            is_rehearsal: is_rehearsal(results),
            left_out: results.plan.as_ref().map(|plan| plan.left_out.clone()).unwrap_or_default(),
            within: within(results),
            race: results.plan.as_ref().and_then(|plan| Find::of(plan, &results.trials)).filter(|race| race.blocks > 0),
            look: results.plan.as_ref().and_then(|plan| Look::of(plan, &results.trials)),
            ended_loads: results.plan.as_ref().map(ended_loads).unwrap_or_default(),
            has_pilot: results.plan.as_ref().is_some_and(|plan| plan.decision.is_some()),
            attempts: results.trials.len(),
            set_aside: results.trials.iter().filter(|trial| trial.outcome == Outcome::Disturbed).count(),
            unrealizable: planned.filter(|condition| !condition.realizable).count(),
        }
    }

    /// The false-alarm probability of a kind of finding: larger if it answers the study's question.
    pub(crate) fn rate(&self, question: &Question) -> f64 {
        self.share() * if self.question.as_ref() == Some(question) { ANSWER } else { FURTHER }
    }

    /// The false-alarm probability of the answer.
    pub(crate) fn answer_rate(&self) -> f64 {
        self.share() * ANSWER
    }

    /// The false-alarm probability of steps of single ladders. If they answer the question, steps over all ladders have
    /// the other half.
    pub(crate) fn ladder_rate(&self) -> f64 {
        let rate = self.rate(&Question::Scaling);
        if self.question == Some(Question::Scaling) { rate / 2.0 } else { rate }
    }

    /// The false-alarm rate of claims about a load, as a part of that of the others: less if an earlier look ended it.
    pub(crate) fn weight(&self, load: Option<&String>) -> f64 {
        let blocks = load.and_then(|load| self.ended_loads.get(load));
        let of_look = |look: Look| blocks.map(|blocks| look.share_after(*blocks) / look.share());
        self.look.and_then(of_look).unwrap_or(1.0)
    }

    fn share(&self) -> f64 {
        self.look.map_or(1.0, |look| look.share()) * if self.has_pilot { OF_PILOT } else { 1.0 }
    }
}

fn within(results: &Results) -> Option<(Within, usize)> {
    let plan = results.plan.as_ref()?;
    let mut within = plan.within.clone()?;
    let measured: BTreeSet<&str> = results.trials.iter().map(|trial| trial.condition.as_str()).collect();
    let planned: BTreeSet<&str> = plan.trials.iter().map(|trial| trial.condition.as_str()).collect();
    // With adaptively chosen rungs, the levels that no ladder reached count as left out.
    if let Some(factor) = within.rungs.as_ref().map(|rule| &rule.factor) {
        let levels = |only: Option<&BTreeSet<&str>>| {
            let of =
                plan.conditions.iter().filter(|c| c.realizable && only.is_none_or(|o| o.contains(c.name.as_str())));
            of.filter_map(|condition| condition.levels.get(factor)).collect::<Vec<_>>()
        };
        let scheduled = levels(Some(&planned));
        let mut never: Vec<String> = levels(None).into_iter().filter(|l| !scheduled.contains(l)).cloned().collect();
        let mut seen = BTreeSet::new();
        never.retain(|level| seen.insert(level.clone()));
        if !never.is_empty() {
            within.levels.insert(factor.clone(), never);
        }
    }
    Some((within, planned.difference(&measured).count()))
}

fn question(results: &Results) -> Option<Question> {
    Question::from_words(collect::study(results)?.get("question")?.as_str()?)
}

/// A CSV file declares no question. If its conditions differ only in load and in factors of ladders, and one of these
/// has three rungs, it is the question of ladders.
fn of_csv(results: &Results) -> Option<Question> {
    let levels = || results.trials.iter().map(|trial| &trial.levels).filter(|_| results.source == Source::Csv);
    let varying = factors::varying_factors(levels());
    let (over, others): (Vec<&str>, Vec<&str>) =
        varying.iter().map(String::as_str).partition(|factor| LADDERS_OVER.contains(factor));
    let rungs = |over: &str| levels().filter_map(|levels| levels.get(over)).collect::<BTreeSet<_>>().len();
    let are_loads = others.iter().all(|factor| LOADS.contains(factor) || *factor == "distribution");
    (are_loads && over.iter().any(|over| rungs(over) >= 3)).then_some(Question::Scaling)
}

/// Whether the run was a rehearsal (`--quick`), too short for reliable results. Older plans lack the field, so the
/// recorded command line is searched too.
fn is_rehearsal(results: &Results) -> bool {
    let command = results.environment.as_ref().map_or("", |environment| environment.command.as_str());
    results.plan.as_ref().is_some_and(|plan| plan.rehearsal) || command.split_whitespace().any(|word| word == "--quick")
}
