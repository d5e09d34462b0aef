//! Option files of servers, which are read when a study is planned: trials run with the options in the plan.

use super::builds::Programs;
use super::design::Condition;
use super::needs::{self, gigabytes, memory_here};
use crate::language::settings::Settings;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use tare_engine::{Engine, OptionFile};
use tare_results::schema::LeftOut;
use tare_text::count;

#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub notes: Vec<String>,
    pub left_out: Vec<LeftOut>,
    /// For each condition, why it cannot use the options of its file.
    pub each: Vec<Result<(), String>>,
}

/// Adds the options of its file to every condition; options of the study take precedence.
pub(crate) fn fold(conditions: &mut [Condition], programs: &Programs) -> Folded {
    let mut folded = Folded::default();
    let mut requested = UnknownOptions::new();
    for condition in conditions {
        let read = read(&mut condition.settings, programs, &mut requested).map(|(notes, left_out)| {
            add_new(&mut folded.notes, notes);
            add_new(&mut folded.left_out, left_out);
        });
        folded.each.push(read);
    }
    folded
}

fn add_new<T: PartialEq>(all: &mut Vec<T>, found: Vec<T>) {
    for one in found {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// Options of files that programs do not know, by the paths of both: each pair is queried once.
type UnknownOptions = BTreeMap<(PathBuf, PathBuf), Vec<String>>;

type Read = (Vec<String>, Vec<LeftOut>);

fn read(settings: &mut Settings, programs: &Programs, requested: &mut UnknownOptions) -> Result<Read, String> {
    let engine = &mut settings.engine;
    let Some(path) = &engine.defaults_file else { return Ok(Read::default()) };
    let binary = programs.of(engine.kind, engine.binary.as_deref())?;
    let mut file = engine.kind.read_options(path, &binary).map_err(|e| e.to_string())?;
    let unknown = match requested.entry((path.clone(), binary.path.clone())) {
        Entry::Occupied(known) => known.get().clone(),
        Entry::Vacant(place) => {
            let names: Vec<&str> = file.options.keys().map(String::as_str).collect();
            let unknown = engine.kind.unknown_options(&names, &binary.path).map_err(|e| e.to_string())?;
            place.insert(unknown).clone()
        }
    };
    let version = format!("{} {}", binary.product, binary.version);
    let mut wrong = too_much_memory(engine.kind, &file, &engine.options).into_iter().collect::<Vec<_>>();
    let mut gone = Vec::new();
    let how = match unknown.is_empty() || engine.leaves_out_unknown {
        true => "correct the file, or set the option under [engine.options]",
        false => {
            "correct the file, set the option under [engine.options], or leave unknown ones out: \
             engine.unknown_options = \"leave_out\""
        }
    };
    // In the order of the file's lines.
    let mut unknown: Vec<(Option<&(PathBuf, usize)>, String)> =
        unknown.into_iter().map(|name| (file.places.get(&name), name)).collect();
    unknown.sort();
    for (place, setting) in unknown {
        let place = place.map_or_else(String::new, |(path, line)| format!("{}:{line}: ", path.display()));
        let level = file.options.remove(&setting).unwrap_or_default();
        match engine.leaves_out_unknown {
            true => gone.push(LeftOut { setting, level, reason: format!("{place}{version} has no such option") }),
            false => wrong.push(format!("{place}{version} has no option {setting}")),
        }
    }
    if !wrong.is_empty() {
        return Err(format!("{}: {how}", wrong.join("; ")));
    }
    let files: Vec<String> = file.files.iter().map(|path| path.display().to_string()).collect();
    let mut notes =
        vec![format!("{} for {} from {}", count(file.options.len(), "option"), engine.kind.name(), files.join(", "))];
    notes.extend(gone.iter().map(|out| format!("{}={} left out: {}", out.setting, out.level, out.reason)));
    let left = file.left_out.iter();
    notes.extend(left.map(|(name, reason)| format!("{name} of {} left out: {reason}", path.display())));
    for (name, value) in file.options {
        // The study's own value takes precedence, however its name is spelled there.
        if !engine.options.keys().any(|own| own.replace('-', "_") == name) {
            engine.options.insert(name, value);
        }
    }
    Ok((notes, gone))
}

fn place_of(file: &OptionFile, name: &str) -> String {
    file.places.get(name).map_or_else(String::new, |(path, line)| format!("{}:{line}", path.display()))
}

/// The error for a pool larger than the memory of this machine, with the line that requests it.
fn too_much_memory(engine: &dyn Engine, file: &OptionFile, own: &BTreeMap<String, String>) -> Option<String> {
    let has = memory_here()?;
    let mut options = file.options.clone();
    options.retain(|name, _| !own.keys().any(|own| own.replace('-', "_") == *name));
    let (name, pool) = needs::oversized(engine, &options, has)?;
    let place = place_of(file, name);
    Some(format!("{place}: {name} asks for {} of memory, and {}", gigabytes(pool), needs::memory_found(has)))
}
