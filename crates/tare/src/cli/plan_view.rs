//! The plan for people and for scripts: `tare run --dry-run`.

use super::{Exit, Problem};
use serde::Serialize;
use tare_results::schema::{Needs, Plan, PlannedCondition};
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
pub fn print(plan: &Plan, json: bool) -> Result<(), Problem> {
    if json {
        return super::output::document(
            "tare-dry-run",
            &DryRun {
                conditions: &plan.conditions,
                trials: plan.trials.len(),
                samples: plan.trials.len() * plan.samples,
                estimated_s: plan.estimated_s,
                needs: plan.needs,
                notes: &plan.notes,
            },
        );
    }
    let mut text = format!("study {}\n\n", plan.study);
    let width = plan.conditions.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).min(60);
    for condition in plan.conditions.iter().filter(|c| c.realizable) {
        text.push_str(&format!("  {:width$}  {}\n", condition.name, cpus(condition)));
    }
    text.push_str(&unrealizable(plan));
    text.push_str(&notes(plan));
    text.push_str(&format!(
        "\n{} trials of {} sample{}, about {}\n",
        plan.trials.len(),
        plan.samples,
        if plan.samples == 1 { "" } else { "s" },
        super::output::duration(plan.estimated_s)
    ));
    if let Some(needs) = plan.needs.filter(|needs| needs.memory_bytes > 0) {
        let (data, disk) = (gigabytes(needs.data_bytes), gigabytes(needs.disk_bytes));
        let memory = gigabytes(needs.memory_bytes);
        text.push_str(&match needs.data_bytes {
            0 => format!("needs about {memory} of memory\n"),
            _ => format!("needs about {memory} of memory and, for {data} of tables and indexes, {disk} of disk\n"),
        });
    }
    super::output::text(&text)
}

/// Tells on standard error what was chosen or left out.
pub fn print_notes(plan: &Plan) {
    eprint!("{}", notes(plan));
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
        plan.conditions.iter().filter_map(|c| Some(format!("  {}: {}\n", c.name, c.reason.as_ref()?))).collect();
    if lines.is_empty() { lines } else { format!("\nnot realizable here, skipped:\n{lines}") }
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
            format!("client {}   server {}{memory}", side(&p.client), side(&p.server))
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
        return Err(Problem::new(Exit::Machine, format!("this machine cannot do it: {reason}"))
            .advice("see what it has with `tare topo` and `tare studies --engines`"));
    }
    let reasons: Vec<String> = plan
        .conditions
        .iter()
        .map(|c| format!("{}: {}", c.name, c.reason.as_deref().unwrap_or("not realizable")))
        .collect();
    Err(Problem::new(Exit::Machine, format!("this machine can do none of the {} conditions", reasons.len()))
        .at(reasons.join("\n"))
        .advice("see what it has with `tare topo`, or try `tare run first-look`"))
}
