//! The output of `tare run --dry-run`: the plan as text and as JSON.

use super::time_left::Left;
use super::{Exit, Problem};
use tare_cpuset::CpuSet;
use tare_drive::workload::AnyLoad;
use tare_findings::factors::words_of;
use tare_report::words;
use tare_results::schema::{Levels, Plan, PlannedCondition};
use tare_study::language::spec::Study;
use tare_study::plan::estimate;
use tare_study::plan::needs::gigabytes;
use tare_text::{count, object};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Json,
    /// For people, on one screen.
    Screen,
    /// For people, all of it.
    All,
}

impl View {
    pub(crate) fn of(json: bool, all: bool) -> Self {
        match (json, all) {
            (true, _) => Self::Json,
            (false, false) => Self::Screen,
            (false, true) => Self::All,
        }
    }
}

pub(crate) fn print(study: &Study, plan: &Plan, view: View) -> Result<(), Problem> {
    if view == View::Json {
        let document = object! {
            conditions: &plan.conditions,
            trials: plan.trials_in_all(),
            samples: plan.trials_in_all() * plan.samples,
            estimated_s: plan.estimated_s,
            needs: plan.needs,
            #[serde(flatten)]
            notes: (!plan.notes.is_empty()).then(|| object! { notes: &plan.notes }),
        };
        return super::output::document("tare-dry-run", &document);
    }
    let names = Names::of(plan);
    let mut text = format!("study {}\n", first_line(study, plan));
    if let Some(needs) = needs(plan) {
        text.push_str(&format!("needs {needs}\n"));
    }
    text.push_str(&factors(plan, names.by_changes));
    text.push('\n');
    let rest = unrealizable(plan, &names) + &notes(plan);
    let placed = placements(plan, &names);
    if view == View::All || height(&text) + height(&placed) + height(&rest) <= SCREEN {
        return super::output::lines(&(text + &placed + &rest));
    }
    super::output::lines(&on_a_screen(&(text + &sides_apart(plan, &names) + &rest)))
}

/// The size that a screen is assumed to have.
const SCREEN: usize = 40;
const COLUMNS: usize = 80;

fn height(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum()
}

/// The first lines, as many as fit on a screen, and how to see all.
fn on_a_screen(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        if height(&shown) + height(line) >= SCREEN {
            break;
        }
        shown.push_str(line);
        shown.push('\n');
    }
    let more = text.lines().count() - shown.lines().count();
    let rest =
        if more > 0 { format!("{} and each condition separately", count(more, "more line")) } else { EACH.into() };
    format!("{shown}{rest}: --all\n")
}

/// What the short view of a plan leaves out.
const EACH: &str = "each condition separately";

/// The size of the run and its duration.
pub(crate) fn first_line(study: &Study, plan: &Plan) -> String {
    let done = plan.realizable().count();
    let conditions = match plan.conditions.len() {
        all if done < all => {
            format!("{done} of {} ({} cannot run the others)", count(all, "condition"), machine(plan))
        }
        all => count(all, "condition"),
    };
    // A race and a comparison add blocks and pairs until they are decided, so their whole time is not known.
    let (blocks, each) = match (&plan.race, &plan.settle) {
        (Some(_), _) => ("blocks of ", " per block"),
        (_, Some(rule)) if rule.duet.is_none() => ("pairs of ", " per pair"),
        _ => ("", ""),
    };
    format!(
        "{}: {conditions}, {blocks}{} of {}; about {}",
        plan.study,
        count(plan.trials_in_all(), "trial"),
        count(plan.samples, "sample"),
        time(study, plan, each)
    )
}

fn machine(plan: &Plan) -> &'static str {
    if plan.machine.is_some() { "this machine" } else { "the described machine" }
}

/// The duration of a plan, and the longest one if disturbed trials are repeated.
fn time(study: &Study, plan: &Plan, each: &str) -> String {
    // A trial that would exceed the time limit is not started.
    let given_s = plan.within.as_ref().map_or(f64::INFINITY, |within| within.requested_s);
    let likely_s = if each.is_empty() { plan.estimated_s } else { plan.trials_s() };
    let most_s = (likely_s + estimate::again_s(study, plan)).min(given_s).max(likely_s);
    let time = Left { likely_s, most_s }.words(each);
    match study.base.workload.load {
        AnyLoad::Command(_) => time + ", if the program takes a second each time",
        _ => time,
    }
}

/// Memory and disk that a plan needs; `None` if it needs no memory worth mentioning.
pub(crate) fn needs(plan: &Plan) -> Option<String> {
    let needs = plan.needs.filter(|needs| needs.memory_bytes > 0)?;
    let (data, disk) = (gigabytes(needs.data_bytes), gigabytes(needs.disk_bytes));
    let memory = gigabytes(needs.memory_bytes);
    Some(match needs.data_bytes {
        0 => format!("about {memory} of memory"),
        _ => format!("about {memory} of memory and, for {data} of tables and indexes, {disk} of disk"),
    })
}

