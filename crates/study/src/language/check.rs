//! Checks that need the whole study: every factor exists and every level is valid.

use super::document::{Place, Places, Source, StudyError};
use super::fields;
use super::settings::Settings;
use super::spec::Study;
use std::collections::HashSet;
use tare_results::MOST_CONDITIONS;
use tare_results::probe::ProbeUse;
use tare_text::{Value, nearest};

/// Threads up to which a number that a load takes is looked for: most roles of a file of statements and more.
const MOST_ROLES: usize = 64;

/// Applies the study's keys for loads to the base's load, after it is known which load that is. A value that this load
/// does not allow, and keys that exclude each other, are errors.
pub(crate) fn together(source: Source<'_>, places: &Places, study: &mut Study) -> Result<(), StudyError> {
    let mut base = study.base.clone();
    study.apply_load_keys(&mut base).map_err(|(key, expected)| {
        let value = study.load_keys.iter().find(|(own, _)| *own == key).map(|(_, value)| value);
        // Another load may allow the value.
        let refused = value.filter(|value| study.base.clone().workload.load.load_mut().set(&key, value).is_err());
        let what = match refused {
            Some(value) => format!("workload.{key} = {value}"),
            None => format!("`{key}` cannot be combined with another key of the study"),
        };
        source.wrong(&places.key(&key), what, expected)
    })?;
    study.base = base;
    if let Err(expected) = study.base.check() {
        let fits = |threads: usize| {
            let mut other = study.base.clone();
            other.workload.threads = threads;
            other.check().is_ok()
        };
        return Err(match (1..=MOST_ROLES).any(fits) {
            true => {
                let what = format!("workload.threads = {}", study.base.workload.threads);
                source.wrong(&places.key("threads"), what, expected)
            }
            false => source.wrong(&places.table("workload"), "keys of the study do not fit together", expected),
        });
    }
    one_sample(source, places, study)
}

/// A load in steps is one sample: refused here, since its first trial would find it only at the end.
fn one_sample(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    let Some(why) = study.base.workload.load.load().one_sample() else { return Ok(()) };
    let (samples, probe) = (study.sampling.samples, study.sampling.probe_use());
    if samples != 1 {
        return Err(source.wrong(&places.key("samples"), format!("sampling.samples = {samples}"), format!("1, {why}")));
    }
    match probe {
        ProbeUse::Off => Ok(()),
        _ => Err(source.wrong(&places.key("probe"), format!("sampling.probe = {probe}"), format!("off, {why}"))),
    }
}

/// A key of another workload than the study's is an error, not silently ignored.
pub(crate) fn kinds(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    let load = &study.base.workload.load;
    match places.keys.iter().find(|(field, _)| !field.belongs_to(load)) {
        None => dead(source, places, study),
        Some((field, place)) => {
            let known = fields::all().filter(|f| f.section == field.section && f.belongs_to(load));
            let known: Vec<&str> = known.map(|f| f.key).collect();
            Err(source.unknown_at(place, "key of this workload", field.key, &known))
        }
    }
}

/// A key of the workload that has no effect is an error too, unless the workload itself varies.
fn dead(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    let varies = |name: &str| study.factors.iter().chain(study.conditions.iter().flatten()).any(|f| f.name == name);
    let load = study.base.workload.load.load();
    match load.dead().filter(|_| !varies("workload")) {
        None => Ok(()),
        Some(key) => {
            let what = format!("`{key}` has no effect on the workload {}, which has no such statements", load.name());
            Err(source.wrong(&places.key(key), what, "a key that this workload uses, or another workload"))
        }
    }
}

/// Reports a level of a factor that has no effect, if the workload is the same in all conditions.
fn dead_level(factor: &str, settings: &Settings) -> Result<(), String> {
    let load = settings.workload.load.load();
    match load.dead() {
        Some(key) if key == factor => {
            Err(format!("a key that the workload {} uses: it has no such statements", load.name()))
        }
        _ => Ok(()),
    }
}

/// Every alternative placement must be one that the study defines.
pub(crate) fn alternatives(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    for name in &study.first_of {
        if let Err(expected) = study.apply(&mut study.base.clone(), "placement", &name.as_str().into()) {
            let what = format!("placement.first_of names {name}");
            return Err(source.wrong(&places.table("placement"), what, expected));
        }
    }
    Ok(())
}

