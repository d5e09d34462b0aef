//! Reads all parts of a study cut into shards as one set of results, even if incomplete.

use super::Sharded;
use super::parts::{self, Parts};
use crate::append::Writer;
use crate::directory::{self, ENVIRONMENT, MOST_ENVIRONMENTS};
use crate::error::ReadError;
use crate::everything::{Results, Source};
use crate::schema::Environment;
use crate::{captures, lines, names};
use std::collections::BTreeMap;
use tare_files::Audience;

pub(crate) fn read(sharded: &Sharded) -> Result<Results, ReadError> {
    let mut found = parts::of(sharded)?;
    names::of_plan(&mut found.plan);
    let mut audience = Audience::Anyone;
    let (mut trials, mut damaged, mut warnings, mut read_captures) =
        (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
    for (index, part) in found.parts.iter().enumerate() {
        let folder = part.place.folder()?;
        audience = audience.max(folder.audience()?);
        let records = lines::read_packed(&folder)?;
        damaged.extend(records.damaged);
        for trial in records.trials.into_iter().filter(|trial| found.owns(index, trial.block)) {
            if !trial.captures.is_empty() {
                let (one, unread) = captures::read(&part.place, &trial);
                read_captures.insert((trial.trial, trial.attempt), one);
                warnings.extend(unread);
            }
            trials.push(trial);
        }
    }
    warnings.extend(damaged.iter().map(ToString::to_string));
    warnings.extend(aside_words(found.aside));
    let (trials, strangers) = lines::without_strangers(trials, Some(&found.plan));
    warnings.extend(strangers);
    let machines = machines_of(&found)?;
    let states = parts::states_of(sharded, &found);
    let open = states.iter().filter(|state| state.done < state.trials).map(|state| state.shard);
    Ok(Results {
        audience,
        distances: None,
        certified: None,
        open_shards: open.collect(),
        path: sharded.path().to_owned(),
        source: Source::Directory,
        study: found.plan.study.clone(),
        environment: machines.values().next().cloned(),
        study_toml: Some(found.study_toml),
        plan: Some(found.plan),
        trials,
        captures: read_captures,
        machines,
        damaged,
        warnings,
    })
}

/// Number of left-out good trials of unfinished blocks, as a sentence; none if it is 0.
pub fn aside_words(aside: usize) -> Option<String> {
    (aside > 0).then(|| {
        format!(
            "left out: {}, because another part has more of the same blocks, and a block is never taken from two parts",
            tare_text::count(aside, "good trial")
        )
    })
}

pub(super) fn machines_of(found: &Parts) -> Result<BTreeMap<String, Environment>, ReadError> {
    let (mut machines, mut left) = (BTreeMap::new(), MOST_ENVIRONMENTS);
    for part in &found.parts {
        // The name of the machine becomes the name of a file.
        if Writer::new(&part.host).is_ok()
            && !machines.contains_key(&part.host)
            && let Some(environment) = directory::environment(&part.place.folder()?, ENVIRONMENT, &mut left)?
        {
            machines.insert(part.host.clone(), environment);
        }
    }
    Ok(machines)
}
