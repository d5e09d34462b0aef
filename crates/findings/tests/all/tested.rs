//! Nothing untested is claimed, and existing effects are found: synthetic studies with a known truth.

use crate::draws::Draws;
use crate::made_up::{profile, results, trial};
use std::collections::BTreeMap;
use tare_findings::captures::Profiled;
use tare_findings::compare::{Options, Side, compare};
use tare_findings::verdict::{Apart, Moved, Untested, Verdict};
use tare_findings::{answered, settled, summarize};
use tare_results::Results;
use tare_results::captures::Captures;
use tare_results::schema::{Decision, TrialRecord};
use tare_stats::ratio;

const STUDIES: u64 = 20;

/// A condition with its level and spread, both as fractions.
type Given<'a> = (&'a str, f64, f64);

/// Blocks of one trial per condition, which differ by `between`; the (condition, block) pairs in `lost` are left out.
fn run(seed: u64, given: &[Given<'_>], blocks: usize, between: f64, lost: &[(usize, usize)]) -> Vec<TrialRecord> {
    let mut luck = Draws::new(seed);
    let mut trials = Vec::new();
    for block in 0..blocks {
        let level = between * luck.normal();
        for (place, (name, gain, spread)) in given.iter().enumerate() {
            let tps = 1000.0 * (1.0 + gain) * (level + spread * luck.normal()).exp();
            if !lost.contains(&(place, block)) {
                trials.push(trial(trials.len(), block, name, tps, false));
            }
        }
    }
    trials
}

/// Number of studies that claim a difference.
fn claims(question: &str, study: impl Fn(u64) -> Vec<TrialRecord>) -> u64 {
    let claimed = |seed: &u64| answered(&results(question, study(*seed))).verdict.is_claim();
    (0..STUDIES).filter(claimed).count() as u64
}

#[test]
fn a_noisy_condition_does_not_hide_what_the_others_differ_by() {
    let names: Vec<String> = (0..7).map(|i| format!("placement=p{i}")).collect();
    let given = |gain: f64| -> Vec<Given<'_>> {
        let of = |i: usize| (names[i].as_str(), if i == 1 { gain } else { 0.0 }, if i == 0 { 0.2 } else { 0.01 });
        (0..names.len()).map(of).collect()
    };
    let found = claims("best", |seed| run(seed, &given(0.1), 10, 0.0, &[]));
    let alarms = claims("best", |seed| run(seed, &given(0.0), 10, 0.0, &[]));
    assert!(found >= STUDIES - 1 && alarms <= 2, "{found} found, {alarms} false");
}

#[test]
fn three_lost_trials_of_24_leave_the_blocks() {
    let given = [
        ("ahi=off aslr=off", 0.0, 0.02),
        ("ahi=off aslr=on", 0.06, 0.02),
        ("ahi=on aslr=off", 0.0, 0.02),
        ("ahi=on aslr=on", 0.06, 0.02),
    ];
    for lost in [&[][..], &[(0, 1)], &[(0, 1), (1, 2)], &[(0, 1), (1, 2), (3, 4)]] {
        let found = claims("effect", |seed| run(seed, &given, 6, 0.08, lost));
        assert!(found >= STUDIES - 2, "{found} found with {} lost", lost.len());
    }
}

/// The pair that is named first may differ in a factor without effect by chance: then no factor is named.
#[test]
fn the_best_condition_names_no_factor_that_moves_nothing() {
    let given = [
        ("ahi=off aslr=off", 0.0, 0.01),
        ("ahi=off aslr=on", 0.0, 0.01),
        ("ahi=on aslr=off", 0.1, 0.01),
        ("ahi=on aslr=on", 0.1, 0.01),
    ];
    let named = |seed| match answered(&results("best", run(seed, &given, 5, 0.0, &[]))).verdict {
        Verdict::Ranked { by, .. } => by,
        other => panic!("{other:?}"),
    };
    let named: Vec<String> = (0..STUDIES).filter_map(named).collect();
    assert!(named.len() >= 5 && named.iter().all(|factor| factor == "ahi"), "{named:?}");
}

#[test]
fn two_trials_that_agree_to_four_digits_show_that_one_condition_is_twice_the_other() {
    let given = [("placement=a", 0.0, 0.0001), ("placement=b", 1.0, 0.0001)];
    assert_eq!(claims("best", |seed| run(seed, &given, 2, 0.0, &[])), STUDIES);
}

