//! Tests of pairs from synthetic plans and records.

use super::*;
use crate::disturbed::Disturber;
use crate::schema::{Outcome, PlannedTrial, Race, SampleRecord, Session, Turns};
use tare_stats::racing;

#[path = "pairs_rounded_tests.rs"]
mod rounded;

const QUESTION: racing::Question = racing::Question { minimum_effect: 0.02, alpha: 0.05 };

fn rule() -> Settle {
    Settle { minimum_effect: 0.02, ..Settle::between(["a", "b"].map(str::to_owned), Rule::Anytime, 1) }
}

/// Blocks of a and b; in odd blocks b is first.
fn plan(blocks: usize) -> Plan {
    let text = r#"{"schema":2,"study":"s","seed":1,"conditions":[],"trials":[],"samples":1,"estimated_s":0}"#;
    let mut plan: Plan = serde_json::from_str(text).unwrap();
    for block in 0..blocks {
        let order = if block % 2 == 1 { ["b", "a"] } else { ["a", "b"] };
        for condition in order {
            let trial = plan.trials.len();
            plan.trials.push(PlannedTrial { trial, block, condition: condition.into(), lifetime: None });
        }
    }
    plan
}

fn record(plan: &Plan, trial: usize, tps: f64) -> TrialRecord {
    let sample = SampleRecord {
        elapsed_s: 1.0,
        metrics: [("tps".to_owned(), tps), ("latency_ms_p99".to_owned(), 1.0)].into(),
        ..SampleRecord::default()
    };
    TrialRecord {
        elapsed_s: 2.0,
        samples: vec![sample],
        ..TrialRecord::new(&plan.trials[trial], 1, BTreeMap::new(), String::new())
    }
}

#[test]
fn a_pair_is_a_block_and_its_first_the_one_that_ended_first() {
    let plan = plan(3);
    let records: Vec<TrialRecord> = (0..5).map(|trial| record(&plan, trial, 100.0 + trial as f64)).collect();
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert_eq!(pairs.metric.as_deref(), Some("tps"));
    let first = Measured { block: 0, a: 100.0, b: 101.0, b_first: false, disturbed: [false; 2] };
    assert_eq!(
        pairs.measured,
        [first, Measured { block: 1, a: 103.0, b: 102.0, b_first: true, disturbed: [false; 2] }]
    );
    assert_eq!((pairs.ended(), pairs.elapsed_s), (2, 10.0));
}

#[test]
fn failed_trials_drop_their_pair_and_are_counted() {
    let plan = plan(4);
    let mut records: Vec<TrialRecord> = (0..8).map(|trial| record(&plan, trial, 100.0)).collect();
    records[0].outcome = Outcome::Failed;
    records[5].samples[0].metrics.insert("tps".into(), 0.0);
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert_eq!((pairs.measured.len(), pairs.lost), (2, 2));
    // A failed attempt that was successfully repeated counts.
    records.push(record(&plan, 0, 100.0));
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert_eq!((pairs.lost, pairs.lost_alone, pairs.failed_alone), (1, [0, 1], [1, 1]));
}

/// Its slow attempts may be those that failed.
#[test]
fn a_side_whose_failed_attempts_were_repeated_is_not_called_faster() {
    let plan = plan(8);
    let of_b: Vec<usize> = (0..16).filter(|trial| plan.trials[*trial].condition == "b").collect();
    let fast = |trial: usize| record(&plan, trial, if of_b.contains(&trial) { 110.0 } else { 100.0 });
    let decided = |failed: usize| {
        let failed = of_b.iter().take(failed).map(|trial| TrialRecord { outcome: Outcome::Failed, ..fast(*trial) });
        let records: Vec<TrialRecord> = failed.chain((0..16).map(fast)).collect();
        Pairs::of(&plan, &rule(), &records).decided(&rule()).unwrap().stop
    };
    assert_eq!([0, 2, 3].map(decided), [Some(Stop::Settled), Some(Stop::Settled), Some(Stop::FailsMore)]);
}

