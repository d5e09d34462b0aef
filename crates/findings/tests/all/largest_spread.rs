//! The ratio of the largest spreads of two conditions, each of its own query: how often its interval misses the ratio.

use tare_findings::reproduce::{Reproduced, of_results};
use tare_results::Results;
use tare_results::claim::{Band, Claim, Measure, Published};
use tare_results::schema::{Levels, PlannedTrial, SampleRecord, TrialRecord};

use crate::draws::Draws;

/// The CoVs of three queries under either condition; the largest ones are a fifth of each other.
const SPREADS: [(&str, [f64; 3]); 2] = [("off", [0.02, 0.06, 0.03]), ("on", [0.012, 0.004, 0.008])];
const RATIO: f64 = 0.2;

fn verdict(seed: u64, blocks: usize) -> Reproduced {
    let mut draws = Draws::new(seed);
    let mut trials = Vec::new();
    for block in 0..blocks {
        for (preload, spreads) in SPREADS {
            let condition = format!("preload={preload}");
            let planned = PlannedTrial { trial: trials.len(), block, condition, lifetime: None };
            let seconds = spreads.map(|spread| 1.0 + spread * draws.normal());
            let names = ["query_s_q3", "query_s_q12", "query_s_q14"].map(str::to_owned);
            let metrics = names.into_iter().zip(seconds).collect();
            let samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
            let levels = Levels::from([("preload".into(), preload.into())]);
            trials.push(TrialRecord {
                samples,
                elapsed_s: 1.0,
                ..TrialRecord::new(&planned, 1, levels, String::new())
            });
        }
    }
    let levels = |preload: &str| Levels::from([("preload".into(), preload.into())]);
    let claim = Claim {
        name: "largest-spread".into(),
        text: "Preloaded, the query that spreads most spreads a fifth as far".into(),
        source: "made up".into(),
        published: Published::Ratio(RATIO),
        measure: Measure::LargestSpreadRatio,
        metric: None,
        a: levels("off"),
        b: Some(levels("on")),
        holds: Band { from: 0.0, to: 0.6 },
    };
    of_results(&claim, &Results { trials, ..Results::default() })
}

#[test]
fn the_interval_of_the_largest_spreads_contains_their_ratio_and_decides_with_enough_trials() {
    const STUDIES: u64 = 200;
    for (blocks, fewest_decided) in [(10, 0), (30, 180)] {
        let (mut missed, mut decided) = (0, 0);
        for seed in 0..STUDIES {
            let found = verdict(seed, blocks);
            let figure = match &found {
                Reproduced::Holds(figure) | Reproduced::DoesNotHold(figure) => figure,
                Reproduced::NotDecided(open) => open.figure.as_ref().unwrap(),
                Reproduced::CannotBeTested(_) => panic!("{found:?}"),
            };
            missed += usize::from(!figure.ci.unwrap().contains(RATIO));
            decided += usize::from(matches!(found, Reproduced::Holds(_)));
        }
        println!("{blocks} blocks: {missed} of {STUDIES} miss, {decided} decide");
        assert!(missed <= 10 && decided >= fewest_decided, "{blocks} blocks: {missed} missed, {decided} decided");
    }
}
