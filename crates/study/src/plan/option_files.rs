//! Option files of servers, read when a study is planned: trials run with what the plan holds.

use super::design::Condition;
use super::programs::Programs;
use crate::language::settings::Settings;
use tare_engine::engine_by_name;

/// Gives every condition the options of its file, under those of the study. Notes, and the reason of each condition
/// that cannot have them.
pub fn fold(conditions: &mut [Condition], programs: &Programs) -> (Vec<String>, Vec<Result<(), String>>) {
    let mut notes = Vec::new();
    let folded = conditions.iter_mut().map(|condition| {
        let found = read(&mut condition.settings, programs)?;
        notes.extend(found.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        Ok(())
    });
    let folded = folded.collect();
    (notes, folded)
}

fn read(settings: &mut Settings, programs: &Programs) -> Result<Vec<String>, String> {
    let engine = &mut settings.engine;
    let Some(path) = &engine.defaults_file else { return Ok(Vec::new()) };
    let binary = programs.of(&engine.name, engine.binary.as_deref())?;
    let known = engine_by_name(&engine.name).map_err(|e| e.to_string())?;
    let file = known.read_options(path, &binary).map_err(|e| e.to_string())?;
    let files: Vec<String> = file.files.iter().map(|path| path.display().to_string()).collect();
    let mut notes = vec![format!("{} options for {} from {}", file.options.len(), engine.name, files.join(", "))];
    let left = file.left_out.iter();
    notes.extend(left.map(|(name, reason)| format!("{name} of {} left out: {reason}", path.display())));
    for (name, value) in file.options {
        // The study's own word on it, however it is spelt there.
        if !engine.options.keys().any(|own| own.replace('-', "_") == name) {
            engine.options.insert(name, value);
        }
    }
    Ok(notes)
}
