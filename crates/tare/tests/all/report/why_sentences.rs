//! The sentences of `tare why`: what makes up a difference, what is missing, and the experiment that would decide.

use crate::support::one_line;
use std::collections::BTreeMap;
use tare_findings::compare::JoinedBy;
use tare_findings::differences::{Difference, What};
use tare_findings::time::{ConditionTime, Missing, Part, PartTime};
use tare_findings::why::{
    Again, Cause, Change, Changes, Expected, Experiment, NamedChange, PartChange, Suspect, TimeChange, Times, Why,
};
use tare_report::terminal::{self, Style};
use tare_report::words::suspects::{self, NextStep};
use tare_report::words::why;
use tare_results::captures::WAKES;
use tare_results::events::NO_COUNTERS;
use tare_stats::Interval;

/// A (0) or B (1) with these parts.
fn side(side: usize, parts: &[(Part, f64, f64, bool)]) -> ConditionTime {
    let whole: f64 = parts.iter().map(|(_, a, b, _)| [*a, *b][side]).sum();
    let part = |(part, a, b, _): &(Part, f64, f64, bool)| {
        let us = [*a, *b][side];
        PartTime { part: part.clone(), us, ci: None, share: us / whole }
    };
    let (last, all) = parts.split_last().unwrap();
    ConditionTime {
        name: format!("side={}", ["a", "b"][side]),
        load: None,
        clients: 4,
        trials: 8,
        disturbed: 0,
        us_per_transaction: whole,
        ci: None,
        parts: all.iter().map(part).collect(),
        not_explained: part(last),
        overlap_us: 0.0,
        retries_us: 0.0,
        spun_us: None,
        background_us: 0.0,
        switches: 2.0,
        away_from_memory: None,
        events: Vec::new(),
        missing: Vec::new(),
        thread_pool: false,
    }
}

/// The parts of 1 ms of A and of B: microseconds of each in A and in B, and whether the change is shown.
fn of_parts(parts: &[(Part, f64, f64, bool)], undisturbed: bool) -> Why {
    let whole = |side: usize| parts.iter().map(|(_, a, b, _)| [*a, *b][side]).sum::<f64>();
    let us = whole(1) - whole(0);
    let others = parts.iter().filter(|part| undisturbed && part.0 == Part::OtherPrograms).map(|part| part.2 - part.1);
    let own_us = us - others.sum::<f64>();
    let any_shown = parts.iter().any(|part| part.3);
    let changed = |us: f64, shown: bool| TimeChange {
        us,
        ci: Some(Interval { low: us - 20.0, high: us + 20.0 }),
        shown,
        p_value: if shown { 0.01 } else { 0.5 },
        smallest_us: Some(35.0),
    };
    let change = |(part, a, b, shown): &(Part, f64, f64, bool)| PartChange {
        part: part.clone(),
        a_us: *a,
        b_us: *b,
        us: b - a,
        ci: Some(Interval { low: b - a - 5.0, high: b - a + 5.0 }),
        share: (any_shown && (!undisturbed || *part != Part::OtherPrograms)).then_some((b - a) / own_us),
        p_value: 0.01,
        shown: *shown,
        smallest_us: Some(12.0),
    };
    let (last, all) = parts.split_last().unwrap();
    Why {
        sides: [side(0, parts), side(1, parts)],
        lost: [0; 2],
        paired: true,
        one_run: true,
        joined_by: JoinedBy::Binary,
        made_apart: Vec::new(),
        difference: changed(us, any_shown),
        undisturbed: undisturbed.then(|| changed(own_us, any_shown)),
        parts: all.iter().map(change).collect(),
        not_explained: change(last),
        sleeps: Changes::default(),
        functions: Changes::default(),
        statements: Changes::default(),
        events: Vec::new(),
        lines: [None, None],
        unnamed: None,
        causes: Vec::new(),
        hardware: None,
        missing: BTreeMap::new(),
        again: Some(Again { arguments: vec!["study.toml".to_owned()], estimated_s: Some(60) }),
        captures: experiment("capture.locks=on", true),
    }
}

fn experiment(value: &str, same: bool) -> Experiment {
    Experiment {
        arguments: vec!["study.toml".to_owned(), "--set".to_owned(), value.to_owned()],
        changes: Vec::new(),
        same,
        expected: Expected::Faster,
        estimated_s: Some(60),
    }
}

/// A suspect that explains half of the difference.
fn cause(suspect: Suspect, value: &str, same: bool) -> Cause {
    Cause {
        suspect,
        us: 90.0,
        ci: None,
        share: Some(0.5),
        condition: "side=b".to_owned(),
        counts: None,
        shown: false,
        prove: experiment(value, same),
    }
}