/// Of three queries, one twice as slow and one twice as fast cancel on average.
#[test]
fn metrics_that_differ_although_their_average_does_not_are_named() {
    let mut trials = Vec::new();
    for block in 0..6 {
        for (condition, times_s) in [("ahi=off", [1.0, 2.0, 1.0]), ("ahi=on", [2.0, 1.0, 1.0])] {
            let luck = 1.0 + 0.001 * ((7 * trials.len()) % 11) as f64;
            let mut record = trial(trials.len(), block, condition, 1.0, false);
            let named = ["query_s_q1", "query_s_q2", "query_s_q3"].into_iter().zip(times_s);
            record.samples[0].metrics = named.map(|(name, time_s)| (name.to_owned(), time_s * luck)).collect();
            trials.push(record);
        }
    }
    let of_levels = ("best ahi", ("on", 2.0), ("off", 2.0));
    let of_conditions = ("best", ("ahi=on", 2.0), ("ahi=off", 2.0));
    for (question, q1, q2) in [("effect", ("on", 2.0), ("on", 0.5)), of_conditions, of_levels] {
        let verdict = answered(&results(question, trials.clone())).verdict;
        let (Verdict::NotMoved { alone, .. }
        | Verdict::NotRanked { alone, .. }
        | Verdict::NotRankedLevels { alone, .. }) = &verdict
        else {
            panic!("{question}: {verdict:?}")
        };
        let tenths = |ratio: f64| (10.0 * ratio).round() / 10.0;
        let mut named: Vec<_> = alone.iter().map(|one| (&*one.metric, (&*one.high, tenths(one.ratio)))).collect();
        named.sort_by_key(|(metric, _)| *metric);
        assert_eq!(named, [("query_s_q1", q1), ("query_s_q2", q2)], "{question}");
    }
}

/// Two conditions are compared without the blocks of trials that lack one of three queries, or without that query, if
/// too many lack it. If it is the only query of the study, nothing is compared, though no value is 0 or below.
#[test]
fn a_value_that_a_trial_lacks_costs_that_trial_alone() {
    let of = |queries: usize, lacking: usize| {
        let mut trials = Vec::new();
        for block in 0..6 {
            for (condition, time_s) in [("ahi=off", 1.0), ("ahi=on", 2.0)] {
                let luck = 1.0 + 0.01 * ((7 * trials.len()) % 11) as f64;
                let mut record = trial(trials.len(), block, condition, 1.0, false);
                let named = (1..=queries).map(|query| (format!("query_s_q{query}"), time_s * luck));
                record.samples[0].metrics = named.collect();
                if condition == "ahi=on" && block < lacking {
                    record.samples[0].metrics.remove("query_s_q1");
                    record.samples[0].metrics.insert("cpu_us".to_owned(), 1.0);
                }
                trials.push(record);
            }
        }
        answered(&results("effect", trials)).verdict
    };
    for (lacking, metrics, used) in [(0, 3, 12), (1, 3, 10), (2, 3, 8), (3, 2, 12)] {
        match of(3, lacking) {
            Verdict::Moved { what, tested, .. } => assert_eq!((what.metrics, tested.analysis.trials), (metrics, used)),
            other => panic!("{lacking}: {other:?}"),
        }
    }
    assert!(matches!(of(1, 2), Verdict::Moved { .. }), "{:?}", of(1, 2));
    assert!(matches!(of(1, 3), Verdict::Untested(Untested::Lacking { .. })), "{:?}", of(1, 3));
}

