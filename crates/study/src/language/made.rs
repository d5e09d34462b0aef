//! Studies of the command line: one without a file, whose options take the place of the keys of a file, and the changes
//! to one that is read: `--set`, and options that stand for it. Refused are settings that have no effect because every
//! condition sets the same key itself.

use super::document::{Place, Source, StudyError};
use super::key::{BUILD, MACHINE, PLACEMENT, WORKLOAD};
use super::parse::{Overrides, Parser};
use super::settings::{Sampling, Settings};
use super::spec::{CommandLineKey, Factor, SIDE, Study};
use super::values::Target;
use super::{check, fields};
use std::collections::BTreeSet;
use tare_results::factor;
use tare_results::question::Question;
use tare_text::{Key, KeyInfo, Keyed, Value};

pub type KeyValue = (&'static str, &'static str, Value);

#[derive(Debug, Clone)]
pub struct MadeStudy {
    pub name: &'static str,
    /// The command or option that it comes from, for messages.
    pub origin: &'static str,
    /// The question that its report answers; none: the one that its conditions suggest.
    pub question: Option<Question>,
    pub values: Vec<KeyValue>,
    /// Factors with their levels; every combination is a condition.
    pub factors: Vec<Factor>,
}

impl MadeStudy {
    /// The study, checked like one from a file.
    pub fn study(&self, overrides: &Overrides) -> Result<Study, StudyError> {
        self.parser()?.finish(overrides)
    }

    /// The settings of a trial; keys without effect on the load are allowed here.
    pub fn settings(&self) -> Result<(Settings, Sampling), StudyError> {
        let Parser { source, mut study, places, .. } = self.parser()?;
        check::together(source, &places, &mut study)?;
        Ok((study.base, study.sampling))
    }

    fn parser(&self) -> Result<Parser<'static>, StudyError> {
        let mut parser = Parser::new(Source { origin: self.origin, text: "" });
        parser.study.name = self.name.to_owned();
        parser.study.question.clone_from(&self.question);
        parser.study.factors.clone_from(&self.factors);
        for (section, key, value) in &self.values {
            parser.set(section, key, value, 0..0, 0..0)?;
        }
        Ok(parser)
    }
}

#[derive(Debug, Clone)]
pub struct DeclaredKey {
    pub info: KeyInfo,
    pub default: Option<Value>,
}

pub fn declared(section: &str, key: &str) -> Option<DeclaredKey> {
    match sampling(section, key) {
        Some(key) => Some(DeclaredKey { info: key.info(), default: key.get(&Sampling::default()) }),
        None => fields::find(section, key).map(|field| DeclaredKey { info: field.info, default: field.default() }),
    }
}

/// The section and name of a key that was written without its section.
pub fn without_section(word: &str) -> Option<(&'static str, &'static str)> {
    let of_sampling = || sampling("sampling", word).map(|key| ("sampling", key.name));
    let field = fields::factor(word).filter(|field| field.section != MACHINE);
    field.map(|field| (field.section, field.key)).or_else(of_sampling)
}

pub fn check_value(section: &str, key: &str, value: &Value) -> Result<(), String> {
    match (sampling(section, key), fields::find(section, key)) {
        (Some(key), _) => key.set(&mut Sampling::default(), value),
        (_, Some(field)) => field.check(value),
        (None, None) => Err("a key of a study".to_owned()),
    }
}

fn sampling(section: &str, name: &str) -> Option<&'static Key<Sampling>> {
    Sampling::KEYS.iter().find(|key| section == "sampling" && key.name == name)
}

