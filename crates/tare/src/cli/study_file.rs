//! Reads and plans the study that a command names, a file or a built-in one, with the changes to it; of them, `tare
//! ab`, `tare find` and `tare bisect` have options in common.

use super::problem::expectation;
use super::{Exit, Problem, interrupt, output, trust};
use crate::state::{self, whole_path};
use clap::Args;
use std::path::Path;
use tare_drive::workload::AnyLoad;
use tare_engine::is_program;
use tare_files::Trust;
use tare_results::metric;
use tare_results::schema::Plan;
use tare_study::language::builtin;
use tare_study::language::document::Source;
use tare_study::language::load_name::LoadName;
use tare_study::language::made::{check_value, without_effect};
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use tare_study::plan::adapt::adapt;
use tare_study::plan::builds::Programs;
use tare_study::plan::resolve::{Where, resolve};
use tare_study::plan::{estimate, within};
use tare_text::Value;
use tare_topology::Machine;

const LARGEST: u64 = 16 << 20;

/// What a command line changes in the study that it names.
#[derive(Debug, Args)]
pub(crate) struct StudyChanges {
    /// Run on this engine: sqlite, mariadb, mysql or postgresql [default: the study's]
    #[arg(long)]
    engine: Option<String>,
    /// Run this load, for example read_write or tpcc [default: the study's]
    #[arg(long, value_name = "WORKLOAD")]
    load: Option<String>,
    /// A server program to compare with the others (may be repeated); without STUDY, on the built-in study side-by-side
    #[arg(long, value_name = "PATH")]
    binary: Vec<String>,
    /// Set an option of the engine, or compare several of its values (may be repeated); without STUDY, with
    /// side-by-side
    #[arg(long, value_name = "NAME=VALUE[,VALUE]", value_parser = option)]
    option: Vec<EngineOption>,
    /// Trials of every condition, each a fresh server [default: the study's number]
    #[arg(long, value_name = "N", value_parser = |text: &str| count_of("trials", text))]
    trials: Option<usize>,
    /// Samples in each trial [default: the study's number]
    #[arg(long, value_name = "N", value_parser = |text: &str| count_of("samples", text))]
    samples: Option<usize>,
    /// The time for the whole run including its data, such as 1h or 90min: tare shortens the plan to fit [default: the
    /// plan's own time]
    #[arg(long, alias = "budget", value_name = "TIME", value_parser = super::output::time)]
    within: Option<f64>,
    /// Change one key of the study, for example sampling.trials=20 or factors.threads=1,2,4 (may be repeated)
    #[arg(long = "set", value_name = "PATH.KEY=VALUE")]
    set: Vec<String>,
    /// Run a short rehearsal with the study's quick settings
    #[arg(long)]
    quick: bool,
    /// Use the size and settings that the study's article published; the study file has their sources
    #[arg(long, conflicts_with = "quick")]
    article: bool,
}

/// An engine's option with its requested values.
#[derive(Debug, Clone)]
struct EngineOption {
    name: String,
    /// As written, separated by commas.
    values: String,
}

/// Parses a value of a key of `[sampling]`; errors name the option of the command line.
fn count_of(key: &str, text: &str) -> Result<usize, String> {
    let expected = |e: String| format!("expected {}", expectation(e));
    check_value("sampling", key, &Value::of_word(text)).map_err(expected)?;
    text.parse().map_err(|_| expected("a whole number".to_owned()))
}

fn option(text: &str) -> Result<EngineOption, String> {
    match text.split_once('=') {
        Some((name, values)) if !name.is_empty() && !values.is_empty() => {
            Ok(EngineOption { name: name.to_owned(), values: values.to_owned() })
        }
        _ => Err("expected NAME=VALUE, or NAME=VALUE,VALUE to compare them".to_owned()),
    }
}

impl EngineOption {
    /// The option as for `--set`: one value is set, several are a factor.
    fn set(&self) -> String {
        let section = if self.values.contains(',') { "factors.option" } else { "engine.options" };
        format!("{section}.{}={}", self.name, self.values)
    }

    fn typed(&self) -> String {
        format!("--option {}={}", self.name, self.values)
    }
}