/// The rule of a pair holds in a race.
#[test]
fn a_candidate_whose_failed_attempts_were_repeated_is_not_named() {
    use crate::laps::RaceStop::{Decided, FailsMore};
    let plan = plan(8);
    let of_b: Vec<usize> = (0..16).filter(|trial| plan.trials[*trial].condition == "b").collect();
    let fast = |trial: usize| record(&plan, trial, if of_b.contains(&trial) { 110.0 } else { 100.0 });
    let race = Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1);
    let decided = |failed: usize| {
        let failed = of_b.iter().take(failed).map(|trial| TrialRecord { outcome: Outcome::Failed, ..fast(*trial) });
        let records: Vec<TrialRecord> = failed.chain((0..16).map(fast)).collect();
        let laps = crate::laps::Laps::of(&plan, &race, &records, None);
        let look = laps.decided(&race).unwrap();
        (look.stop.unwrap(), laps.failed.iter().filter(|block| block[1]).count(), look.standing.decided)
    };
    assert_eq!([0, 2, 3].map(decided), [(Decided, 0, true), (Decided, 2, true), (FailsMore, 3, false)]);
}

#[test]
fn a_pair_with_a_disturbed_trial_counts_and_is_marked() {
    let plan = plan(2);
    let at = |trial: usize, second: u32| TrialRecord {
        started_at: format!("2026-01-01T00:00:{second:02}Z"),
        ..record(&plan, trial, 100.0)
    };
    let set_aside = TrialRecord { outcome: Outcome::Disturbed, reason: Some("another process".into()), ..at(0, 1) };
    let mut records = vec![set_aside.clone(), at(1, 3), at(2, 5), at(3, 7)];
    assert_eq!(Pairs::of(&plan, &rule(), &records).measured.len(), 1, "it is to run again");
    // Counted as it was measured: the first of its pair, whenever the record was written.
    records.push(TrialRecord { outcome: Outcome::Ok, attempt: 2, ..set_aside });
    let pairs = Pairs::of(&plan, &rule(), &records);
    let found: Vec<(bool, bool)> = pairs.measured.iter().map(|pair| (pair.b_first, pair.is_disturbed())).collect();
    assert_eq!(found, [(false, true), (true, false)]);
    assert_eq!(pairs.elapsed_s, 8.0, "five records of four attempts");
    // A new attempt was the second of its pair.
    records.last_mut().unwrap().started_at = "2026-01-01T00:00:09Z".to_owned();
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert!(pairs.measured[0].b_first && pairs.elapsed_s == 10.0);
}

#[test]
fn a_disturbed_trial_counts_in_a_race_and_is_counted() {
    let plan = plan(2);
    let values = [100.0, 60.0, 100.0, 90.0];
    let mut records: Vec<TrialRecord> = (0..4).map(|trial| record(&plan, trial, values[trial])).collect();
    records[1].reason = Some("another process".into());
    records[2].outcome = Outcome::Failed;
    let race = Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1);
    let laps = crate::laps::Laps::of(&plan, &race, &records, None);
    assert_eq!((laps.trials, laps.without_value, laps.disturbed), (4, 1, 1));
    assert_eq!(laps.marked, [[false, true], [false, false]]);
    assert_eq!(laps.mean_of(1).map(f64::round), Some(60.0), "it has no other value");
    records[2].outcome = Outcome::Ok;
    let laps = crate::laps::Laps::of(&plan, &race, &records, None);
    assert_eq!(laps.mean_of(1).map(f64::round), Some(100.0), "of the undisturbed trial alone");
}

