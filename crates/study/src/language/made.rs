//! A study without a file: what options of a command line make of the keys that a file would set.

use super::check;
use super::document::{Source, StudyError};
use super::fields;
use super::parse::{Overrides, Parser};
use super::settings::{Sampling, Settings};
use super::spec::{Factor, Study};
use tare_results::question::Question;
use tare_text::{Key, KeyInfo, Keyed, Value};

pub type KeyValue = (&'static str, &'static str, Value);

#[derive(Debug, Clone)]
pub struct MadeStudy {
    pub name: &'static str,
    /// The command or option that it comes from, as messages say it.
    pub origin: &'static str,
    /// What its report answers; none: what its conditions suggest.
    pub question: Option<Question>,
    pub values: Vec<KeyValue>,
    /// Each with its levels, of which every combination is a condition.
    pub factors: Vec<Factor>,
}

impl MadeStudy {
    /// The study, held to all that holds for one of a file.
    pub fn study(&self, overrides: &Overrides) -> Result<Study, StudyError> {
        self.parser()?.finish(overrides)
    }

    /// What a trial of it needs to know, where keys may be set that mean nothing to the load.
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

/// A key as it is declared, with its value where nothing is set.
#[derive(Debug, Clone)]
pub struct DeclaredKey {
    pub info: KeyInfo,
    /// Its value where nothing is set; none where it has none then.
    pub default: Option<Value>,
}

/// The declaration of a key; none where there is no such key.
pub fn declared(section: &str, key: &str) -> Option<DeclaredKey> {
    match sampling(section, key) {
        Some(key) => Some(DeclaredKey { info: key.info(), default: key.get(&Sampling::default()) }),
        None => fields::find(section, key).map(|field| DeclaredKey { info: field.info, default: field.default() }),
    }
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