impl StudyChanges {
    pub(crate) fn default_study(&self) -> &'static str {
        if self.binary.is_empty() && self.option.is_empty() { "first-look" } else { "side-by-side" }
    }

    /// Overrides for the study parser; `--set` takes precedence for the same key.
    pub(crate) fn overrides(&self) -> Overrides {
        let sampling = [("trials", self.trials), ("samples", self.samples)];
        let typed = |key: &str, n: usize| (format!("sampling.{key}={n}"), format!("--{key} {n}"));
        let counts = sampling.into_iter().filter_map(|(key, n)| Some(typed(key, n?)));
        let within = self.within.map(|seconds| (format!("sampling.within_s={seconds}"), "--within".to_owned()));
        let options = self.option.iter().map(|option| (option.set(), option.typed()));
        Overrides {
            quick: self.quick,
            article: self.article,
            engine: self.engine.clone(),
            load: self.load.clone(),
            options: options.chain(counts).chain(within).collect(),
            sets: self.set.clone(),
            binaries: self.binary.clone(),
        }
    }

    /// Refuses a program of the command line that is no server: without it the study would answer another question.
    pub(crate) fn are_servers(&self, study: &Study) -> Result<(), Problem> {
        let programs = Programs::default();
        let engine = study.base.engine.kind;
        for path in self.binary.iter().map(Path::new) {
            if programs.engine_of(engine, path).is_none()
                && let Err(why) = programs.of(engine, Some(path))
            {
                return Err(Problem::new(Exit::Usage, why)
                    .at(format!("--binary {}", path.display()))
                    .advice("name a server; see those of this machine with: tare studies --engines"));
            }
        }
        Ok(())
    }
}

/// Adapts a study to a machine and plans it. No program of an untrusted study is run.
pub(crate) fn planned(
    mut study: Study,
    machine: &Machine,
    place: Where,
    trusted: bool,
) -> Result<(Study, Plan), Problem> {
    if study.decide.is_some() {
        return Err(Problem::new(Exit::Usage, "a study with [decide] runs pair by pair, on one machine")
            .advice("run it with tare run"));
    }
    without_effect(&study)?;
    // From here on, programs that are asked for their version end with this process, together with their children.
    interrupt::stop()?;
    let requested = if trusted { place } else { Where::HereUntrusted };
    let notes = adapt(&mut study, machine, requested).map_err(|e| Problem::new(Exit::Usage, e))?;
    let plan_of = |study: &Study| {
        let mut plan = resolve(study, machine, place)?;
        if requested == Where::Here
            && let Ok(cache) = state::cache_directory()
        {
            estimate::leave_out_made(study, &mut plan, &cache);
        }
        Ok(plan)
    };
    let whole = plan_of(&study).map_err(|e| Problem::new(Exit::Usage, e))?;
    let (study, mut plan) = within::fit(study, whole, machine.pus.len(), plan_of).map_err(|e| {
        Problem::new(Exit::Usage, format!("--within is too short: {e}"))
            .advice("allow more time, or reduce the study with --set, for example to fewer levels of a factor")
    })?;
    plan.notes.extend(notes);
    Ok((study, plan))
}

/// The text of a named study, read once, so that the checked text is the one that runs.
pub(crate) struct StudyText {
    origin: String,
    text: String,
    pub trusted: bool,
}

impl StudyText {
    /// Reads a study by built-in name or path. An untrusted one may only be looked at.
    pub(crate) fn read(name: &str, trust: Trust, only_looked_at: bool) -> Result<Self, Problem> {
        if let Some(builtin) = builtin::find(name) {
            return Ok(Self { origin: builtin.name.to_owned(), text: builtin.text.to_owned(), trusted: true });
        }
        let (bytes, trusted) = match tare_files::read_named(Path::new(name), LARGEST, trust) {
            Err(e) if e.is_of_others() && only_looked_at => {
                (tare_files::read_named(Path::new(name), LARGEST, Trust::Anyone), false)
            }
            Err(e) if e.is_of_others() => return Err(trust::refused(&e)),
            read => (read, true),
        };
        let text = bytes.map_err(|e| e.to_string());
        let text =
            text.and_then(|bytes| String::from_utf8(bytes).map_err(|_| format!("{name} is not a text in UTF-8")));
        Ok(Self { origin: name.to_owned(), text: text.map_err(|e| unknown(name, e))?, trusted })
    }

