//! Confidence levels of intervals and verdicts, and the error budget of one study.

pub const CONFIDENCE: f64 = 0.95;

/// Probability that the answer to the study's question claims an effect where there is none. All findings of one
/// study share a budget: this much for the answer, [`FURTHER`] for each further kind of finding. Together with a gate
/// at 95%, they and the marked effects claim something in at most 6% of studies without differences, whatever the
/// distribution of their trials and the drift of the machine (`benches/truth`). Modes, far trials, the drift of the
/// machine, odd machines and cold queries have rates of their own.
pub(crate) const ANSWER: f64 = 0.02;

/// Share of the error rates that is used if the number of trials followed from their spread: such a study ends when the
/// spread happens to be small, and would call two conditions different in up to 2.8% in place of 2% (docs/figures.md).
pub(crate) const OF_PILOT: f64 = 0.7;

/// False-alarm probability of each further kind of finding: sources of spread, causes of residuals, steps that give
/// less.
pub const FURTHER: f64 = 0.005;

/// False-alarm probability of modes in the metrics that the study is about, over all conditions and these metrics
/// together. With [`FURTHER`] for all other metrics, and again for all conditions together, the sum is little more
/// than that of an answer.
pub const MODES: f64 = 0.015;