impl Parser<'_> {
    /// Applies the changes of the command line, after everything else is set, and returns the study.
    pub(crate) fn finish(mut self, overrides: &Overrides) -> Result<Study, StudyError> {
        let own_engine = self.study.base.engine.kind;
        if let Some(engine) = &overrides.engine {
            self.command_line(&format!("engine.name={engine}"), format!("--engine {engine}"))?;
        }
        if let Some(load) = &overrides.load {
            self.in_place_of_own(load)?;
        }
        if !overrides.binaries.is_empty() {
            let programs = overrides.binaries.iter().map(|path| Value::of_word(path)).collect();
            self.set_factor("binary", programs, "--binary");
        }
        for (set, typed) in &overrides.options {
            self.command_line(set, typed.clone())?;
        }
        for set in &overrides.sets {
            self.command_line(set, format!("--set {set}"))?;
        }
        if self.study.base.engine.kind != own_engine {
            self.study.moved_from = Some(own_engine.name());
        }
        let Self { source, mut study, places, .. } = self;
        check::together(source, &places, &mut study)?;
        check::kinds(source, &places, &study)?;
        check::alternatives(source, &places, &study)?;
        check::factors(source, &places, &study)?;
        check::ladder(source, &places, &study)?;
        Ok(study)
    }

    /// Replaces the study's load, and drops the keys of its own load.
    fn in_place_of_own(&mut self, load: &str) -> Result<(), StudyError> {
        self.command_line(&format!("workload.name={load}"), format!("--load {load}"))?;
        let load = &self.study.base.workload.load;
        self.places.keys.retain(|(field, _)| field.belongs_to(load));
        self.study.load_keys.retain(|(name, _)| fields::find(WORKLOAD, name).is_some_and(|key| key.belongs_to(load)));
        Ok(())
    }

    /// Applies one `path.to.key=value` from this command line option.
    fn command_line(&mut self, set: &str, option: String) -> Result<(), StudyError> {
        self.option = Some(option.clone());
        let result = self.command_line_set(set);
        self.option = None;
        result.map_err(|e| StudyError { origin: option.clone(), line: 0, column: 0, ..e })?;
        if let Some((path, value)) = set.split_once('=')
            && let Some((section, key)) = path.split_once('.')
        {
            let (section, key, value) = (section.to_owned(), key.to_owned(), value.to_owned());
            self.study.requested.push(CommandLineKey { section, key, value, option });
        }
        Ok(())
    }

    /// Sets the levels of a factor from a command line option; they replace the levels of the study.
    fn set_factor(&mut self, name: &str, levels: Vec<Value>, option: &str) {
        let place = Place::Option(option.to_owned());
        self.places.levels.retain(|(factor, ..)| factor != name);
        self.places.levels.extend(levels.iter().map(|level| (name.to_owned(), level.clone(), place.clone())));
        match self.study.factors.iter_mut().find(|f| f.name == name) {
            Some(factor) => factor.levels = levels,
            None => self.study.factors.push(Factor { name: name.to_owned(), levels }),
        }
    }

    fn command_line_set(&mut self, set: &str) -> Result<(), StudyError> {
        let usage = || self.source.error(0..0, format!("`{set}` is not KEY=VALUE"), "path.to.key=value");
        let (path, value) = set.split_once('=').ok_or_else(usage)?;
        let (section, key) = path.split_once('.').ok_or_else(|| {
            let Some((section, key)) = without_section(path) else { return usage() };
            self.source.error(0..0, format!("`{path}` has no section"), format!("{section}.{key}={value}"))
        })?;
        match (section, key.split_once('.')) {
            ("engine", Some(("options", option))) => {
                self.study.base.engine.options.insert(option.to_owned(), value.to_owned());
                self.study.requested_options.insert(option.to_owned());
                Ok(())
            }
            ("factors", _) => {
                self.study.requested_options.extend(factor::option(key).map(str::to_owned));
                self.set_factor(key, value.split(',').map(Value::of_word).collect(), &format!("--set factors.{key}"));
                Ok(())
            }
            ("placements" | "builds", Some((name, key))) => {
                let factor = if section == "builds" { BUILD } else { PLACEMENT };
                let key = self.named_key(factor, (key, Value::of_word(value)), set.to_owned(), (0..0, 0..0))?;
                let keys = self.study.named(factor).entry(name.to_owned()).or_default();
                keys.retain(|(known, _)| *known != key.0);
                keys.push(key);
                Ok(())
            }
            ("option" | "options", _) => {
                let expected =
                    format!("engine.options.{key}={value} for one value, factors.option.{key}=A,B for several");
                Err(self.source.error(0..0, format!("unknown key of a study `{path}`"), expected))
            }
            _ => self.set(section, key, &Value::of_word(value), 0..0, 0..0),
        }
    }
}

