//! Tests of the intervals that a run reports.

use std::convert::Infallible;
use std::time::Duration;
use tare_load::{
    Attempt, Client, ClientThread, Interval, Intervals, LoadSettings, Observer, Queries, Random, RunError, RunPhase,
    Unobserved, run,
};

/// A client whose transactions take 2 ms, every twentieth 20 ms. Every tenth is run again once, and every hundredth
/// loses its connection.
struct Known(u64);

impl Client for Known {
    type Error = Infallible;

    fn transaction(&mut self, _: &mut Random) -> Result<Attempt, Infallible> {
        self.0 += 1;
        let again = Queries { read: 1, write: 0, other: 0 };
        match self.0 % 100 {
            10 => return Ok(Attempt::Away),
            n if n % 10 == 5 => return Ok(Attempt::Restart(again)),
            n => std::thread::sleep(Duration::from_millis(if n % 20 == 1 { 20 } else { 2 })),
        }
        Ok(Attempt::Done(Queries { read: 3, write: 2, other: 1 }))
    }
}

#[derive(Default)]
struct Received(Vec<Interval>);

impl Observer for Received {
    type Error = Infallible;

    fn interval(&mut self, interval: Interval) -> Result<(), Infallible> {
        self.0.push(interval);
        Ok(())
    }
}

fn settings(every_s: u64, percentile: f64) -> LoadSettings {
    let intervals = Some(Intervals { every_s, percentile });
    LoadSettings { threads: 2, warmup_s: 0.0, sample_s: 4.3, intervals, ..LoadSettings::default() }
}

#[test]
fn intervals_report_rates_of_every_kind_and_a_percentile() {
    let mut received = Received::default();
    let samples = run(&settings(2, 50.0), &|_: ClientThread| Ok(Known(0)), &mut received).unwrap();
    let seconds: Vec<_> = received.0.iter().map(|interval| (interval.stage, interval.second)).collect();
    assert_eq!(seconds, [(RunPhase::Sample(0), 2), (RunPhase::Sample(0), 4)]);
    for interval in &received.0 {
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.1;
        assert_eq!(interval.threads, 2);
        assert!(near(interval.tps, samples[0].tps()), "{interval:?} {}", samples[0].tps());
        // 89 of 100 attempts complete a transaction, 10 of them after a restarted attempt.
        assert!(near(interval.reads_per_s, interval.tps * (3.0 + 10.0 / 89.0)), "{interval:?}");
        assert!(near(interval.writes_per_s, interval.tps * 2.0) && near(interval.others_per_s, interval.tps));
        assert!(near(interval.restarts_per_s, interval.tps * 10.0 / 89.0), "{interval:?}");
        assert!(interval.reconnects_per_s > 0.0 && interval.reconnects_per_s < interval.restarts_per_s);
        assert!((2.0..8.0).contains(&interval.latency_ms.unwrap()), "{interval:?}");
    }
    assert!(samples[0].reconnects > 0 && samples[0].latencies.percentile_ms(50.0).unwrap() < 8.0);
    assert!(samples[0].latencies.percentile_ms(99.0).unwrap() >= 20.0);
}

#[test]
fn intervals_out_of_range_are_refused() {
    for (every_s, percentile, name) in
        [(0, 95.0, "every_s is 0"), (1, 0.0, "percentile is 0"), (1, 101.0, "percentile is")]
    {
        let error = run(&settings(every_s, percentile), &|_: ClientThread| Ok(Known(0)), &mut Unobserved).unwrap_err();
        assert!(matches!(error, RunError::Setting { .. }) && error.to_string().starts_with(name), "{error}");
    }
}
