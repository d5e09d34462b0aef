//! The steps from two ends to one commit. Each step is derived from the content of the directory, so that an
//! interrupted bisection goes on where it stopped.

use super::super::execution::RunOptions;
use super::super::output::note;
use super::super::{Exit, Problem};
use super::builds::{Builds, Built, Made};
use super::measure::{Bench, Measured, Two, Until, with_result};
use super::request::{ANEW, BisectRequest, no_bisection};
use std::path::PathBuf;
use tare_files::Folder;
use tare_findings::ab::{Ab, AbVerdict};
use tare_findings::bisect::{self, BATCH, Bisection, BuildPair, Cell, Next};
use tare_report::words::bisect as words;
use tare_results::pairs::Stop;
use tare_topology::Machine;

/// Consecutive steps without a usable pair after which the bisection gives up.
const MOST_IN_VAIN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// There is an answer, or none can be found.
    Done,
    /// The budget does not last for the next step.
    OutOfTime,
    /// By a signal.
    Interrupted,
}

/// Whether two builds can be measured.
enum Ready {
    Built,
    /// One of them cannot.
    Skipped,
    Ended(End),
}

pub struct Search<'a> {
    /// Reads pairs of two builds and adds further ones.
    pub bench: Bench<'a>,
    /// Makes each build once, when pairs need it.
    pub builds: Builds<'a>,
}

impl<'a> Search<'a> {
    pub fn of(
        request: &'a BisectRequest,
        folder: &'a Folder,
        machine: &'a Machine,
        options: &'a RunOptions,
    ) -> Result<Self, Problem> {
        let bench = Bench { request, folder, machine, options };
        Ok(Self { bench, builds: Builds::of(request, folder)? })
    }

    /// Runs until the step of a commit with the requested probability is tested, nothing differs, or no time is left.
    pub fn run(&self) -> Result<End, Problem> {
        let last = self.bench.request.last();
        let ends = Two { a: 0, b: last, step: false };
        // Without both ends there is nothing to compare with.
        if let Ready::Ended(end) = self.ready(ends)? {
            return Ok(end);
        }
        if !self.measure(ends, self.settled(ends)?)? {
            return Ok(End::Interrupted);
        }
        let mut in_vain = 0;
        loop {
            let state = self.state()?;
            let Some(of_ends) = self.bench.read(ends)? else { return Ok(End::Done) };
            with_result(&of_ends)?;
            let of_ends = of_ends.ab();
            if of_ends.as_ref().is_some_and(is_out_of_time) {
                return Ok(End::OutOfTime);
            }
            let differ = of_ends.is_some_and(|ab| ab.verdict == AbVerdict::Slower);
            if !differ || in_vain >= MOST_IN_VAIN {
                return Ok(End::Done);
            }
            let two = match &state.next {
                // The pairs of the step are part of all pairs by now, and the answer has not changed.
                Next::Found(_) if state.found.step.as_ref().is_some_and(is_over) => return Ok(End::Done),
                Next::Found(cell) => step_of(cell),
                Next::Pairs { a, b } => Two { a: *a, b: *b, step: false },
            };
            if self.bench.request.budget_s.is_some_and(|budget_s| state.next_s() > budget_s) {
                return Ok(End::OutOfTime);
            }
            match self.ready(two)? {
                Ready::Ended(end) => return Ok(end),
                Ready::Skipped => {}
                Ready::Built => {
                    let before = self.bench.read(two)?.map_or(0, |measured| measured.pairs().measured.len());
                    let until = if two.step { self.settled(two)? } else { Until::More(BATCH) };
                    if !self.measure(two, until)? {
                        return Ok(End::Interrupted);
                    }
                    if self.bench.read(two)?.and_then(|measured| measured.ab()).as_ref().is_some_and(is_out_of_time) {
                        return Ok(End::OutOfTime);
                    }
                    in_vain = if self.was_in_vain(two, before)? { in_vain + 1 } else { 0 };
                }
            }
        }
    }

    /// Makes the builds of a pair that do not exist yet, if there is time. The ends cannot be skipped.
    fn ready(&self, two: Two) -> Result<Ready, Problem> {
        let mut ready = Ready::Built;
        for place in [two.a, two.b] {
            let built = match (self.builds.verified(place)?, &self.bench.request.build) {
                (Some(built), _) => built,
                (None, None) => return Err(self.no_end(place, "it does not exist")),
                (None, Some(by)) => match self.left_s()? {
                    left_s if left_s <= 0.0 => return Ok(Ready::Ended(End::OutOfTime)),
                    left_s => match self.builds.make(place, by, left_s)? {
                        Made::Built(built) => built,
                        Made::Interrupted => return Ok(Ready::Ended(End::Interrupted)),
                        Made::OutOfTime => return Ok(Ready::Ended(End::OutOfTime)),
                    },
                },
            };
            if let Built::Skipped { reason, .. } = built {
                if place == 0 || place == self.bench.request.last() {
                    return Err(self.no_end(place, &reason));
                }
                note(&format!("{} is skipped: {reason}", words::name(&self.state()?.found, place)));
                ready = Ready::Skipped;
            }
        }
        Ok(if self.left_s()? > 0.0 { ready } else { Ready::Ended(End::OutOfTime) })
    }

    /// Seconds of the budget that no build or trial has used.
    fn left_s(&self) -> Result<f64, Problem> {
        let Some(budget_s) = self.bench.request.budget_s else { return Ok(f64::INFINITY) };
        Ok(budget_s - self.state()?.found.elapsed_s)
    }

