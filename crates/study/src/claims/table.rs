//! The claims that come with the program: `studies/claims.toml`, and studies that no one else needs.

use crate::language::builtin;
use serde::Deserialize;
use tare_results::claim::Experiment;

const CLAIMS: &str = include_str!("../../../../studies/claims.toml");

const STUDIES: [(&str, &str); 1] = [("hot-points", include_str!("../../../../studies/claims/hot-points.toml"))];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    experiments: Vec<Experiment>,
}

/// Every experiment, in the order in which they run.
pub fn all() -> Result<Vec<Experiment>, String> {
    toml::from_str::<Table>(CLAIMS).map(|table| table.experiments).map_err(|e| format!("studies/claims.toml: {e}"))
}

/// The experiments that a name stands for: of a claim, with that claim alone; of an experiment; of an article by its
/// letter, in either case. None where it is none of them.
pub fn chosen(all: &[Experiment], name: &str) -> Option<Vec<Experiment>> {
    let of_claim = all.iter().find_map(|experiment| {
        let claim = experiment.claims.iter().find(|claim| claim.name == name)?;
        Some(Experiment { claims: vec![claim.clone()], ..experiment.clone() })
    });
    if let Some(experiment) = of_claim {
        return Some(vec![experiment]);
    }
    let is_it = |experiment: &&Experiment| {
        experiment.name == name || experiment.article.as_ref().is_some_and(|letter| letter.eq_ignore_ascii_case(name))
    };
    let found: Vec<Experiment> = all.iter().filter(is_it).cloned().collect();
    (!found.is_empty()).then_some(found)
}

pub(super) fn study_text(name: &str) -> Option<&'static str> {
    let own = STUDIES.iter().find(|(own, _)| *own == name).map(|(_, text)| *text);
    own.or_else(|| builtin::find(name).map(|builtin| builtin.text))
}
