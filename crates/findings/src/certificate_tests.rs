//! Tests of certificates from synthetic pairs.

use super::*;

fn alarms(false_alarms: usize, comparisons: usize) -> Alarms {
    Alarms { false_alarms, comparisons }
}

fn machine(kernel: &str) -> Fingerprint {
    Fingerprint {
        nodes: Default::default(),
        packages: Default::default(),
        cores: Default::default(),
        last_level_caches: Default::default(),
        processors: Default::default(),
        allowed_cpus: Default::default(),
        memory_nodes: Default::default(),
        smt: false,
        kernel: Some(kernel.into()),
        boot_id: None,
    }
}

fn against(twin: Twin, looks: Alarms, ratio: (f64, f64, f64)) -> Against {
    let (ratio, low, high) = ratio;
    Against {
        pairs: 40,
        elapsed_s: 400.0,
        looks,
        anytime: alarms(0, 3),
        ratio: Some(Ratio { ratio, ci_low: Some(low), ci_high: Some(high) }),
        ..Against::left_out(twin, String::new())
    }
}

fn certificate(kernel: &str, load: &str, looks: Alarms) -> Certificate {
    Certificate {
        made_at: "2026-11-23T12:00:00Z".into(),
        machine: machine(kernel),
        engine: Some("sqlite".into()),
        load: load.into(),
        by_turns: false,
        metric: "tps".into(),
        side: String::new(),
        minimum_effect: 0.02,
        against: vec![
            against(Twin::Same, looks, (1.021, 1.001, 1.041)),
            against(Twin::Copy, looks, (0.99, 0.985, 0.995)),
        ],
        decides: Vec::new(),
    }
}

#[test]
fn certificates_of_a_load_on_this_machine_are_counted_together_and_others_are_not() {
    let all = [
        certificate("6.1", "read_only", alarms(0, 10)),
        certificate("6.1", "read_only", alarms(1, 10)),
        certificate("6.1", "dbt3", alarms(3, 10)),
        certificate("6.2", "read_only", alarms(5, 10)),
    ];
    let of = |load: &str, kernel: &str| Certified::of(&all, &machine(kernel), &compared(load), Rule::Looks);
    let found = of("read_only", "6.1").unwrap();
    assert_eq!((found.alarms, found.same_load), (alarms(2, 40), true));
    let other = of("counters", "6.1").unwrap();
    assert_eq!((other.newest.load.as_str(), other.same_load), ("dbt3", false));
    assert_eq!(of("read_only", "6.3"), None);
    // A certificate from consecutive trials does not apply to samples that alternate.
    // Nor does one of another metric or minimum effect, by which comparisons end.
    let base = compared("read_only");
    for other in [
        Compared { by_turns: true, ..base.clone() },
        Compared { metric: Some("latency_ms_p99"), ..base.clone() },
        Compared { minimum_effect: 0.05, ..base.clone() },
    ] {
        let found = Certified::of(&all, &machine("6.1"), &other, Rule::Looks).unwrap();
        assert_eq!((found.same_load, found.alarms), (false, alarms(6, 20)), "{other:?}");
    }
    let any = Certified::of(&all, &machine("6.1"), &Compared { metric: None, ..base }, Rule::Looks);
    assert!(any.is_some_and(|any| any.same_load));
}

fn compared(load: &str) -> Compared<'_> {
    Compared {
        engine: Some("sqlite"),
        load,
        by_turns: false,
        metric: Some("tps"),
        minimum_effect: 0.02,
        commands: Vec::new(),
    }
}

#[test]
fn a_certificate_of_a_command_is_for_comparisons_with_this_command() {
    let of_command = |side: &str| Certificate {
        engine: None,
        side: side.to_owned(),
        ..certificate("6.1", "command", alarms(0, 10))
    };
    let all = [of_command("command=./old"), of_command("command=sleep 1")];
    let of = |commands: [&str; 2]| {
        let commands = commands.map(str::to_owned).to_vec();
        let found = Certified::of(
            &all,
            &machine("6.1"),
            &Compared { engine: None, commands, ..compared("command") },
            Rule::Looks,
        );
        found.map(|found| (found.same_load, found.newest.side)).unwrap()
    };
    assert_eq!(of(["command=./old", "command=./new"]), (true, "command=./old".to_owned()));
    assert_eq!(of(["command=./x", "command=./y"]), (false, "command=sleep 1".to_owned()));
}