#[test]
fn a_race_knows_which_trials_a_server_served_and_what_a_warm_one_takes() {
    let plan = plan(2);
    let rung = |trial: usize, number: usize, place: usize, elapsed_s: f64| {
        let lifetime = Some(crate::schema::LifetimeRecord { number, place, order: Vec::new() });
        TrialRecord { lifetime, elapsed_s, ..record(&plan, trial, [100.0, 120.0, 115.0, 100.0][trial]) }
    };
    // The second server failed after its first trial, and another one served the rest of its lifetime.
    let records = [rung(0, 0, 0, 60.0), rung(1, 0, 1, 10.0), rung(2, 1, 0, 60.0), rung(3, 1, 0, 60.0)];
    let race = Race { budget_s: Some(190.0 + 120.0), ..Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1) };
    let laps = crate::laps::Laps::of(&plan, &race, &records, None);
    assert_eq!(laps.servers, [[0, 0], [3, 2]]);
    // Another block may start two servers, of 60 s each.
    assert_eq!(laps.decided(&race).unwrap().stop, None);
    let short = Race { budget_s: Some(190.0 + 119.0), ..race };
    assert_eq!(laps.decided(&short).unwrap().stop, Some(crate::laps::RaceStop::Budget));
    // Interrupted in the second block, it is not over: that block still follows.
    let laps = crate::laps::Laps::of(&plan, &short, &records[..3], None);
    let tiny = Race { budget_s: Some(1.0), ..short };
    assert_eq!(laps.decided(&tiny).unwrap().stop, None);
}

#[test]
fn a_comparison_stops_at_the_budget_or_if_most_pairs_are_left_out() {
    let plan = plan(6);
    let mut records: Vec<TrialRecord> =
        (0..12).map(|trial| record(&plan, trial, if trial % 3 == 0 { 80.0 } else { 120.0 })).collect();
    let stop = |records: &[TrialRecord], rule: &Settle| {
        Pairs::of(&plan, rule, records).decided(rule).and_then(|look| look.stop)
    };
    assert_eq!(stop(&records, &rule()), None);
    assert_eq!(stop(&records, &Settle { budget_s: Some(27.9), ..rule() }), Some(Stop::Budget));
    assert_eq!(stop(&records, &Settle { budget_s: Some(28.1), ..rule() }), None);
    records.iter_mut().for_each(|record| record.outcome = Outcome::Failed);
    assert_eq!(stop(&records, &rule()), Some(Stop::LeftOut));
}

#[test]
fn an_interrupted_comparison_has_no_other_looks_than_one_that_runs_to_its_end() {
    for fits in 1..=20_usize {
        // A pair takes 4 s, and the sides are the same, so that every look decides.
        let rule = Settle { rule: Rule::Looks, budget_s: Some(4.0 * fits as f64 + 0.1), ..rule() };
        let last = fits.min(LOOKS[LOOKS.len() - 1]);
        let mut looked = BTreeSet::new();
        for (pairs, left) in (1..=last).flat_map(|pairs| [(pairs, 0), (pairs, 1)]) {
            let plan = plan(pairs);
            let records: Vec<TrialRecord> =
                (0..2 * pairs - left).map(|trial| record(&plan, trial, 100.0 + (trial % 3) as f64 / 100.0)).collect();
            let found = Pairs::of(&plan, &rule, &records);
            if found.decided(&rule).unwrap().finding.verdict != Verdict::Undecided {
                looked.insert(found.measured.len());
            }
        }
        let planned = LOOKS.into_iter().filter(|look| *look < last).chain([last]);
        assert_eq!(looked, planned.filter(|look| *look >= LOOKS[0]).collect::<BTreeSet<_>>(), "{fits}");
    }
}

#[test]
fn the_rule_is_the_one_for_as_many_pairs_as_the_budget_has_time_for_until_the_first_look() {
    let plan = plan(4);
    let mut records: Vec<TrialRecord> = (0..8).map(|trial| record(&plan, trial, 100.0)).collect();
    let after = |pairs: usize, records: &[TrialRecord], rule: &Settle| {
        Pairs::of(&plan, rule, &records[..2 * pairs]).rule_in_time(rule)
    };
    // A pair takes 4 s: 24 fit into 96 s, a number that the looks can use, and 25 into 100 s.
    let planned = Settle { rule: Rule::Looks, by_time: true, budget_s: Some(100.0), ..rule() };
    assert_eq!((after(0, &records, &planned), after(3, &records, &planned)), (Rule::Looks, Rule::Anytime));
    let fewer = Settle { rule: Rule::Anytime, budget_s: Some(96.0), ..planned.clone() };
    assert_eq!((after(3, &records, &fewer), after(4, &records, &fewer)), (Rule::Looks, Rule::Anytime));
    assert_eq!(after(3, &records, &Settle { by_time: false, ..planned.clone() }), Rule::Looks);
    // Pairs that are left out take time too.
    records[2].outcome = Outcome::Failed;
    assert_eq!(after(3, &records, &planned), Rule::Looks);
}

