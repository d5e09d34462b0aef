//! Generated results with known components, effects and causes, through `tare show FILE.csv --json` and the analysis.

use crate::draws::Draws;
use crate::report::fake;
use crate::report::words::{summarize, summary_of_csv};
use assert_cmd::Command;
use std::fmt::Write;
use std::fs;
use tare_findings::effects::Effect;
use tare_report::terminal::{self, Style};
use tare_results::Results;
use tare_results::schema::Plan;

const HEAD: &str = "condition,trial,sample,metric,value\n";

fn show(rows: &str) -> serde_json::Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made-up.csv");
    fs::write(&path, format!("{HEAD}{rows}")).unwrap();
    let output = Command::cargo_bin("tare").unwrap().args(["show", "--json"]).arg(&path).output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_spread_columns_are_the_average_and_largest_range_over_queries() {
    // Trial means 10, 11 and 10.5 of q1: 10%. 20, 21, 20 of q2: 5%.
    let rows: String = [("query_s_q1", [10.0, 11.0, 10.5]), ("query_s_q2", [20.0, 21.0, 20.0])]
        .iter()
        .flat_map(|(query, means)| means.iter().enumerate().map(move |(trial, mean)| (query, trial, mean)))
        .map(|(query, trial, mean)| {
            // Two samples per trial around its mean, 1% apart: a CoV of 0.01 / sqrt(2).
            format!("a,{trial},0,{query},{}\na,{trial},1,{query},{}\n", mean * 0.995, mean * 1.005)
        })
        .collect();
    let spread = &show(&rows)["conditions"][0]["spread"];
    let close = |key: &str, expected: f64| {
        let found = spread[key].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{key}: {found} for {expected}");
    };
    assert_eq!((&spread["metrics"], &spread["range_largest_metric"]), (&2.into(), &"query_s_q1".into()));
    close("range_average", 0.075);
    close("range_largest", 0.1);
    close("within_cov_average", 0.01 / 2f64.sqrt());
    close("between_cov_largest", 0.5 / 10.5);
    // 20, 21, 20: deviations -1/3, 2/3, -1/3, so s = 1/sqrt(3).
    close("between_cov_average", (0.5 / 10.5 + (1.0 / 3f64).sqrt() / (61.0 / 3.0)) / 2.0);
}

/// Rows of `trials` trials per condition, with the given mean and spread.
fn design(conditions: &[(&str, f64, f64)], queries: usize, trials: usize, seed: u64) -> String {
    let mut noise = Draws::new(seed);
    let mut rows = String::new();
    for (condition, mean, spread) in conditions {
        for trial in 0..trials {
            for query in 1..=queries {
                let value = mean * query as f64 * (1.0 + spread * noise.normal());
                writeln!(rows, "{condition},{trial},0,query_s_q{query},{value}").unwrap();
            }
        }
    }
    rows
}

#[test]
fn each_level_of_a_three_level_factor_is_compared_with_the_first_level() {
    let conditions = [
        ("allocator=system aslr=on", 1.0, 0.03),
        ("allocator=system aslr=off", 1.0, 0.01),
        ("allocator=jemalloc aslr=on", 0.9, 0.03),
        ("allocator=jemalloc aslr=off", 0.9, 0.01),
        ("allocator=tcmalloc aslr=on", 0.8, 0.03),
        ("allocator=tcmalloc aslr=off", 0.8, 0.01),
    ];
    let summary = summary_of_csv(&design(&conditions, 6, 20, 3));
    let terms: Vec<String> =
        summary.effects.iter().filter(|e| e.metric == "query_s_q1").map(|e| e.term.to_string()).collect();
    let expected = ["allocator=jemalloc", "allocator=tcmalloc", "aslr"];
    assert_eq!(terms[..3], expected, "{terms:?}");
    assert!(terms[3..].iter().all(|term| term.contains(':')) && terms.len() == 5, "{terms:?}");
    for (term, levels, mean, spread) in [
        ("allocator=jemalloc", "jemalloc/system", 0.9, 1.0),
        ("allocator=tcmalloc", "tcmalloc/system", 0.8, 1.0),
        ("aslr", "on/off", 1.0, 3.0),
    ] {
        let of =
            |metric: &str| summary.effects.iter().find(|e| e.metric == metric && e.term.to_string() == term).unwrap();
        let queries: Vec<String> = (1..=6).map(|q| format!("query_s_q{q}")).collect();
        let covered = queries
            .iter()
            .map(|q| of(q))
            .filter(|e| e.ci.unwrap().contains(mean) && e.spread_ci.unwrap().contains(spread));
        // Of twelve 95% intervals per term, one or two may miss.
        assert!(covered.count() >= 4, "{term}: {:?}", of("query_s_q1"));
        assert_eq!(of("query_s_q1").levels, levels);
    }
    let sources = summary.spread_sources.as_ref().unwrap();
    let first = &sources.ranking[0];
    assert_eq!(
        (first.term.factor(), first.noisy_level.as_str(), first.quiet_level.as_str()),
        ("aslr".to_owned(), "on", "off")
    );
    // Three times the CoV is nine times the variance: 8/9 disappears.
    assert!(first.shown && (first.share - 8.0 / 9.0).abs() < 0.05, "{sources:?}");
    assert!(sources.ranking[1..].iter().all(|source| !source.shown && source.share == 0.0), "{sources:?}");
    let shares: f64 = sources.ranking.iter().map(|source| source.share).sum();
    assert!((shares + sources.unexplained - 1.0).abs() < 1e-9);
    let sentence = summary.further_reading.iter().find(|s| s.contains("accounts for")).unwrap();
    assert!(sentence.starts_with("aslr (on rather than off) accounts for 8") && sentence.contains("unexplained 1"));
}