pub(super) fn whys() -> Vec<(&'static str, Why)> {
    let rest = |a, b| (Part::NotExplained, a, b, false);
    let slower = [(Part::RowLock, 200.0, 320.0, true), (Part::ServerWaited, 300.0, 360.0, true), rest(500.0, 520.0)];
    let alike = [(Part::RowLock, 200.0, 204.0, false), rest(800.0, 801.0)];
    let disturbed = [&slower[..2], &[(Part::OtherPrograms, 50.0, 400.0, false), rest(500.0, 520.0)]].concat();
    let function = NamedChange {
        name: "row_search_mvcc".to_owned(),
        a_us: 10.0,
        b_us: 12.9,
        us: 2.9,
        ci: None,
        p_value: 0.01,
        smallest_us: Some(1.0),
        callers: Vec::new(),
    };
    let mut hidden = of_parts(&[(Part::OtherPrograms, 50.0, 400.0, true), rest(500.0, 520.0)], true);
    if let Some(own) = &mut hidden.undisturbed {
        own.shown = false;
    }
    hidden.parts.iter_mut().chain([&mut hidden.not_explained]).for_each(|part| part.share = None);
    let of_function = Changes { shown: vec![function], not_shown: Vec::new(), tested: 200 };
    vec![
        ("two parts", of_parts(&slower, false)),
        ("disturbed", of_parts(&disturbed, true)),
        ("hidden by other programs", hidden),
        ("no difference", of_parts(&alike, false)),
        ("a function alone", Why { functions: of_function, ..of_parts(&alike, false) }),
    ]
}

#[test]
fn an_interval_beyond_the_whole_time_is_not_printed() {
    let [mut side, _] = whys().remove(0).1.sides;
    side.ci = Some(Interval { low: 0.0, high: 1e9 });
    side.parts[0].ci = Some(Interval { low: 100.0, high: 300.0 });
    let text = terminal::times(&Times { conditions: vec![side], ..Times::default() }, "RESULTS", Style::default());
    let words = one_line(&text);
    assert!(
        words.matches(" to ").count() == 1 && words.contains("2.00 voluntary switches per transaction; ?: half"),
        "{text}"
    );
    let whole = text.lines().find(|line| line.starts_with("all ")).unwrap();
    assert_eq!(whole.split_whitespace().nth(2), Some("?"), "{text}");
}

#[test]
fn missing_captures_lost_and_disturbed_trials_and_differences_between_two_runs_are_reported() {
    let mut found = of_parts(&[(Part::NotExplained, 500.0, 502.0, false)], false);
    assert!(why::cautions(&found).is_empty());
    found.missing = [(WAKES, "perf is not installed"), (NO_COUNTERS, "no hardware counters")]
        .map(|(name, reason)| (name.to_owned(), reason.to_owned()))
        .into();
    (found.lost, found.sides[0].disturbed, found.one_run) = ([0, 2], 3, false);
    let apart = "A and B were not measured in one run: differences between sessions affect every part";
    let set = ["r/study.toml", "--set", "factors.binary=/a/mariadbd,/b/mariadbd"].map(str::to_owned);
    found.again = Some(Again { arguments: set.to_vec(), estimated_s: None });
    let one_session = "; measure both in one session, block by block: tare run r/study.toml --set \
                       factors.binary=/a/mariadbd,/b/mariadbd, or in pairs, with tare ab";
    let apart_alone = format!("{apart}{one_session}");
    let sentences = [
        "no result: 2 of 10 trials of B; tare show has the reasons",
        "trials that count although disturbed, as no attempt was clean: 3 of 8 of A",
        "not captured: wakes: perf is not installed",
        &apart_alone,
    ];
    assert_eq!(why::cautions(&found), sentences);
    let differ = |what, a: &str, b: &str| Difference { what, a: a.to_owned(), b: b.to_owned() };
    found.made_apart =
        vec![differ(What::ServerVersion, "", "11.4.5"), differ(What::Machine("CPU".into()), "EPYC", "Xeon")];
    let here = "here server version (none and 11.4.5) and CPU (EPYC and Xeon)";
    assert_eq!(why::cautions(&found).last(), Some(&format!("{apart}, {here}{one_session}")));
    let same = Why { joined_by: JoinedBy::Nothing, ..found.clone() };
    assert!(why::cautions(&same).last().unwrap().ends_with("CPU (EPYC and Xeon)"));
    for (trials, are_few) in [([2, 2], true), ([3, 2], true), ([1, 2], false), ([3, 3], false), ([2, 8], false)] {
        (found.sides[0].trials, found.sides[1].trials) = (trials[0], trials[1]);
        let cautions = why::cautions(&found);
        assert_eq!(cautions.iter().any(|line| line.ends_with("run at least three")), are_few, "{trials:?}");
    }
}

