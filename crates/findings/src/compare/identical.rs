//! Whether two sides measured the same program with the same settings and data.

use crate::collect::ConditionTrials;
use crate::differences::{Difference, What};
use std::collections::BTreeSet;

/// Whether two measurements of the same thing may differ in this: names, sample sizes, and the load average.
fn says_nothing(what: &What) -> bool {
    const KEYS: [&str; 4] = ["name", "title", "description", "question"];
    // The path of a build is not a property of it: its content is compared.
    const BUILDS: [&str; 2] = ["engine.binary", "factors.binary"];
    match what {
        What::Factor(name) => name == "binary",
        What::Study(key) => {
            KEYS.contains(&key.as_str()) || BUILDS.contains(&key.as_str()) || key.starts_with("sampling.")
        }
        What::Setting(_) => what.is_load(),
        What::ServerVersion | What::ServerBuild(_) | What::ServerSetting(_) | What::Machine(_) | What::Tare => false,
    }
}

/// The server programs of some trials; none if a trial lacks it.
fn programs<'a>(side: &ConditionTrials<'a>) -> Option<BTreeSet<&'a str>> {
    side.ok.iter().map(|trial| trial.server_program.as_deref()).collect()
}

/// The client programs that are not part of tare.
fn client_programs<'a>(side: &ConditionTrials<'a>) -> BTreeSet<&'a BTreeSet<String>> {
    side.ok.iter().map(|trial| &trial.client_programs).collect()
}

/// Whether all metrics of two conditions have the same values in the same order, although they vary from trial to
/// trial. A copy of a CSV file is recognised only by this, because its trials have no start times.
pub(super) fn same_values(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>) -> bool {
    let of = |name: &String| (a.values(name), b.values(name));
    // A file has a percentile once per trial, and a results directory once per sample.
    let samples = |trials: &[Vec<f64>]| trials.iter().map(Vec::len).collect::<Vec<_>>();
    let is_shared = |(a, b): &(Vec<Vec<f64>>, Vec<Vec<f64>>)| !a.is_empty() && samples(a) == samples(b);
    let shared: Vec<_> = a.metrics().iter().map(of).filter(is_shared).collect();
    let varies = |values: &[Vec<f64>]| values.windows(2).any(|two| two[0] != two[1]);
    shared.iter().all(|(a, b)| a == b) && shared.iter().any(|(a, _)| varies(a))
}

/// Whether a pair of conditions used two server programs, or may have, because the program of a server is not known.
pub(super) fn have_other_servers(pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)]) -> bool {
    let has_server = |side: &ConditionTrials<'_>| side.ok.iter().any(|trial| trial.server_version.is_some());
    let differ = |a, b| programs(a).zip(programs(b)).is_none_or(|(a, b)| a != b);
    pairs.iter().any(|(a, b)| (has_server(a) || has_server(b)) && differ(a, b))
}

/// Whether the studies differ in more than the address of a running server.
pub(super) fn have_other_studies(differences: &[Difference]) -> bool {
    const ADDRESS: [&str; 4] = ["engine.socket", "engine.host", "engine.port", "engine.service"];
    differences.iter().any(|difference| match &difference.what {
        What::Study(key) => !says_nothing(&difference.what) && !ADDRESS.contains(&key.as_str()),
        _ => false,
    })
}

/// The server programs if every pair of conditions is the same on both sides; else none.
pub(super) fn programs_of(
    pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)],
    differences: &[Difference],
) -> Option<Vec<String>> {
    if differences.iter().any(|difference| !says_nothing(&difference.what)) {
        return None;
    }
    let mut all = BTreeSet::new();
    for (a, b) in pairs {
        let (of_a, of_b) = (programs(a)?, programs(b)?);
        if of_a != of_b || of_a.is_empty() || client_programs(a) != client_programs(b) {
            return None;
        }
        all.extend(of_a);
    }
    Some(all.into_iter().map(str::to_owned).collect())
}