#[test]
fn the_newest_result_of_each_twin_counts_whichever_certificate_measured_it() {
    let with = |twins: &[(Twin, f64)]| {
        let own = |(twin, ratio): &(Twin, f64)| against(*twin, alarms(0, 5), (*ratio, ratio - 0.001, ratio + 0.001));
        let against = twins.iter().map(own).collect();
        Certificate { against, ..certificate("6.1", "read_only", alarms(0, 0)) }
    };
    let first = with(&[(Twin::Same, 1.0), (Twin::Copy, 1.05), (Twin::Relinked, 1.03)]);
    let mut second = with(&[(Twin::Same, 1.0), (Twin::Copy, 1.0)]);
    second.against.push(Against::left_out(Twin::Layout, "a command has its own environment".to_owned()));
    let of = |all: &[Certificate]| Certified::of(all, &machine("6.1"), &compared("read_only"), Rule::Looks).unwrap();
    let found = of(&[first.clone(), second]);
    assert!((found.newest.by_itself().unwrap() - 0.03).abs() < 1e-9, "{found:?}");
    assert_eq!(found.alarms, alarms(0, 25), "each comparison once");
    // One that was to be measured and was not does not hide an earlier result.
    let mut second = with(&[(Twin::Same, 1.0)]);
    second.against.push(Against::left_out(Twin::Relinked, "interrupted".to_owned()));
    assert!((of(&[first, second]).newest.by_itself().unwrap() - 0.05).abs() < 1e-9);
}

#[test]
fn a_change_must_exceed_the_difference_of_an_identical_copy() {
    let found = certificate("6.1", "read_only", alarms(0, 10));
    // The copy has 0.99. The same file differs from itself only by chance.
    assert!((found.by_itself().unwrap() - (1.0 / 0.99 - 1.0)).abs() < 1e-12);
    assert!((alarms(0, 20).at_most() - 0.1391).abs() < 1e-4);
}

#[test]
fn what_a_budget_decides_comes_from_the_spread_around_each_twins_own_mean() {
    // A copy that is 10% faster with the same spread: its pairs do not increase the spread.
    let pairs = |mean: f64| -> Vec<Pair> {
        (0..40).map(|i| Pair { log_ratio: mean + if i % 4 < 2 { 0.01 } else { -0.01 }, b_first: i % 2 == 0 }).collect()
    };
    let rounded = |means: &[f64], slack: f64| {
        let own = |mean: &f64| Found {
            against: against(Twin::Copy, alarms(0, 1), (1.0, 0.9, 1.1)),
            metric: None,
            by_turns: false,
            pairs: pairs(*mean),
            hidden: Rounding { error: 0.0, slack },
        };
        Certificate::decides(&means.iter().map(own).collect::<Vec<_>>())
    };
    let of = |means: &[f64]| rounded(means, 0.0);
    let (one, two) = (of(&[0.0]), of(&[0.0, 0.1]));
    // 10 s per pair: 60 pairs in 10 minutes.
    assert_eq!(one.iter().map(|one| (one.minutes, one.pairs)).collect::<Vec<_>>(), [(10, 60), (30, 180), (60, 360)]);
    for (one, two) in one.iter().zip(&two) {
        assert!((one.change.unwrap() / two.change.unwrap() - 1.0).abs() < 0.05, "{one:?} {two:?}");
    }
    assert!(one[2].change.unwrap() < one[0].change.unwrap());
    assert!(rounded(&[0.0], 0.05)[2].change.unwrap() > 0.05, "more pairs do not show what rounding hides");
}

/// Programs that print `0.12` and `0.13`, in either order, of which no comparison is right or wrong.
#[test]
fn what_rounding_hides_is_no_false_alarm() {
    let sides = ["a", "b"].map(str::to_owned);
    let rule = Settle { minimum_effect: 0.02, ..Settle::between(sides, Rule::Looks, 1) };
    let plan = Plan { settle: Some(rule.clone()), ..Plan::default() };
    let pairs: Vec<Pair> = (0..12).map(|i| Pair { log_ratio: (0.13_f64 / 0.12).ln(), b_first: i % 2 == 0 }).collect();
    let alarms = |hidden: Rounding| {
        let mut found = Pairs::of(&plan, &rule, &[]);
        found.hidden = hidden;
        let against = Against::of(Twin::Copy, &rule, &found, &pairs).unwrap();
        (against.looks.false_alarms, against.ratio.unwrap().excludes_1())
    };
    let freely = alarms(Rounding::default());
    assert!(freely.0 > 0 && freely.1, "{freely:?}");
    assert_eq!(alarms(Rounding { error: 0.03, slack: 0.081 }), (0, false));
}
