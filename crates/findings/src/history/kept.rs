//! Runs as lines of text, which a history keeps in place of their results.

use super::run::{Run, Value};
use crate::differences::What;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use tare_text::shown_name;

const SCHEMA: &str = "tare-history-run";
/// The version that is written. Version 1 has neither `lacks` nor builds and settings of servers.
const VERSION: u32 = 2;
const OLDEST: u32 = 1;

/// Why a line is no run.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("the line is not a run of a history: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the line is a document `{0}`, not `{SCHEMA}`")]
    OtherSchema(String),
    #[error("the line has version {0}, and this version of tare reads {OLDEST} to {VERSION}")]
    OtherVersion(u32),
    #[error("the mean `{0}` is not a finite number")]
    NotANumber(String),
    #[error("the line has two means of one metric of one condition")]
    Twice,
}

/// The name of a run without a time that is already in use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history has other values of a run with the name {0}, and runs of CSV files differ by name only")]
pub struct NotAdded(pub String);

/// Read first: the rest of another version may not parse.
#[derive(Deserialize)]
struct Header {
    schema: String,
    version: u32,
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    version: u32,
    run: &'a str,
    time: Option<&'a str>,
    commit: Option<&'a str>,
    lacks: &'a [String],
    means: Vec<Mean<'a, f64>>,
    facts: Vec<(Kind, &'a str, &'a str)>,
}

#[derive(Deserialize)]
struct Read<'a> {
    run: String,
    time: Option<String>,
    commit: Option<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(borrow)]
    means: Vec<Mean<'a, &'a RawValue>>,
    facts: Vec<(Kind, String, String)>,
}

#[derive(Serialize, Deserialize)]
struct Mean<'a, T> {
    condition: Cow<'a, str>,
    metric: Cow<'a, str>,
    mean: T,
}

/// The variants of [`What`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Factor,
    ServerVersion,
    ServerBuild,
    ServerSetting,
    Machine,
    Tare,
    Setting,
    Study,
}

impl Run {
    /// The run as a line without its end.
    ///
    /// # Errors
    /// Of the serializer.
    pub fn to_line(&self) -> serde_json::Result<String> {
        let mean = |(condition, metric)| {
            let mean = self.value(condition, metric)?;
            Some(Mean { condition: Cow::Borrowed(condition), metric: Cow::Borrowed(metric), mean })
        };
        let written = Written {
            schema: SCHEMA,
            version: VERSION,
            run: &self.name,
            time: self.time.as_deref(),
            commit: self.commit.as_deref(),
            lacks: &self.lacks,
            means: self.names().into_iter().filter_map(mean).collect(),
            facts: self.facts.iter().map(|(what, value)| written(what, value)).collect(),
        };
        serde_json::to_string(&written)
    }

    /// # Errors
    /// For a line that [`Run::to_line`] did not write, or that another version wrote.
    pub fn from_line(line: &[u8]) -> Result<Self, KeptError> {
        let header: Header = serde_json::from_slice(line)?;
        if header.schema != SCHEMA {
            return Err(KeptError::OtherSchema(header.schema));
        }
        if !(OLDEST..=VERSION).contains(&header.version) {
            return Err(KeptError::OtherVersion(header.version));
        }
        let read: Read<'_> = serde_json::from_slice(line)?;
        let mut values = HashMap::<String, HashMap<String, Value>>::new();
        for (place, Mean { condition, metric, mean }) in read.means.into_iter().enumerate() {
            let not_a_number = || KeptError::NotANumber(shown_name(mean.get()).into_owned());
            let mean = mean.get().parse().ok().filter(|mean: &f64| mean.is_finite()).ok_or_else(not_a_number)?;
            let metrics = values.entry(condition.into_owned()).or_default();
            if metrics.insert(metric.into_owned(), Value { place, mean }).is_some() {
                return Err(KeptError::Twice);
            }
        }
        Ok(Self {
            name: shown_name(&read.run).into_owned(),
            time: read.time,
            commit: read.commit.map(|commit| shown_name(&commit).into_owned()),
            lacks: read.lacks.iter().map(|name| shown_name(name).into_owned()).collect(),
            values,
            facts: read.facts.into_iter().map(|(kind, name, value)| (kind.what(name), value)).collect(),
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.time) == (&other.name, &other.time)
    }
}

fn written<'a>(what: &'a What, value: &'a str) -> (Kind, &'a str, &'a str) {
    let (kind, name) = match what {
        What::Factor(name) => (Kind::Factor, name.as_str()),
        What::ServerVersion => (Kind::ServerVersion, ""),
        What::ServerBuild(what) => (Kind::ServerBuild, what.as_str()),
        What::ServerSetting(name) => (Kind::ServerSetting, name.as_str()),
        What::Machine(name) => (Kind::Machine, name.as_ref()),
        What::Tare => (Kind::Tare, ""),
        What::Setting(name) => (Kind::Setting, name.as_str()),
        What::Study(name) => (Kind::Study, name.as_str()),
    };
    (kind, name, value)
}

impl Kind {
    fn what(self, name: String) -> What {
        match self {
            Self::Factor => What::Factor(name),
            Self::ServerVersion => What::ServerVersion,
            Self::ServerBuild => What::ServerBuild(name),
            Self::ServerSetting => What::ServerSetting(name),
            Self::Machine => What::Machine(name.into()),
            Self::Tare => What::Tare,
            Self::Setting => What::Setting(name),
            Self::Study => What::Study(name),
        }
    }
}

/// Adds a run, or replaces the same one, which may have got more trials since. A known commit stays. Returns
/// whether the runs have changed.
///
/// # Errors
/// For a run without a time if one of its name has other values: it may be another run.
pub fn add(runs: &mut Vec<Run>, mut run: Run) -> Result<bool, NotAdded> {
    let Some(known) = runs.iter_mut().find(|known| known.is_same(&run)) else {
        runs.push(run);
        return Ok(true);
    };
    run.commit = known.commit.clone().or(run.commit);
    if run.time.is_none() && known.values != run.values {
        return Err(NotAdded(run.name));
    }
    let is_other = *known != run;
    *known = run;
    Ok(is_other)
}