/// Sessions of three blocks each, each on its own boot, with B worse by the given percentage in each of them.
fn over_sessions(worse: &[f64]) -> (Plan, Settle, Vec<TrialRecord>) {
    let plan = plan(3 * worse.len());
    let begun = |session: usize| Session { first_block: 3 * session, boot_id: Some(format!("boot {session}")) };
    let begun = (0..worse.len()).map(begun).collect();
    // 3 pairs of 4 s fill the share of a session.
    let budget_s = Some(12.5 * 5.0);
    let rule = Settle { rule: Rule::Sessions, sessions: 5, begun, budget_s, ..rule() };
    let value = |trial: &PlannedTrial| {
        let noise = 1.0 + 0.001 * (trial.trial % 5) as f64;
        if trial.condition == "b" { 100.0 * noise * (1.0 - worse[trial.block / 3] / 100.0) } else { 100.0 * noise }
    };
    let records = plan.trials.iter().map(|trial| record(&plan, trial.trial, value(trial))).collect();
    (plan, rule, records)
}

#[test]
fn sessions_are_looked_at_once_when_the_last_of_them_is_over() {
    let look = |worse: &[f64], left: usize| {
        let (plan, rule, mut records) = over_sessions(worse);
        records.truncate(records.len() - left);
        Pairs::of(&plan, &rule, &records).decided(&rule).unwrap()
    };
    let four = look(&[5.0, 5.1, 4.9, 5.2], 0);
    assert_eq!((four.finding.verdict, four.stop), (Verdict::Undecided, Some(Stop::Session)));
    let open = look(&[5.0, 5.1, 4.9, 5.2, 5.0], 2);
    assert_eq!((open.finding.verdict, open.stop), (Verdict::Undecided, None));
    let five = look(&[5.0, 5.1, 4.9, 5.2, 5.0], 0);
    assert_eq!((five.finding.verdict, five.stop), (Verdict::Changed, Some(Stop::Settled)));
    // Differences between sessions are no change, however clear the pairs of each session are.
    let apart = look(&[5.0, -5.0, 4.0, -4.5, 0.5], 0);
    assert_eq!((apart.finding.verdict, apart.stop), (Verdict::Undecided, Some(Stop::LastLook)));
}

#[test]
fn a_pair_with_a_reboot_in_between_does_not_count() {
    let plan = plan(3);
    let mut records: Vec<TrialRecord> = (0..6).map(|trial| record(&plan, trial, 100.0)).collect();
    let ran_on = |boot: &str| Some(crate::schema::RanOn { host: "h".into(), boot_id: Some(boot.into()) });
    for (trial, record) in records.iter_mut().enumerate() {
        record.ran_on = ran_on(if trial < 3 { "first" } else { "second" });
    }
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert_eq!((pairs.measured.len(), pairs.lost), (2, 1));
}

