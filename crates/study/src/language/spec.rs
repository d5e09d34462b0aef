//! A study: what to run, on which server, and how often.

use super::decide::Decide;
use super::key::{self, BUILD, PLACEMENT, WORKLOAD};
use super::settings::{Sampling, Settings};
use super::values::Target;
use super::{document, fields};
use std::collections::{BTreeMap, BTreeSet};
use strum::{Display, EnumString, IntoStaticStr, VariantNames};
use tare_results::question::Question;
use tare_results::schema::LeftOut;
use tare_text::{UnknownWord, Value};

pub use tare_results::schema::SIDE;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Study {
    pub name: String,
    pub title: String,
    /// The question that the first line of its report answers; none: the one that its conditions suggest.
    pub question: Option<Question>,
    pub base: Settings,
    /// Keys of loads under `[workload]`, in the order in which they were set: a condition with another load than the
    /// base's uses those that its load has.
    pub load_keys: Vec<(String, Value)>,
    /// `placement.first_of`: names of placements; the base uses the first one that the machine supports.
    pub first_of: Vec<String>,
    /// The engine in the study's file, if the command line named another one.
    pub moved_from: Option<&'static str>,
    /// Whether it has its own short settings (`--quick`).
    pub rehearsal: bool,
    /// Whether it has the size and settings of the article that it reproduces.
    pub as_published: bool,
    /// `machine.where_possible`: whether to run without settings of the base that this machine does not support.
    pub where_possible: bool,
    /// Settings that were left out for that reason, after the study was adapted to its machine.
    pub left_out: Vec<LeftOut>,
    /// Engine options that the command line names: they are never left out.
    pub requested_options: BTreeSet<String>,
    /// Keys of the base that the command line sets.
    pub requested: Vec<CommandLineKey>,
    /// Named placements: name -> keys of `[placement]`.
    pub placements: NamedKeys,
    /// Named builds: name -> keys of `[engine]`, and `options.NAME`.
    pub builds: NamedKeys,
    pub design: Design,
    /// Factors of the whole study, in file order; for their combination with `conditions` see [`Study::entries`].
    pub factors: Vec<Factor>,
    /// A plain list: each entry is a small full factorial of its own.
    pub conditions: Vec<Vec<Factor>>,
    /// Sufficient numbers of warm-up runs, for a study that is cut to a time: each entry has a number of them
    /// (`warmup_runs`), and its other keys select the conditions.
    pub enough: Vec<Vec<Factor>>,
    pub sampling: Sampling,
    /// Two sides that are compared in pairs until the result is decided, instead of factors; none: factors apply.
    pub decide: Option<Decide>,
    /// Whether a command sets the conditions itself, and its rule the number of trials.
    pub by_rule: bool,
}

