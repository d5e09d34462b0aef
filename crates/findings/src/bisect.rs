//! Which commit of a line is the first slower one, from pairs of trials of its builds.

use crate::ab::{Ab, AbVerdict};
use tare_results::metric::{self, Better};
use tare_results::pairs::Pairs;
use tare_stats::Error;
use tare_stats::bisection::{self, Planned, effort};
use tare_stats::sequential::{Pair, Question, Rule};

pub use tare_stats::bisection::{BATCH, BuildPair, Cell, Next};

/// Chance of a false alarm of the ends, and of the step.
pub const ALPHA: f64 = 0.05;
/// Bisections that are simulated to say what one takes.
const RUNS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Commit {
    /// The full hash, or the path of the build where there is no git.
    pub id: String,
    /// The first line of its message; none without git.
    pub subject: Option<String>,
    /// When it was written, ISO 8601; none without git.
    pub author_date: Option<String>,
    /// The commits that it merges into the line, by their full hashes: its parents but the first.
    #[serde(default)]
    pub merged: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// One commit, or several that no build tells apart, has the chance that was requested.
    Found,
    /// The ends are shown to differ by less than the minimum effect.
    NoDifference,
    /// The bad end is shown to be faster than the good one.
    Faster,
    /// The time is over, or too many pairs were left out.
    Undecided,
}

/// A line of builds as far as it has been measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// The builds, the good one in place 0, the bad one last.
    pub line: Vec<Commit>,
    /// Whether each place has a build or may have one.
    pub usable: Vec<bool>,
    /// The chance of each commit from place 1 on to be the first slower one.
    pub chances: Vec<f64>,
    pub confidence: f64,
    pub ends: Option<Ab>,
    /// What was found; none as long as nothing is.
    pub cell: Option<Cell>,
    /// What was found against the build before it, in pairs of their own.
    pub step: Option<Ab>,
    /// Pairs of which both trials are clean, those of the ends and of the step among them.
    pub pairs: usize,
    pub builds: usize,
    pub elapsed_s: f64,
}

impl Bisection {
    /// What the ends say, then whether a commit has the chance that was requested.
    pub fn outcome(&self) -> Outcome {
        match self.ends.as_ref().map(|ends| ends.verdict) {
            Some(AbVerdict::Equivalent) => Outcome::NoDifference,
            Some(AbVerdict::Faster) => Outcome::Faster,
            Some(AbVerdict::Slower) if self.cell.is_some() => Outcome::Found,
            _ => Outcome::Undecided,
        }
    }

    /// Commits in the order of their chance, largest first, until they have the chance that was requested together.
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

    /// Whether the step is less than the whole difference of the ends: their intervals do not meet, so that another
    /// commit made it slower too.
    pub fn is_part(&self) -> bool {
        let interval = |ab: &Option<Ab>| ab.as_ref().and_then(|ab| ab.slowdown).and_then(|found| found.ci);
        match (interval(&self.step), interval(&self.ends)) {
            (Some(step), Some(ends)) => step.high < ends.low,
            _ => false,
        }
    }
}

/// The pairs of two builds, as a bisection sees them.
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

/// The chance of every commit, and what to do now.
pub fn next(seen: &[BuildPair], usable: &[bool], built: &[bool], confidence: f64) -> Result<(Vec<f64>, Next), Error> {
    let chances = bisection::chances(usable.len().saturating_sub(1), seen)?;
    let next = bisection::next(&chances, usable, built, confidence);
    Ok((chances, next))
}

/// A figure over simulated bisections: the tenth from below, the middle, the tenth from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Range {
    /// One in ten needs fewer.
    pub low: usize,
    /// One in two needs fewer.
    pub median: usize,
    /// One in ten needs more.
    pub high: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Pairs of trials, without those of the step.
    pub pairs: Range,
    /// Builds that are made, both ends and those that fail among them.
    pub builds: Range,
}

/// What a bisection of so many commits takes, if the step is the minimum effect and a pair's spread is as large.
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