#[test]
fn a_time_too_short_to_print_is_reported_as_less_than_the_smallest() {
    let of = |in_a: f64| {
        let strangers = (Part::OtherPrograms, in_a, 400.0, false);
        why::cautions(&of_parts(
            &[(Part::RowLock, 200.0, 320.0, true), strangers, (Part::NotExplained, 5.0, 5.0, false)],
            true,
        ))
    };
    assert!(
        of(0.000_082)[0].contains("for less than 0.01 µs of A's time and about 400 µs of B's: "),
        "{:?}",
        of(0.000_082)
    );
    // It is not part of a difference from which it is excluded.
    let found = of_parts(&[(Part::OtherPrograms, 1.0, 400.0, false), (Part::NotExplained, 5.0, 5.0, false)], true);
    assert!(why::not_distinguishable(&found, false).unwrap().contains("1 of 1 part;"));
    assert!(of(50.0)[0].contains("for about 50.0 µs of A's time and about 400 µs of B's: "), "{:?}", of(50.0));
}

/// Its table has the whole difference, which is 340 µs larger.
#[test]
fn a_difference_without_other_programs_is_called_so_also_if_it_has_no_interval() {
    let (_, mut found) = whys().remove(1);
    found.undisturbed.as_mut().unwrap().ci = None;
    let said = why::why(&found);
    assert!(said.starts_with("B's transactions take 200 µs longer without other programs; with a single "), "{said}");
}

#[test]
fn the_parts_of_a_server_with_a_pool_of_threads_are_said_to_be_of_all_its_threads() {
    let mut found = of_parts(&[(Part::NotExplained, 500.0, 502.0, false)], false);
    found.sides[1].thread_pool = true;
    let said = why::cautions(&found);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("the server of B has a pool of threads, of which none belongs to one connection: its"));
    found.sides[1].missing = vec![Missing::ServerThreads];
    let said = why::cautions(&found).join("\n");
    assert!(said.contains("one connection: its threads have no parts, and what they sleep in"), "{said}");
}

#[test]
fn a_part_that_changed_the_other_way_is_named_where_others_explain_more_than_the_whole() {
    let rest = (Part::NotExplained, 100.0, 100.0, false);
    let of = |asleep_us: f64| {
        why::why(&of_parts(
            &[(Part::Pause, 0.0, 1400.0, true), (Part::Asleep, asleep_us, 300.0, true), rest.clone()],
            false,
        ))
    };
    assert!(of(1500.0).contains(": 700% pauses of the server, -600% unidentified sleep; "), "{}", of(1500.0));
    assert!(of(400.0).contains(": 108% pauses of the server; "), "{}", of(400.0));
}

/// With the largest difference that may have been missed; with `--all`, each part separately.
#[test]
fn indistinguishable_parts_are_summarised_in_one_line() {
    let parts = [(Part::RowLock, 200.0, 320.0, true), (Part::ServerWaited, 300.0, 301.0, false)];
    let mut found = of_parts(&[&parts[..], &[(Part::NotExplained, 500.0, 502.0, false)]].concat(), false);
    found.parts[1].smallest_us = Some(90.0);
    assert_eq!(
        why::not_distinguishable(&found, false).unwrap(),
        "Not distinguishable: 2 of 3 parts; up to 90.0 µs may have been missed, most in server waiting for CPU (each: \
         --all)."
    );
    let all = why::not_distinguishable(&found, true).unwrap();
    assert!(all.contains("server waiting for CPU (90.0 µs) and not explained (12.0 µs)"), "{all}");
    found.parts[1].shown = true;
    found.not_explained.shown = true;
    assert_eq!(why::not_distinguishable(&found, false), None);
}

