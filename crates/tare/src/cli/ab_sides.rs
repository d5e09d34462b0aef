//! The two sides of `tare ab`, the study that has them as its two conditions, and the plan of its pairs, also of
//! `--certify` and of studies with `[decide]`.

use super::study_file::{self, StudyText};
use super::{Exit, Problem, ab_together, trust};
use crate::state::whole_path;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use tare_drive::workload::AnyLoad;
use tare_drive::workload::sessions::Pace;
use tare_engine::same_value;
use tare_findings::ab::Ab;
use tare_findings::probes::can_move;
use tare_report::words::ab as words;
use tare_results::factor;
use tare_results::metric;
use tare_results::pairs::Rule;
use tare_results::probe::{Probe, ProbeUse};
use tare_results::schema::{Plan, PlannedCondition, Session, Settle, TrialRecord, Turns};
use tare_study::language::decide::Decide;
use tare_study::language::made::MadeStudy;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{Factor, SIDE, Study};
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_text::Value;
use tare_topology::Machine;

/// One side: a factor and its level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    factor: String,
    level: String,
}

/// Reads a side: a factor, an equals sign, its level.
pub fn side(text: &str) -> Result<Side, String> {
    let written = text.split_once('=').filter(|(factor, level)| !factor.is_empty() && !level.is_empty());
    let (factor, level) = written.ok_or_else(|| match Path::new(text).is_file() {
        true => format!("expected binary={text} of a server, command={text} of another program"),
        false => "expected binary=PATH, build=NAME, option.NAME=VALUE, placement=NAME, 'command=PROGRAM ARGS' or any \
                  factor with a level"
            .to_owned(),
    })?;
    Ok(Side { factor: factor.to_owned(), level: whole_level(factor, level) })
}

/// Makes the path of a program absolute, because trials run in directories of their own. Other levels stay unchanged.
pub fn whole_level(factor: &str, level: &str) -> String {
    match factor == "binary" && level.contains('/') {
        true => whole_path(Path::new(level)).to_string_lossy().into_owned(),
        false => level.to_owned(),
    }
}

impl Side {
    fn is(&self, factor: &str) -> bool {
        self.factor == factor
    }

    pub(super) fn value(&self) -> Value {
        // A command is always text; any other level is a number only if it prints back unchanged.
        if self.is("command") { Value::Text(self.level.clone()) } else { Value::of_word(&self.level) }
    }

    fn factor(&self) -> Factor {
        Factor { name: self.factor.clone(), levels: vec![self.value()] }
    }

    /// A factor with a level that tare chooses.
    pub fn of(factor: &str, level: impl ToString) -> Self {
        Self { factor: factor.to_owned(), level: level.to_string() }
    }

    /// The name of the factor: `binary`, `command`, `option.NAME` or any other factor.
    pub fn factor_name(&self) -> &str {
        &self.factor
    }

    /// The level: for `command` the program with its arguments, for `binary` the path of a server.
    pub fn level(&self) -> &str {
        &self.level
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.factor, self.level)
    }
}

/// The study that the sides are measured on: the named one, or a built-in one that fits the sides.
pub fn measured_on(
    named: Option<&str>,
    sides: &[&Side],
    overrides: &Overrides,
    trusted: bool,
) -> Result<Study, Problem> {
    let command = sides.iter().find(|side| side.is("command")).map(|side| side.value());
    let places = sides.iter().any(|side| side.is("placement"));
    let otherwise = if places { "first-look" } else { "side-by-side" };
    base(named, ("ab", command), otherwise, overrides, trusted)
}