/// Conditions by the names that this view uses.
struct Names<'p> {
    names: Vec<String>,
    levels: Vec<&'p Levels>,
    /// Whether a name lists only the levels that differ from the first level of each factor.
    by_changes: bool,
}

impl<'p> Names<'p> {
    /// Uses the conditions' own names, or with many factors only the one or two changed levels.
    fn of(plan: &'p Plan) -> Self {
        const MANY: usize = 4;
        const CHANGES: usize = 2;
        let (levels, factors): (Vec<&Levels>, _) =
            (plan.conditions.iter().map(|condition| &condition.levels).collect(), factors_of(plan));
        let changed = |levels: &&Levels| -> Levels {
            let first = |factor: &String| factors.iter().find(|(name, _)| name == factor).map(|(_, levels)| levels[0]);
            let changes = levels.iter().filter(|(factor, level)| first(factor) != Some(level.as_str()));
            changes.map(|(factor, level)| (factor.clone(), level.clone())).collect()
        };
        let changes: Vec<Levels> = levels.iter().map(changed).collect();
        let by_changes = factors.len() >= MANY && changes.iter().all(|changes| changes.len() <= CHANGES);
        let name = |(condition, changes): (&PlannedCondition, &Levels)| match (by_changes, changes.is_empty()) {
            (false, _) => condition.name.clone(),
            (true, true) => "the base".to_owned(),
            (true, false) => words_of(changes),
        };
        Self { names: plan.conditions.iter().zip(&changes).map(name).collect(), levels, by_changes }
    }

    /// A reason in which this view's names replace those of the conditions.
    fn message(&self, plan: &Plan, why: &str) -> String {
        let pairs = plan.conditions.iter().zip(&self.names).filter(|_| self.by_changes);
        pairs.fold(why.to_owned(), |why, (condition, name)| why.replace(&condition.name, name))
    }

    /// The names of these conditions, joined.
    fn which(&self, places: &[usize]) -> String {
        let all: Vec<words::Named<'_>> =
            self.names.iter().map(String::as_str).zip(self.levels.iter().copied()).collect();
        words::which(&all, places)
    }

    /// Like [`Self::which`], but one condition is named by a level that only it has, if there is one.
    fn briefly(&self, places: &[usize]) -> String {
        let [place] = places else { return self.which(places) };
        let is_its_own = |(factor, level): &(&String, &String)| {
            self.levels.iter().filter(|levels| levels.get(*factor) == Some(*level)).count() == 1
        };
        let own = self.levels[*place].iter().find(is_its_own);
        own.map_or_else(|| self.which(places), |(factor, level)| format!("{factor}={level}"))
    }
}

fn factors_of(plan: &Plan) -> Vec<(&str, Vec<&str>)> {
    let mut factors: Vec<(&str, Vec<&str>)> = Vec::new();
    for (factor, level) in plan.conditions.iter().flat_map(|condition| &condition.levels) {
        let known = factors.iter().position(|(name, _)| name == factor).unwrap_or_else(|| {
            factors.push((factor, Vec::new()));
            factors.len() - 1
        });
        if !factors[known].1.contains(&level.as_str()) {
            factors[known].1.push(level);
        }
    }
    factors
}

/// Factors with their levels, if there are too many conditions to take in at once.
fn factors(plan: &Plan, by_changes: bool) -> String {
    const FEW: usize = 6;
    let mut factors = factors_of(plan);
    factors.retain(|(_, levels)| levels.len() > 1);
    if plan.conditions.len() <= FEW || factors.len() < 2 {
        return String::new();
    }
    // A longer name must not move the levels of all others to the right.
    let width = factors.iter().map(|(name, _)| name.chars().count()).filter(|width| *width <= LONG).max().unwrap_or(0);
    let lines = factors.iter().map(|(name, levels)| format!("  {name:width$}  {}\n", levels.join(", ")));
    let how = match by_changes {
        true => "; the base has the first level of each, other conditions are named by what they change",
        false => "",
    };
    format!("\nfactors{how}\n{}", lines.collect::<String>())
}

/// A longer name does not share a line with its CPUs.
const LONG: usize = 30;

/// Where threads run; conditions with the same CPUs are grouped.
fn placements(plan: &Plan, names: &Names<'_>) -> String {
    let cpus =
        |condition: &PlannedCondition| Some(sides(condition).into_iter().flatten().collect::<Vec<_>>().join("; "));
    headed(&rows(&grouped(plan, cpus, |places| names.which(places))))
}

/// Rows with CPUs, below a line that says what they are.
fn headed(rows: &str) -> String {
    format!("CPUs{}:\n{rows}", if rows.contains(THREADS) { " (|: threads that are bound separately)" } else { "" })
}