/// Keys of `[sampling]` that determine the number of trials.
const COUNTS: [&str; 4] = ["trials", "target_half_width", "budget_s", "within_s"];

/// Refuses them. Must run after the sides of a comparison are known, because they determine the conditions.
pub fn without_effect(study: &Study) -> Result<(), StudyError> {
    let varied: BTreeSet<String> = study.entries().into_iter().flatten().map(|factor| factor.name).collect();
    let refused = |requested: &CommandLineKey, why: &str, instead: String| {
        let what = format!("`{}.{}` would change nothing: {why}", requested.section, requested.key);
        Err(Source { origin: "", text: "" }.wrong(&Place::Option(requested.option.clone()), what, instead))
    };
    for requested in &study.requested {
        let is_varied = requested.section == "factors" && (study.by_rule || !varied.contains(&requested.key));
        if is_varied || (study.by_rule && requested.section == "design") {
            let instead = "sides or levels of this command, or a study with tare run".to_owned();
            return refused(requested, "this command sets what is compared", instead);
        }
        if study.by_rule && requested.section == "sampling" && COUNTS.contains(&requested.key.as_str()) {
            let instead =
                "a time for all trials (--budget, of tare find --within), or a study with tare run".to_owned();
            return refused(requested, "this command adds trials until it is decided", instead);
        }
        let target = Target::of_key(&requested.section, &requested.key);
        if let Some(by) = target.and_then(|target| by_all(study, &target)) {
            return refused(requested, &by.says(), by.instead(requested, study));
        }
    }
    Ok(())
}

/// What sets a key of the base in all conditions.
enum By {
    /// The placement that the base chooses from these.
    FirstOf(Vec<String>),
    Factor(Factor),
}

fn by_all(study: &Study, target: &Target) -> Option<By> {
    let sets = |factor: &Factor| {
        factor.levels.iter().all(|level| {
            let own = study.targets(&factor.name, level);
            own.is_ok_and(|own| own.iter().any(|(own, _)| own == target))
        })
    };
    let names = || study.first_of.iter().map(|name| name.as_str().into()).collect();
    if !study.first_of.is_empty() && sets(&Factor { name: PLACEMENT.to_owned(), levels: names() }) {
        return Some(By::FirstOf(study.first_of.clone()));
    }
    let mut first = None;
    for entry in study.entries() {
        let own = entry.into_iter().find(&sets)?;
        first.get_or_insert(own);
    }
    first.map(By::Factor)
}

impl By {
    fn says(&self) -> String {
        match self {
            Self::FirstOf(_) => "every placement of placement.first_of sets it".to_owned(),
            Self::Factor(factor) => format!("every level of the factor {} sets it", factor.name),
        }
    }