/// Every factor must exist and every level must be valid; checked before anything is started.
pub(crate) fn factors(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    few(source, places, study)?;
    let all = || study.factors.iter().chain(study.conditions.iter().chain(&study.enough).flatten());
    let varies = all().any(|factor| factor.name == "workload");
    for factor in all() {
        let mut seen = HashSet::new();
        for level in &factor.levels {
            let mut settings = study.base.clone();
            let fits = study
                .apply(&mut settings, &factor.name, level)
                .and_then(|()| settings.check())
                .and_then(|()| if varies { Ok(()) } else { dead_level(&factor.name, &settings) });
            if let Err(expected) = fits {
                return Err(unfit(source, &places.level(&factor.name, level), study, &factor.name, level, expected));
            }
            // Also of two types, such as 1 and "1": two conditions would have one name.
            if !seen.insert(level.to_string()) {
                let what = format!("factor {} has the level {level} twice", factor.name);
                return Err(source.wrong(&places.level(&factor.name, level), what, "each level once"));
            }
        }
    }
    narrowing(source, places, study)
}

/// With `conditions`, a factor that also appears in the entries selects from their levels.
fn narrowing(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    for factor in &study.factors {
        let own: Vec<_> = study.conditions.iter().flatten().filter(|own| own.name == factor.name).collect();
        let missing = factor.levels.iter().find(|level| own.iter().all(|own| !own.has(level)));
        if let Some(level) = missing.filter(|_| !own.is_empty()) {
            let known: Vec<String> = own.iter().flat_map(|own| &own.levels).map(ToString::to_string).collect();
            let what = format!("no entry of [[conditions]] has {} = {level}", factor.name);
            return Err(source.wrong(&places.level(&factor.name, level), what, format!("one of {}", known.join(", "))));
        }
    }
    Ok(())
}

/// A ladder must name factors of the study, and excludes counts that are chosen for a target half-width.
pub(crate) fn ladder(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    let Some(ladder) = &study.design.ladder else { return Ok(()) };
    let place = places.table("design");
    let mut known: Vec<&str> =
        study.factors.iter().chain(study.conditions.iter().flatten()).map(|factor| factor.name.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    if let Some(unknown) = crate::plan::ladder::factors(ladder).find(|factor| !known.contains(factor)) {
        return Err(source.unknown_at(&place, "factor of this study in design.ladder", unknown, &known));
    }
    if study.sampling.target_half_width.is_some() {
        let what = "design.ladder cannot be combined with sampling.target_half_width";
        return Err(source.wrong(&place, what, "one of the two"));
    }
    Ok(())
}

/// Refuses a study with too many conditions, before each level is checked.
fn few(source: Source<'_>, places: &Places, study: &Study) -> Result<(), StudyError> {
    let longest = study.factors.iter().map(|factor| ("factors", factor.levels.len())).max_by_key(|(_, count)| *count);
    let listed = ("conditions", study.conditions.len());
    match longest.into_iter().chain([listed]).find(|(_, count)| *count > MOST_CONDITIONS) {
        None => Ok(()),
        Some((table, count)) => {
            let what = format!("this study has {count} conditions or more");
            Err(source.wrong(&places.table(table), what, format!("at most {MOST_CONDITIONS}: leave out levels")))
        }
    }
}

/// The error for an invalid level, with the valid names.
fn unfit(
    source: Source<'_>,
    place: &Place,
    study: &Study,
    factor: &str,
    level: &Value,
    expected: String,
) -> StudyError {
    let known = Study::factor_names();
    if !known.contains(&factor) {
        return source.unknown_at(place, "factor", factor, &known);
    }
    let mut error = source.wrong(place, format!("{factor} = {level}"), expected);
    let names = match factor {
        "placement" => study.placements.keys().collect(),
        "build" => study.builds.keys().collect(),
        _ => Vec::new(),
    };
    error.nearest = nearest(&level.to_string(), names.into_iter().map(String::as_str)).map(str::to_owned);
    error
}