    /// Parses the text, with the changes of the command line.
    pub(crate) fn parse(&self, overrides: &Overrides) -> Result<Study, Problem> {
        Ok(parse(Source { origin: &self.origin, text: &self.text }, overrides)?)
    }
}

fn unknown(name: &str, reason: String) -> Problem {
    let known: Vec<&str> = builtin::BUILTIN.iter().map(|b| b.name).collect();
    let problem =
        Problem::new(Exit::Usage, reason).expected(format!("a study file or a built-in study: {}", known.join(", ")));
    match tare_text::nearest(name, known.iter().copied()) {
        _ if Path::new(name).join("plan.json").exists() => {
            let results = output::quoted_path(Path::new(name));
            problem.advice(format!("these are results: tare show {results}, or tare run --resume {results}"))
        }
        Some(near) => problem.advice(format!("did you mean `tare run {near}`?")),
        None if name.contains(' ') || is_program(Path::new(name)) => {
            problem.advice(format!("to measure a program: tare run --command {}", tare_text::quoted(name)))
        }
        None => problem.advice("list the built-in studies with: tare studies"),
    }
}

/// What the study is run with, and what of it is compared.
#[derive(Debug, Args)]
pub(crate) struct MeasuredArgs {
    /// Run on this engine: sqlite, mariadb, mysql or postgresql [default: the study's]
    #[arg(long)]
    pub engine: Option<String>,
    /// Run this load, for example read_write or dbt3, or a file of statements, NAME.toml (docs/sql.md) [default: the
    /// study's]
    #[arg(long, value_name = "WORKLOAD", value_parser = load)]
    pub load: Option<String>,
    /// The metric to compare [default: the load's first headline metric]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Seed of the order within pairs or blocks [default: a new one, which is recorded]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Change one key of the study, for example sampling.sample_s=5 (may be repeated)
    #[arg(long = "set", value_name = "PATH.KEY=VALUE")]
    pub set: Vec<String>,
}

impl MeasuredArgs {
    /// The changes to the study, including its load.
    pub(crate) fn sets(&self) -> Vec<String> {
        self.load_keys().into_iter().chain(self.set.iter().cloned()).collect()
    }

    fn load_keys(&self) -> Vec<String> {
        match self.load.as_deref().map(LoadName::parse) {
            Some(LoadName::Statements(file)) => {
                vec!["workload.name=sql".to_owned(), format!("workload.file={}", whole_path(&file).display())]
            }
            _ => self.load.iter().map(|load| format!("workload.name={load}")).collect(),
        }
    }

    pub(crate) fn overrides(&self) -> Overrides {
        let typed = |set| (set, format!("--load {}", self.load.as_deref().unwrap_or_default()));
        Overrides {
            engine: self.engine.clone(),
            options: self.load_keys().into_iter().map(typed).collect(),
            sets: self.set.clone(),
            ..Overrides::default()
        }
    }
}

fn load(text: &str) -> Result<String, String> {
    match LoadName::parse(text) {
        LoadName::Script(_) => {
            Err("expected the name of a load, or a file of statements, NAME.toml: it holds SQL and how the tables \
                     are made (docs/sql.md)"
                .to_owned())
        }
        LoadName::Name(_) | LoadName::Statements(_) => Ok(text.to_owned()),
    }
}

/// Refuses a metric that no load has before anything is measured. A command that reports metrics of its own may name
/// them in any way.
pub(crate) fn check_metrics<'n>(study: &Study, names: impl IntoIterator<Item = &'n String>) -> Result<(), Problem> {
    if matches!(&study.base.workload.load, AnyLoad::Command(command) if !command.metrics.is_empty()) {
        return Ok(());
    }
    match names.into_iter().find(|name| !metric::is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Problem::new(Exit::Usage, format!("no load has the metric `{name}`"))
            .expected("a metric such as tps, latency_ms_p99 or server_cpu_us_per_transaction")
            .advised(metric::nearest(name).map(|near| format!("did you mean `{near}`?")))),
    }
}