#[test]
fn nothing_is_claimed_if_a_control_changed() {
    let plan = plan(12);
    let rule = Settle { controls: vec!["probe_chain_ns".into()], ..rule() };
    let with = |tps_of_b: f64, moved: f64| {
        let own = |trial: &PlannedTrial| {
            let is_b = trial.condition == "b";
            let mut record =
                record(&plan, trial.trial, if is_b { tps_of_b } else { 100.0 } + (trial.trial % 3) as f64 / 10.0);
            let reading = 80.0 * (1.0 + if is_b { moved } else { 0.0 }) + (trial.trial % 5) as f64 / 20.0;
            record.samples[0].covariates.insert("probe_chain_ns".into(), reading);
            record
        };
        let records: Vec<TrialRecord> = plan.trials.iter().map(own).collect();
        let pairs = Pairs::of(&plan, &rule, &records);
        (pairs.decided(&rule).unwrap(), pairs.untouched(&rule)[0].1.verdict)
    };
    for (tps_of_b, verdict) in [(90.0, Verdict::Changed), (100.0, Verdict::Equivalent)] {
        let (still, control) = with(tps_of_b, 0.0);
        assert_eq!((still.finding.verdict, still.stop), (verdict, Some(Stop::Settled)));
        assert_eq!(control, Verdict::Equivalent);
        let (moved, control) = with(tps_of_b, 0.06);
        assert_eq!((moved.finding.verdict, moved.stop), (Verdict::Undecided, Some(Stop::Control)));
        assert_eq!(control, Verdict::Changed);
    }
}

#[test]
fn nothing_is_claimed_where_the_slower_side_alone_was_disturbed_more_often_than_chance_has_it() {
    let plan = plan(12);
    let look = |a_worse: bool, disturbed: &[(&str, usize)], certify: bool| {
        let own = |trial: &PlannedTrial| {
            let is_slow = (trial.condition == "a") == a_worse;
            let tps = if is_slow { 90.0 } else { 100.0 } + (trial.trial % 3) as f64 / 10.0;
            let mut record = record(&plan, trial.trial, tps);
            if disturbed.contains(&(trial.condition.as_str(), trial.block)) {
                record.reason = Some("another process".into());
            }
            record
        };
        let records: Vec<TrialRecord> = plan.trials.iter().map(own).collect();
        let rule = Settle { certify, ..rule() };
        let pairs = Pairs::of(&plan, &rule, &records);
        let look = pairs.decided(&rule).unwrap();
        (look.finding.verdict, look.stop, pairs.disturbed_alone())
    };
    let b_alone = [("b", 1), ("b", 4), ("b", 9)];
    assert_eq!(look(false, &b_alone, false), (Verdict::Undecided, Some(Stop::OneSided), [0, 3]));
    // Disturbances of B do not make B faster.
    assert_eq!(look(true, &b_alone, false), (Verdict::Changed, Some(Stop::Settled), [0, 3]));
    assert_eq!(look(false, &b_alone[..2], false).0, Verdict::Changed);
    let either = [("b", 1), ("b", 4), ("b", 9), ("a", 7)];
    assert_eq!(look(false, &either, false), (Verdict::Changed, Some(Stop::Settled), [1, 3]));
    let both = [("b", 1), ("b", 4), ("b", 9), ("a", 1)];
    assert_eq!(look(false, &both, false), (Verdict::Changed, Some(Stop::Settled), [0, 2]));
    // A certificate continues with all of its pairs.
    assert_eq!(look(false, &b_alone, true).1, None);
}

#[test]
fn nothing_is_claimed_where_a_side_ran_two_programs() {
    let plan = plan(12);
    let of = |server: &dyn Fn(&PlannedTrial) -> &'static str, client: &dyn Fn(&PlannedTrial) -> &'static str| {
        let own = |trial: &PlannedTrial| TrialRecord {
            server_program: Some(server(trial).to_owned()),
            client_programs: client(trial).split_whitespace().map(str::to_owned).collect(),
            ..record(&plan, trial.trial, if trial.condition == "a" { 100.0 } else { 90.0 } + (trial.trial % 3) as f64)
        };
        let records: Vec<TrialRecord> = plan.trials.iter().map(own).collect();
        let race = Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1);
        let laps = crate::laps::Laps::of(&plan, &race, &records, None);
        let pairs = Pairs::of(&plan, &rule(), &records);
        let (look, race) = (pairs.decided(&rule()).unwrap(), laps.decided(&race).unwrap());
        assert_eq!(
            laps.replaced.is_some(),
            race.stop == Some(crate::laps::RaceStop::Replaced) && !race.standing.decided
        );
        (look.finding.verdict, look.stop, pairs.replaced, laps.replaced)
    };
    let own = |trial: &PlannedTrial| if trial.condition == "a" { "1a" } else { "2b" };
    let rebuilt = |trial: &PlannedTrial| if trial.condition == "b" && trial.block > 7 { "3c" } else { own(trial) };
    let settled = (Verdict::Changed, Some(Stop::Settled), [false; 2], None);
    let withheld = (Verdict::Undecided, Some(Stop::Replaced), [false, true], Some(1));
    assert_eq!(of(&own, &|_| ""), settled);
    assert_eq!(of(&rebuilt, &|_| ""), withheld);
    assert_eq!(of(&own, &rebuilt), withheld);
    // A script and the program that it became, which a trial may see before or after that.
    let script = |trial: &PlannedTrial| if trial.block > 7 { "f0 5d" } else { "f0 e1" };
    assert_eq!(of(&own, &script), settled);
}