/// The published runs of "Mind your core", one row for each set of PUs of the clients: server on 4-11, on 4 and 6, on 4
/// and 5; and the five rows on both nodes.
const MIND_YOUR_CORE: [(&str, [[f64; 3]; 3]); 6] = [
    ("0,1", [[39570.0, 38656.0, 39633.0], [39395.0, 39481.0, 39814.0], [39889.0, 40270.0, 40457.0]]),
    ("0,2", [[39890.0, 38698.0, 40005.0], [40068.0, 40309.0, 39961.0], [40680.0, 40571.0, 40481.0]]),
    ("0", [[37642.0, 39730.0, 35984.0], [40426.0, 40063.0, 40200.0], [40292.0, 40158.0, 40125.0]]),
    ("12,13", [[34224.0, 34463.0, 34295.0], [34518.0, 34418.0, 34436.0], [34282.0, 34512.0, 34583.0]]),
    ("12,14", [[34462.0, 34127.0, 34620.0], [34438.0, 34379.0, 34419.0], [34804.0, 34453.0, 34729.0]]),
    ("12", [[34989.0, 35162.0, 35245.0], [35503.0, 35455.0, 35632.0], [35572.0, 35481.0, 35692.0]]),
];
const ON_BOTH_NODES: [(&str, &[f64]); 5] = [
    ("2-11,14-23", &[35188.0, 37426.0, 35140.0, 37640.0, 37625.0, 35574.0, 35709.0, 37680.0]),
    ("4,16 balanced", &[30001.0, 36160.0, 24403.0, 24354.0, 37708.0, 24478.0, 36323.0, 24579.0]),
    ("4,16", &[33628.0, 34190.0, 35380.0, 37572.0]),
    ("4,16 from 0", &[36742.0, 36326.0, 36701.0, 36570.0]),
    ("4,16 from 12", &[35440.0, 35667.0, 35748.0, 35578.0]),
];

/// One of its 23 conditions has two modes: a test of the extreme means alone finds no difference.
#[test]
fn the_23_conditions_of_the_placement_article_differ() {
    let mut conditions: Vec<(String, Vec<f64>)> = Vec::new();
    for (client, servers) in MIND_YOUR_CORE {
        let of = |(server, tps): (&str, [f64; 3])| (format!("placement={client} to {server}"), tps.to_vec());
        conditions.extend(["4-11", "4,6", "4,5"].into_iter().zip(servers).map(of));
    }
    conditions.extend(ON_BOTH_NODES.map(|(name, tps)| (format!("placement={name}"), tps.to_vec())));
    let mut trials = Vec::new();
    for block in 0..8 {
        for (name, tps) in &conditions {
            trials.extend(tps.get(block).map(|tps| trial(trials.len(), block, name, *tps, false)));
        }
    }
    let Verdict::Ranked { ranking, .. } = answered(&results("best", trials)).verdict else {
        panic!("no difference is claimed")
    };
    let Apart { high, low } = ranking.apart.unwrap();
    assert_eq!((high.as_str(), low.as_str()), ("placement=0,2 to 4,5", "placement=12,13 to 4-11"));
    assert!((ranking.ratio - 1.182).abs() < 0.001, "{}", ranking.ratio);
    // Welch's test of each pair alone has p < 0.02 for 97 of 253.
    assert!((75..97).contains(&ranking.differing), "{} pairs differ", ranking.differing);
}

/// Six differences between two conditions whose mean is so many standard errors: 3.5 have a p-value of 0.017, 3.0 one
/// of 0.030. Their number was chosen after a pilot, or not.
fn six_blocks(names: [&str; 2], errors: f64, has_pilot: bool) -> Results {
    let of_block = |block: usize| {
        let ln = 0.004_511 * errors + if block % 2 == 0 { 0.01 } else { -0.01 };
        [(names[0], 0.0_f64), (names[1], ln)]
            .into_iter()
            .enumerate()
            .map(move |(place, (name, ln))| trial(2 * block + place, block, name, 1000.0 * ln.exp(), false))
            .collect::<Vec<_>>()
    };
    let mut results = results("best", (0..6).flat_map(of_block).collect());
    results.plan.as_mut().unwrap().decision = has_pilot.then(|| Decision {
        first_trial: 8,
        trials: 6,
        samples: 1,
        warmup_s: 0.0,
        extra_warmup_runs: 0,
        pilot_counts: true,
        half_width: None,
        reason: String::new(),
    });
    results
}

#[test]
fn a_study_whose_trials_were_chosen_by_their_spread_has_less_than_the_rate() {
    let claims = |has_pilot| {
        let results = six_blocks(["placement=a", "placement=b"], 3.5, has_pilot);
        answered(&results).verdict.is_claim()
    };
    assert_eq!([claims(false), claims(true)], [true, false]);
}

/// The table of builds is part of the answer: it has the rate of the first sentence, not 5%.
#[test]
fn builds_are_shown_to_differ_at_the_rate_of_the_answer() {
    let shown = |errors, has_pilot| {
        let results = six_blocks(["build=a", "build=b"], errors, has_pilot);
        summarize(&results).builds[0].verdict == ratio::Verdict::Faster
    };
    let at_95 = {
        let results = six_blocks(["build=a", "build=b"], 3.0, false);
        let side = |condition| Side { results: &results, condition: Some(condition) };
        compare(side("build=a"), side("build=b"), &Options::default()).unwrap().metrics[0].verdict
    };
    assert_eq!(at_95, ratio::Verdict::Faster, "the same trials at 5%");
    let found = [(3.0, false), (3.5, false), (3.5, true), (4.0, true)].map(|(errors, pilot)| shown(errors, pilot));
    assert_eq!(found, [false, true, false, true]);
}

