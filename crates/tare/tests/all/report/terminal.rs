//! The terminal tables and the JSON, word for word.

use crate::draws::Draws;
use crate::report::fake;
use crate::support::one_line;
use tare_findings::compare::{
    Adjusted, AgainstFirst, Change, Comparison, ConditionPair, Losses, Lost, MetricComparison, Options, Side, Verdict,
    compare, compare_many, compare_sessions,
};
use tare_findings::summarize;
use tare_report::json;
use tare_report::terminal::{self, Style};
use tare_report::words;
use tare_results::probe::Probe;
use tare_stats::Interval;

const PLAIN: Style = Style { colour: false, width: Some(100), plain: false, all: false, statistic: None };

fn shown(study: &fake::Study) -> String {
    let results = fake::results(study);
    let text = terminal::show(&results, &summarize(&results), PLAIN);
    assert_narrow(&text);
    text
}

fn assert_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    assert!(!text.contains('\u{1b}'), "colour without being asked");
}

#[test]
fn two_modes_on_a_terminal() {
    insta::assert_snapshot!(shown(&fake::bimodal()));
}

/// A trial above 1000 /s does not give the table of means below it another unit than the sentence has.
#[test]
fn the_first_sentence_and_the_table_have_the_same_unit() {
    let rows = |condition: &str, values: [f64; 4]| {
        let row = |(trial, value): (usize, &f64)| format!("p={condition},{trial},0,tps,{value}\n");
        values.iter().enumerate().map(row).collect::<String>()
    };
    for (best, sentence, table) in [
        ([985.0, 990.0, 999.0, 1010.0], "996 /s at a, 400 /s at b.", "tps, /s ("),
        ([999.6, 999.6, 999.6, 999.6], "1.00 k/s at a, 0.40 k/s at b.", "tps, k/s ("),
        ([1985.0, 1990.0, 1999.0, 2010.0], "2.00 k/s at a, 0.40 k/s at b.", "tps, k/s ("),
    ] {
        let results = fake::csv(&(rows("a", best) + &rows("b", [399.0, 400.0, 401.0, 400.0])));
        let text = terminal::show(&results, &summarize(&results), PLAIN);
        assert!(text.lines().next().unwrap().ends_with(sentence) && text.contains(table), "{text}");
    }
}

#[test]
fn long_names_of_levels_are_broken_so_that_no_row_is_wider_than_the_terminal() {
    let mut study = fake::bimodal();
    let names = [
        "build=postgresql-17.6-gcc-14-O3-march-native-with-lto placement=clients-and-server-anywhere",
        "build=postgresql-17.6-gcc-14-O3-march-native-with-lto placement=clients-next-to-their-server",
        "build=postgresql-17.6-gcc-14-O3-march-native-with-pgo placement=clients-next-to-their-server",
    ];
    study.conditions.iter_mut().zip(names).for_each(|(condition, name)| condition.name = name);
    let results = fake::results(&study);
    let summary = summarize(&results);
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { min_effect: 0.01, fail_if_slower: None, judged: Vec::new() };
    let compared = compare(side(names[0]), side(names[1]), &options).unwrap();
    for width in [60, 80] {
        for all in [false, true] {
            let style = Style { width: Some(width), all, ..PLAIN };
            let texts = [terminal::show(&results, &summary, style), terminal::comparison(&compared, &options, style)];
            for line in texts.iter().flat_map(|text| text.lines()) {
                assert!(line.chars().count() <= usize::from(width), "{} columns: {line}", line.chars().count());
            }
        }
    }
    let json = serde_json::to_string(&json::summary(&summary, &results)).unwrap();
    assert!(names.iter().all(|name| json.contains(&format!("\"name\":\"{name}\""))), "whole names: {json}");
}

