//! The output of `tare load --slo`: the highest rate that meets a latency limit, step by step.

use super::measured_system::MeasuredSystem;
use crate::cli::{Problem, output};
use tare_findings::latencies::FEWEST_BEYOND;
use tare_report::charts::search::verdict;
use tare_report::words::searches::in_ms;
use tare_results::search::{Limit, SearchRecord};
use tare_text::{count, object};

pub(crate) fn print(measured_system: &MeasuredSystem, search: &SearchRecord, json: bool) -> Result<(), Problem> {
    if !json {
        return output::lines(&(measured_system.words() + &words(search)));
    }
    let document = object! {
        measured: measured_system,
        #[serde(flatten)]
        search,
    };
    output::document("tare-load-search", &document)
}

fn words(search: &SearchRecord) -> String {
    let limited = &search.slo.metric;
    let width = limited.len().max(10);
    // Narrow, so that remarks fit next to it on 80 columns.
    let mut text = format!("step requested/s      done/s  {limited:>width$}  SLO\n");
    for (number, step) in search.steps.iter().enumerate() {
        let value = step.value.map_or("-".to_owned(), |value| in_ms(value, search.slo.limit_ms));
        let (requested, done, verdict) = (step.requested_tps, step.done_tps, verdict(search, step));
        text += &format!("{:<4}{requested:>12.1}{done:>12.1}  {value:>width$}  {verdict}\n", number + 1);
    }
    let steps = count(search.steps.len(), "step");
    if let Some(found) = search.found_tps {
        text += &format!("highest rate  {found:.1} per second with {} ({steps})\n", search.slo);
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
    let beyond = search.found_step().and_then(|step| step.beyond);
    if let Some(few) = beyond.filter(|beyond| *beyond < FEWEST_BEYOND) {
        text += &format!(
            "! {} beyond the percentile at this rate: with fewer than {FEWEST_BEYOND} a rate is too high on average; make \
             --time {:.0} times as long\n",
            // Rounded down, as it is fewer than the limit.
            count(few as usize, "transaction"),
            (FEWEST_BEYOND / few.max(0.1)).ceil()
        );
    }
    if matches!(search.limit, Some(Limit::Client(_))) {
        text += "! the client was the limit: the server may be capable of more\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::search::{ClientLimit, Slo, StepRecord};

    fn step(beyond: f64) -> StepRecord {
        StepRecord {
            requested_tps: 1000.0,
            done_tps: 1000.0,
            value: Some(4.0),
            value_of_prompt_client: None,
            beyond: Some(beyond),
            met: true,
            limit: None,
            repeated: false,
        }
    }

    fn words_on(step: StepRecord) -> String {
        words(&SearchRecord {
            search: 0,
            slo: Slo { metric: "latency_ms_p99".to_owned(), limit_ms: 5.0 },
            closed_loop_tps: 2000.0,
            found_tps: Some(1000.0),
            bracket_tps: None,
            limit: None,
            steps: vec![step],
        })
    }

    #[test]
    fn a_step_that_missed_the_limit_is_printed_with_the_reason() {
        let missed = |limit| words_on(StepRecord { met: false, limit: Some(limit), repeated: true, ..step(500.0) });
        let queue = missed(Limit::Server);
        assert!(queue.contains(" 4.000  not met, a queue grew; measured again\n"), "{queue}");
        let client = missed(Limit::Client(ClientLimit::CpuUsedFraction(0.97)));
        assert!(client.contains(" 4.000  not met, the client's limit: ") && !client.contains("queue"), "{client}");
    }

    #[test]
    fn a_rate_found_from_few_transactions_says_how_long_a_step_should_be() {
        let found = |beyond: f64| words_on(step(beyond));
        assert!(found(99.7).contains("! 99 transactions beyond the percentile"), "{}", found(99.7));
        assert!(found(1.4).contains("! 1 transaction beyond the percentile"), "{}", found(1.4));
        assert!(found(12.0).contains("make --time 9 times as long"), "{}", found(12.0));
        assert!(!found(100.0).contains("beyond the percentile"), "{}", found(100.0));
    }
}
