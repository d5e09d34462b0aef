//! `tare load FILE`: statements of the user's own against any running server.

use super::asked::Asked;
use super::lines::{self, Prompt};
use super::oltp_args::{LoadArgs, Weighed};
use super::subject::Subject;
use super::{search, stage};
use crate::cli::{Exit, Problem, output};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_drive::workload::Measured;
use tare_drive::workload::sql::{Script, of_scripts};
use tare_study::language::made::KeyValue;

/// Measures what the files say.
///
/// # Errors
/// With exit codes 2 (usage, a file that is not understood), 3 (no connection), 4 (a statement failed for good).
pub fn run(args: &LoadArgs, files: &[Weighed]) -> Result<Exit, Problem> {
    let usage = |what: &str| Problem::new(Exit::Usage, what);
    if args.prepares() || args.cleans_up() {
        return Err(usage("a file of statements makes and drops no tables on a server that runs already"));
    }
    if args.reconnect || args.make_up.is_said() {
        return Err(usage(
            "--reconnect and what makes up sysbench's transactions mean nothing to statements of a file",
        ));
    }
    let asked = Asked::new(&args.server, &args.run, values(args, files)?)?;
    if let Some(out) = &args.run.out {
        return asked.keep(out, args.said.json);
    }
    let subject = Subject::of(&asked)?;
    let prompt = Prompt::new(&args.said, &args.run)?;
    if args.run.searches() {
        return search::run(&asked, &prompt, &subject, args.said.json);
    }
    let load = asked.settings.workload.load.load();
    let driven = stage::measure(&asked, &prompt, |stage| Ok(vec![load.drive(stage)?]))?;
    let sample = driven.samples.first().ok_or_else(|| Problem::new(Exit::TrialFailed, "the load gave no sample"))?;
    match args.said.json {
        true => output::document("tare-load-sql", &Document::of(&subject, sample))?,
        false => output::text(&(subject.words() + &words(sample)))?,
    }
    Ok(lines::ended(sample.elapsed_s).unwrap_or(Exit::Done))
}

/// The keys of the study that it is.
fn values(args: &LoadArgs, files: &[Weighed]) -> Result<Vec<KeyValue>, Problem> {
    let mut values: Vec<KeyValue> = vec![("workload", "name", "sql".into())];
    if let [one] = files
        && one.path.extension().is_some_and(|extension| extension == "toml")
    {
        values.push(("workload", "file", one.path.display().to_string().into()));
        return Ok(values);
    }
    let script = |file: &Weighed| {
        let name = file.path.display().to_string();
        let text = std::fs::read_to_string(&file.path)
            .map_err(|e| Problem::new(Exit::Usage, format!("cannot read the statements: {e}")).at(name.clone()))?;
        Ok(Script { file: name, text, weight: file.weight })
    };
    let scripts = files.iter().map(script).collect::<Result<Vec<_>, Problem>>()?;
    let defined: BTreeMap<String, i64> = args.scripts.define.iter().cloned().collect();
    let text = of_scripts(&scripts, &defined).map_err(|what| {
        Problem::new(Exit::Usage, what).advice("write it as a file of statements (docs/sql.md), and name that")
    })?;
    values.push(("workload", "statements", text.into()));
    Ok(values)
}

/// The document of `tare load FILE --json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    measured: &'a Subject,
    elapsed_s: f64,
    metrics: BTreeMap<&'a str, f64>,
    /// What was seen alongside them.
    covariates: &'a BTreeMap<String, f64>,
}

impl<'a> Document<'a> {
    fn of(measured: &'a Subject, sample: &'a Measured) -> Self {
        let metrics = sample.metrics.iter().map(|(metric, value)| (metric.name(), *value)).collect();
        let Measured { elapsed_s, covariates, .. } = sample;
        Self { measured, elapsed_s: *elapsed_s, metrics, covariates }
    }
}

fn words(sample: &Measured) -> String {
    let mut text = format!("time          {:.3} s\n", sample.elapsed_s);
    let width = sample.metrics.iter().map(|(metric, _)| metric.name().len()).max().unwrap_or(0).max(12);
    for (metric, value) in &sample.metrics {
        text += &format!("{:<width$}  {value:>14.3}\n", metric.name());
    }
    text
}
