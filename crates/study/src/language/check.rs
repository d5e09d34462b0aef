//! What can only be checked when the whole study is known: that every factor exists and every level fits.

use super::document::{Source, StudyError};
use super::field;
use super::key::Field;
use super::settings::Settings;
use super::spec::Study;
use std::collections::HashSet;
use std::ops::Range;
use tare_results::MOST_CONDITIONS;
use tare_text::{Value, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Gives the base's load the keys that the study has for it, now that it is known which load that is; what excludes each
/// other is a mistake.
pub fn together(source: Source<'_>, set: &[(Field, Range<usize>)], study: &mut Study) -> Result<(), StudyError> {
    let place = |key: &str| set.iter().rfind(|(field, _)| field.key == key).map_or(0..0, |(_, span)| span.clone());
    let mut base = study.base.clone();
    study.apply_load_keys(&mut base).map_err(|(key, expected)| {
        // Each by itself was one of its values.
        source.error(place(&key), format!("`{key}` stands next to a key that excludes it"), expected)
    })?;
    study.base = base;
    if let Err(expected) = study.base.check() {
        return Err(source.error(
            place("threads"),
            format!("workload.threads = {}", study.base.workload.threads),
            expected,
        ));
    }
    Ok(())
}

/// A key of another workload than the study's is a mistake, not a silent no-op.
pub fn kinds(source: Source<'_>, set: &[(Field, Range<usize>)], study: &Study) -> Result<(), StudyError> {
    let load = &study.base.workload.load;
    match set.iter().find(|(field, _)| !field.belongs_to(load)) {
        None => dead(source, set, study),
        Some((field, span)) => {
            let known = field::all().into_iter().filter(|f| f.section == field.section && f.belongs_to(load));
            let known: Vec<&str> = known.map(|f| f.key).collect();
            Err(source.unknown(span.clone(), "key of this workload", field.key, &known))
        }
    }
}

/// A key of the workload that changes nothing is a mistake as well, unless the workload itself varies.
fn dead(source: Source<'_>, set: &[(Field, Range<usize>)], study: &Study) -> Result<(), StudyError> {
    let varies = |name: &str| study.factors.iter().chain(study.conditions.iter().flatten()).any(|f| f.name == name);
    let load = study.base.workload.load.load();
    match load.dead().filter(|_| !varies("workload")) {
        None => Ok(()),
        Some(key) => {
            let span = set.iter().rfind(|(field, _)| field.key == key).map_or(0..0, |(_, span)| span.clone());
            let what = format!("`{key}` means nothing to the workload {}, which has no such statements", load.name());
            Err(source.error(span, what, "a key that this workload uses, or another workload"))
        }
    }
}

/// A level of a factor that changes nothing, where the workload is the same in all conditions.
fn dead_level(factor: &str, settings: &Settings) -> Result<(), String> {
    let load = settings.workload.load.load();
    match load.dead() {
        Some(key) if key == factor => {
            Err(format!("a key that the workload {} uses: it has no such statements", load.name()))
        }
        _ => Ok(()),
    }
}

/// Every alternative placement must be one of the study's.
pub fn alternatives(source: Source<'_>, root: &DeTable<'_>, study: &Study) -> Result<(), StudyError> {
    for name in &study.first_of {
        if let Err(expected) = study.apply(&mut study.base.clone(), "placement", &name.as_str().into()) {
            let span = root.get("placement").map_or(0..0, Spanned::span);
            return Err(source.error(span, format!("placement.first_of names {name}"), expected));
        }
    }
    Ok(())
}

/// Every factor must exist and every level must fit, before anything is started.
pub fn factors(source: Source<'_>, root: &DeTable<'_>, study: &Study) -> Result<(), StudyError> {
    few(source, root, study)?;
    let all = || study.factors.iter().chain(study.conditions.iter().flatten());
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
                return Err(placed(source, root, &factor.name, level, |source, span| {
                    unfit(source, span, study, &factor.name, level, expected)
                }));
            }
            // Two values are one level when they are written the same and are of one type.
            if !seen.insert(format!("{level:?}")) {
                let what = format!("factor {} has the level {level} twice", factor.name);
                return Err(placed(source, root, &factor.name, level, |source, span| {
                    source.error(span, what, "each level once")
                }));
            }
        }
    }
    narrowing(source, root, study)
}

