//! The output of `tare load --slo`: the highest rate that meets a latency limit, step by step.

use super::subject::Subject;
use crate::cli::{Problem, output};
use serde::Serialize;
use tare_results::search::{Limit, SearchRecord};
use tare_text::count;

#[derive(Debug, Serialize)]
struct Document<'a> {
    measured: &'a Subject,
    #[serde(flatten)]
    search: &'a SearchRecord,
}

pub fn print(subject: &Subject, search: &SearchRecord, json: bool) -> Result<(), Problem> {
    match json {
        true => output::document("tare-load-search", &Document { measured: subject, search }),
        false => output::lines(&(subject.words() + &words(search))),
    }
}

fn words(search: &SearchRecord) -> String {
    let limited = search.objective.split(' ').next().unwrap_or_default();
    let width = limited.len().max(10);
    let mut text = format!("step           requested/s          done/s   {limited:>width$}   limit met\n");
    for (number, step) in search.steps.iter().enumerate() {
        let value = step.value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        let met = if step.met { "yes" } else { "no" };
        text +=
            &format!("{:<4}{:>22.1}{:>16.1}   {value:>width$}   {met}\n", number + 1, step.asked_tps, step.done_tps);
    }
    let steps = count(search.steps.len(), "step");
    if let Some(found) = search.found_tps {
        text += &format!("highest rate  {found:.1} per second with {} ({steps})\n", search.objective);
    }
    if let Some([low, high]) = search.bracket_tps {
        text += &format!(
            "! the same rates met the limit at one time and not at another: the highest is between {low:.1} \
                and {high:.1} per second\n"
        );
    }
    if let (Some(met), None) = (search.met_before_tps(), search.bracket_tps) {
        text += &format!(
            "! {met:.1} per second met the limit at first and not when measured again: latencies changed by more than the \
             rate explains; repeat it on a quieter machine, or with a longer --time\n"
        );
    }
    if matches!(search.limit, Some(Limit::Client(_))) {
        text += "! the client was the limit: the server may be capable of more\n";
    }
    text
}
