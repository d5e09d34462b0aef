//! The changes of the command line to a study that is read: `--set`, and options that stand for it.

use super::document::{Place, Source, StudyError};
use super::key::WORKLOAD;
use super::made::without_section;
use super::parse::{Overrides, Parser};
use super::settings::Settings;
use super::spec::{CommandLineKey, Factor, Study};
use super::target::Target;
use super::{check, fields};
use tare_results::factor;
use tare_text::Value;

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
        let outer = std::mem::replace(&mut self.source, Source { origin: "--set", text: "" });
        self.option = Some(option.clone());
        let result = self.command_line_set(set);
        (self.source, self.option) = (outer, None);
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
            ("placements", Some((name, key))) => {
                let field = fields::find("placement", key).ok_or_else(|| self.unknown_key("placement", key, 0..0))?;
                let value = Value::of_word(value);
                field.set(&mut Settings::default(), &value).map_err(|e| self.source.error(0..0, set, e))?;
                let keys = self.study.placements.entry(name.to_owned()).or_default();
                keys.retain(|(k, _)| k != key);
                keys.push((key.to_owned(), value));
                Ok(())
            }
            ("builds", Some((name, key))) => {
                let value = Value::of_word(value);
                let target = Target::of_build_key(key).ok_or_else(|| self.unknown_key("engine", key, 0..0))?;
                target.set(&mut Settings::default(), &value).map_err(|e| self.source.error(0..0, set, e))?;
                let keys = self.study.builds.entry(name.to_owned()).or_default();
                keys.retain(|(k, _)| k != key);
                keys.push((key.to_owned(), value));
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