/// Alongside `conditions`, a factor that its entries have too chooses among their levels.
fn narrowing(source: Source<'_>, root: &DeTable<'_>, study: &Study) -> Result<(), StudyError> {
    for factor in &study.factors {
        let own: Vec<_> = study.conditions.iter().flatten().filter(|own| own.name == factor.name).collect();
        let missing = factor.levels.iter().find(|level| own.iter().all(|own| !own.has(level)));
        if let Some(level) = missing.filter(|_| !own.is_empty()) {
            let span = root.get("factors").map_or(0..0, Spanned::span);
            let known: Vec<String> = own.iter().flat_map(|own| &own.levels).map(ToString::to_string).collect();
            let what = format!("no entry of [[conditions]] has {} = {level}", factor.name);
            return Err(source.error(span, what, format!("one of {}", known.join(", "))));
        }
    }
    Ok(())
}

/// A ladder climbs one of the study's factors, with counts that are given.
pub fn ladder(source: Source<'_>, root: &DeTable<'_>, study: &Study) -> Result<(), StudyError> {
    let Some(ladder) = &study.design.ladder else { return Ok(()) };
    let span = root.get("design").map_or(0..0, Spanned::span);
    let mut known: Vec<&str> =
        study.factors.iter().chain(study.conditions.iter().flatten()).map(|factor| factor.name.as_str()).collect();
    known.dedup();
    if !known.contains(&ladder.as_str()) {
        return Err(source.unknown(span, "factor of this study in design.ladder", ladder, &known));
    }
    if study.sampling.target_half_width.is_some() {
        let what = "design.ladder with sampling.target_half_width, which chooses counts for trials of their own";
        return Err(source.error(span, what, "one of the two"));
    }
    Ok(())
}

/// Refuses what makes more conditions than there may be, before each of its levels is looked at.
fn few(source: Source<'_>, root: &DeTable<'_>, study: &Study) -> Result<(), StudyError> {
    let longest = study.factors.iter().map(|factor| ("factors", factor.levels.len())).max_by_key(|(_, count)| *count);
    let listed = ("conditions", study.conditions.len());
    match longest.into_iter().chain([listed]).find(|(_, count)| *count > MOST_CONDITIONS) {
        None => Ok(()),
        Some((table, count)) => {
            let span = root.get(table).map_or(0..0, Spanned::span);
            let what = format!("this study has {count} conditions or more");
            Err(source.error(span, what, format!("at most {MOST_CONDITIONS}: leave out levels")))
        }
    }
}

/// A level that does not fit, with the names that there are.
fn unfit(
    source: Source<'_>,
    span: Range<usize>,
    study: &Study,
    factor: &str,
    level: &Value,
    expected: String,
) -> StudyError {
    let known = Study::factor_names();
    if !known.contains(&factor) {
        return source.unknown(span, "factor", factor, &known);
    }
    let mut error = source.error(span, format!("{factor} = {level}"), expected);
    let names = match factor {
        "placement" => study.placements.keys().collect(),
        "build" => study.builds.keys().collect(),
        _ => Vec::new(),
    };
    error.nearest = nearest(&level.to_string(), names.into_iter().map(String::as_str)).map(str::to_owned);
    error
}

/// A mistake at the place of its level. What is not in the file came from the command line.
fn placed(
    source: Source<'_>,
    root: &DeTable<'_>,
    factor: &str,
    level: &Value,
    mistake: impl FnOnce(Source<'_>, Range<usize>) -> StudyError,
) -> StudyError {
    match locate(root, factor, level) {
        Some(span) => mistake(source, span),
        None if source.text.is_empty() => mistake(source, 0..0),
        None => mistake(Source { origin: &format!("--set factors.{factor}"), text: "" }, 0..0),
    }
}

/// The place of a level in the file, for messages: the first value under a key of that name that reads so; none when it
/// is not in the file.
fn locate(root: &DeTable<'_>, name: &str, level: &Value) -> Option<Range<usize>> {
    let tables = root.get("factors").into_iter().chain(match root.get("conditions").map(Spanned::get_ref) {
        Some(DeValue::Array(entries)) => entries.iter().collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    for table in tables {
        let DeValue::Table(table) = table.get_ref() else { continue };
        let Some((key, value)) = table.get_key_value(name) else { continue };
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        if let Some(item) = items.iter().find(|i| matches!(i.get_ref(), DeValue::String(s) if *s == level.to_string()))
        {
            return Some(item.span());
        }
        return Some(key.span());
    }
    None
}
