//! How a run begins: what is printed and asked before it, which is what it will do, how long that takes, and whether
//! the user wants it; and its results directory, new or resumed, with the host's lock. `run`, `ab`, `find`,
//! `reproduce`, `bisect` and `why --prove` use it.

use super::execution::{RunOptions, begun_in, default_out, has_place, host, read_begun};
use super::interrupt::{self, unless_interrupted};
use super::output::{duration, note};
use super::{Exit, Problem, plan_view, trust};
use crate::state::Host;
use std::io::{IsTerminal, Write};
use std::path::Path;
use tare_results::laps::{FIRST_LOOK, Laps};
use tare_results::pairs::{PAIRS_OF_SESSION, Pairs, Rule};
use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::{Directory, read_trials};
use tare_study::language::spec::Study;
use tare_study::plan::queue::Queue;
use tare_topology::Machine;

/// A run that takes longer than this needs confirmation, seconds.
const LONG_S: f64 = 3600.0;

/// What a command is about to do.
pub struct Outlook {
    /// Size, duration and needs, on one line.
    pub line: String,
    /// Expected seconds, or the given limit.
    pub seconds: f64,
}

impl Outlook {
    /// All of a plan.
    pub(crate) fn whole(study: &Study, plan: &Plan) -> Self {
        let open = Open::of(plan);
        let until = open.as_ref().map_or(String::new(), |open| open.words(0.0));
        let line = format!("{}{until}{}", plan_view::first_line(study, plan), needs(plan));
        Self { line, seconds: open.map_or(plan.estimated_s, |open| open.seconds(0.0)) }
    }

    /// What these records leave of a plan.
    pub(crate) fn rest(study: &Study, plan: &Plan, records: &[TrialRecord]) -> Self {
        if let Some(open) = Open::of(plan) {
            let used_s = open.used_s(plan, records);
            let line = format!("{}: resumed{}{}", plan.study, open.words(used_s), needs(plan));
            return Self { line, seconds: open.seconds(used_s) };
        }
        let (left, all) = (left(study, plan, records), plan.trials_in_all());
        let data_s = if records.is_empty() { plan.data_s } else { 0.0 };
        let seconds = data_s + plan.trials_s() * left as f64 / all.max(1) as f64;
        let of = tare_text::count(all, "trial");
        Self {
            line: format!("{}: {left} of {of} left; about {}{}", plan.study, duration(seconds), needs(plan)),
            seconds,
        }
    }

    /// Prints the line on standard error.
    pub(crate) fn announce(&self, json: bool) {
        if !json {
            note(&self.line);
        }
    }

    /// Asks on a terminal whether to begin a long run; without a terminal `--yes` is required. `shorter` names a way to
    /// a first result in less time, if there is one. Returns false if the user declines.
    pub(crate) fn is_wanted(&self, yes: bool, shorter: impl FnOnce() -> Option<String>) -> Result<bool, Problem> {
        if yes || self.seconds <= LONG_S {
            return Ok(true);
        }
        let time = duration(self.seconds);
        let shorter = shorter().map_or(String::new(), |shorter| format!("; shorter: {shorter}"));
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(Problem::new(
                Exit::Usage,
                format!("this takes about {time}, and standard input is not a terminal to ask on"),
            )
            .advice(format!("add --yes to start anyway{shorter}")));
        }
        let _ = write!(std::io::stderr(), "This takes about {time}{shorter}.\nStart? [y/N] ");
        let line = interrupt::awaited(|| {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map(|_| line)
        });
        let wanted = line.is_ok_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"));
        if !wanted {
            note("nothing was started");
        }
        Ok(wanted)
    }
}

fn needs(plan: &Plan) -> String {
    plan_view::needs(plan).map_or(String::new(), |needs| format!("; needs {needs}"))
}

/// Trials that have no result yet.
fn left(study: &Study, plan: &Plan, records: &[TrialRecord]) -> usize {
    let later = plan.trials_in_all().saturating_sub(plan.trials.len());
    Queue::new(&plan.trials, records, study.sampling.attempts).left() + later
}

/// A race or a comparison, to which blocks or pairs are added until it is decided.
struct Open {
    budget_s: Option<f64>,
    /// The first possible answer, and its time.
    first: Option<(String, f64)>,
}