pub type NamedKeys = BTreeMap<String, Vec<(String, Value)>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLineKey {
    pub section: String,
    /// For an option of the engine `options.NAME`, which is not in the table of keys.
    pub key: String,
    pub value: String,
    /// The option's text on the command line.
    pub option: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Design {
    pub kind: DesignKind,
    /// Whether to leave out a condition that resolves to the same as an earlier one on this machine.
    pub skip_identical: bool,
    /// The factor whose levels are measured in turn in one server lifetime; none: each level has its own server.
    pub ladder: Option<String>,
    /// Whether warm-ups are limited to what [`Study::enough`] says.
    pub warms_up_enough: bool,
}

/// The key of loads with a warm-up that is counted in runs.
pub(crate) const WARMUP_RUNS: &str = "warmup_runs";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum DesignKind {
    #[default]
    FullFactorial,
    /// The first level of every factor is the base; the other levels vary one at a time.
    OneAtATime,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// `placement`, a key of the study, a machine setting or `option.NAME`.
    pub name: String,
    pub levels: Vec<Value>,
}

impl Factor {
    pub(crate) fn has(&self, level: &Value) -> bool {
        self.levels.iter().any(|own| own.to_string() == level.to_string())
    }
}

/// What is expected where this name is no factor: it may be an option of the server.
fn unknown_factor(name: &str) -> String {
    let known = Study::factor_names();
    let factors = document::one_of("a factor", name, &known);
    let is_misspelled = name.contains('.') || tare_text::nearest(name, known.iter().copied()).is_some();
    if is_misspelled { factors } else { format!("{factors}; for an option of the server: option.{name}") }
}

impl Study {
    /// Changes the study to compare these conditions and to vary nothing else: it has one trial of each, and a rule
    /// adds the others.
    pub fn compare(&mut self, name: &str, title: String, conditions: Vec<Vec<Factor>>) {
        name.clone_into(&mut self.name);
        (self.title, self.conditions, self.factors) = (title, conditions, Vec::new());
        (self.question, self.design) = (None, Design::default());
        (self.sampling.trials, self.sampling.target_half_width, self.sampling.within_s) = (1, None, None);
        self.by_rule = true;
    }

    /// Sets one factor of `settings` to a level. The error describes what was expected.
    pub fn apply(&self, settings: &mut Settings, name: &str, level: &Value) -> Result<(), String> {
        for (target, value) in self.targets(name, level)? {
            target.set(settings, value)?;
        }
        if name == WORKLOAD { self.apply_load_keys(settings).map_err(|(_, expected)| expected) } else { Ok(()) }
    }

    /// The settings that a level of a factor makes, in this order. The error describes what was expected.
    pub(crate) fn targets<'s>(&'s self, name: &str, level: &'s Value) -> Result<Vec<(Target, &'s Value)>, String> {
        let keys = match name {
            PLACEMENT => self.placement(level)?,
            BUILD => self.build(level)?,
            SIDE => return level.one_of(&["a", "b"]).map(|_| Vec::new()),
            _ => {
                let target = Target::of_factor(name).ok_or_else(|| unknown_factor(name))?;
                return Ok(vec![(target, level)]);
            }
        };
        let target = |(key, value): &'s (String, Value)| Some((Target::of_named(name, key)?, value));
        keys.iter().map(target).collect::<Option<_>>().ok_or_else(|| format!("keys of [{name}]"))
    }

    /// Named placements or builds, each a set of keys.
    pub(crate) fn named(&mut self, factor: &str) -> &mut NamedKeys {
        if factor == BUILD { &mut self.builds } else { &mut self.placements }
    }

    /// Applies the study's keys for loads to a load that has just been chosen, in the load's own order.
    pub(crate) fn apply_load_keys(&self, settings: &mut Settings) -> Result<(), (String, String)> {
        let load = settings.workload.load.load_mut();
        for known in load.keys() {
            if let Some((key, value)) = self.load_keys.iter().find(|(key, _)| key == known.name) {
                load.set(key, value).map_err(|expected| (key.clone(), expected))?;
            }
        }
        Ok(())
    }

    fn placement(&self, name: &Value) -> Result<&[(String, Value)], String> {
        let known = || self.placements.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let keys = self.placements.get(&name.to_string());
        keys.map(Vec::as_slice).ok_or_else(|| format!("one of the study's placements: {}", known()))
    }

    fn build(&self, name: &Value) -> Result<&[(String, Value)], String> {
        self.builds.get(&name.to_string()).map(Vec::as_slice).ok_or_else(|| {
            let known: Vec<&str> = self.builds.keys().map(String::as_str).collect();
            if known.is_empty() {
                return "a study that names builds ([builds.NAME]), or the path of a program".to_owned();
            }
            format!("one of the study's builds ([builds.NAME]): {}", known.join(", "))
        })
    }

    /// Lists of factors; every combination of a list is a condition: `[factors]`, or the entries of `[[conditions]]`.
    /// With entries, a factor of `[factors]` that an entry has too narrows its levels, and any other factor is added
    /// to each entry.
    pub fn entries(&self) -> Vec<Vec<Factor>> {
        if self.conditions.is_empty() {
            return vec![self.factors.clone()];
        }
        let narrowed = |entry: &Vec<Factor>| {
            let mut entry = entry.clone();
            for factor in &self.factors {
                match entry.iter_mut().find(|own| own.name == factor.name) {
                    Some(own) => own.levels.retain(|level| factor.has(level)),
                    None => entry.push(factor.clone()),
                }
            }
            entry
        };
        let entries = self.conditions.iter().map(narrowed);
        entries.filter(|entry| entry.iter().all(|factor| !factor.levels.is_empty())).collect()
    }

    /// Valid names of factors, apart from `option.NAME`.
    pub(crate) fn factor_names() -> Vec<&'static str> {
        let mut names = vec![PLACEMENT, BUILD, "engine", "workload", SIDE];
        let factors = fields::all().filter(|f| f.section != key::CAPTURE);
        names.extend(factors.map(|f| f.key).filter(|k| *k != "name"));
        names
    }
}