#[test]
fn in_a_one_at_a_time_design_each_change_is_compared_with_the_base() {
    let conditions = [
        ("aslr=on allocator=system governor=as-found", 1.0, 0.04),
        ("aslr=off allocator=system governor=as-found", 1.0, 0.01),
        ("aslr=on allocator=jemalloc governor=as-found", 0.9, 0.04),
        ("aslr=on allocator=tcmalloc governor=as-found", 1.0, 0.04),
        ("aslr=on allocator=system governor=performance", 1.0, 0.04),
    ];
    let summary = summary_of_csv(&design(&conditions, 8, 20, 5));
    let is_jemalloc = |e: &&Effect| e.metric == "query_s_q1" && e.term.to_string() == "allocator=jemalloc";
    let jemalloc = summary.effects.iter().find(is_jemalloc).unwrap();
    assert!((jemalloc.mean_ratio - 0.9).abs() < 0.03, "{jemalloc:?}");
    assert!(summary.effects.iter().all(|e| e.term.main().is_some()), "interactions cannot be told");
    let sources = summary.spread_sources.as_ref().unwrap();
    assert_eq!((sources.ranking[0].term.factor(), sources.ranking[0].noisy_level.as_str()), ("aslr".to_owned(), "on"));
    assert!(sources.ranking[0].shown && (sources.ranking[0].share - 15.0 / 16.0).abs() < 0.05, "{sources:?}");
    let shown: Vec<String> = sources.ranking.iter().filter(|s| s.shown).map(|s| s.term.factor()).collect();
    assert_eq!(shown, ["aslr"]);
}

#[test]
fn terms_are_in_the_order_of_the_study() {
    let names: Vec<String> =
        (0..8).map(|i| format!("max_rows={} flush={} rows={}", i & 1, i >> 1 & 1, i >> 2 & 1)).collect();
    let conditions: Vec<(&str, f64, f64)> = names.iter().map(|name| (name.as_str(), 1.0, 0.01)).collect();
    let mut results = fake::csv(&design(&conditions, 2, 5, 9));
    let terms = |results: &Results| -> Vec<String> {
        let effects = summarize(results).summary.effects;
        effects.iter().take(3).map(|effect| effect.term.to_string()).collect()
    };
    // `rows=` is also a part of `max_rows=`.
    assert_eq!(terms(&results), ["max_rows", "flush", "rows"]);
    let factors = ["rows", "flush", "max_rows"].map(str::to_owned).to_vec();
    results.plan = Some(Plan { factors, ..Plan::default() });
    results.trials.iter_mut().for_each(|trial| trial.block = trial.trial % 5);
    assert_eq!(terms(&results), ["rows", "flush", "max_rows"]);
}

#[test]
fn sources_of_spread_have_the_levels_in_the_order_of_the_effects() {
    let conditions = [
        ("allocator=system aslr=on", 1.0, 0.05),
        ("allocator=system aslr=off", 1.0, 0.05),
        ("allocator=jemalloc aslr=on", 1.0, 0.01),
        ("allocator=jemalloc aslr=off", 1.0, 0.01),
        ("allocator=tcmalloc aslr=on", 1.0, 0.05),
        ("allocator=tcmalloc aslr=off", 1.0, 0.05),
    ];
    let results = fake::csv(&design(&conditions, 6, 20, 3));
    let style = Style { colour: false, width: Some(100), plain: false, all: false, statistic: None };
    let text = terminal::show(&results, &tare_findings::summarize(&results), style);
    let table = text.split_once("what makes restarts differ").unwrap().1;
    let row = table.lines().find(|line| line.contains("allocator") && line.contains("jemalloc")).unwrap();
    assert!(row.contains("jemalloc/system"), "{text}");
}

#[test]
fn factors_that_always_change_together_are_reported_as_one() {
    let conditions =
        [("placement=default aslr=on preload=off", 1.0, 0.05), ("placement=bound aslr=off preload=on", 1.0, 0.01)];
    let summary = summary_of_csv(&design(&conditions, 4, 20, 7));
    let effects: Vec<(String, &str)> = summary
        .effects
        .iter()
        .filter(|e| e.metric == "query_s_q1")
        .map(|e| (e.term.to_string(), e.levels.as_str()))
        .collect();
    // For levels that are words, the first one of the study is the base.
    assert_eq!(effects, [("placement+aslr+preload".to_owned(), "bound+off+on/default+on+off")]);
    let sentence = summary.further_reading.iter().find(|s| s.contains("accounts for")).unwrap();
    let expected = "placement+aslr+preload (default+on+off rather than bound+off+on) accounts for 9";
    assert!(sentence.starts_with(expected), "{sentence}");
}