    fn instead(&self, CommandLineKey { key, value, .. }: &CommandLineKey, study: &Study) -> String {
        let factor = match self {
            Self::FirstOf(names) => return format!("placements.NAME.{key}={value}, NAME one of {}", names.join(", ")),
            Self::Factor(factor) => factor,
        };
        let name = &factor.name;
        if name == PLACEMENT || name == BUILD {
            return format!("{name}s.NAME.{key}={value} for one of them, or other levels: factors.{name}=NAME");
        }
        if study.conditions.iter().flatten().any(|own| own.name == SIDE) {
            return format!("sides that leave {name} open, or no such option");
        }
        let listed: Vec<&Factor> = study.conditions.iter().flatten().filter(|own| own.name == *name).collect();
        if listed.is_empty() || listed.iter().any(|own| own.levels.iter().any(|level| level.to_string() == *value)) {
            return format!("factors.{name}={value}, which is the only level then, or other levels of {name}");
        }
        let mut levels: Vec<String> = listed.iter().flat_map(|own| &own.levels).map(ToString::to_string).collect();
        levels.sort();
        levels.dedup();
        format!("factors.{name}=LEVEL, one of those that its conditions have: {}", levels.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::parse::parse;

    const STUDY: &str = "name = \"s\"\n[engine.options]\nx = \"1\"\n[factors]\nthreads = [1, 2]\noption.x = [1, 2]\n\
                         build = [\"old\", \"new\"]\nplacement = [\"near\", \"far\"]\nthp = [\"always\", \"never\"]\n\
                         [builds.old]\nname = \"mariadb\"\ncharset = \"latin1\"\noptions.y = 1\n\
                         [builds.new]\nname = \"mysql\"\noptions.y = 2\n\
                         [placements.near]\nclient = \"cpus:0\"\nserver = \"cpus:0\"\n[placements.far]\n\
                         client = \"cpus:1\"\n";
    const LISTED: &str =
        "name = \"s\"\n[[conditions]]\nthreads = [1, 2]\n[[conditions]]\nthreads = 4\nbind = \"set\"\n";
    const FIRST: &str = "name = \"s\"\n[placement]\nfirst_of = [\"a\", \"b\"]\n[placements.a]\nclient = \"cpus:0\"\n\
                         [placements.b]\nclient = \"cpus:1\"\nserver = \"cpus:2\"\n";

    fn found(text: &str, set: &str) -> Result<(), StudyError> {
        let overrides = Overrides { sets: vec![set.to_owned()], ..Overrides::default() };
        without_effect(&parse(Source { origin: "s.toml", text }, &overrides).unwrap())
    }

    #[test]
    fn a_setting_that_every_condition_overrides_is_refused_with_advice() {
        for (text, set, by, instead) in [
            (STUDY, "workload.threads=1", "factor threads", "factors.threads=1"),
            (STUDY, "engine.options.x=3", "factor option.x", "factors.option.x=3"),
            (STUDY, "machine.thp=never", "factor thp", "factors.thp=never"),
            (STUDY, "engine.name=mariadb", "factor build", "builds.NAME.name=mariadb"),
            (STUDY, "engine.options.y=3", "factor build", "builds.NAME.options.y=3"),
            (STUDY, "placement.client=all", "factor placement", "placements.NAME.client=all for one"),
            (LISTED, "workload.threads=4", "factor threads", "factors.threads=4,"),
            (
                LISTED,
                "workload.threads=8",
                "factor threads",
                "factors.threads=LEVEL, one of those that its conditions have: 1, 2, 4",
            ),
            (FIRST, "placement.client=all", "placement.first_of", "placements.NAME.client=all, NAME one of a, b"),
        ] {
            let error = found(text, set).unwrap_err();
            assert_eq!(error.origin, format!("--set {set}"));
            assert!(error.what.contains(by) && error.expected.contains(instead), "{set}: {error:?}");
        }
    }

    #[test]
    fn a_setting_that_the_rule_of_a_command_decides_is_refused() {
        let found = |set: &str| {
            let overrides = Overrides { sets: vec![set.to_owned()], ..Overrides::default() };
            let mut study = parse(Source { origin: "s.toml", text: STUDY }, &overrides).unwrap();
            study.compare("find", String::new(), Vec::new());
            study.factors = vec![Factor { name: "threads".to_owned(), levels: vec![1_usize.into(), 2_usize.into()] }];
            without_effect(&study)
        };
        for (set, why) in [
            ("sampling.trials=5", "adds trials until it is decided"),
            ("sampling.target_half_width=0.01", "adds trials until it is decided"),
            ("factors.threads=4,8", "sets what is compared"),
            ("design.kind=one-at-a-time", "sets what is compared"),
        ] {
            assert!(found(set).unwrap_err().what.contains(why), "{set}");
        }
        found("sampling.sample_s=2").unwrap();
    }

    #[test]
    fn a_setting_that_some_condition_leaves_open_is_accepted() {
        for (text, set) in [
            (STUDY, "engine.options.z=3"),
            (STUDY, "engine.charset=utf8mb4"),
            (STUDY, "placement.server=all"),
            (STUDY, "workload.rows=7"),
            (STUDY, "sampling.trials=7"),
            (LISTED, "placement.bind=set"),
            (FIRST, "placement.server=all"),
            ("name = \"s\"\n", "workload.threads=2"),
        ] {
            found(text, set).unwrap();
        }
    }
}
