//! A study without a file: command line options in place of the keys of a file.

use super::document::{Source, StudyError};
use super::parse::{Overrides, Parser};
use super::settings::{Sampling, Settings};
use super::spec::{Factor, Study};
use super::{check, fields};
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
    fields::factor(word).map(|field| (field.section, field.key)).or_else(of_sampling)
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
