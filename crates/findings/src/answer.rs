//! The answer to the study's question, from tested effects only.

use super::best::{self, Basis, range};
use super::collect::ConditionTrials;
use super::composite::{self, MetricLogs};
use super::effects::Mains;
use super::factors::{load_of, number_of, varying_factors};
use super::pooled::PooledStep;
use super::question::AnswerContext;
use super::scaling::{Scaling, Step};
use super::spread::{self, ShownSource, SpreadFrom, SpreadSources};
use super::verdict::{
    Alone, Answer, Disturbed, LessStep, Moved, OfLoad, Range, Selected, Tested, Untested, Verdict, Without,
};
use super::{collect, effects, left_out, load_steps, mode, modes, pooled, scaling};
use std::collections::BTreeSet;
use tare_results::factor::LOADS;
use tare_results::metric;
use tare_results::question::Question;
use tare_results::steps::step;
use tare_stats::blocks::{Condition, shared_p_values};

/// Answers the study's question from all trials that count, and a second time without the disturbed ones. A race is
/// not answered twice, because it dropped conditions on the basis of all trials.
pub(super) fn answer(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> Answer {
    let verdict = verdict(context, conditions);
    let (disturbed, all) = conditions
        .iter()
        .fold((0, 0), |(bad, all), condition| (bad + condition.disturbed().len(), all + condition.ok.len()));
    let disturbed = (disturbed > 0 && context.race.is_none()).then(|| Disturbed {
        trials: disturbed,
        of: all,
        without: without_disturbed(context, conditions, &verdict),
    });
    Answer {
        verdict,
        disturbed,
        is_rehearsal: context.is_rehearsal,
        left_out: context.left_out.clone(),
        within: context.within.clone(),
        ended_early: None,
        ended_loads: context.ended_loads.clone(),
    }
}

fn without_disturbed(context: &AnswerContext, conditions: &[ConditionTrials<'_>], with: &Verdict) -> Without {
    if !with.stated().is_tested() {
        return Without::Untested;
    }
    let clean: Vec<ConditionTrials<'_>> = conditions.iter().map(ConditionTrials::clean).collect();
    if clean.iter().any(|condition| condition.ok.len() < 2) {
        return Without::TooFew;
    }
    match verdict(context, &clean) {
        again if !again.stated().is_tested() => Without::TooFew,
        again => match selected(context, conditions, with, &again) {
            Some((condition, why)) => Without::Selected { condition, why, clean: again },
            None if again.claims_the_same(with) => Without::Same(again),
            None => Without::Other(again),
        },
    }
}

/// The first condition whose clean trials are a selection of the fast ones, or may be one if they claim more than all
/// trials do. For the question of spread, the answer includes figures of the differences between trials, so a
/// selection counts there even if the claim is the same.
fn selected(
    context: &AnswerContext,
    conditions: &[ConditionTrials<'_>],
    with: &Verdict,
    clean: &Verdict,
) -> Option<(String, Selected)> {
    let name = headline_metric(&collect::all_metrics(conditions))?;
    let is_spread = context.question == Some(Question::Spread);
    if !is_spread && clean.claims_the_same(with) {
        return None;
    }
    let rate = context.answer_rate() / conditions.len() as f64;
    if let Some(found) = conditions.iter().find(|condition| left_out::disturbed_beyond(condition, &name, rate)) {
        return Some((found.name.to_owned(), Selected::Beyond));
    }
    if let Some(found) =
        conditions.iter().find(|condition| is_spread && left_out::one_disturbed_beyond(condition, &name))
    {
        return Some((found.name.to_owned(), Selected::OneBeyond));
    }
    // For the question of spread, differences between trials are the answer, not a reason to doubt it.
    let composite = composite::of(conditions, &name).filter(|_| !is_spread && clean.claims_more_than(with))?;
    let mut all = conditions.iter().enumerate();
    let near =
        all.find(|(place, condition)| left_out::disturbed_near(composite.trials(*place, condition), composite.better));
    near.map(|(_, found)| (found.name.to_owned(), Selected::Near))
}

fn verdict(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> Verdict {
    verdict_at(context.answer_rate(), context, conditions)
}

/// `rate`: the false-alarm probability of a verdict on factors or conditions.
fn verdict_at(rate: f64, context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> Verdict {
    if let Some(race) = &context.race {
        return Verdict::Raced(Box::new(race.clone()));
    }
    let Some(name) = headline_metric(&collect::all_metrics(conditions)) else {
        return Verdict::Untested(match context.attempts {
            0 => Untested::NoTrial,
            attempts => Untested::NoneOk { attempts, disturbed: context.set_aside },
        });
    };
    let measured: Vec<ConditionTrials<'_>> =
        conditions.iter().filter(|condition| !condition.with(&name).is_empty()).cloned().collect();
    let (measured, _) = collect::split_off(measured);
    if measured.len() < 2 {
        return Verdict::Untested(alone(conditions, &name));
    }
    if matches!(context.question, None | Some(Question::Effect))
        && let Some(loads) = by_load(rate, context, &measured).or_else(|| loads_alone(&measured, &name))
    {
        return loads;
    }
    let Some(composite) = composite::of(&measured, &name) else {
        return Verdict::Untested(match MetricLogs::of(&measured, &name) {
            Some(_) => Untested::Lacking { metric: name },
            None => Untested::NotPositive { metric: name },
        });
    };
    if composite.cells.iter().any(|cell| cell.len() < 2) {
        // Of a load in steps the range of one step says nothing.
        let range = if step(&name).is_none() { range(&name, &measured) } else { None };
        return Verdict::Untested(Untested::SingleTrial { metric: name, range });
    }
    let basis = Basis { conditions: &measured, composite: &composite };
    let mains = effects::main_effects(&measured, &composite, rate);
    match &context.question {
        Some(Question::Spread) => {
            spread(effects::sources(conditions, context.rate(&Question::Spread)), conditions, &name)
        }
        Some(Question::Scaling) => {
            let rate = context.ladder_rate();
            let pooled = pooled::steps(&measured, &name, rate / 2.0, |load| context.weight(load));
            let laws = scaling::scaling(conditions, rate, |load| context.weight(load));
            steps(&laws, pooled, &name, context, &basis)
        }
        Some(Question::Best(factor)) => best::verdict(&basis, factor.as_deref(), rate),
        Some(Question::Effect) => factors(&basis, mains, rate),
        // The study asks no question: test its factors if there are several, else compare its conditions.
        None if number_of(mains.moved.iter().map(|effect| &effect.term)) > 1 => factors(&basis, mains, rate),
        None => best::conditions(&basis, rate),
    }
}

/// The conditions of each load, if there are several loads, each with conditions to compare.
pub(super) fn loads<'t>(measured: &[ConditionTrials<'t>]) -> Option<Vec<(String, Vec<ConditionTrials<'t>>)>> {
    let of = |condition: &ConditionTrials<'_>| load_of(condition.levels).cloned();
    let mut loads: Vec<String> = Vec::new();
    for load in measured.iter().filter_map(of) {
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let conditions = |load: &String| -> Vec<ConditionTrials<'_>> {
        measured.iter().filter(|condition| of(condition).as_ref() == Some(load)).cloned().collect()
    };
    let is_answer = loads.len() > 1 && loads.iter().all(|load| conditions(load).len() > 1);
    let with_conditions = |load: String| {
        let own = conditions(&load);
        (load, own)
    };
    is_answer.then(|| loads.iter().cloned().map(with_conditions).collect())
}

/// With few trials of two conditions of each load, the p-values by a spread pooled over the loads. 0 for other studies,
/// which need no such test.
pub(super) fn by_spread_of_loads(loads: &[(String, Vec<ConditionTrials<'_>>)]) -> Vec<f64> {
    let pair = |own: &[ConditionTrials<'_>]| -> Option<([Condition; 2], bool)> {
        let composite = composite::of(own, &headline_metric(&collect::all_metrics(own))?)?;
        Some((composite.cells.try_into().ok()?, own.iter().all(|condition| condition.blocked)))
    };
    let pairs: Option<Vec<_>> = loads.iter().map(|(_, own)| pair(own)).collect();
    pairs.map_or_else(|| vec![0.0; loads.len()], |pairs| shared_p_values(&pairs))
}

/// A verdict for each load separately. All loads form one family of tests (Bonferroni): everything that is said about
/// one of them has its share of the rate.
fn by_load(rate: f64, context: &AnswerContext, measured: &[ConditionTrials<'_>]) -> Option<Verdict> {
    let loads = loads(measured)?;
    let rate = rate / loads.len() as f64;
    let shared = by_spread_of_loads(&loads);
    let found = |((load, own), shared): ((String, Vec<ConditionTrials<'_>>), f64)| {
        let verdict = verdict_at(rate, context, &own);
        let differs = matches!(verdict, Verdict::Moved { .. } | Verdict::Ranked { .. });
        OfLoad { shown: differs && shared <= rate, load, verdict }
    };
    Some(Verdict::ByLoad(loads.into_iter().zip(shared).map(found).collect()))
}

/// Loads with nothing to compare under any of them; none if conditions differ in anything else.
fn loads_alone(measured: &[ConditionTrials<'_>], metric: &str) -> Option<Verdict> {
    let varying = varying_factors(measured.iter().map(|condition| condition.levels));
    let load = |name: &str| measured.iter().find(|condition| condition.name == name).and_then(|c| load_of(c.levels));
    let of_loads = |found: Range| {
        let of = |(name, mean): (String, f64)| Some((load(&name)?.clone(), mean));
        Some(Range { low: of(found.low)?, high: of(found.high)?, unit: found.unit })
    };
    let is_load = matches!(varying.as_slice(), [one] if LOADS.contains(&one.as_str()));
    is_load.then(|| {
        let range = range(metric, measured).and_then(of_loads);
        Verdict::Untested(Untested::LoadsAlone { loads: measured.len(), metric: metric.to_owned(), range })
    })
}

/// The headline metric: the first primary one, else the first.
pub(crate) fn headline_metric(metrics: &[String]) -> Option<String> {
    metrics.iter().find(|name| metric::describe(name).is_primary()).or(metrics.first()).cloned()
}

/// Which factor has an effect: Holm over the main effects, block by block, on all primary metrics together. If the
/// factors cannot be separated, which conditions differ.
fn factors(basis: &Basis<'_>, Mains { moved: mains, analysis }: Mains, rate: f64) -> Verdict {
    let Some(analysis) = analysis else { return best::conditions(basis, rate) };
    let what = basis.what();
    let tested = Tested { count: mains.len(), of: mains.len(), analysis };
    let terms = mains.iter().map(|effect| effect.term.clone()).collect();
    let size = |effect: &Moved| effect.ratio.ln().abs();
    let largest = mains.iter().max_by(|a, b| size(a).total_cmp(&size(b))).cloned();
    let mut shown: Vec<Moved> = mains.into_iter().filter(|effect| effect.shown).collect();
    shown.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut shown = shown.into_iter();
    let Some(first) = shown.next() else {
        return Verdict::NotMoved { what, terms, largest, tested, alone: best::moved_by_factors(basis) };
    };
    // Effects that are shown but round to zero appear only in the table.
    let rest = shown.filter(|effect| !(0.995..1.005).contains(&effect.ratio)).collect();
    let alone = if what.steps.is_some() { best::moved_by_factors(basis) } else { Vec::new() };
    Verdict::Moved { what, first, rest, tested, alone }
}

/// Which factor makes trials differ.
fn spread(sources: Option<SpreadSources>, conditions: &[ConditionTrials<'_>], metric: &str) -> Verdict {
    match sources {
        Some(sources) => Verdict::SpreadFrom(SpreadFrom {
            by_chance: spread::by_chance(conditions, metric),
            ..spread_from(&sources, conditions.iter().map(|c| c.levels))
        }),
        None if effects::hides_spread(conditions, metric) => {
            Verdict::Untested(Untested::SpreadRounded { metric: metric.to_owned() })
        }
        None => Verdict::Untested(Untested::NoSpreadSources),
    }
}

pub fn spread_from<'l>(
    sources: &SpreadSources,
    conditions: impl Iterator<Item = &'l tare_results::schema::Levels> + Clone,
) -> SpreadFrom {
    let levels =
        |factor: &str| conditions.clone().filter_map(|levels| levels.get(factor)).collect::<BTreeSet<_>>().len();
    let shown = sources.ranking.iter().filter(|source| source.shown && source.share > 0.0);
    SpreadFrom {
        sources: shown
            .map(|source| ShownSource {
                factor: source.term.factor(),
                levels: levels(&source.term.factor()),
                noisy_level: source.noisy_level.clone(),
                quiet_level: source.quiet_level.clone(),
                share: source.share,
            })
            .collect(),
        unexplained: sources.unexplained,
        by_chance: None,
    }
}

/// The ladders of the headline metric: the steps at which a higher level gave less.
fn steps(
    laws: &[Scaling],
    pooled: Vec<PooledStep>,
    metric: &str,
    context: &AnswerContext,
    basis: &Basis<'_>,
) -> Verdict {
    let laws: Vec<&Scaling> = laws.iter().filter(|law| law.metric == metric).collect();
    if laws.is_empty() && pooled.is_empty() {
        return Verdict::Untested(Untested::TooFewRungs {
            unrealizable: context.unrealizable,
            instead: Box::new(best::conditions(basis, context.answer_rate())),
        });
    }
    let steps: Vec<(&Scaling, &Step)> =
        laws.iter().flat_map(|law| law.steps.iter().map(move |step| (*law, step))).collect();
    if pooled.is_empty() && steps.iter().all(|(_, step)| step.ci.is_none()) {
        return Verdict::Untested(Untested::NoSteps);
    }
    let less = steps.iter().filter(|(_, step)| step.retrograde).map(|(law, step)| LessStep::of(law, step));
    Verdict::Steps { less: less.collect(), ladders: laws.len(), pooled }
}

impl LessStep {
    fn of(law: &Scaling, step: &Step) -> Self {
        Self {
            over: law.over.clone(),
            levels: law.levels.clone(),
            from: step.from,
            to: step.to,
            ratio: step.ratio,
            ci: step.ci,
        }
    }
}

fn alone(conditions: &[ConditionTrials<'_>], name: &str) -> Untested {
    let found = conditions.iter().find_map(|condition| Some((condition, best::estimate(condition, name)?)));
    let Some((condition, estimate)) = found else { return Untested::NoValue };
    if step(name).is_some() {
        return Untested::StepsAlone { steps: load_steps::means(condition) };
    }
    Untested::Alone(Alone {
        condition: condition.name.to_owned(),
        metric: name.to_owned(),
        modes: modes::StudyModes::of(&[condition], &collect::all_metrics(conditions), Some(name))
            .modes(condition, name),
        range: mode::far_apart_range(&condition.means(name)),
        estimate,
    })
}

pub(super) fn primary(conditions: &[ConditionTrials<'_>]) -> Vec<String> {
    let all = collect::all_metrics(conditions);
    all.into_iter().filter(|name| metric::describe(name).is_primary()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::TermFactor;
    use crate::spread::SpreadSource;

    #[test]
    fn a_source_is_named_if_it_is_shown_and_has_a_share() {
        let source = |factor: &str, shown: bool, share: f64| SpreadSource {
            term: TermFactor { factors: vec![factor.into()], level: None },
            noisy_is_high: true,
            noisy_level: "on".into(),
            quiet_level: "off".into(),
            spread_ratio: 2.0,
            spread_ci: None,
            share,
            p_value: 0.01,
            shown,
        };
        let ranking = vec![source("a", true, 0.5), source("b", false, 0.5), source("c", true, 0.0)];
        let found = spread_from(&SpreadSources { ranking, unexplained: 0.5 }, std::iter::empty());
        assert_eq!(found.sources.iter().map(|source| source.factor.as_str()).collect::<Vec<_>>(), ["a"]);
    }
}