/// Trials of B last longer, so that only they reach the least time from which others count.
#[test]
fn a_side_is_not_disturbed_alone_when_others_took_half_as_much_of_the_time_of_the_other() {
    let plan = plan(12);
    let alone = |share_of_a: f64, by: &[&str]| {
        let own = |trial: &PlannedTrial| {
            let is_b = trial.condition == "b";
            let mut record = record(&plan, trial.trial, if is_b { 50.0 } else { 100.0 } + (trial.trial % 3) as f64);
            let share = if is_b { 0.3 } else { share_of_a };
            record.samples[0].covariates.insert("foreign_cpu_fraction".into(), share);
            if is_b {
                record.reason = Some("other processes".into());
                record.disturbed_by = by.iter().map(|name| Disturber { program: (*name).into(), cpus: 0.6 }).collect();
            }
            record
        };
        let records: Vec<TrialRecord> = plan.trials.iter().map(own).collect();
        let race = Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1);
        let laps = crate::laps::Laps::of(&plan, &race, &records, None);
        let marked = laps.marked.iter().map(|of| usize::from(of[0])).sum::<usize>();
        let pairs = Pairs::of(&plan, &rule(), &records);
        assert_eq!(laps.disturbed, 12, "those beyond a limit");
        (pairs.decided(&rule()).unwrap().stop, pairs.disturbed_alone(), marked)
    };
    assert_eq!(alone(0.15, &["cc1"]), (Some(Stop::Settled), [0, 0], 12));
    assert_eq!(alone(0.14, &["cc1"]), (Some(Stop::OneSided), [0, 12], 0));
    // What disturbed B is not what others took.
    assert_eq!(alone(0.3, &[]), (Some(Stop::OneSided), [0, 12], 0));
}

#[test]
fn nothing_is_claimed_where_the_side_that_is_not_slower_alone_failed_more_often_than_chance_has_it() {
    let plan = plan(12);
    let look = |b_tps: f64, failed: &[(&str, usize)]| {
        let own = |trial: &PlannedTrial| {
            let tps = if trial.condition == "b" { b_tps } else { 100.0 } + (trial.trial % 3) as f64 / 10.0;
            let mut record = record(&plan, trial.trial, tps);
            if failed.contains(&(trial.condition.as_str(), trial.block)) {
                record.outcome = Outcome::Failed;
            }
            record
        };
        let records: Vec<TrialRecord> = plan.trials.iter().map(own).collect();
        let look = Pairs::of(&plan, &rule(), &records).decided(&rule()).unwrap();
        (look.finding.verdict, look.stop)
    };
    let of_b = [("b", 1), ("b", 4), ("b", 9)];
    let none = (Verdict::Undecided, Some(Stop::FailsMore));
    assert_eq!([look(110.0, &of_b), look(100.0, &of_b)], [none; 2]);
    // Failures do not make B less slow.
    assert_eq!(look(90.0, &of_b), (Verdict::Changed, Some(Stop::Settled)));
    assert_eq!(look(90.0, &of_b.map(|(_, block)| ("a", block))), none);
    for few in [&of_b[..2], &[of_b[0], of_b[1], of_b[2], ("a", 9)]] {
        assert_eq!(look(100.0, few), (Verdict::Equivalent, Some(Stop::Settled)), "{few:?}");
    }
}

