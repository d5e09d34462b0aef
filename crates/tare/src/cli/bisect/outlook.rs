//! Predicts the cost of a bisection by the same rules on simulated pairs: for `tare bisect --dry-run`, and for what is
//! printed and asked before one begins.

use super::super::beforehand::Outlook;
use super::super::output;
use super::super::study_file::{self, StudyText};
use super::super::{Exit, Problem, ab_together, plan_view, trust};
use super::request::BisectRequest;
use super::search::Spent;
use tare_findings::bisect::{self, Expected, Range};
use tare_study::plan::resolve::Where;
use tare_text::{count, duration, object, percent};
use tare_topology::Machine;

struct Predicted {
    expected: Expected,
    pair: Option<Pair>,
    /// Notes of the plan.
    notes: String,
}

impl Predicted {
    fn of(request: &BisectRequest, trusted: bool) -> Result<Self, Problem> {
        let expected = bisect::expected(request.last(), request.minimum_effect, request.confidence);
        let expected = expected.map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
        let (pair, notes) = pair(request, trusted)?;
        Ok(Self { expected, pair, notes })
    }

    /// Seconds of trials; `None` if only a trial can tell.
    fn estimated_s(&self) -> Option<f64> {
        self.pair.map(|pair| pair.data_s + pair.pair_s * self.expected.pairs.median as f64)
    }

    /// "24 to 60 pairs and 4 to 6 builds in 8 of 10 bisections".
    fn effort(&self) -> String {
        let range = |of: &Range, noun| match of.low == of.high {
            true => count(of.low, noun),
            false => format!("{} to {} {noun}s", of.low, of.high),
        };
        let Expected { pairs, builds } = &self.expected;
        format!("{} and {} in 8 of 10 bisections", range(pairs, "pair"), range(builds, "build"))
    }
}

fn commits(request: &BisectRequest) -> String {
    count(request.last(), if request.build.is_some() { "commit" } else { "build" })
}

/// What is left of a bisection on which this time was spent.
pub fn left(request: &BisectRequest, spent: Spent, trusted: bool) -> Result<Outlook, Problem> {
    let predicted = Predicted::of(request, trusted)?;
    let estimated_s = predicted.estimated_s().map(|all_s| (all_s - spent.trials_s).max(0.0));
    let budget_s = request.budget_s.map(|all_s| (all_s - spent.trials_s - spent.builds_s).max(0.0));
    let builds = if request.build.is_some() { ", plus the time of builds" } else { "" };
    let time = estimated_s.map_or(String::new(), |s| format!("; about {} of trials{builds}", duration(s)));
    let most = budget_s.map_or(String::new(), |s| format!("; at most {}", duration(s)));
    let line = format!("bisect: {}, {}{time}{most}", commits(request), predicted.effort());
    Ok(Outlook { line, seconds: budget_s.or(estimated_s).unwrap_or(0.0) })
}

pub fn print(request: &BisectRequest, json: bool, trusted: bool) -> Result<(), Problem> {
    let last = request.last();
    let predicted = Predicted::of(request, trusted)?;
    let estimated_s = predicted.estimated_s();
    let effect = percent(request.minimum_effect);
    let (good, bad) = (&request.line[0].id, &request.line[last].id);
    let time = match (estimated_s, request.build.is_some()) {
        (Some(s), true) => format!("; {} of trials, plus the time of builds", duration(s)),
        (Some(s), false) => format!("; {} of trials", duration(s)),
        (None, _) => String::new(),
    };
    let text = format!(
        "{} to bisect: {}, if the step and the standard deviation of a pair are {effect}{time}.",
        commits(request),
        predicted.effort(),
    );
    let Predicted { expected: Expected { pairs, builds }, pair, notes } = predicted;
    let pair_s = pair.map(|pair| pair.pair_s);
    if !json {
        return output::lines(&format!("{text}\n\n  good  {good}\n  bad   {bad}\n{notes}"));
    }
    let document = object! {
        text, good, bad, commits: last, builds, pairs, pair_s, estimated_s
    };
    output::document("tare-bisect-dry-run", &document)
}

/// Estimated seconds.
#[derive(Clone, Copy)]
struct Pair {
    pair_s: f64,
    /// For making the data, once.
    data_s: f64,
}

/// The estimate for pairs and the notes of the plan. There is no estimate if only a trial can tell, or if this machine
/// has no private server of this kind.
fn pair(request: &BisectRequest, trusted: bool) -> Result<(Option<Pair>, String), Problem> {
    if request.command.is_some() {
        return Ok((None, String::new()));
    }
    let name = request.study.as_deref().unwrap_or("side-by-side");
    let mut study = StudyText::read(name, trust::whose(trusted), true)?.parse(&request.overrides())?;
    (study.factors, study.conditions) = (Vec::new(), Vec::new());
    study.sampling.trials = 1;
    study.sampling.target_half_width = None;
    let machine = Machine::this()?;
    let planned = study_file::planned(study, &machine, Where::Here, trusted);
    let realizable = planned.ok().filter(|(_, plan)| plan.conditions.iter().any(|condition| condition.realizable));
    let Some((mut study, mut plan)) = realizable else { return Ok((None, String::new())) };
    ab_together::settle_turns(request.interleave, &mut study, &mut plan, (&machine, Where::Here))?;
    let pair = Pair { pair_s: 2.0 * plan.trials_s(), data_s: plan.data_s };
    Ok((Some(pair), format!("\n{}", plan_view::notes(&plan))))
}
