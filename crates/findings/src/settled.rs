//! Whether a study's question is settled before all of its trials have run: every factor either has a shown effect or
//! is bounded by a small one, and every pooled step either gives less or hardly less. The error rate is controlled by
//! the rate of the look alone, so this stopping rule may be arbitrary.

use super::answer::{self, headline_metric};
use super::collect::{self, ConditionTrials};
use super::question::AnswerContext;
use super::verdict::Moved;
use super::{composite, effects, pooled_steps};
use tare_results::Results;
use tare_results::looks::{Look, looks};
use tare_results::question::Question;
use tare_stats::Interval;

/// Effects of a factor up to this ratio are negligible, as in `tare find` and `tare ab`.
const MINIMUM_EFFECT: f64 = 1.02;
/// Ratios of the spread up to this are negligible: such a factor is no source of spread.
const MINIMUM_SPREAD: f64 = 2.0;

/// Whether the study's question needs no further trial.
pub fn settled(results: &Results) -> bool {
    is_settled(&AnswerContext::of(results), &collect::conditions(results))
}

/// The interim look that settles the question.
pub(super) fn ended_early(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> Option<Look> {
    let is_look = |look: &Look| !look.is_last && !look.is_open && looks(look.of_blocks).contains(&look.blocks);
    context.look.filter(|look| is_look(look) && is_settled(context, conditions))
}

/// Settled both with the disturbed trials and without them, if there are any.
fn is_settled(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> bool {
    let clean = || conditions.iter().map(ConditionTrials::clean).collect::<Vec<_>>();
    let any_disturbed = conditions.iter().any(|condition| !condition.disturbed().is_empty());
    is_settled_by(context, conditions) && (!any_disturbed || is_settled_by(context, &clean()))
}

fn is_settled_by(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> bool {
    match &context.question {
        Some(Question::Spread) => {
            effects::sources(conditions, context.rate(&Question::Spread)).is_some_and(|sources| {
                let is_open = |ci: Option<Interval>| !lies_within(ci, MINIMUM_SPREAD);
                sources.ranking.iter().all(|source| source.shown || !is_open(source.spread_ci))
            })
        }
        Some(Question::Effect) => {
            let Some(name) = headline_metric(&collect::all_metrics(conditions)) else { return false };
            let loads = answer::loads(conditions);
            let rate = context.answer_rate() / loads.as_ref().map_or(1, Vec::len) as f64;
            let has_none_open = |own: &[ConditionTrials<'_>], shared: f64| {
                let Some(composite) = composite::of(own, &name) else { return false };
                let mains = effects::main_effects(own, &composite, rate).moved;
                let is_closed = |main: &Moved| main.shown && shared <= rate || lies_within(main.ci, MINIMUM_EFFECT);
                !mains.is_empty() && mains.iter().all(is_closed)
            };
            match loads {
                Some(loads) => {
                    let shared = answer::by_spread_of_loads(&loads);
                    loads.iter().zip(shared).all(|((_, own), shared)| has_none_open(own, shared))
                }
                None => has_none_open(conditions, 0.0),
            }
        }
        Some(Question::Scaling) => {
            let Some(name) = headline_metric(&collect::all_metrics(conditions)) else { return false };
            let steps = pooled_steps::steps(conditions, &name, context.rate(&Question::Scaling) / 4.0);
            let gives_no_less = |ci: Option<Interval>| ci.is_some_and(|ci| ci.low >= MINIMUM_EFFECT.recip());
            !steps.is_empty() && steps.iter().all(|step| step.less || gives_no_less(step.ci))
        }
        _ => false,
    }
}

/// Whether a ratio is shown to lie within `1 / most` to `most`.
fn lies_within(ci: Option<Interval>, most: f64) -> bool {
    ci.is_some_and(|ci| ci.high <= most && ci.low >= most.recip())
}