/// Disturbed trials that are slower than the others, but not all of a condition.
#[test]
fn what_the_answer_leaves_out_is_in_no_figure_but_in_the_counts() {
    let dir = fake::dir(&crate::report::first_lines::study("first-look", 1.5, 10));
    fake::disturb(dir.path(), &|trial| trial < 7, 0.97);
    fake::each_record(dir.path(), |record| {
        if record["reason"].is_string() {
            let reason = format!("sample 0: the hypervisor took 1{}.5% of the CPU time (limit 1.0%)", record["trial"]);
            record["reason"] = reason.into();
        }
    });
    let results = tare_results::open(dir.path()).unwrap();
    let summary = summarize(&results);
    let text = one_line(&terminal::show(&results, &summary, PLAIN));
    let disturbed = "7 of 30 trials were disturbed and left out of all figures; with them the answer is the same.";
    assert!(text.contains(disturbed), "{text}");
    assert!(
        text.contains("! 7 disturbed attempts without a program, as in trial 0: sample 0: the hypervisor"),
        "{text}"
    );
    assert!(text.contains("Compared by block over 23 of 30 trials"), "{text}");
    assert!(text.contains("3 conditions, 23 trials analysed"), "{text}");
    for condition in &summary.conditions {
        assert_eq!((condition.trials, condition.clean_trials + condition.disturbed_trials), (10, 10), "{condition:?}");
        assert!(condition.disturbed_trials > 0 && condition.analysed() == condition.clean_trials, "{condition:?}");
    }
    let table = super::export::export(dir.path(), &["--format", "csv", "--table", "trials"]);
    let column = table.lines().next().unwrap().split(',').position(|name| name == "analysed").unwrap();
    let analysed = table.lines().filter(|line| line.split(',').nth(column) == Some("true"));
    assert_eq!(analysed.count(), 23, "{table}");
}

/// The parts of a page, rows of charts and of tables, that belong to a condition.
fn rows_of<'p>(page: &'p str, condition: &str) -> Vec<&'p str> {
    let mark = format!("data-c=\"{condition}\"");
    let rows = page.split(&mark).skip(1);
    rows.map(|row| row.split("data-c=").next().unwrap().split("</svg>").next().unwrap()).collect()
}

/// Trials take one of two values by chance: modes are tested from six trials on, and shown from more.
#[test]
fn trials_that_lie_far_apart_have_no_mean_on_terminal_and_page() {
    let trials = |name: &str, values: [f64; 5]| -> String {
        let rows = values.iter().enumerate().map(|(trial, value)| {
            let switches = 1.01 + trial as f64 / 1e5;
            let row = format!("pairs={name},{trial},0");
            format!("{row},tps,{value}\n{row},server_switches_per_transaction,{switches}\n")
        });
        rows.collect()
    };
    let luck = trials("by-luck", [68_100.0, 305_300.0, 304_700.0, 67_800.0, 303_900.0]);
    let design = trials("by-design", [304_200.0, 305_100.0, 304_800.0, 305_700.0, 303_100.0]);
    let results = fake::csv(&format!("{luck}{design}"));
    let summary = summarize(&results);
    let text = terminal::show(&results, &summary, PLAIN);
    let row = text.lines().find(|line| line.starts_with("by-luck")).unwrap();
    assert!(row.contains(" 67.8 to 305.3 ") && !row.contains('±') && row.ends_with("●···········●"), "{text}");
    // Ends that print alike are one figure.
    let switches = text.lines().find(|line| line.starts_with("server_switches_per_transaction")).unwrap();
    assert!(switches.contains("1.01") && !switches.contains(" to "), "{switches}");
    let printed = one_line(&text);
    assert!(printed.contains("Trials of pairs=by-luck differ widely"), "{text}");
    // Many such conditions are counted.
    let five: String =
        ["a", "b", "c", "d", "e"].map(|name| trials(name, [68.1, 305_300.0, 304_700.0, 67.8, 303_900.0])).concat();
    let many = fake::csv(&five);
    let summary_of_many = summarize(&many);
    let text = one_line(&terminal::show(&many, &summary_of_many, PLAIN));
    assert!(text.contains("Trials of pairs=a, pairs=b and 3 other conditions differ widely"), "{text}");
    // A plot has one unit.
    let slow = fake::csv(&format!("{five}{}", trials("slow", [70.1, 70.2, 70.3, 70.1, 70.2])));
    let page = tare_report::html::render(&slow, &summarize(&slow));
    let row = rows_of(&page, "pairs=slow").into_iter().find(|row| row.contains("class=\"label\"")).unwrap();
    assert!(row.contains(">0.070 ± ") && row.contains(" k/s<"), "{row}");
    let page = tare_report::html::render(&results, &summary);
    let rows = rows_of(&page, "pairs=by-luck");
    let chart = rows.iter().find(|row| row.contains("class=\"label\"")).unwrap();
    assert!(chart.contains("67.8 to 305.3 k/s") && !chart.contains("interval"), "{chart}");
}

