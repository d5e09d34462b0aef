//! Shared by `tare ab` and `tare ab --certify`: what to measure, the rule of a plan, and the line after a pair.

use super::{Problem, ab_sides, ab_together, measured, study_file};
use std::hash::{BuildHasher, Hasher};
use tare_engine::same_value;
use tare_findings::ab::Ab;
use tare_report::words::ab as words;
use tare_results::pairs::Rule;
use tare_results::schema::{Plan, PlannedCondition, Session, Settle, TrialRecord, Turns};
use tare_study::language::decide::Decide;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{SIDE, Study};
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_topology::Machine;

/// Default smallest change of interest, as a fraction.
pub(crate) const MINIMUM_EFFECT: f64 = 0.02;

/// What to measure, as requested on the command line.
pub(crate) struct MeasuredOn<'a> {
    pub study: Option<&'a str>,
    pub overrides: Overrides,
    pub metric: Option<String>,
    /// The smallest change of interest, as a fraction.
    pub minimum_effect: f64,
    pub budget_s: Option<f64>,
    /// Whether samples of both sides take turns; `None`: if they can and both sides only read.
    pub interleave: Option<bool>,
    pub seed: Option<u64>,
    pub trusted: bool,
}

/// Plans the pairs of a study with `[decide]` and adds notes on them. No program of an untrusted study is run.
pub(crate) fn planned(study: Study, machine: &Machine, place: Where, trusted: bool) -> Result<(Study, Plan), Problem> {
    let (study, decide) = ab_sides::sided(study, machine)?;
    let (study, plan) = study_file::planned(study, machine, place, trusted)?;
    let (study, mut plan) = settle_of(decide, (study, plan), (machine, place))?;
    if is_against_itself(&plan) {
        plan.notes.push(
            "both sides have the same settings: this measures the noise of tool and machine (A/A); every difference is \
             chance"
                .to_owned(),
        );
    }
    if study.sampling.probe_use().adjusts().is_some() {
        plan.notes.push(
            "pairs are not adjusted by a probe: it is recorded, and serves as a control if neither side can change it"
                .to_owned(),
        );
    }
    Ok((study, plan))
}

/// Gives the plan its first pair and the rule that adds further ones; both are fixed before anything is measured.
pub(crate) fn settle_of(
    decide: Decide,
    (mut study, mut plan): (Study, Plan),
    on: (&Machine, Where),
) -> Result<(Study, Plan), Problem> {
    measured::check_metrics(&study, decide.metric.iter().chain(&decide.controls))?;
    let sides = ab_sides::conditions(&plan)?;
    // The plan has one trial per condition: in a duet four, each side on each half, of which a pair runs two at once.
    let duet = ab_together::of_plan(&plan);
    let take_turns = duet.is_none() && ab_together::settle_turns(decide.interleave, &mut study, &mut plan, on)?;
    let pair_s = if duet.is_some() { plan.trials_s() / 4.0 } else { plan.trials_s() };
    plan.estimated_s = plan.data_s + pair_s;
    let fits = decide.budget_s.map(|budget_s| budget_s / pair_s.max(f64::MIN_POSITIVE));
    let sessions = decide.sessions.unwrap_or(1);
    let boot_id = plan.machine.as_ref().and_then(|machine| machine.boot_id.clone());
    let looks = if sessions > 1 { Rule::Sessions } else { Rule::within(fits) };
    let rule = Settle {
        metric: decide.metric,
        minimum_effect: decide.minimum_effect.unwrap_or(MINIMUM_EFFECT),
        // The duration of a command is only an estimate until it has run.
        by_time: sessions == 1,
        budget_s: decide.budget_s,
        sessions,
        begun: vec![Session { first_block: 0, boot_id }],
        controls: decide.controls,
        duet,
        ..Settle::between(sides, looks, decide.seed.unwrap_or_else(fresh_seed))
    };
    plan.turns = take_turns.then_some(Turns { seed: rule.seed });
    Ok((study, settle::begun(plan, rule)))
}

/// Whether a trial of B sets the same values as a trial of A, even if they are spelt differently.
fn is_against_itself(plan: &Plan) -> bool {
    let of = |letter: &'static str| {
        plan.conditions.iter().filter(move |condition| condition.levels.get(SIDE).is_some_and(|side| side == letter))
    };
    let same = |a: &PlannedCondition, b: &PlannedCondition| {
        let values = a.settings.iter().zip(&b.settings);
        a.placement == b.placement
            && a.settings.len() == b.settings.len()
            && values.into_iter().all(|((a, x), (b, y))| a == b && same_value(&x.to_string(), &y.to_string()))
    };
    of("a").any(|a| of("b").any(|b| same(a, b)))
}

/// A new seed on every call: the standard library keys its hasher from the system's random numbers.
pub(crate) fn fresh_seed() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// The result of the pairs so far, on one line.
pub(crate) fn pair_line(plan: &Plan, records: &[TrialRecord]) -> Option<String> {
    Ab::of(plan, records).map(|ab| words::line(&ab))
}
