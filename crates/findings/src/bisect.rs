//! The first slower commit of a series, found from pairs of trials of its builds.

use crate::ab::{Ab, AbVerdict};
use tare_results::metric::{self, Better};
use tare_results::pairs::Pairs;
use tare_stats::Error;
use tare_stats::bisection::{self, Planned, effort};
use tare_stats::sequential::{Pair, Question, Rule};

pub use tare_stats::bisection::{BATCH, BuildPair, Cell, Next};

/// False-alarm probability of the comparison of the ends, and of the comparison of the step.
pub const ALPHA: f64 = 0.05;
/// Number of simulated bisections for an estimate of the effort.
const RUNS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Commit {
    /// The full hash, or the path of the build without git.
    pub id: String,
    /// The first line of the commit message; none without git.
    pub subject: Option<String>,
    /// When it was written, ISO 8601; none without git.
    pub author_date: Option<String>,
    /// Full hashes of the commits that it merges into the series: all parents except the first.
    pub merged: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// One commit, or several that no build separates, reaches the requested probability, and is shown to be slower
    /// than the build before it.
    Found,
    /// The ends are shown to differ by less than the minimum effect.
    NoDifference,
    /// The bad end is shown to be faster than the good one.
    Faster,
    /// The time is over, too many pairs were left out, or the step is not confirmed.
    Undecided,
}

/// The current state of a bisection over a series of builds.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// The builds, from the good one at index 0 to the bad one at the last index.
    pub line: Vec<Commit>,
    /// Whether each commit has a build or may have one.
    pub usable: Vec<bool>,
    /// For each commit from index 1 on, the probability that it is the first slower one.
    pub chances: Vec<f64>,
    pub confidence: f64,
    pub ends: Option<Ab>,
    /// What reaches the requested probability; none so far.
    pub cell: Option<Cell>,
    /// Comparison of this commit with the build before it, from separate pairs.
    pub step: Option<Ab>,
    /// Pairs in which both trials gave a result, including those of the ends and of the step.
    pub pairs: usize,
    /// How many of these pairs contain a trial that counts although it was disturbed.
    pub disturbed: usize,
    pub builds: usize,
    pub elapsed_s: f64,
}

impl Bisection {
    /// The outcome: first from the ends, then whether a commit reaches the requested probability and its step is shown.
    /// The probability alone is not enough: in its model there is exactly one step.
    pub fn outcome(&self) -> Outcome {
        match self.ends.as_ref().map(|ends| ends.verdict) {
            Some(AbVerdict::Equivalent) => Outcome::NoDifference,
            Some(AbVerdict::Faster) => Outcome::Faster,
            Some(AbVerdict::Slower) if self.cell.is_some() && self.is_step_shown() => Outcome::Found,
            _ => Outcome::Undecided,
        }
    }

    fn is_step_shown(&self) -> bool {
        self.step.as_ref().is_some_and(|step| step.verdict == AbVerdict::Slower)
    }

    /// The cell that has the requested probability and whose step is shown.
    pub fn confirmed(&self) -> Option<&Cell> {
        self.cell.as_ref().filter(|_| self.outcome() == Outcome::Found)
    }

    /// The most probable commits in descending order, until their sum reaches the requested probability.
    pub fn likely(&self) -> Vec<(usize, f64)> {
        let mut all: Vec<(usize, f64)> =
            self.chances.iter().enumerate().map(|(at, chance)| (at + 1, *chance)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut sum = 0.0;
        let enough = all.iter().position(|(_, chance)| {
            sum += chance;
            sum >= self.confidence
        });
        all.truncate(enough.map_or(all.len(), |last| last + 1));
        all
    }

    /// Whether the step is smaller than the difference between the ends: their intervals do not overlap, so another
    /// commit made it slower too.
    pub fn is_part(&self) -> bool {
        let interval = |ab: &Option<Ab>| ab.as_ref().and_then(|ab| ab.slowdown).and_then(|found| found.ci);
        match (interval(&self.step), interval(&self.ends)) {
            (Some(step), Some(ends)) => self.confirmed().is_some() && step.high < ends.low,
            _ => false,
        }
    }
}

/// The pairs of two builds in the form that the bisection takes.
pub fn seen(pairs: &Pairs, a: usize, b: usize) -> Vec<BuildPair> {
    let better = pairs.metric.as_deref().map_or(Better::Higher, |metric| metric::describe(metric).better);
    let sign = if better == Better::Higher { -1.0 } else { 1.0 };
    let of = |pair: &tare_results::pairs::Measured| BuildPair {
        a,
        b,
        pair: Pair { log_ratio: sign * (pair.b / pair.a).ln(), b_first: pair.b_first },
    };
    pairs.measured.iter().map(of).collect()
}

/// The probability of each commit, and the next action.
pub fn next(seen: &[BuildPair], usable: &[bool], built: &[bool], confidence: f64) -> Result<(Vec<f64>, Next), Error> {
    let chances = bisection::chances(usable.len().saturating_sub(1), seen)?;
    let next = bisection::next(&chances, usable, built, confidence);
    Ok((chances, next))
}

/// Distribution of a figure over simulated bisections: 10th percentile, median, 90th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Range {
    pub low: usize,
    pub median: usize,
    pub high: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Pairs of trials, with those of the ends and of the step.
    pub pairs: Range,
    /// Builds made, including both ends and builds that fail.
    pub builds: Range,
}

/// Expected effort of a bisection of this many commits, if both the step and the spread of a pair equal the minimum
/// effect.
pub fn expected(commits: usize, minimum_effect: f64, confidence: f64) -> Result<Expected, Error> {
    let size = minimum_effect.ln_1p();
    let planned = Planned {
        usable: vec![true; commits + 1],
        step: size,
        sd: size,
        question: Question { minimum_effect, alpha: ALPHA, rule: Rule::Anytime },
        batch: BATCH,
        confidence,
    };
    let runs =
        (0..RUNS).map(|run| effort(&planned, 1 + run * commits / RUNS, run as u64)).collect::<Result<Vec<_>, _>>()?;
    let range = |of: fn(&bisection::Effort) -> usize| {
        let mut all: Vec<usize> = runs.iter().map(of).collect();
        all.sort_unstable();
        Range { low: all[RUNS / 10], median: all[RUNS / 2], high: all[RUNS - 1 - RUNS / 10] }
    };
    Ok(Expected { pairs: range(|run| run.pairs), builds: range(|run| run.builds) })
}