    /// Until these pairs are decided, with the time that everything else leaves them.
    fn settled(&self, two: Two) -> Result<Until, Problem> {
        let own_s = self.bench.read(two)?.map_or(0.0, |measured| measured.pairs().elapsed_s);
        let left_s = self.left_s()?;
        Ok(Until::Settled(left_s.is_finite().then_some(left_s + own_s)))
    }

    /// Prints the state after a step; returns whether it had no usable pair. A build whose trials fail is skipped.
    fn was_in_vain(&self, two: Two, before: usize) -> Result<bool, Problem> {
        let Some(measured) = self.bench.read(two)? else { return Ok(true) };
        let pairs = measured.pairs();
        if pairs.measured.len() > before {
            note(&words::line(&self.state()?.found, two.a, two.b));
            return Ok(false);
        }
        // The ends cannot be skipped: without them there is nothing to bisect.
        let last = self.bench.request.last();
        match measured.failing().filter(|failing| *failing > 0 && *failing < last && pairs.lost > 0) {
            Some(failing) => {
                self.builds.skip(
                    failing,
                    format!(
                        "its trials failed, see {}; to try it again, remove {}",
                        measured.path.join("logs").display(),
                        self.builds.file(failing).display()
                    ),
                )?;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Adds pairs. Returns false when interrupted.
    fn measure(&self, two: Two, until: Until) -> Result<bool, Problem> {
        let programs = [self.program(two.a)?, self.program(two.b)?];
        let ended = self.bench.measure(two, [&programs[0], &programs[1]], until)?;
        if ended {
            // A build that was replaced meanwhile was measured in place of its commit.
            self.builds.verified(two.a)?;
            self.builds.verified(two.b)?;
        }
        Ok(ended)
    }

    fn program(&self, place: usize) -> Result<PathBuf, Problem> {
        match self.builds.known(place)? {
            Some(Built::Binary { path, .. }) => Ok(path),
            Some(Built::Skipped { reason, .. }) => Err(self.no_end(place, &reason)),
            None => Err(self.no_end(place, "it is not built")),
        }
    }

    fn no_end(&self, place: usize, reason: &str) -> Problem {
        let commit = &self.bench.request.line[place];
        Problem::new(Exit::TrialFailed, format!("{} cannot be measured: {reason}", commit.id))
            .expected("a first and a last commit that can be built")
            .advice("name a commit next to it instead")
    }

    /// The state of the bisection, derived from the content of the directory.
    pub fn state(&self) -> Result<State, Problem> {
        let request = self.bench.request;
        let (last, all) = (request.last(), self.bench.all()?);
        let (mut usable, mut built, mut spent_s) = (Vec::new(), Vec::new(), 0.0);
        for place in 0..=last {
            let known = self.builds.known(place)?;
            usable.push(!matches!(known, Some(Built::Skipped { .. })));
            built.push(matches!(known, Some(Built::Binary { .. })));
            spent_s += match known {
                Some(Built::Binary { elapsed_s, .. } | Built::Skipped { elapsed_s, .. }) => elapsed_s,
                None => 0.0,
            };
        }
        let mut seen: Vec<BuildPair> = Vec::new();
        let (mut ended, mut disturbed, mut trials_s) = (0, 0, 0.0);
        for measured in &all {
            let pairs = measured.pairs();
            seen.extend(bisect::seen(&pairs, measured.two.a, measured.two.b));
            ended += pairs.ended();
            disturbed += pairs.measured.iter().filter(|pair| pair.is_disturbed()).count();
            trials_s += pairs.elapsed_s;
        }
        let of = |two: Two| all.iter().find(|measured| measured.two == two).and_then(Measured::ab);
        let ends = of(Two { a: 0, b: last, step: false });
        let differ = ends.as_ref().is_some_and(|ends| ends.verdict == AbVerdict::Slower);
        let (chances, next) = bisect::next(&seen, &usable, &built, request.confidence)
            .map_err(|e| no_bisection(&e.to_string(), self.bench.folder.path(), ANEW))?;
        let cell = match &next {
            Next::Found(cell) if differ => Some(cell.clone()),
            _ => None,
        };
        let step = cell.as_ref().and_then(|cell| of(step_of(cell)));
        let found = Bisection {
            line: request.line.clone(),
            builds: built.iter().filter(|built| **built).count(),
            usable,
            chances: if differ { chances } else { Vec::new() },
            confidence: request.confidence,
            ends,
            cell,
            step,
            pairs: seen.len(),
            disturbed,
            elapsed_s: spent_s + trials_s,
        };
        let pair_s = if ended == 0 { 0.0 } else { trials_s / ended as f64 };
        Ok(State { found, next, pair_s, spent: Spent { builds_s: spent_s, trials_s } })
    }
}

pub struct State {
    /// Probabilities, ends and the confirming step so far, for output as text and JSON.
    pub found: Bisection,
    next: Next,
    pair_s: f64,
    pub spent: Spent,
}

/// Seconds that a bisection has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    pub builds_s: f64,
    pub trials_s: f64,
}

impl State {
    /// Seconds that will have been spent after the next step, without its builds.
    fn next_s(&self) -> f64 {
        self.found.elapsed_s + self.pair_s * BATCH as f64
    }
}

/// Whether more time would add no pair.
fn is_over(step: &Ab) -> bool {
    step.stop.is_some_and(|stop| stop != Stop::Budget)
}

fn is_out_of_time(of: &Ab) -> bool {
    of.stop == Some(Stop::Budget)
}

/// The commit that was found against the build before it.
pub fn step_of(cell: &Cell) -> Two {
    Two { a: cell.commits.start() - 1, b: *cell.commits.end(), step: true }
}