/// The named study. Without a name: for a command, a study of it that is called like the command of tare, else the
/// built-in study `otherwise`.
pub(super) fn base(
    named: Option<&str>,
    (called, command): (&'static str, Option<Value>),
    otherwise: &str,
    overrides: &Overrides,
    trusted: bool,
) -> Result<Study, Problem> {
    let is_command = command.is_some();
    if let (None, Some(command)) = (named, command) {
        return of_commands(called, command, overrides);
    }
    let name = named.unwrap_or(otherwise);
    let study = StudyText::read(name, trust::whose(trusted), false)?.parse(overrides)?;
    if is_command && !matches!(study.base.workload.load, AnyLoad::Command(_)) {
        return Err(Problem::new(Exit::Usage, "the study measures a server, and not a command")
            .at(name)
            .expected("a study with `[workload] name = \"command\"`, or no --study"));
    }
    Ok(study)
}

/// The study with the two sides as its only conditions; two empty sides compare the study with itself.
pub fn study(mut study: Study, a: &[Side], b: &[Side]) -> Result<Study, Problem> {
    let are_commands = |sides: &[Side]| sides.iter().any(|side| side.is("command"));
    if are_commands(a) != are_commands(b) {
        return Err(Problem::new(Exit::Usage, "one side is a command and the other is not")
            .expected("'command=PROGRAM ARGS' for both sides or neither"));
    }
    let words = |sides: &[Side]| match sides {
        [] => "unchanged".to_owned(),
        sides => sides.iter().map(Side::to_string).collect::<Vec<_>>().join(" "),
    };
    let condition = |letter: &str, sides: &[Side]| {
        let side = Factor { name: SIDE.to_owned(), levels: vec![letter.into()] };
        std::iter::once(side).chain(sides.iter().map(Side::factor)).collect()
    };
    let title = format!("{} against {}", words(a), words(b));
    study.decide = None;
    study.compare("ab", title, vec![condition("a", a), condition("b", b)]);
    for (name, side) in a.iter().map(|side| ("--a", side)).chain(b.iter().map(|side| ("--b", side))) {
        study.requested_options.extend(factor::option(&side.factor).map(str::to_owned));
        study.apply(&mut study.base.clone(), &side.factor, &side.value()).map_err(|expected| {
            Problem::new(Exit::Usage, format!("{side} is not a side")).at(name).expected(expected)
        })?;
    }
    Ok(study)
}

/// Makes the sides of a study with `[decide]` its conditions, in a duet on each half; returns the `[decide]` settings.
///
/// # Errors
/// When a side is missing or invalid; when a duet is requested and the machine cannot be divided into two like halves.
fn sided(mut study: Study, machine: &Machine) -> Result<(Study, Decide), Problem> {
    let mut decide = study.decide.take().unwrap_or_default();
    let read = |letter: &str, text: &Option<String>| {
        let text = text.as_ref().ok_or_else(|| {
            Problem::new(Exit::Usage, format!("side {letter} is missing"))
                .expected("--a SIDE and --b SIDE, or a study whose [decide] has a and b")
        })?;
        side(text).map_err(|expected| {
            Problem::new(Exit::Usage, format!("{text} is not a side")).at(format!("side {letter}")).expected(expected)
        })
    };
    let (a, b) = (read("a", &decide.a)?, read("b", &decide.b)?);
    decide.controls.extend(probes(&study, &[&a, &b]));
    let study = self::study(study, &[a], &[b])?;
    let study = match (decide.duet, decide.interleave) {
        (true, Some(true)) => {
            return Err(Problem::new(Exit::Usage, "--duet and samples that take turns cannot be combined")
                .expected("one of duet and interleave"));
        }
        (true, _) => ab_together::on_halves(study, machine)?,
        (false, Some(true)) => ab_together::by_turns(study)?,
        (false, _) => study,
    };
    Ok((study, decide))
}

/// Records the probes alongside the samples of a study with `[decide]` if that is cheap and no side can affect them:
/// they are known work that the change cannot affect. `sampling.probe` takes precedence, off too.
pub fn record_probes(study: &mut Study) {
    let sides = study.decide.iter().flat_map(|decide| [&decide.a, &decide.b]).flatten();
    let is_moved = sides.filter_map(|text| side(text).ok()).any(|side| can_move(&side.factor));
    if study.sampling.probe.is_none() && idles(study) && !is_moved {
        study.sampling.probe = Some(ProbeUse::Record);
    }
}

/// The probes that a study records, if neither side can affect them.
fn probes(study: &Study, sides: &[&Side]) -> Vec<String> {
    let used = study.sampling.probe_use() != ProbeUse::Off && !sides.iter().any(|side| can_move(&side.factor));
    if used { Probe::ALL.map(|probe| probe.covariate().to_owned()).into() } else { Vec::new() }
}

/// Whether the server is idle before and after its samples, which probes require.
fn idles(study: &Study) -> bool {
    match &study.base.workload.load {
        AnyLoad::Oltp(load) => load.pace == Pace::Closed,
        AnyLoad::Dbt3(_) => true,
        _ => false,
    }
}

/// The names of the two conditions, A first.
pub fn conditions(plan: &Plan) -> Result<[String; 2], Problem> {
    let side = |letter: &str| plan.conditions.iter().find(|c| c.levels.get(SIDE).is_some_and(|own| own == letter));
    let (Some(a), Some(b)) = (side("a"), side("b")) else {
        return Err(Problem::new(Exit::Machine, "a side cannot be run on this machine").at(plan.notes.join("; ")));
    };
    if let Some(missing) = [a, b].into_iter().find(|condition| !condition.realizable) {
        let reason = missing.reason.clone().unwrap_or_default();
        let letter = missing.levels.get(SIDE).map_or("", String::as_str);
        if missing.unknown_option {
            let what = format!("side {letter} has an option that its server does not know");
            return Err(Problem::new(Exit::Usage, what).at(reason));
        }
        let has = |factor| missing.levels.contains_key(factor);
        let advice = match (has("binary"), has("command")) {
            (true, _) => Some(
                "see what this machine has with `tare studies --engines`; write a program that is not a server as \
                 command=PROGRAM",
            ),
            (_, true) => None,
            _ => Some("see what this machine has with `tare studies --engines` and `tare topo`"),
        };
        let what = format!("side {letter} cannot be measured on this machine: {reason}");
        return Err(Problem::new(Exit::Machine, what).advised(advice));
    }
    Ok([a.name.clone(), b.name.clone()])
}

fn of_commands(name: &'static str, command: Value, overrides: &Overrides) -> Result<Study, Problem> {
    let engine = overrides.engine.as_ref().map(|engine| format!("--engine {engine}"));
    let load = || overrides.options.first().map(|(_, typed)| typed.clone());
    if let Some(option) = engine.or_else(load) {
        return Err(Problem::new(Exit::Usage, format!("{option} has no effect on commands, which are the load"))
            .expected("commands alone, or an engine with options, builds or placements of its server"));
    }
    let values = vec![
        ("workload", "name", "command".into()),
        ("workload", "command", command),
        ("sampling", "samples", 1_usize.into()),
        ("sampling", "warmup_s", 0_usize.into()),
    ];
    let made = MadeStudy { name, origin: "the command line", question: None, values, factors: Vec::new() };
    Ok(made.study(overrides)?)
}

/// Default smallest change of interest, as a fraction.
pub(crate) const MINIMUM_EFFECT: f64 = 0.02;

/// Plans the pairs of a study with `[decide]` and adds notes on them. No program of an untrusted study is run.
pub(crate) fn planned(study: Study, machine: &Machine, place: Where, trusted: bool) -> Result<(Study, Plan), Problem> {
    let (study, decide) = sided(study, machine)?;
    let (study, plan) = study_file::planned(study, machine, place, trusted)?;
    let (study, mut plan) = settle_of(decide, (study, plan), (machine, place))?;
    if is_against_itself(&plan) {
        plan.notes.push(
            "both sides have the same settings: this measures the noise of tool and machine (A/A); every difference is \
             chance"
                .to_owned(),
        );
    }
    if study.sampling.probe_use().adjusts().is_some() {
        plan.notes.push(
            "pairs are not adjusted by a probe: it is recorded, and serves as a control if neither side can change it"
                .to_owned(),
        );
    }
    Ok((study, plan))
}

/// Gives the plan its first pair and the rule that adds further ones; both are fixed before anything is measured.
pub(crate) fn settle_of(
    decide: Decide,
    (mut study, mut plan): (Study, Plan),
    on: (&Machine, Where),
) -> Result<(Study, Plan), Problem> {
    study_file::check_metrics(&study, decide.metric.iter().chain(&decide.controls))?;
    check_controls(&decide)?;
    let sides = conditions(&plan)?;
    // The plan has one trial per condition: in a duet four, each side on each half, of which a pair runs two at once.
    let duet = ab_together::of_plan(&plan);
    let take_turns = duet.is_none() && ab_together::settle_turns(decide.interleave, &mut study, &mut plan, on)?;
    let pair_s = if duet.is_some() { plan.trials_s() / 4.0 } else { plan.trials_s() };
    plan.estimated_s = plan.data_s + pair_s;
    let fits = decide.budget_s.map(|budget_s| budget_s / pair_s.max(f64::MIN_POSITIVE));
    let sessions = decide.sessions.unwrap_or(1);
    let boot_id = plan.machine.as_ref().and_then(|machine| machine.boot_id.clone());
    let looks = if sessions > 1 { Rule::Sessions } else { Rule::within(fits) };
    let rule = Settle {
        metric: decide.metric,
        minimum_effect: decide.minimum_effect.unwrap_or(MINIMUM_EFFECT),
        // The duration of a command is only an estimate until it has run.
        by_time: sessions == 1,
        budget_s: decide.budget_s,
        sessions,
        begun: vec![Session { first_block: 0, boot_id }],
        controls: decide.controls,
        duet,
        ..Settle::between(sides, looks, decide.seed.unwrap_or_else(fresh_seed))
    };
    plan.turns = take_turns.then_some(Turns { seed: rule.seed });
    Ok((study, settle::begun(plan, rule)))
}

/// Refuses a control that is the metric itself: every change would be one of the control, and no change would be
/// claimed. Without a named metric it is the first headline metric, which is known only after the first trial.
fn check_controls(decide: &Decide) -> Result<(), Problem> {
    let is_metric = |name: &&String| match &decide.metric {
        Some(metric) => *name == metric,
        None => metric::describe(name).is_primary(),
    };
    let Some(name) = decide.controls.iter().find(is_metric) else { return Ok(()) };
    let may_be = if decide.metric.is_some() { "is" } else { "may be" };
    Err(Problem::new(Exit::Usage, format!("the control `{name}` {may_be} the metric that is compared"))
        .expected("a control that the change cannot affect")
        .advice(match decide.metric {
            Some(_) => format!("leave out --control {name}, or compare another metric with --metric NAME"),
            None => format!("name the metric to compare, another one than {name}: --metric NAME"),
        }))
}

/// Whether a trial of B sets the same values as a trial of A, even if they are spelt differently.
fn is_against_itself(plan: &Plan) -> bool {
    let of = |letter: &'static str| {
        plan.conditions.iter().filter(move |condition| condition.levels.get(SIDE).is_some_and(|side| side == letter))
    };
    let same = |a: &PlannedCondition, b: &PlannedCondition| {
        let values = a.settings.iter().zip(&b.settings);
        a.placement == b.placement
            && a.settings.len() == b.settings.len()
            && values.into_iter().all(|((a, x), (b, y))| a == b && same_value(&x.to_string(), &y.to_string()))
    };
    of("a").any(|a| of("b").any(|b| same(a, b)))
}

/// A new seed on every call: the standard library keys its hasher from the system's random numbers.
pub(crate) fn fresh_seed() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// The result of the pairs so far, on one line.
pub(crate) fn pair_line(plan: &Plan, records: &[TrialRecord]) -> Option<String> {
    Ab::of(plan, records).map(|ab| words::line(&ab))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_factor_and_a_level_that_may_contain_equals_signs() {
        let found = side("command=env A=1 true").unwrap();
        assert_eq!((found.factor.as_str(), found.level.as_str()), ("command", "env A=1 true"));
        assert!(side("binary=./a").unwrap().level.starts_with('/'));
        for wrong in ["", "binary", "binary=", "=x"] {
            assert!(side(wrong).is_err(), "{wrong}");
        }
    }
}
