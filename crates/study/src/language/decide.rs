//! `[decide]`: two sides, and the rule that decides whether they differ.

use super::document::{Source, StudyError};
use std::ops::Range;
use tare_text::{Key, Keyed, Value, key};

/// Least number of sessions for a verdict beyond a single session.
const FEWEST_SESSIONS: usize = tare_stats::sequential::FEWEST_SESSIONS;
const MOST_SESSIONS: usize = 1000;

/// The keys of `[decide]`; for a missing key `tare ab` uses its default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decide {
    /// The baseline, a factor with a level as `tare ab --a` takes it.
    pub a: Option<String>,
    /// The candidate, as `tare ab --b` takes it.
    pub b: Option<String>,
    pub metric: Option<String>,
    /// The smallest change of interest, as a fraction.
    pub minimum_effect: Option<f64>,
    pub budget_s: Option<f64>,
    pub sessions: Option<usize>,
    /// Whether both sides run at the same time, each on one half of the machine.
    pub duet: bool,
    /// Whether both servers run at once and their samples alternate; none: if both only read and threads are bound.
    pub interleave: Option<bool>,
    pub controls: Vec<String>,
    pub seed: Option<u64>,
}

impl Keyed for Decide {
    const KEYS: &'static [Key<Self>] = &[
        key!(text "a" in a, "the baseline, as `tare ab --a` takes it: a factor with a level"),
        key!(text "b" in b, "the candidate, written the same way"),
        key!(text "metric" in metric, "the metric that is compared; absent: the load's first headline metric"),
        Key::words(
            "minimum_effect",
            "the smallest change of interest, as a fraction (0.02) or \"2%\"; smaller ones count as equivalent",
            |s| s.minimum_effect.map(Into::into),
            |s, v| minimum_effect(&v.to_string()).map(|effect| s.minimum_effect = Some(effect)),
        ),
        Key::positive(
            "budget_s",
            "seconds for all trials; absent: until it is decided",
            "seconds",
            |s| s.budget_s,
            |s, v| s.budget_s = Some(v),
        ),
        Key::words(
            "sessions",
            "number of sessions: 1, or 5 to 1000; each is one run",
            |s| s.sessions.map(Into::into),
            |s, v| sessions(&v.to_string()).map(|sessions| s.sessions = Some(sessions)),
        ),
        key!(switch "duet" in duet,
            "on: both sides run at the same time, each on one half of the machine, as with `tare ab --duet`"),
        key!(optional switch "interleave" in interleave,
            "on: the servers of both sides run, and short samples of them take turns; off: one trial after the other; \
             absent: on if possible, if both sides only read and each thread is bound to one PU"),
        Key::words(
            "controls",
            "metrics that the change cannot affect, separated by commas; if one of them changes, there is no verdict",
            |s| (!s.controls.is_empty()).then(|| s.controls.join(",").into()),
            |s, v| {
                s.controls = v.to_string().split(',').map(|name| name.trim().to_owned()).collect();
                Ok(())
            },
        ),
        key!(optional whole "seed" in seed, (0, i64::MAX as u64),
            "seed of the order within pairs; absent: a new one each time"),
    ];
}

/// The smallest change of interest: a fraction, or a percentage with its sign.
fn minimum_effect(text: &str) -> Result<f64, String> {
    tare_text::fraction(text)
        .filter(|effect| *effect > 0.0 && *effect < 1.0)
        .ok_or_else(|| "a fraction above 0 and below 1, such as 0.02 or 2%".to_owned())
}

/// A valid number of sessions: 1, or enough to show their spread.
pub fn sessions(text: &str) -> Result<usize, String> {
    let is_valid = |sessions: &usize| *sessions == 1 || (FEWEST_SESSIONS..=MOST_SESSIONS).contains(sessions);
    text.parse().ok().filter(is_valid).ok_or_else(|| {
        format!(
            "1, or {FEWEST_SESSIONS} to {MOST_SESSIONS}: a verdict over several sessions needs their spread, which \
             fewer do not show"
        )
    })
}

pub(super) fn set(
    decide: &mut Option<Decide>,
    source: Source<'_>,
    name: &str,
    level: &Value,
    (key_span, span): (Range<usize>, Range<usize>),
) -> Result<(), StudyError> {
    let key = Decide::KEYS.iter().find(|key| key.name == name).ok_or_else(|| {
        let known: Vec<&str> = Decide::KEYS.iter().map(|key| key.name).collect();
        source.unknown(key_span, "key of [decide]", name, &known)
    })?;
    key.set(decide.get_or_insert_default(), level)
        .map_err(|expected| source.error(span, format!("decide.{name} = {level}"), expected))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