/// The placements if every condition has its own CPUs: each side separately, because fewer levels describe a side.
fn sides_apart(plan: &Plan, names: &Names<'_>) -> String {
    let side = |side: usize| {
        let of = move |condition: &PlannedCondition| sides(condition).into_iter().nth(side).flatten();
        grouped(plan, of, |places| names.briefly(places))
    };
    let rows: Vec<(String, String)> = (0..SIDES).flat_map(side).collect();
    let width = rows.iter().map(|(_, what)| what.chars().count()).filter(|width| *width <= LONG).max().unwrap_or(0);
    headed(&rows.iter().map(|(which, what)| format!("  {what:width$}  {which}\n")).collect::<String>())
}

/// Groups conditions that this machine can run by the value of `what`.
fn grouped(
    plan: &Plan,
    what: impl Fn(&PlannedCondition) -> Option<String>,
    named: impl Fn(&[usize]) -> String,
) -> Vec<(String, String)> {
    let of: Vec<Option<String>> = plan.conditions.iter().map(|c| c.realizable.then(|| what(c)).flatten()).collect();
    let groups = words::grouped(of.iter().map(Option::as_deref)).into_iter();
    groups.map(|(places, what)| (named(&places), what.to_owned())).collect()
}

fn rows(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(which, _)| which.chars().count()).max().unwrap_or(0);
    // Long names have lines of their own.
    let (width, between) = if width > LONG { (0, "\n      ") } else { (width, "  ") };
    rows.iter().map(|(which, what)| format!("  {which:width$}{between}{what}\n")).collect()
}

/// Prints the notes of a plan on standard error.
pub(crate) fn print_notes(plan: &Plan) {
    let notes = notes(plan);
    if !notes.is_empty() {
        super::output::note(notes.trim_end());
    }
}

/// What was chosen or left out, one line each.
pub(crate) fn notes(plan: &Plan) -> String {
    plan.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Prints on standard error which conditions this machine cannot run.
pub(crate) fn print_unrealizable(plan: &Plan) {
    super::output::note(unrealizable(plan, &Names::of(plan)).trim_end());
}

fn unrealizable(plan: &Plan, names: &Names<'_>) -> String {
    let message = |(condition, name): (&PlannedCondition, &String)| {
        let why = names.message(plan, condition.reason.as_deref().filter(|_| !condition.realizable)?);
        // The reason of a setting begins with its name; without the name, levels with the same reason are grouped.
        Some(why.strip_prefix(&format!("{name}: ")).map_or_else(|| why.clone(), str::to_owned))
    };
    let reasons: Vec<Option<String>> = plan.conditions.iter().zip(&names.names).map(message).collect();
    let groups = words::grouped(reasons.iter().map(Option::as_deref)).into_iter();
    let lines: String = groups.map(|(places, why)| format!("  {}: {why}\n", names.which(&places))).collect();
    if lines.is_empty() { lines } else { format!("\nleft out on {}:\n{lines}", machine(plan)) }
}

const SIDES: usize = 4;

/// Between the CPU lists of threads.
const THREADS: &str = " | ";

/// Clients, server, memory and pool: one CPU list per thread, or one for all if they share it.
fn sides(condition: &PlannedCondition) -> [Option<String>; SIDES] {
    let side = |sets: &[CpuSet]| match sets {
        [] => "left to the OS".to_owned(),
        sets => sets.iter().map(CpuSet::to_string).collect::<Vec<_>>().join(THREADS),
    };
    match &condition.placement {
        None => [Some("left to the OS".to_owned()), None, None, None],
        Some(p) => [
            Some(format!("client {}", side(&p.client))),
            Some(format!("server {}", side(&p.server))),
            p.memory.as_ref().map(|policy| format!("memory {policy}")),
            p.pool_memory.as_ref().map(|policy| format!("pool {policy}")),
        ],
    }
}

/// Fails if the machine can run none of the conditions.
pub(crate) fn something_left(study: &Study, plan: &Plan) -> Result<(), Problem> {
    if plan.realizable().next().is_some() {
        return Ok(());
    }
    let mut reasons: Vec<&str> = plan.conditions.iter().filter_map(|c| c.reason.as_deref()).collect();
    reasons.dedup();
    if let [reason] = reasons.as_slice() {
        // What a program needs is in the reason.
        let advice = study.base.workload.load.load().needs_server().then_some(
            "change the study, or use --set KEY=VALUE; to see what this machine has: tare topo, tare studies --engines",
        );
        return Err(Problem::new(Exit::Machine, format!("{} cannot run it: {reason}", machine(plan))).advised(advice));
    }
    let reasons: Vec<String> =
        words::not_realizable(plan).into_iter().map(|(which, why)| format!("{which}: {why}")).collect();
    let what = format!("{} can run none of the {} conditions", machine(plan), plan.conditions.len());
    Err(Problem::new(Exit::Machine, what)
        .at(reasons.join("\n"))
        .advice("see what it has with `tare topo`, or try `tare run first-look`"))
}