/// Modes are drawn without a bar of their mean, and are described once below the table.
#[test]
fn modes_are_drawn_without_a_mean_bar_and_described_once() {
    let results = fake::results(&fake::bimodal());
    let summary = summarize(&results);
    let page = tare_report::html::render(&results, &summary);
    let rows = rows_of(&page, "placement=float");
    let rows: Vec<&&str> = rows.iter().filter(|row| row.contains("class=\"mode")).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| !row.contains("class=\"interval")), "{rows:?}");
    let text = terminal::show(&results, &summary, PLAIN);
    assert_eq!(text.matches("24.7 k/s in 70% of trials").count(), 1, "{text}");
}

#[test]
fn eight_conditions_on_a_terminal() {
    insta::assert_snapshot!(shown(&fake::eight()));
}

/// The answer shows a few further metrics of a few conditions, and says how to see the others.
#[test]
fn few_other_metrics_are_shown_without_the_option_all() {
    let of = |study: &fake::Study, all: bool| {
        let results = fake::results(study);
        one_line(&terminal::show(&results, &summarize(&results), Style { all, ..PLAIN }))
    };
    let mut study = fake::eight();
    let (few, all) = (of(&study, false), of(&study, true));
    assert!(few.contains("latency_ms_p99, ms") && few.contains("; 7 more in tare show with --all"), "{few}");
    for left_out in ["latency_ms_p50", "latency_ms_max", "qps"] {
        assert!(!few.contains(left_out) && all.contains(left_out), "{left_out}: {few}");
    }
    let mut ninth = fake::eight().conditions.remove(0);
    ninth.name = "ahi=off aslr=off preload=none";
    study.conditions.push(ninth);
    let (none, all) = (of(&study, false), of(&study, true));
    assert!(none.contains("9 other metrics of each condition, which tare show lists with --all"), "{none}");
    assert!(!none.contains("latency_ms_") && all.contains("latency_ms_p99"), "{none}");
}

#[test]
fn every_table_compares_levels_in_the_same_direction() {
    let mut study = fake::eight();
    for condition in &mut study.conditions {
        condition.between = if condition.name.contains("aslr=off") { 0.03 } else { 0.005 };
    }
    let text = shown(&study);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("aslr  ")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows.iter().all(|row| row.contains(" on/off ") && row.contains(" 0.")), "{rows:#?}");
}

#[test]
fn the_json_of_show() {
    let mut study = fake::bimodal();
    study.trials = 6;
    let results = fake::results(&study);
    let mut json = serde_json::to_value(json::summary(&summarize(&results), &results)).unwrap();
    // One metric is enough to show the structure.
    for condition in json["conditions"].as_array_mut().unwrap() {
        condition["metrics"].as_array_mut().unwrap().truncate(1);
    }
    round(&mut json);
    insta::assert_json_snapshot!(json);
}

/// Rounds to four significant digits: the last bits of a fit may differ between processors.
fn round(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Array(items) => items.iter_mut().for_each(round),
        serde_json::Value::Object(items) => items.values_mut().for_each(round),
        serde_json::Value::Number(number) if number.is_f64() => {
            *json = serde_json::json!(format!("{:.3e}", number.as_f64().unwrap()).parse::<f64>().unwrap());
        }
        _ => {}
    }
}

