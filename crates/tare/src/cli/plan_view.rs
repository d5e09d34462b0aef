//! The plan for people and for scripts: `tare run --dry-run`.

use super::output::duration;
use super::{Exit, Problem};
use serde::Serialize;
use tare_findings::figures::count;
use tare_report::words;
use tare_results::schema::{Needs, Plan, PlannedCondition};
use tare_study::language::spec::Study;
use tare_study::plan::estimate;
use tare_study::plan::needs::gigabytes;

#[derive(Serialize)]
struct DryRun<'a> {
    conditions: &'a [PlannedCondition],
    trials: usize,
    samples: usize,
    estimated_s: f64,
    needs: Option<Needs>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// Prints what would be done, for people or as JSON.
pub fn print(study: &Study, plan: &Plan, json: bool) -> Result<(), Problem> {
    if json {
        return super::output::document(
            "tare-dry-run",
            &DryRun {
                conditions: &plan.conditions,
                trials: plan.trials_in_all(),
                samples: plan.trials_in_all() * plan.samples,
                estimated_s: plan.estimated_s,
                needs: plan.needs,
                notes: &plan.notes,
            },
        );
    }
    let mut text = format!("study {}\n", first_line(study, plan));
    if let Some(needs) = needs(plan) {
        text.push_str(&format!("needs {needs}\n"));
    }
    text.push_str(&factors(plan));
    text.push('\n');
    text.push_str(&placements(plan));
    text.push_str(&unrealizable(plan));
    text.push_str(&notes(plan));
    super::output::lines(&text)
}

/// What the run will do and how long that takes.
pub fn first_line(study: &Study, plan: &Plan) -> String {
    let done = plan.conditions.iter().filter(|condition| condition.realizable).count();
    let conditions = match plan.conditions.len() {
        all if done < all => format!("{done} of {} (the others are left out here)", count(all, "condition")),
        all => count(all, "condition"),
    };
    let block = if plan.race.is_some() { "blocks of " } else { "" };
    format!(
        "{}: {conditions}, {block}{} of {}; about {}",
        plan.study,
        count(plan.trials_in_all(), "trial"),
        count(plan.samples, "sample"),
        time(study, plan)
    )
}

/// The time of a plan, and with all attempts that disturbance may cost.
fn time(study: &Study, plan: &Plan) -> String {
    let (likely, most) = (duration(plan.estimated_s), duration(estimate::most_s(study, plan)));
    if likely == most { likely } else { format!("{likely}, up to {most} if disturbed") }
}

/// Memory and disk that a plan needs; none where it needs nothing to speak of.
pub fn needs(plan: &Plan) -> Option<String> {
    let needs = plan.needs.filter(|needs| needs.memory_bytes > 0)?;
    let (data, disk) = (gigabytes(needs.data_bytes), gigabytes(needs.disk_bytes));
    let memory = gigabytes(needs.memory_bytes);
    Some(match needs.data_bytes {
        0 => format!("about {memory} of memory"),
        _ => format!("about {memory} of memory and, for {data} of tables and indexes, {disk} of disk"),
    })
}

/// Factors with their levels, where conditions are more than one look takes in.
fn factors(plan: &Plan) -> String {
    const FEW: usize = 6;
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
    factors.retain(|(_, levels)| levels.len() > 1);
    if plan.conditions.len() <= FEW || factors.len() < 2 {
        return String::new();
    }
    let width = factors.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = factors.iter().map(|(name, levels)| format!("  {name:width$}  {}\n", levels.join(", ")));
    format!("\nfactors\n{}", lines.collect::<String>())
}

/// Letters from which on a name shares no line with its CPUs.
const LONG: usize = 30;

/// Where threads run, conditions with the same CPUs together.
fn placements(plan: &Plan) -> String {
    let all = words::named(plan);
    let on: Vec<Option<String>> = plan.conditions.iter().map(|c| c.realizable.then(|| cpus(c))).collect();
    let groups = words::grouped(on.iter().map(Option::as_deref));
    let rows: Vec<(String, &str)> =
        groups.into_iter().map(|(places, cpus)| (words::which(&all, &places), cpus)).collect();
    let width = rows.iter().map(|(which, _)| which.chars().count()).max().unwrap_or(0);
    // Long names have lines of their own.
    let (width, between) = if width > LONG { (0, "\n      ") } else { (width, "  ") };
    rows.iter().map(|(which, cpus)| format!("  {which:width$}{between}{cpus}\n")).collect()
}

/// Tells on standard error what was chosen or left out.
pub fn print_notes(plan: &Plan) {
    let notes = notes(plan);
    if !notes.is_empty() {
        super::output::note(notes.trim_end());
    }
}

fn notes(plan: &Plan) -> String {
    plan.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Tells on standard error what this machine cannot do.
pub fn print_unrealizable(plan: &Plan) {
    super::output::note(unrealizable(plan).trim_end());
}

fn unrealizable(plan: &Plan) -> String {
    let lines: String =
        words::not_realizable(plan).into_iter().map(|(which, why)| format!("  {which}: {why}\n")).collect();
    if lines.is_empty() { lines } else { format!("\nleft out here:\n{lines}") }
}

/// One CPU list a thread, or one for all when they share it.
fn cpus(condition: &PlannedCondition) -> String {
    let side = |lists: &[Vec<usize>]| match lists {
        [] => "left to the OS".to_owned(),
        lists => lists
            .iter()
            .map(|cpus| cpus.iter().map(|cpu| *cpu as u32).collect::<tare_cpuset::CpuSet>().to_string())
            .collect::<Vec<_>>()
            .join(" | "),
    };
    match &condition.placement {
        None => "left to the OS".to_owned(),
        Some(p) => {
            let memory = p.memory.as_ref().map(|policy| format!("   memory {policy}")).unwrap_or_default();
            let pool = p.pool_memory.as_ref().map(|policy| format!("   pool {policy}")).unwrap_or_default();
            format!("client {}   server {}{memory}{pool}", side(&p.client), side(&p.server))
        }
    }
}

/// When not one condition can be done here, there is nothing to run.
pub fn something_left(plan: &Plan) -> Result<(), Problem> {
    if plan.conditions.iter().any(|c| c.realizable) {
        return Ok(());
    }
    let mut reasons: Vec<&str> = plan.conditions.iter().filter_map(|c| c.reason.as_deref()).collect();
    reasons.dedup();
    if let [reason] = reasons.as_slice() {
        return Err(Problem::new(Exit::Machine, format!("this machine cannot do it: {reason}")).advice(
            "correct what is named there; `tare topo` and `tare studies --engines` show what this machine has",
        ));
    }
    let reasons: Vec<String> =
        words::not_realizable(plan).into_iter().map(|(which, why)| format!("{which}: {why}")).collect();
    Err(Problem::new(Exit::Machine, format!("this machine can do none of the {} conditions", plan.conditions.len()))
        .at(reasons.join("\n"))
        .advice("see what it has with `tare topo`, or try `tare run first-look`"))
}