impl Open {
    fn of(plan: &Plan) -> Option<Self> {
        if let Some(race) = &plan.race {
            let first = format!("the first candidates are dropped after {FIRST_LOOK} blocks");
            return Some(Self { budget_s: race.budget_s, first: Some((first, plan.rounds_s(FIRST_LOOK))) });
        }
        let rule = plan.settle.as_ref()?;
        if rule.rule == Rule::Sessions {
            let share_s = rule.budget_s.map(|budget_s| budget_s / rule.sessions.max(1) as f64);
            let pairs = || (format!("a session has {PAIRS_OF_SESSION} pairs"), plan.rounds_s(PAIRS_OF_SESSION));
            return Some(Self { budget_s: share_s, first: share_s.is_none().then(pairs) });
        }
        let pairs = rule.rule.first_look(rule.alpha);
        let first = format!("the first look is after {pairs} pairs");
        Some(Self { budget_s: rule.budget_s, first: Some((first, plan.rounds_s(pairs))) })
    }

    /// Seconds of its budget that it has used.
    fn used_s(&self, plan: &Plan, records: &[TrialRecord]) -> f64 {
        let of_race = plan.race.as_ref().map(|race| Laps::of(plan, race, records, None).elapsed_s);
        let of_pairs = || {
            let rule = plan.settle.as_ref()?;
            let pairs = Pairs::of(plan, rule, records);
            Some(if rule.rule == Rule::Sessions { pairs.session_s } else { pairs.elapsed_s })
        };
        of_race.or_else(of_pairs).unwrap_or(0.0)
    }

    /// Without a budget, at least the time to the first possible answer, also of one that is resumed.
    fn seconds(&self, used_s: f64) -> f64 {
        let first_s = self.first.as_ref().map_or(0.0, |(_, seconds)| *seconds);
        self.budget_s.map_or(first_s, |budget_s| (budget_s - used_s).max(0.0))
    }

    fn words(&self, used_s: f64) -> String {
        let first = match &self.first {
            Some((first, seconds)) if used_s == 0.0 => {
                let is_beyond = self.budget_s.is_some_and(|budget_s| budget_s < *seconds);
                format!("; {first}, about {}{}", duration(*seconds), if is_beyond { ", beyond the budget" } else { "" })
            }
            _ => String::new(),
        };
        let most = self.budget_s.map(|_| format!("; at most {}", duration(self.seconds(used_s))));
        first + &most.unwrap_or_default()
    }
}

/// A results directory, with the host's lock held as long as this value exists.
pub(crate) struct Locked {
    pub study: Study,
    pub plan: Plan,
    pub directory: Directory,
    _host: Host,
}

/// The directory of an earlier run whose plan `check` accepts, and maybe gives more time; `None` when interrupted, or
/// if the user declines. Errors in it are reported before waiting for the machine.
pub(crate) fn resume_run(
    path: &Path,
    options: &RunOptions,
    check: impl FnOnce(&mut Plan) -> Result<(), Problem>,
) -> Result<Option<Locked>, Problem> {
    let begun = Directory::begun(path, trust::whose(options.trusted))?;
    let (study, mut plan) = read_begun(&begun)?;
    check(&mut plan)?;
    let outlook = Outlook::rest(&study, &plan, &read_trials(&begun)?);
    outlook.announce(options.json);
    if !outlook.is_wanted(options.yes, || None)? {
        return Ok(None);
    }
    let Some(host) = unless_interrupted(host(options.wait))? else { return Ok(None) };
    let directory = Directory::lock(begun)?;
    let (study, plan) = read_begun(directory.folder())?;
    Ok(Some(Locked { study, plan, directory, _host: host }))
}

/// A new directory with study and plan in it; `None` when interrupted, or if the user declines.
pub(crate) fn begin_run(
    (study, plan): (Study, Plan),
    machine: &Machine,
    out: Option<&Path>,
    options: &RunOptions,
) -> Result<Option<Locked>, Problem> {
    let outlook = Outlook::whole(&study, &plan);
    outlook.announce(options.json);
    has_place(&plan, out, options.trusted)?;
    if !outlook.is_wanted(options.yes, || None)? {
        return Ok(None);
    }
    if !options.json {
        plan_view::print_notes(&plan);
    }
    let Some(host) = unless_interrupted(host(options.wait))? else { return Ok(None) };
    let out = out.map_or_else(|| default_out(&study.name, &tare_results::now()), Path::to_path_buf);
    let directory = begun_in(&out, &study, &plan, machine, options.trusted)?;
    Ok(Some(Locked { study, plan, directory, _host: host }))
}