/// With fewer than five blocks, a difference under one load must also be significant by the spread of all loads.
#[test]
fn three_differences_that_agree_under_one_load_need_the_spread_of_all_loads() {
    let shown = |blocks: usize, of_others: [f64; 5]| {
        let mut trials = Vec::new();
        for (block, other) in of_others.into_iter().enumerate().take(blocks) {
            let luck = 0.001 * block as f64;
            for (name, of_base) in [
                ("workload=read build=a", 1.0),
                ("workload=read build=b", 1.1 + luck),
                ("workload=write build=a", 1.0),
                ("workload=write build=b", other + luck),
            ] {
                trials.push(trial(trials.len(), block, name, 1000.0 * of_base, false));
            }
        }
        let results = results("effect", trials);
        let summary = summarize(&results);
        let Verdict::ByLoad(loads) = &summary.answer.verdict else { panic!("{:?}", summary.answer) };
        let shown = loads.iter().any(|own| own.load == "read" && own.shown);
        let of_builds = summary.builds.iter().find(|found| found.levels["workload"] == "read").unwrap();
        assert_eq!(of_builds.verdict == ratio::Verdict::Faster, shown, "{of_builds:?}");
        [shown, settled(&results)]
    };
    let wild = [1.0, 1.5, 0.7, 1.2, 0.8];
    assert_eq!([3, 4, 5].map(|blocks| shown(blocks, wild)), [[false; 2], [false; 2], [true, false]]);
    assert_eq!(shown(3, [1.0; 5]), [true; 2]);
    // The effect under the other load is shown in any case, so the study ends early if that of this load is too.
    assert_eq!([4, 5].map(|blocks| shown(blocks, wild.map(|other| 100.0 * other))), [[false; 2], [true; 2]]);
}

/// The sentence below the answer has the table's steps.
#[test]
fn a_step_of_the_only_ladder_is_negative_in_the_table_if_it_is_in_the_answer() {
    let given = [("threads=1", 0.0, 0.01), ("threads=2", 0.9, 0.01), ("threads=4", 0.858, 0.01)];
    let shown = |seed| {
        let summary = summarize(&results("scaling", run(seed, &given, 6, 0.0, &[])));
        let Verdict::Steps { less, .. } = &summary.answer.verdict else { panic!("{:?}", summary.answer) };
        assert_eq!(summary.scaling.iter().any(|law| law.retrograde), !less.is_empty(), "{seed}");
        !less.is_empty()
    };
    let shown = (0..100).filter(|seed| shown(*seed)).count();
    assert!((10..90).contains(&shown), "{shown} of 100");
}

/// The share of one function grows by 4.6 standard errors per doubling; for two functions the limit is 4.0 on one
/// ladder, and 5.4 on each of eight.
#[test]
fn growth_on_many_ladders_is_one_family_of_tests() {
    let shown = |ladders: usize| {
        let (mut trials, mut captures) = (Vec::new(), BTreeMap::new());
        for number in 0..12 * ladders {
            let (block, doublings, ladder) = (number / (3 * ladders), number / ladders % 3, number % ladders);
            let name = format!("nodes={} distribution=d{ladder}", 1 << doublings);
            let mut record = trial(number, block, &name, 1000.0, false);
            let share = 0.05 + 0.0178 * doublings as f64 + if block % 2 == 0 { 0.01 } else { -0.01 };
            let profile = profile(&mut record, 100.0, &[("spin_lock", 100.0 * share), ("rest", 100.0 * (1.0 - share))]);
            captures.insert((number, 1), Captures { profile: Some(profile), ..Captures::default() });
            trials.push(record);
        }
        let growth = summarize(&Results { captures, ..results("scaling", trials) }).growth;
        assert_eq!(growth.iter().filter(|ranking| ranking.what == Profiled::Symbols).count(), ladders);
        growth.iter().any(|ranking| ranking.grown.iter().any(|grown| grown.shown))
    };
    assert_eq!([1, 8].map(shown), [true, false]);
}

