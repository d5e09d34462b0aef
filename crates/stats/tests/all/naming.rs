//! The correct cause is reported, and none when there is none.

use crate::simulate::{Generator, generator, normal, normals, share};
use tare_stats::covariates::{Covariate, Shape, Values, explain};
use tare_stats::effects::{Cell, SpreadRanking, residuals, sources};
use tare_stats::modes::{association, detect};

/// A 2^3 study of `queries` queries in which `factor` (or none) triples the variance between restarts. `shared` is the
/// correlation of two queries of the same restart.
fn study(rng: &mut Generator, factor: Option<usize>, queries: usize, shared: f64) -> SpreadRanking {
    let mut metrics = vec![Vec::new(); queries];
    for i in 0..8 {
        let levels: Vec<bool> = (0..3).map(|f| i >> f & 1 == 1).collect();
        let sd = 0.05 * if factor.is_some_and(|f| levels[f]) { 3f64.sqrt() } else { 1.0 };
        let restarts = normals(rng, 0.0, shared.sqrt(), 10);
        for cells in &mut metrics {
            let trials = restarts.iter().map(|r| 10.0 * (sd * (r + normal(rng, 0.0, (1.0 - shared).sqrt()))).exp());
            cells.push(Cell { levels: levels.clone(), trials: trials.collect() });
        }
    }
    sources(3, &metrics, 0.95).unwrap()
}

#[test]
fn the_source_of_spread_is_named_in_95_percent_of_studies() {
    let mut rng = generator(1);
    for (queries, shared, least_shown) in [(1, 0.0, 0.6), (22, 0.0, 0.99), (22, 0.5, 0.9), (22, 1.0, 0.6)] {
        let mut shown = 0;
        let mut shares = 0.0;
        let named = share(1000, || {
            let s = study(&mut rng, Some(1), queries, shared);
            shown += usize::from(s.ranking[0].shown);
            shares += s.ranking[0].share;
            s.ranking[0].factor == 1 && s.ranking[0].noisy_level
        });
        println!("{queries} queries, correlation {shared}: named {named}, shown {shown}, share {}", shares / 1000.0);
        assert!(named >= 0.95, "{named}");
        assert!(shown as f64 / 1000.0 >= least_shown, "{shown}");
    }
}

#[test]
fn no_source_is_shown_where_there_is_none() {
    let mut rng = generator(2);
    for (queries, shared) in [(1, 0.0), (22, 0.0), (22, 0.5), (22, 1.0)] {
        let wrong = share(1000, || study(&mut rng, None, queries, shared).ranking.iter().any(|s| s.shown));
        println!("{queries} queries, correlation {shared}: shown by chance {wrong}");
        assert!(wrong < 0.07, "{wrong}");
    }
}

#[test]
fn shares_add_up_to_one_and_approach_the_truth() {
    let s = study(&mut generator(3), Some(0), 22, 0.0);
    let total = s.unexplained + s.ranking.iter().map(|r| r.share).sum::<f64>();
    assert!((total - 1.0).abs() < 1e-12);
    // Fixing the factor removes two thirds of the variance.
    assert!((s.ranking[0].share - 2.0 / 3.0).abs() < 0.1, "{:?}", s.ranking[0]);
}

#[test]
fn the_covariate_behind_the_residuals_is_named() {
    let mut rng = generator(4);
    let covariate = |name: &str, v: Vec<f64>| Covariate {
        name: name.to_owned(),
        values: Values::Numeric(v.into_iter().map(Some).collect()),
    };
    let mut wrong = 0;
    let right = share(100, || {
        let moves = normals(&mut rng, 20.0, 5.0, 40);
        let cells: Vec<Cell> = (0..4)
            .map(|i| Cell {
                levels: vec![i & 1 == 1, i >> 1 & 1 == 1],
                trials: (0..10)
                    .map(|t| 100.0 * (1.0 + i as f64) * (0.01 * moves[i * 10 + t] + normal(&mut rng, 0.0, 0.05)).exp())
                    .collect(),
            })
            .collect();
        let (left, groups) = residuals(&cells).unwrap();
        let mut covariates = vec![covariate("migrations", moves)];
        covariates.extend((0..9).map(|i| covariate(&format!("noise {i}"), normals(&mut rng, 0.0, 1.0, 40))));
        let found = explain(&left, &groups, &groups, &covariates, Shape::Linear, 999, 5).unwrap();
        wrong += found.iter().filter(|a| a.name != "migrations" && a.p_adjusted <= 0.05).count();
        found[0].name == "migrations" && found[0].p_adjusted <= 0.05
    });
    println!("covariate named in {right}, {wrong} wrong ones of 900");
    assert!(right >= 0.95, "{right}");
    assert!(wrong <= 12, "{wrong}");
}

#[test]
fn two_modes_are_found_where_there_are_two_and_not_where_there_is_one() {
    let mut rng = generator(6);
    for n in [9, 10, 20, 30] {
        let alarms = share(1000, || detect(&normals(&mut rng, 100.0, 5.0, n)).is_some());
        println!("{n} trials: false alarms {alarms}");
        assert!(alarms < 0.05, "{n}: {alarms}");
    }
    // ["Benchmarking? Mind your core."](https://mysqlonarm.github.io/Benchmarking-Mind-Your-Core/): 24K and
    // 37K; 3% within a mode.
    for n in [9usize, 20] {
        let found = share(500, || {
            let means: Vec<f64> =
                (0..n).map(|i| if i % 2 == 0 { 24.0 } else { 37.0 }).map(|m| normal(&mut rng, m, 0.9)).collect();
            detect(&means).is_some_and(|m| m.modes[0].members.len() == n.div_ceil(2))
        });
        println!("{n} trials: found {found}");
        assert!(found > 0.98, "{n}: {found}");
    }
    // The power with 30 trials, a third of them in the upper mode.
    for (apart, least) in [(6.0, 0.4), (8.0, 0.85), (10.0, 0.95)] {
        let found = share(300, || {
            let means: Vec<f64> =
                (0..30).map(|i| normal(&mut rng, if i % 3 == 0 { apart } else { 0.0 }, 1.0)).collect();
            detect(&means).is_some()
        });
        println!("{apart} sd apart, 30 trials: found {found}");
        assert!(found > least, "{apart}: {found}");
    }
}

#[test]
fn the_covariate_behind_the_modes_is_named() {
    let mut rng = generator(7);
    let right = share(100, || {
        let node: Vec<bool> = (0..20).map(|_| rand::RngExt::random_bool(&mut rng, 0.5)).collect();
        let means: Vec<f64> = node.iter().map(|n| normal(&mut rng, if *n { 24.0 } else { 37.0 }, 1.0)).collect();
        let Some(found) = detect(&means) else { return node.iter().filter(|n| **n).count().abs_diff(10) > 5 };
        let text = |v: &mut dyn FnMut(usize) -> String| Values::Categorical((0..20).map(|i| Some(v(i))).collect());
        let mut covariates = vec![
            Covariate { name: "server node".to_owned(), values: text(&mut |i| u8::from(node[i]).to_string()) },
            Covariate { name: "layout".to_owned(), values: text(&mut |i| format!("{i:x}")) },
        ];
        for c in 0..6 {
            let values = text(&mut |_| rand::RngExt::random_range(&mut rng, 0..4).to_string());
            covariates.push(Covariate { name: format!("thread {c}"), values });
        }
        let named = association(&found, &[0; 20], &covariates, 499, 8).unwrap();
        named[0].name == "server node" && named[0].p_adjusted < 0.05
    });
    assert!(right >= 0.95, "{right}");
}
