//! Everything that defines a trial, taken only from the study and the plan that a run wrote. The start of its stack is
//! drawn at random for every trial of a comparison: so the length of a side's path or arguments does not determine its
//! position, even without address space randomisation.

use super::design::Condition;
use super::ladder::place_of;
use super::{pilot, resolve};
use crate::language::settings::Sampling;
use crate::language::spec::{SIDE, Study};
use crate::language::values::{ValueError, from_values};
use tare_results::schema::{Plan, PlannedTrial};
use tare_stats::order::randomized_blocks;
use tare_topology::{Change, Fingerprint, ResolvedPlacement};
use thiserror::Error;

/// Why the plan does not define such a trial for this program.
#[derive(Debug, Error)]
pub enum TaskError {
    #[error("the plan has no trial {0}")]
    NoSuchTrial(usize),
    #[error("the plan has no condition {0}")]
    NoSuchCondition(String),
    #[error("the plan does not contain the settings of its trials: an old version of tare wrote it (schema 1)")]
    OldPlan,
    #[error(transparent)]
    Value(#[from] ValueError),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub planned: PlannedTrial,
    /// Its levels, and all resulting settings.
    pub condition: Condition,
    /// The CPUs of its threads, as resolved when the plan was made.
    pub placement: ResolvedPlacement,
    /// How much it measures, including the decision after the pilot.
    pub sampling: Sampling,
}

impl Task {
    pub fn find(study: &Study, plan: &Plan, trial: usize) -> Result<Self, TaskError> {
        let placed = place_of(plan, trial).ok_or(TaskError::NoSuchTrial(trial))?;
        let planned = plan.trials[placed].clone();
        let condition = plan
            .conditions
            .iter()
            .find(|c| c.name == planned.condition)
            .ok_or_else(|| TaskError::NoSuchCondition(planned.condition.clone()))?;
        if condition.settings.is_empty() {
            return Err(TaskError::OldPlan);
        }
        let mut settings = from_values(&condition.settings)?;
        let placement = resolve::planned(condition, &settings.placement);
        let sampling = pilot::decided(&study.sampling, &mut settings, plan, trial);
        let condition = Condition { name: condition.name.clone(), levels: condition.levels.clone(), settings };
        Ok(Self { planned, condition, placement, sampling })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "this machine differs from the one that the plan was made for: {}",
    .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
)]
pub struct OtherMachine(pub Vec<Change>);

/// Whether a machine is still as it was when the plan was made.
pub fn same_machine(plan: &Plan, now: &Fingerprint) -> Result<(), OtherMachine> {
    let changes = plan.machine.as_ref().map(|was| was.changes(now)).unwrap_or_default();
    if changes.is_empty() { Ok(()) } else { Err(OtherMachine(changes)) }
}

/// Bytes to which a stack is aligned.
const STEP: usize = 16;
/// Number of positions to draw from: a page of them.
const PLACES: usize = 256;

/// The padding of a trial's environment; none if its plan is no race and compares no sides.
pub fn stack_padding(plan: &Plan, trial: usize) -> Option<String> {
    let sides = || plan.conditions.iter().any(|condition| condition.levels.contains_key(SIDE));
    if plan.race.is_none() && !sides() {
        return None;
    }
    let seed = plan.settle.as_ref().map_or(plan.seed, |rule| rule.seed);
    let place = *randomized_blocks(PLACES, 1, seed.wrapping_add(trial as u64)).first()?.first()?;
    Some("x".repeat(STEP * place))
}
