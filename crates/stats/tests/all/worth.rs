//! The advice of `tare doctor` on a probe, over simulated minutes of short repeats.

use crate::simulate::{Generator, generator, normal, share};
use tare_stats::worth::{Advice, worth};

/// A machine whose speed drifts, with short repeats of a metric and a probe.
struct Minute {
    repeats: usize,
    /// Lag-1 autocorrelation of the machine's speed.
    drift: f64,
    /// Correlation of metric and probe.
    correlation: f64,
    /// Whether probe and metric also drift independently of each other.
    apart: bool,
}

impl Minute {
    fn run(&self, rng: &mut Generator) -> (Vec<f64>, Vec<f64>) {
        let mut states = [normal(rng, 0.0, 1.0), normal(rng, 0.0, 1.0), normal(rng, 0.0, 1.0)];
        let (mut metric, mut probe) = (Vec::new(), Vec::new());
        let (shared, own) = (self.correlation.sqrt(), (1.0 - self.correlation).sqrt());
        for _ in 0..self.repeats {
            for state in &mut states {
                *state = self.drift * *state + (1.0 - self.drift.powi(2)).sqrt() * normal(rng, 0.0, 1.0);
            }
            let mut apart = |state: f64| if self.apart { state } else { normal(rng, 0.0, 1.0) };
            metric.push(0.02 * (shared * states[0] + own * apart(states[1])));
            probe.push(0.03 * (shared * states[0] + own * apart(states[2])));
        }
        (metric, probe)
    }

    fn says(&self, rng: &mut Generator, advice: Advice) -> f64 {
        share(1000, || {
            let (metric, probe) = self.run(rng);
            worth(&metric, &probe, 0.95).unwrap().advice == advice
        })
    }
}

#[test]
fn a_probe_that_does_not_help_is_seldom_recommended() {
    let mut rng = generator(61_001);
    // A correlation of 0.436 leaves 0.9, the limit from which a probe helps.
    for correlation in [0.0, 0.3, 0.43] {
        for (drift, apart) in [(0.0, false), (0.5, true), (0.8, true), (0.8, false)] {
            for repeats in [30, 60, 120] {
                let minute = Minute { repeats, drift, correlation, apart };
                let wrong = minute.says(&mut rng, Advice::Helps);
                println!("r {correlation}, drift {drift} ({apart}), {repeats}: helps in {:.1}%", 100.0 * wrong);
                assert!(wrong < 0.06, "{wrong}");
            }
        }
    }
}

#[test]
fn a_probe_that_helps_is_seldom_rejected_and_mostly_recommended() {
    let mut rng = generator(61_002);
    for (correlation, repeats, least) in [(0.9, 30, 0.85), (0.9, 60, 0.97), (0.8, 60, 0.85), (0.7, 120, 0.85)] {
        let minute = Minute { repeats, drift: 0.5, correlation, apart: true };
        let (seen, denied) = (minute.says(&mut rng, Advice::Helps), minute.says(&mut rng, Advice::DoesNotHelp));
        println!("r {correlation}, {repeats}: helps in {:.1}%, does not in {:.1}%", 100.0 * seen, 100.0 * denied);
        assert!(seen > least && denied < 0.03, "{correlation} {repeats}: {seen}, {denied}");
    }
    let minute = Minute { repeats: 120, drift: 0.5, correlation: 0.0, apart: true };
    let denied = minute.says(&mut rng, Advice::DoesNotHelp);
    println!("r 0, 120: does not help in {:.1}%", 100.0 * denied);
    assert!(denied > 0.85, "{denied}");
}

/// A trend over a minute, from 0 to 1, with the time of its step.
type Trend = fn(f64, f64) -> f64;

/// Each of the two goes one way, or from one level to another, on its own: in half of all minutes the same way.
#[test]
fn a_trend_of_each_is_no_correlation() {
    let mut rng = generator(61_003);
    let trends: [(&str, f64, Trend); 3] = [
        ("line", 0.6, |at, _| 12.0f64.sqrt() * (at - 0.5)),
        ("line", 0.9, |at, _| 12.0f64.sqrt() * (at - 0.5)),
        ("step", 0.9, |at, step| if at < step { -1.0 } else { 1.0 }),
    ];
    for (name, share_of_it, shape) in trends {
        for repeats in [30, 60, 120] {
            let mut of = |way: f64, step: f64| -> Vec<f64> {
                let trend = |at: usize| way * share_of_it.sqrt() * shape(at as f64 / repeats as f64, step);
                (0..repeats).map(|at| trend(at) + normal(&mut rng, 0.0, (1.0 - share_of_it).sqrt())).collect()
            };
            let mut minute = 0;
            let wrong = share(1000, || {
                minute += 1;
                let places = [minute % 5, minute % 7].map(|place| 0.25 + 0.08 * f64::from(place));
                let metric = of(1.0, places[0]);
                let probe = of(if minute % 2 == 0 { 1.0 } else { -1.0 }, places[1]);
                worth(&metric, &probe, 0.95).unwrap().advice == Advice::Helps
            });
            println!("{name} {share_of_it}, {repeats}: helps in {:.1}%", 100.0 * wrong);
            assert!(wrong < 0.06, "{name} {share_of_it}, {repeats}: {wrong}");
        }
    }
}
