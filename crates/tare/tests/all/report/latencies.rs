//! Histograms of samples: a study's percentiles are those of whole trials, and the page draws them.

use crate::report::fake;
use serde_json::json;
use std::path::Path;
use tare_load::Latencies;

/// A study whose samples have histograms: of each trial's three samples, the last one is slow and has few transactions.
pub fn with_histograms(dir: &Path) {
    fake::write(&fake::bimodal(), dir);
    fake::each_record(dir, |record| {
        let trial = record["trial"].as_u64().unwrap();
        for (place, sample) in record["samples"].as_array_mut().unwrap().iter_mut().enumerate() {
            let (count, fastest_ns) = if place == 2 { (5, 200_000_000) } else { (1000, 1_000_000 + 10_000 * trial) };
            for (name, key) in [("latency_ms", ""), ("latency_ms_of_pay", "_of_pay")] {
                let mut all = Latencies::new();
                (0..count).for_each(|i| all.record(fastest_ns + 10 * i));
                sample["histograms"][name] = json!(all.encode());
                sample["metrics"][format!("latency_ms_p99{key}")] = json!(all.percentile_ms(99.0));
                sample["metrics"][format!("latency_ms_max{key}")] = json!(all.max_ms());
            }
        }
    });
}

pub fn page() -> String {
    let dir = tempfile::tempdir().unwrap();
    with_histograms(dir.path());
    fake::page(dir.path())
}

#[test]
fn the_percentile_of_a_trial_is_that_of_all_its_transactions() {
    let dir = tempfile::tempdir().unwrap();
    with_histograms(dir.path());
    let results = tare_results::open(dir.path()).unwrap();
    let summary = tare_findings::summarize(&results);
    let condition = &summary.conditions[1];
    let of = |name: &str| condition.metrics.iter().find(|metric| metric.name == name).unwrap();
    for name in ["latency_ms_p99", "latency_ms_p99_of_pay"] {
        let p99 = of(name);
        // The mean of the samples' percentiles would be 67 ms, but only one transaction of four hundred took so long.
        assert!((1.0..1.4).contains(&p99.mean), "{name} is {} ms", p99.mean);
        assert!(p99.min >= 1.0 && p99.max < 1.4 && p99.trials == 10, "{p99:?}");
        let ci = p99.ci.expect("an interval over ten trials");
        assert!(ci.low > 1.0 && ci.low < p99.mean && p99.mean < ci.high && ci.high < 1.4, "{ci:?}");
        assert!(p99.within_cov.unwrap() > 1.0, "that of the samples");
    }
    assert!(
        (of("latency_ms_max").mean - 200.000_04).abs() < 1e-9,
        "the longest of the trial: {:?}",
        of("latency_ms_max")
    );
    let all = &condition.latencies[0];
    assert_eq!((all.of.as_str(), all.trials, all.count), ("transactions", 10, 10 * 2005));
    assert!((1.0..1.4).contains(&all.at(99.0).unwrap()) && all.at(99.9).unwrap() > 199.0, "{all:?}");
    assert_eq!(condition.latencies[1].of, "pay");
}

#[test]
fn missing_or_damaged_histograms_fall_back_to_the_mean_of_sample_percentiles() {
    let dir = tempfile::tempdir().unwrap();
    with_histograms(dir.path());
    let p99 = |dir: &Path| {
        let results = tare_results::open(dir).unwrap();
        let summary = tare_findings::summarize(&results);
        let condition = &summary.conditions[1];
        condition.metrics.iter().find(|metric| metric.name == "latency_ms_p99").unwrap().mean
    };
    for damage in [json!({}), json!({"latency_ms": "no histogram"})] {
        fake::each_record(dir.path(), |record| {
            let samples = record["samples"].as_array_mut().unwrap();
            samples.iter_mut().for_each(|sample| sample["histograms"] = damage.clone());
        });
        assert!((66.0..69.0).contains(&p99(dir.path())), "{damage}: {} ms", p99(dir.path()));
    }
}

#[test]
fn the_report_draws_the_latency_distribution_of_transactions() {
    let page = page();
    assert!(page.contains("Latency of transactions") && page.contains("Latency of transactions by percentile"));
    assert!(page.contains("<summary>pay</summary>") && page.contains("placement=same-pu: 99% took no longer than 1."));
    assert_eq!(page.matches("role=\"img\"").count(), page.matches("<desc>").count());
    let section = page.split("<section id=\"latencies\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(!section.contains("NaN"), "{section}");
}