#[test]
fn a_covariate_that_explains_the_trials_is_reported_and_an_unrelated_one_is_not() {
    for planted in [true, false] {
        let dir = fake::dir(&fake::eight());
        let mut noise = Draws::new(9);
        fake::each_record(dir.path(), |record| {
            let (moved, idle) = (noise.normal(), noise.normal());
            for sample in record["samples"].as_array_mut().unwrap() {
                let covariates = sample["covariates"].as_object_mut().unwrap();
                covariates.insert("layout_mmap_page".into(), (200.0 + 30.0 * moved).into());
                covariates.insert("layout_heap_page".into(), (200.0 + 30.0 * idle).into());
                if planted {
                    let tps = sample["metrics"]["tps"].as_f64().unwrap();
                    sample["metrics"]["tps"] = (tps * (1.0 + 0.06 * moved)).into();
                }
            }
        });
        let summary = summarize(&tare_results::open(dir.path()).unwrap());
        let named: Vec<String> = summary.residual_causes.iter().map(|cause| cause.covariate.to_string()).collect();
        if planted {
            assert_eq!(named, ["layout_mmap_page"]);
            assert!(summary.residual_causes[0].share > 0.6, "{:?}", summary.residual_causes);
            assert!(summary.further_reading.iter().any(|s| s.contains("layout_mmap_page with")));
        } else {
            assert_eq!(named, Vec::<String>::new());
        }
    }
}

/// The stability article's study: 22 queries under eight conditions, ASLR and AHI as sources of spread.
fn article() -> String {
    let mut noise = Draws::new(22);
    let mut rows = String::new();
    for index in 0..8 {
        let on = |bit: usize| if index >> bit & 1 == 1 { "on" } else { "off" };
        let condition = format!("aslr={} ahi={} preload={}", on(2), on(1), on(0));
        let spread = 0.004 * if on(2) == "on" { 4.0 } else { 1.0 } * if on(1) == "on" { 2.0 } else { 1.0 };
        for trial in 0..10 {
            for query in 1..=22 {
                let centre = 0.05 * query as f64 * if on(1) == "on" { 0.93 } else { 1.0 };
                let own = if query % 5 == 0 { 3.0 } else { 1.0 };
                let mean = centre * (1.0 + spread * own * noise.normal());
                for sample in 0..2 {
                    let value = mean * (1.0 + 0.001 * noise.normal());
                    writeln!(rows, "{condition},{trial},{sample},query_s_q{query},{value}").unwrap();
                }
            }
        }
    }
    rows
}

#[test]
fn the_report_shows_the_spread_and_the_factors_of_every_query() {
    let results = fake::csv(&article());
    let summary = summarize(&results);
    let text = tare_report::html::render(&results, &summary);
    // For inspection in a browser.
    if let Ok(out) = std::env::var("TARE_TEST_REPORTS") {
        fs::write(std::path::Path::new(&out).join("article.html"), &text).unwrap();
    }
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    // One cell per query and condition, with its figure.
    let map = text.split("<svg class=\"heat\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert_eq!(map.matches("<rect").count(), 22 * 8);
    assert_eq!(map.matches("%</text>").count(), 22 * 8 + 4);
    for words in ["What makes restarts differ", "How steady each query was", "Each query&#39;s trials", "aslr on/off, "]
    {
        assert!(text.contains(words) || text.contains(&words.replace("&#39;", "'")), "{words}");
    }
    // Three main effects and three interactions for each of 22 queries, on mean and spread; three sources.
    assert!(text.matches("class=\"label\"").count() >= 22 * 6 * 2);
    assert!(
        summary.reading.starts_with("ahi moved the 22 queries on average by -")
            && summary.reading.contains("% (from off to on, 95% interval -"),
        "{}",
        summary.reading
    );
    let largest = summary.conditions.iter().max_by(|a, b| {
        let range = |c: &tare_findings::condition::ConditionSummary| c.spread.as_ref().unwrap().range_average;
        range(a).total_cmp(&range(b))
    });
    assert_eq!(largest.unwrap().name.split(" preload").next(), Some("aslr=on ahi=on"));
    // The steadiest condition first, as on the terminal.
    let table = text.split("Table of spread").nth(1).unwrap().split("</table>").next().unwrap();
    let mut steady: Vec<_> = summary.conditions.iter().collect();
    steady.sort_by(|a, b| {
        let average = |c: &tare_findings::condition::ConditionSummary| c.spread.as_ref().unwrap().range_average;
        average(a).total_cmp(&average(b))
    });
    let rows: Vec<&str> = table.split("<tr data-c=\"").skip(1).map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(rows, steady.iter().map(|condition| condition.name.as_str()).collect::<Vec<_>>());
    let sentence = summary.further_reading.iter().find(|s| s.contains("accounts for")).unwrap();
    assert!(
        sentence.starts_with("aslr (on rather than off)") && sentence.contains("ahi (on rather than off) for"),
        "{sentence}"
    );
}