#[test]
fn a_side_against_itself_goes_on_whatever_its_pairs_say() {
    let plan = plan(40);
    let records: Vec<TrialRecord> =
        plan.trials.iter().map(|t| record(&plan, t.trial, if t.condition == "a" { 80.0 } else { 120.0 })).collect();
    for own in [Rule::Looks, Rule::Anytime] {
        let rule = Settle { rule: own, certify: true, ..rule() };
        let stop = |rule: &Settle| Pairs::of(&plan, rule, &records).decided(rule).unwrap().stop;
        assert_eq!(stop(&rule), None);
        assert_eq!(stop(&Settle { budget_s: Some(160.0), ..rule }), Some(Stop::Budget));
    }
}

#[test]
fn a_duet_counts_pairs_whose_samples_were_measured_at_the_same_time_and_its_places_are_halves() {
    let rule = Settle { duet: Some(crate::schema::Duet { a: "a2".into(), b: "b2".into() }), ..rule() };
    let mut plan = Plan { settle: Some(rule.clone()), ..plan(0) };
    for (block, pair) in [rule.pair(false), rule.pair(true), rule.pair(true)].into_iter().enumerate() {
        for condition in pair {
            let trial = plan.trials.len();
            plan.trials.push(PlannedTrial { trial, block, condition: condition.into(), lifetime: None });
        }
    }
    let at = |trial: usize, second: &str| {
        let mut record = record(&plan, trial, 100.0 + trial as f64);
        record.samples[0].started_at = format!("2026-01-01T00:00:{second}Z");
        record
    };
    // The last pair shares half a second of one and a half. The order in which trials ended is not their place.
    let records = [at(1, "10.05"), at(0, "10.00"), at(2, "20.00"), at(3, "20.05"), at(4, "30.00"), at(5, "30.50")];
    let pairs = Pairs::of(&plan, &rule, &records);
    let first = Measured { block: 0, a: 100.0, b: 101.0, b_first: false, disturbed: [false; 2] };
    assert_eq!(
        pairs.measured,
        [first, Measured { block: 1, a: 103.0, b: 102.0, b_first: true, disturbed: [false; 2] }]
    );
    assert_eq!((pairs.lost, pairs.elapsed_s), (1, 6.0));
}

#[test]
fn by_turns_the_side_whose_first_sample_began_first_was_first_and_one_that_ran_alone_makes_no_pair() {
    let rule = rule();
    let plan = Plan { turns: Some(Turns { seed: 1 }), ..plan(3) };
    let of = |trial: usize, began: [&str; 2]| {
        let mut record = record(&plan, trial, 100.0 + trial as f64);
        record.samples.push(record.samples[0].clone());
        for (sample, at) in record.samples.iter_mut().zip(began) {
            sample.started_at = format!("2026-01-01T00:00:{at}Z");
        }
        record
    };
    let a_of = |block: usize| plan.trials.iter().find(|t| t.block == block && t.condition == "a").unwrap().trial;
    let b_of = |block: usize| plan.trials.iter().find(|t| t.block == block && t.condition == "b").unwrap().trial;
    // The trial that ended last is last in the file, whichever was first. The trials of the third pair did not run
    // together.
    let records = [
        of(b_of(0), ["11", "12"]),
        of(a_of(0), ["10", "13"]),
        of(a_of(1), ["21", "22"]),
        of(b_of(1), ["20", "23"]),
        of(a_of(2), ["30", "31"]),
        of(b_of(2), ["40", "41"]),
    ];
    let pairs = Pairs::of(&plan, &rule, &records);
    assert_eq!(pairs.measured.iter().map(|pair| pair.b_first).collect::<Vec<_>>(), [false, true]);
    // Two trials take the time of one.
    assert_eq!((pairs.lost, pairs.elapsed_s), (1, 6.0));
}
