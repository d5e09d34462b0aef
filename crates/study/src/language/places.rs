//! Where what was read stands, so that checking the whole study looks into no document again.

use super::document::{Source, StudyError};
use super::key::Field;
use std::collections::BTreeMap;
use std::ops::Range;
use tare_text::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    At(Range<usize>),
    Option(String),
}

/// Where everything stands that is looked at when all is known.
#[derive(Clone, Default)]
pub struct Places {
    /// Keys of the base, in the order in which they were set.
    pub keys: Vec<(Field, Place)>,
    /// Levels, each with the name of its factor, in that order.
    pub levels: Vec<(String, Value, Place)>,
    pub tables: BTreeMap<String, Range<usize>>,
}

impl Places {
    pub fn key(&self, name: &str) -> Place {
        let last = self.keys.iter().rfind(|(field, _)| field.key == name);
        last.map_or(Place::At(0..0), |(_, place)| place.clone())
    }

    pub fn level(&self, factor: &str, level: &Value) -> Place {
        let found = self.levels.iter().find(|(name, known, _)| name == factor && known == level);
        found.map_or(Place::At(0..0), |(.., place)| place.clone())
    }

    pub fn table(&self, name: &str) -> Place {
        Place::At(self.tables.get(name).cloned().unwrap_or_default())
    }
}

impl Source<'_> {
    pub fn wrong(&self, place: &Place, what: impl Into<String>, expected: impl Into<String>) -> StudyError {
        match place {
            Place::At(span) => self.error(span.clone(), what, expected),
            Place::Option(origin) => Source { origin, text: "" }.error(0..0, what, expected),
        }
    }

    /// An unknown name at a place, with the nearest of the right ones.
    pub fn unknown_at(&self, place: &Place, what: &str, name: &str, known: &[&str]) -> StudyError {
        match place {
            Place::At(span) => self.unknown(span.clone(), what, name, known),
            Place::Option(origin) => Source { origin, text: "" }.unknown(0..0, what, name, known),
        }
    }
}