/// With one client the number cannot be reduced: the next suspect's experiment is suggested.
#[test]
fn the_suggested_experiment_changes_a_setting_or_the_number_of_trials() {
    let causes = vec![
        cause(Suspect::CpuShortage, "workload.threads=1", true),
        cause(Suspect::Network, "engine.transport=socket", false),
    ];
    let found = |causes| Why { causes, ..of_parts(&[(Part::NotExplained, 900.0, 990.0, true)], false) };
    let NextStep { sentence, command } = suspects::decides(&found(causes.clone()));
    assert_eq!(command.as_deref(), Some("tare run study.toml --set engine.transport=socket"));
    assert!(sentence.starts_with("To decide about the connection between client and server, in about 1 min; if so, "));
    assert_eq!(suspects::what_decides(&found(causes.clone())), format!("{sentence} {}", command.unwrap()));
    // With the call chains of the sleeps recorded, threads that end them are all that is new.
    let captured = |names: &[&str]| {
        let mut unnamed = cause(Suspect::Unnamed, "capture.wakes=on", false);
        let on = |name: &&str| Change { key: format!("capture.{name}"), value: Some("on".to_owned()) };
        (unnamed.prove.changes, unnamed.prove.expected) = (names.iter().map(on).collect(), Expected::Named);
        suspects::decides(&found(vec![unnamed])).sentence
    };
    assert!(captured(&["waits", "wakes"]).ends_with("then tare why names the waits and the functions:"));
    assert!(captured(&["wakes"]).ends_with("then tare why names the threads that end them:"));
    // If no difference is shown, no experiment can explain it.
    let unseen = Why { causes, ..of_parts(&[(Part::NotExplained, 900.0, 904.0, false)], false) };
    let more = |found: &Why| {
        let NextStep { sentence, command } = suspects::decides(found);
        (sentence, command.unwrap_or_default())
    };
    let twice = "To decide about a difference, in about 2 min, run twice as many trials:".to_owned();
    assert_eq!(more(&unseen), (twice.clone(), "tare run study.toml --trials 16".to_owned()));
    assert_eq!(more(&Why { causes: Vec::new(), ..unseen.clone() }).0, twice, "no suspect has this sign");
    let mut single = unseen;
    single.sides.iter_mut().for_each(|side| side.trials = 1);
    let (sentence, command) = more(&single);
    assert!(sentence.ends_with("in about 3 min, run three times as many trials:"), "{sentence}");
    assert_eq!(command, "tare run study.toml --trials 3");
}

/// Not a placeholder for a key or its values: a command that can be run, or the reason why there is none.
#[test]
fn an_answer_without_an_experiment_ends_with_what_would_show_more_or_with_the_reason() {
    let found = |causes, shown| Why { causes, ..of_parts(&[(Part::NotExplained, 900.0, 990.0, shown)], false) };
    let tried = || vec![cause(Suspect::CpuShortage, "workload.threads=1", true)];
    let command = |found: &Why| suspects::decides(found).command;
    // The user knows the other machine.
    let mut elsewhere = found(vec![cause(Suspect::ClientBound, "client.host=HOST", false)], true);
    elsewhere.causes[0].prove.changes.push(Change { key: "client.host".to_owned(), value: None });
    let NextStep { sentence, command: elsewhere_by } = suspects::decides(&elsewhere);
    assert_eq!(elsewhere_by.as_deref(), Some("tare run study.toml --set client.host=HOST"));
    assert!(sentence.contains(", with the name of another machine, which ssh reaches, for HOST; if so"), "{sentence}");
    // Nobody can run the experiment of a study that is not there.
    elsewhere.causes[0].prove.arguments.clear();
    assert_eq!(command(&elsewhere).as_deref(), Some("tare run study.toml --trials 16"));
    // Captures that are off name more; then more trials show a suspect.
    let mut recorded = found(tried(), true);
    assert_eq!(command(&recorded).as_deref(), Some("tare run study.toml --trials 16"));
    recorded.captures = experiment("capture.locks=on", false);
    let NextStep { sentence, command: record } = suspects::decides(&recorded);
    assert_eq!(record.as_deref(), Some("tare run study.toml --set capture.locks=on"));
    assert_eq!(sentence, "To name more of the difference, record what was not, in about 1 min:");
    // A suspect is shown, and all that names more was done.
    let mut shown = found(tried(), true);
    shown.causes[0].shown = true;
    shown.causes[0].prove.changes.push(Change { key: "workload.threads".to_owned(), value: Some("1".to_owned()) });
    assert_eq!(command(&shown), None);
    let reason = suspects::what_decides(&shown);
    assert!(reason.contains("to compare A with B was the experiment itself"), "{reason}");
    let page = one_line(&terminal::why(&shown, Style::default()));
    assert!(page.trim_end().ends_with(&reason), "{page}");
    let mut asked_for = found(vec![cause(Suspect::StatementSleep, "", true)], true);
    asked_for.causes[0].shown = true;
    assert!(suspects::decides(&asked_for).sentence.contains("the statements themselves decide"));
    // Two runs that no single key joins.
    let apart = Why { one_run: false, joined_by: JoinedBy::Difference, again: None, ..found(tried(), false) };
    let NextStep { sentence, command } = suspects::decides(&apart);
    assert!(command.is_none() && sentence.contains("A study with both as conditions and twice as many trials"));
    let caution = why::cautions(&apart).pop().unwrap();
    assert!(caution.contains("; measure both in one session, block by block, or in pairs, with tare ab"), "{caution}");
}
