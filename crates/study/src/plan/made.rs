//! Data sets that exist already from an earlier run, so that a plan need not create them.

use super::builds::Programs;
use super::design::Condition;
use super::estimate;
use super::limits::is_wanted;
use crate::language::spec::Study;
use crate::language::values::from_values;
use std::path::Path;
use tare_results::schema::{Plan, PlannedCondition};

/// Subtracts from the estimated times of a plan the time for creating existing data sets.
pub fn leave_out(study: &Study, plan: &mut Plan, cache: &Path) {
    let programs = Programs::default();
    let there: Vec<Condition> = plan
        .conditions
        .iter()
        .take_while(|_| is_wanted())
        .filter(|planned| planned.realizable)
        .filter_map(condition)
        .filter(|condition| is_made(condition, study, cache, &programs))
        .collect();
    let making_s = estimate::making_s(there.iter(), study);
    plan.estimated_s -= making_s;
    plan.data_s -= making_s;
}

/// The condition with the settings of its trials; none if the plan does not contain them.
pub(super) fn condition(planned: &PlannedCondition) -> Option<Condition> {
    let settings = from_values(&planned.settings).ok()?;
    Some(Condition { name: planned.name.clone(), levels: planned.levels.clone(), settings })
}

fn is_made(condition: &Condition, study: &Study, cache: &Path, programs: &Programs) -> bool {
    let (settings, load) = (&condition.settings.engine, condition.settings.workload.load.load());
    if !load.needs_server() || settings.data.is_some() || settings.running.is_requested() {
        return false;
    }
    let dataset = settings.named(load.dataset(study.sampling.seed));
    programs
        .of(settings.kind, settings.binary.as_deref())
        .is_ok_and(|program| settings.kind.is_prepared(cache, &program, &settings.options, &dataset))
}