/// Also of a second factor, next to one that is shown under every load.
#[test]
fn everything_that_is_said_of_one_of_four_loads_has_a_quarter_of_the_rate() {
    let names: Vec<String> = (0..16)
        .map(|i| format!("workload=w{} ahi={} aslr={}", i / 4, ["off", "on"][i / 2 % 2], ["off", "on"][i % 2]))
        .collect();
    let gain = |name: &str| {
        let of_ahi = if name.contains("ahi=on") { 0.1 } else { 0.0 };
        of_ahi + if name.contains("aslr=on") { 0.011 } else { 0.0 }
    };
    let given: Vec<Given<'_>> = names.iter().map(|name| (name.as_str(), gain(name), 0.01)).collect();
    let moved = |verdict: &Verdict| -> Vec<Moved> {
        match verdict {
            Verdict::Moved { first, rest, .. } => rest.iter().chain([first]).cloned().collect(),
            _ => Vec::new(),
        }
    };
    let (mut of_loads, mut alone) = (0, 0);
    for seed in 0..STUDIES {
        let trials = run(seed, &given, 6, 0.0, &[]);
        let Verdict::ByLoad(loads) = answered(&results("effect", trials.clone())).verdict else { panic!("{seed}") };
        for own in loads {
            let found = moved(&own.verdict);
            assert!(own.shown && found.iter().all(|effect| effect.p_value.unwrap() <= 0.02 / 4.0), "{found:?}");
            let of_load = trials.iter().filter(|trial| trial.levels["workload"] == own.load).cloned().collect();
            of_loads += usize::from(found.len() > 1);
            alone += usize::from(moved(&answered(&results("effect", of_load)).verdict).len() > 1);
        }
    }
    assert!(of_loads > 0 && alone > of_loads, "{of_loads} among four loads, {alone} alone");
}

#[test]
fn builds_differ_under_a_load_only_if_they_do_without_the_disturbed_trials() {
    let verdict = |disturbed: usize, clean: f64| {
        let mut trials = Vec::new();
        for block in 0..10 {
            let is_disturbed = block < disturbed;
            for (name, tps, is_disturbed) in [
                ("workload=read build=a", 1000.0, false),
                ("workload=read build=b", if is_disturbed { 500.0 } else { clean }, is_disturbed),
                ("workload=write build=a", 1000.0, false),
                ("workload=write build=b", 1000.0, false),
            ] {
                let luck = 1.0 + 0.0001 * ((7 * trials.len()) % 11) as f64;
                trials.push(trial(trials.len(), block, name, tps * luck, is_disturbed));
            }
        }
        let summary = summarize(&results("effect", trials));
        summary.builds.iter().find(|found| found.levels["workload"] == "read").unwrap().verdict
    };
    assert_eq!(verdict(8, 1000.0), ratio::Verdict::Inconclusive);
    assert_eq!(verdict(3, 500.0), ratio::Verdict::Slower);
}

/// Twenty-two queries of which the first is twice as slow and the second twice as fast with ASLR.
fn cancelling(seed: u64) -> Vec<TrialRecord> {
    let given = [
        ("ahi=off aslr=off", 0.0, 0.0),
        ("ahi=off aslr=on", 0.0, 0.0),
        ("ahi=on aslr=off", 0.0, 0.0),
        ("ahi=on aslr=on", 0.0, 0.0),
    ];
    let mut luck = Draws::new(seed);
    let mut trials = run(seed, &given, 6, 0.0, &[]);
    for trial in &mut trials {
        let on = trial.levels["aslr"] == "on";
        let metrics = &mut trial.samples[0].metrics;
        metrics.clear();
        for query in 1..=22 {
            let ratio = match query {
                1 if on => 2.0,
                2 if on => 0.5,
                _ => 1.0,
            };
            metrics.insert(format!("query_s_q{query}"), 0.3 * ratio * (0.02 * luck.normal()).exp());
        }
    }
    trials
}

#[test]
fn queries_that_cancel_each_other_are_claimed() {
    let found = (0..5).filter(|seed| answered(&results("effect", cancelling(*seed))).verdict.is_claim());
    assert_eq!(found.count(), 5);
    let still = |verdict: &Verdict| matches!(verdict, Verdict::NotMoved { .. });
    assert!(still(&answered(&results("effect", cancelling(0))).verdict), "on average they do not move");
}