#[test]
fn a_comparison_on_a_terminal() {
    let results = fake::results(&fake::bimodal());
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { min_effect: 0.01, fail_if_slower: Some(0.05), judged: Vec::new() };
    let found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let text = terminal::comparison(&found, &options, PLAIN);
    assert_narrow(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn the_first_sentence_of_a_comparison_has_the_ratio_and_the_limit_of_its_verdict() {
    let results = fake::results(&fake::bimodal());
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { judged: vec!["tps".to_owned()], ..Options::default() };
    let mut found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let metric = &mut found.metrics[0];
    let interval = |low, high| Some(Interval { low, high });
    (metric.ratio, metric.ci, metric.verdict) = (Some(0.99), interval(0.985, 0.995), Verdict::Inconclusive);
    metric.disturbed = false;
    let sentence = |found: &Comparison, min_effect| words::comparison_sentence(found, min_effect).unwrap();
    let figures = "throughput -1.0% (95% interval -1.5% to -0.50%).";
    assert_eq!(sentence(&found, 0.01), format!("No difference above 1.0% is shown: {figures}"));
    // The figures do not contradict the words: an interval without 0 shows a difference by itself.
    assert_eq!(sentence(&found, 0.0), format!("Undecided: {figures}"));
    let mut several = found.clone();
    let open = several.metrics[0].clone();
    several.metrics = vec![MetricComparison { ratio: Some(1.02), ci: interval(0.98, 1.06), ..open.clone() }, open];
    assert_eq!(sentence(&several, 0.0), format!("Undecided, one of 2 comparisons: {figures}"));
    let lost = |a, b, b_fails_more| {
        let [a, b] = [a, b].map(|lost| Lost { failed: lost, lost, trials: 10 });
        let condition = found.metrics[0].condition.clone();
        Losses { first: "A".to_owned(), side: "B".to_owned(), condition, a, b, p_value: 0.5, b_fails_more }
    };
    let [few, many] = [lost(1, 2, false), lost(0, 6, true)];
    found.losses = vec![few];
    assert!(sentence(&found, 0.01).ends_with("-0.50%); 3 trials gave no result."), "{}", sentence(&found, 0.01));
    found.losses = vec![many];
    assert_eq!(sentence(&found, 0.01), "B fails more often than A: 6 of 10 trials against 0 of 10.");
    found.losses = Vec::new();
    found.metrics[0].ci = None;
    let expected = "Too few trials to compare A and B: throughput -1.0% (no interval).";
    assert_eq!(sentence(&found, 0.01), expected);
    let adjusted = Adjusted { by: Probe::Chain, ratio: 1.05, ci: interval(1.03, 1.07), probe: None };
    (found.metrics[0].adjusted, found.metrics[0].verdict) = (Some(adjusted), Verdict::Faster);
    let expected = "throughput +5.0%, adjusted by chain (95% interval +3.0% to +7.0%).";
    assert_eq!(sentence(&found, 0.01), format!("B is faster than A: {expected}"));
    let sides =
        ["placement=same-pu", "placement=float", "placement=other-node"].map(|name| (name.to_owned(), side(name)));
    let mut one = compare_many(&sides[..2], &options).unwrap();
    let metric = &mut one.metrics[0].metric;
    (metric.ratio, metric.ci, metric.verdict) = (Some(0.5), interval(0.4, 0.6), Verdict::Inconclusive);
    let expected = "Undecided whether placement=float differs from placement=same-pu: throughput -50% (95% interval \
                    -60% to -40%).";
    assert_eq!(words::many_sentence(&one, 0.01), expected);
    let mut many = compare_many(&sides, &options).unwrap();
    for AgainstFirst { against, metric, .. } in &mut many.metrics {
        let (ratio, low) = if against == "placement=float" { (0.99, 0.98) } else { (1.02, 0.99) };
        (metric.ratio, metric.ci) = (Some(ratio), interval(low, 1.05));
    }
    let mut said = |verdict, min_effect| {
        many.metrics.iter_mut().for_each(|row| row.metric.verdict = verdict);
        words::many_sentence(&many, min_effect)
    };
    let none = "No side is shown to differ from placement=same-pu";
    let largest = "; largest placement=other-node: throughput +2.0% (95% interval -1.0% to +5.0%).";
    assert_eq!(said(Verdict::Inconclusive, 0.01), format!("{none} by more than 1.0%{largest}"));
    assert_eq!(said(Verdict::Inconclusive, 0.0), format!("{none}{largest}"));
    let equivalent = "Every side is equivalent to placement=same-pu within 10%";
    assert_eq!(said(Verdict::Equivalent, 0.1), format!("{equivalent}{largest}"));
    // An interval beyond the minimum effect holds for one comparison alone, and verdicts for all together.
    let row = &mut many.metrics[0];
    (row.metric.verdict, row.metric.ci) = (Verdict::Inconclusive, interval(0.97, 0.98));
    let undecided = words::many_sentence(&many, 0.01);
    let expected = format!("Undecided whether {} differs from placement=same-pu, one of 2 ", many.metrics[0].against);
    assert!(undecided.starts_with(&expected), "{undecided}");
}

/// The page said that conditions of one run were compared block by block although they were not.
#[test]
fn a_comparison_says_how_each_metric_was_compared() {
    let results = fake::results(&fake::bimodal());
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { judged: vec!["tps".to_owned()], ..Options::default() };
    let found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let open = MetricComparison { trials_a: 6, trials_b: 6, left_out: 0, ..found.metrics[0].clone() };
    let said = |metrics: &[&MetricComparison]| words::how_compared(metrics);
    assert_eq!(said(&[&open]), "Compared block by block, over 6 blocks.");
    let fewer = MetricComparison { left_out: 3, name: "qps".to_owned(), ..open.clone() };
    let expected = "Compared block by block, over 6 blocks; 3 trials whose blocks lack the other side are left out.";
    assert_eq!(said(&[&fewer]), expected);
    let both = format!("tps compared block by block, over 6 blocks. qps compared{}", &expected["Compared".len()..]);
    assert_eq!(said(&[&open, &fewer]), both);
    let elsewhere = ConditionPair { a: "elsewhere".to_owned(), ..fewer.condition.clone() };
    let names = [&open.condition, &elsewhere].map(|pair| format!("tps of {pair} compared block by block, over 6 "));
    let other = MetricComparison { condition: elsewhere.clone(), name: "tps".to_owned(), ..fewer.clone() };
    assert_eq!(said(&[&open, &other]), format!("{}blocks. {}{}", names[0], names[1], &expected[32..]));
    let twice = "comparisons were made block by block, over 6 blocks";
    assert!(said(&[&open, &open, &fewer, &fewer]).starts_with(&format!("2 of 4 {twice}. 2 of 4 {twice}; 3 trials")));
    let without = MetricComparison { paired: false, trials_b: 5, ..open.clone() };
    let said_without = said(&[&without]);
    assert!(said_without.starts_with("Compared without blocks (6 and 5 trials), because"), "{said_without}");
    let apart = MetricComparison { one_run: false, ..without };
    assert_eq!(said(&[&apart]), "Compared as two runs, without blocks (6 and 5 trials).");
    let on_machines = MetricComparison { machines: Some(3), ..apart };
    let levels = "without blocks and without the levels of 3 machines (6 and 5 trials)";
    assert_eq!(said(&[&on_machines]), format!("Compared as two runs, {levels}."));
    let by_machine = MetricComparison { paired: true, ..on_machines };
    let paired = "machine by machine, over 3 machines, between which they differ";
    assert_eq!(said(&[&by_machine]), format!("Compared as two runs, {paired}."));
    // Two of five trials of each side share a block.
    let mut lost = results.clone();
    for record in &mut lost.trials {
        let dead = match record.condition.as_str() {
            "placement=same-pu" => record.block < 3,
            _ => (3..6).contains(&record.block),
        };
        if dead {
            (record.outcome, record.samples) = (tare_results::schema::Outcome::Failed, Vec::new());
        }
    }
    let side = |condition| Side { results: &lost, condition: Some(condition) };
    let found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let text = terminal::comparison(&found, &options, PLAIN).replace('\n', " ");
    assert!(!text.contains("block by block") && text.contains("Compared without blocks"), "{text}");
}

#[test]
fn the_first_sentence_of_a_comparison_has_the_figures_of_a_difference() {
    let results = fake::results(&fake::bimodal());
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { judged: vec!["tps".to_owned()], ..Options::default() };
    let mut found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let ci = Some(Interval { low: 1.1, high: 1.3 });
    let metric = &mut found.metrics[0];
    (metric.name, metric.unit) = ("score".to_owned(), tare_results::unit::Unit::Plain);
    (metric.mean_a, metric.mean_b, metric.ratio, metric.ci) = (-5.4, -4.2, None, None);
    metric.modes_b = Vec::new();
    metric.difference = Some(Change { value: 1.2, ci });
    let sentence = |found: &Comparison| words::comparison_sentence(found, 0.01).unwrap();
    (found.metrics[0].verdict, found.metrics[0].disturbed) = (Verdict::Faster, false);
    let figures = "score +1.20 (95% interval +1.10 to +1.30)";
    assert_eq!(sentence(&found), format!("B is faster than A: {figures}."));
    // The largest of several, whose size is relative to A's magnitude.
    let one = found.metrics[0].clone();
    let small = Change { value: 0.1, ci: Some(Interval { low: 0.08, high: 0.12 }) };
    found.metrics = vec![one.clone(), MetricComparison { difference: Some(small), ..one.clone() }];
    assert!(sentence(&found).contains(figures), "{}", sentence(&found));
    found.metrics.swap(0, 1);
    assert!(sentence(&found).contains(figures), "{}", sentence(&found));
    found.metrics = vec![MetricComparison { verdict: Verdict::Inconclusive, ..one }];
    assert_eq!(sentence(&found), format!("Undecided: {figures}."), "the interval shows a difference by itself");
}

#[test]
fn two_trials_of_fewer_than_eight_conditions_get_the_advice_to_run_three() {
    for (factors, expected) in [(2, true), (3, false)] {
        let mut text = String::new();
        for condition in 0..1 << factors {
            let names = ["a", "b", "c"].iter().take(factors).enumerate();
            let levels: Vec<String> = names.map(|(bit, name)| format!("{name}={}", condition >> bit & 1)).collect();
            for trial in 0..2 {
                let tps = 100 + (7 * condition + 5 * trial) % 11;
                text.push_str(&format!("{},{trial},0,tps,{tps}\n", levels.join(" ")));
            }
        }
        let results = fake::csv(&text);
        let further = words::first_screen(&summarize(&results), &results).further.join(" ");
        assert_eq!(further.contains("run at least three"), expected, "{further}");
    }
}

/// Two trials per side that lie far apart: an interval from a hundredth to a hundredfold is not worth printing.
#[test]
fn a_uselessly_wide_interval_of_a_ratio_is_not_printed() {
    let results = fake::csv("p=a,0,0,tps,10\np=a,1,0,tps,1000\np=b,0,0,tps,900\np=b,1,0,tps,20\n");
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { min_effect: 0.01, fail_if_slower: None, judged: Vec::new() };
    let found = compare(side("p=a"), side("p=b"), &options).unwrap();
    assert!(found.metrics[0].ci.is_some_and(|ci| ci.high > 100.0 * ci.low), "{:?}", found.metrics[0]);
    let text = one_line(&terminal::comparison(&found, &options, PLAIN));
    assert!(text.contains("(no interval).") && !text.contains("95% interval 0."), "{text}");
    assert!(!text.contains("95% interval -100%"), "{text}");
    let few = fake::csv("aslr=off,0,0,tps,100\naslr=off,1,0,tps,320\naslr=on,0,0,tps,260\naslr=on,1,0,tps,110\n");
    let text = terminal::show(&few, &summarize(&few), PLAIN);
    assert!(text.contains("effects on tps") && text.contains("what makes restarts differ"), "{text}");
    assert!(!text.contains("0.03"), "{text}");
}

#[test]
fn advice_for_running_servers_is_to_compare_their_sockets_in_one_study() {
    let mut study = fake::bimodal();
    study.conditions.truncate(1);
    study.bad.clear();
    let session = |day: &str| {
        let mut results = fake::results(&study);
        for trial in &mut results.trials {
            trial.started_at.push_str(day);
            trial.server_program = Some(format!("build {day}"));
            trial.reason = Some("stress (77) took 76% of CPU 2".to_owned());
        }
        results
    };
    let options = Options { min_effect: 0.01, fail_if_slower: Some(0.05), judged: Vec::new() };
    for (running, advised, not) in [(true, "socket", "binary"), (false, "binary", "socket")] {
        let mut sessions = ["a", "b", "c", "d"].map(session);
        for trial in sessions.iter_mut().flat_map(|results| &mut results.trials).filter(|_| running) {
            trial.uncontrolled.insert("other clients".to_owned(), "not prevented".to_owned());
        }
        let [a, b, c, d] = sessions.each_ref().map(|results| Side { results, condition: None });
        for found in [compare(a, b, &options), compare_sessions(&[a, b], &[c, d], &options)] {
            let text = one_line(&terminal::comparison(&found.unwrap(), &options, PLAIN));
            assert!(text.contains(&format!("(factors.{advised})")), "{text}");
            assert!(!text.contains(&format!("factors.{not}")), "{text}");
        }
    }
}

#[test]
fn levels_of_one_study_get_no_advice_to_measure_them_in_one_study() {
    let mut results = fake::results(&fake::bimodal());
    results.trials.iter_mut().for_each(|trial| trial.reason = Some("stress (77) took 76% of CPU 2".to_owned()));
    let side = |condition| Side { results: &results, condition: Some(condition) };
    let options = Options { min_effect: 0.01, fail_if_slower: Some(0.05), judged: Vec::new() };
    let found = compare(side("placement=same-pu"), side("placement=float"), &options).unwrap();
    let text = one_line(&terminal::comparison(&found, &options, PLAIN));
    assert!(
        text.contains("gate inconclusive: disturbed trials decide") && text.contains("a quieter machine."),
        "{text}"
    );
    assert!(!text.contains("both in one study"), "{text}");
}

/// The load of the machine differs every time, and one sample per trial says nothing about the spread of samples.
#[test]
fn the_load_average_is_no_difference_and_a_single_sample_has_no_spread() {
    let mut study = fake::eight();
    study.conditions.truncate(1);
    study.samples = 1;
    let loaded = |load: &str| {
        let mut results = fake::results(&study);
        results.trials.iter_mut().for_each(|trial| trial.samples[0].elapsed_s += load.len() as f64 / 1e6);
        results.trials.iter_mut().for_each(|trial| trial.started_at.push_str(load));
        results.environment.as_mut().unwrap().settings.insert("/proc/loadavg".to_owned(), load.to_owned());
        results
    };
    let (a, b) = (loaded("0.10 0.20 0.30 1/99 5"), loaded("9.10 8.20 7.30 9/99 55"));
    let side = |results| Side { results, condition: None };
    let options = Options { min_effect: 0.01, fail_if_slower: None, judged: Vec::new() };
    let found = compare(side(&a), side(&b), &options).unwrap();
    assert_eq!(found.differences, []);
    let text = terminal::show(&a, &summarize(&a), PLAIN);
    let row = text.lines().find(|line| line.starts_with("off ")).unwrap();
    assert!(row.contains("  - ") && !row.contains("0.00%"), "{text}");
}

#[test]
fn long_names_and_escape_sequences_stay_within_the_table() {
    let mut study = fake::eight();
    study.conditions.truncate(2);
    study.conditions[0].name =
        "client=node:0.core:0-1.pu:0+node:1.core:0-1.pu:0 server=node:1.core:2-5 numa_balancing=on aslr=off";
    study.conditions[1].name = "\u{1b}[31mred=\u{1b}[0m";
    shown(&study);
}

/// More than a screen of conditions of two factors with long levels.
fn long(levels: usize) -> String {
    let mut noise = Draws::new(3);
    let mut text = String::new();
    for level in 0..levels {
        for (trial, metric) in (0..6).flat_map(|trial| ["tps", "latency_ms_mean"].map(|metric| (trial, metric))) {
            let value = if metric == "tps" { 1000.0 + level as f64 } else { 0.031 } * (1.0 + 0.01 * noise.normal());
            text.push_str(&format!(
                "placement=other-last-level-cache buffer_pool_instances={level},{trial},0,{metric},{value}\n"
            ));
        }
    }
    text
}

fn long_shown(style: Style, levels: usize) -> String {
    let results = fake::csv(&long(levels));
    terminal::show(&results, &summarize(&results), style)
}

#[test]
fn tables_have_a_column_per_factor_fit_the_terminal_and_break_no_name() {
    for width in [80, 100, 160] {
        let text = long_shown(Style { width: Some(width), all: true, ..PLAIN }, 12);
        let headed = |line: &&str| line.starts_with("buffer_pool_instances") && line.contains("placement");
        assert!(text.lines().any(|line| headed(&line)), "a column a factor at {width}:\n{text}");
        let too_wide = text.lines().find(|line| line.chars().count() > usize::from(width));
        assert_eq!(too_wide, None, "{width}:\n{text}");
        assert!(text.matches("other-last-level-cache").count() >= 12, "no name is broken at {width}:\n{text}");
        assert_eq!(text.contains('●'), width >= 160, "the picture is there where there is room, {width}:\n{text}");
        assert!(text.contains("latency_ms_mean") && text.contains(" ms") && !text.contains("µs"), "{text}");
    }
    let narrow = long_shown(Style { width: Some(70), all: true, ..PLAIN }, 12);
    assert!(narrow.contains("other-last-level-       6  1.013 ± 0.006 "), "names are broken before figures:\n{narrow}");
    let piped = long_shown(Style { width: None, all: true, ..PLAIN }, 12);
    assert!(piped.lines().any(|line| line.chars().count() > 160), "a pipe has no width:\n{piped}");
}

#[test]
fn a_long_study_is_shortened_unless_all_rows_are_requested() {
    let text = long_shown(PLAIN, 120);
    let lines = text.lines().count();
    assert!(
        lines < 120 && text.contains("98 rows between them, which tare show lists with --all"),
        "{lines} lines\n{text}"
    );
    let all = long_shown(Style { all: true, ..PLAIN }, 120);
    assert!(all.lines().count() > 240 && !all.contains("--all"), "{all}");
}

#[test]
fn output_on_a_narrow_terminal_has_whole_words_and_no_overlong_line() {
    let results = fake::results(&fake::bimodal());
    let summary = summarize(&results);
    let mut long = fake::bimodal();
    long.conditions[1].name = "placement=pairs-by-design threads=1024";
    let long = fake::results(&long);
    let summary_of_long = summarize(&long);
    // Its factors have effects, and change the spread.
    let factors = fake::results(&fake::eight());
    let of_factors = summarize(&factors);
    assert!(!of_factors.effects.is_empty() && of_factors.spread_sources.is_some());
    for (width, results, summary) in
        [(40, &results, &summary), (80, &results, &summary), (40, &long, &summary_of_long), (40, &factors, &of_factors)]
    {
        let text = terminal::show(results, summary, Style { width: Some(width), ..PLAIN });
        let too_long = text.lines().find(|line| line.chars().count() > usize::from(width) && line.trim().contains(' '));
        assert_eq!(too_long, None, "{width}:\n{text}");
        // A row is one line: the figures of a metric are never on separate lines.
        assert!(!text.lines().any(|line| line.trim() == "±"), "{width}:\n{text}");
    }
    let at_80 = terminal::show(&results, &summary, Style { width: Some(80), ..PLAIN });
    let row = at_80.lines().find(|line| line.starts_with("same-pu") || line.starts_with("placement=same-pu"));
    assert!(row.is_some_and(|row| row.contains('±') && row.contains('%')), "{at_80}");
}
