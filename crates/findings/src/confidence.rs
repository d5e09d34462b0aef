//! How sure intervals and verdicts are, and how often all that one study says may be wrong.

pub const CONFIDENCE: f64 = 0.95;

/// Chance that the answer to the study's question claims something where nothing is. Everything that one study says
/// shares a budget: this much for what it asked, [`FURTHER`] for each of what else it finds. With a gate at 95%
/// alongside them a study without differences says something in at most 6%, whatever the shape of its trials and
/// however the machine drifts (`benches/truth`).
pub const ANSWER: f64 = 0.02;

/// Chance that one of the further findings is none: sources of spread, causes of what is left, steps that give less.
pub const FURTHER: f64 = 0.005;

/// Chance that a condition is said to have modes in what the study is about where none has, over all conditions and
/// such metrics together: with [`FURTHER`] for all other metrics, and again for all conditions together, little more
/// than an answer may.
pub const MODES: f64 = 0.015;
