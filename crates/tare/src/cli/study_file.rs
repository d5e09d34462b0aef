//! The study that a command names: a file or a built-in one.

use super::{Exit, Problem};
use crate::state;
use clap::Args;
use std::path::Path;
use tare_results::schema::Plan;
use tare_study::language::builtin;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use tare_study::plan::adapt::adapt;
use tare_study::plan::made;
use tare_study::plan::resolve::{Where, resolve};
use tare_topology::Machine;

/// The largest study that is read, bytes.
const LARGEST: u64 = 16 << 20;

/// What a command line changes in the study that it names.
#[derive(Debug, Args)]
pub struct StudyChanges {
    /// Run on this engine in place of the study's: sqlite, mariadb, mysql or postgresql
    #[arg(long)]
    engine: Option<String>,
    /// Change one key of the study, for example sampling.trials=20 or factors.threads=1,2,4 (may be repeated)
    #[arg(long = "set", value_name = "PATH.KEY=VALUE")]
    set: Vec<String>,
    /// A rehearsal: the study's own short settings
    #[arg(long)]
    quick: bool,
    /// The size and settings that the study's article published, each with its source in the study's file
    #[arg(long, conflicts_with = "quick")]
    article: bool,
}

impl StudyChanges {
    /// As the reader of studies takes them.
    pub fn overrides(&self) -> Overrides {
        Overrides { quick: self.quick, article: self.article, engine: self.engine.clone(), sets: self.set.clone() }
    }
}

/// A study, fitted to a machine, and its plan there. Of one that is not trusted no program is asked.
///
/// # Errors
/// When it does not fit the machine.
pub fn planned(mut study: Study, machine: &Machine, place: Where, trusted: bool) -> Result<(Study, Plan), Problem> {
    let asked = if trusted { place } else { Where::HereUntrusted };
    let notes = adapt(&mut study, machine, asked).map_err(|e| Problem::new(Exit::Usage, e))?;
    let mut plan = resolve(&study, machine, place).map_err(|e| Problem::new(Exit::Usage, e))?;
    plan.notes.extend(notes);
    if asked == Where::Here
        && let Ok(cache) = state::cache_directory()
    {
        made::leave_out(&study, &mut plan, &cache);
    }
    Ok((study, plan))
}

/// A study by built-in name or path.
///
/// # Errors
/// When there is none of that name, or it is wrong.
pub fn load(name: &str, overrides: &Overrides) -> Result<Study, Problem> {
    if let Some(builtin) = builtin::find(name) {
        let source = Source { origin: builtin.name, text: builtin.text };
        return Ok(parse(source, overrides)?);
    }
    let read = tare_files::read_named(Path::new(name), LARGEST).map_err(|e| e.to_string());
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|e| format!("cannot read {name}: {e}")));
    let text = text.map_err(|e| {
        let known: Vec<&str> = builtin::BUILTIN.iter().map(|b| b.name).collect();
        let problem =
            Problem::new(Exit::Usage, e).expected(format!("a study file or a built-in study: {}", known.join(", ")));
        match tare_text::nearest(name, known.iter().copied()) {
            Some(near) => problem.advice(format!("did you mean `tare run {near}`?")),
            None => problem.advice("list the built-in studies with: tare studies"),
        }
    })?;
    Ok(parse(Source { origin: name, text: &text }, overrides)?)
}
