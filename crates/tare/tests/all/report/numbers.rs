//! The analysis of results with known content.

use crate::draws::Draws;
use crate::report::fake;
use crate::report::words::{SummaryInWords, summarize, summary_of_csv};
use std::fs;
use tare_results::open;

fn summary_of(study: &fake::Study) -> SummaryInWords {
    summarize(&fake::results(study))
}

#[test]
fn the_answer_claims_nothing_that_the_trials_do_not_show() {
    let clear = summary_of(&fake::bimodal()).answer;
    assert_eq!(clear.text, "placement moved throughput 5.0x: 65.4 k/s at same-pu, 13.0 k/s at other-node.");
    assert!(clear.details[0].starts_with("95% interval 4.9x to 5.1x for all pairs together; "), "{clear:?}");
    let one = summary_of_csv("a,0,0,tps,10\na,1,0,tps,11\n").answer;
    assert!(one.text.starts_with("Only a was measured: ") && one.text.ends_with(" (mean of 2 trials)."), "{one:?}");
    assert!(one.details[0].contains("nothing to compare") && one.details[1].starts_with("95% interval of"), "{one:?}");
    let wide = summary_of_csv("a,0,0,tps,10\na,1,0,tps,20\n").answer;
    assert_eq!(wide.details, ["There is nothing to compare it with."], "an interval wider than the mean is none");
    let luck = summary_of_csv("a,0,0,tps,10\nb,0,0,tps,20\n").reading;
    assert!(luck.contains("cannot distinguish a difference of throughput from luck"), "{luck}");
    let same =
        summary_of_csv("a,0,0,tps,10\na,1,0,tps,12\na,2,0,tps,11\nb,0,0,tps,10.5\nb,1,0,tps,12.5\nb,2,0,tps,11\n");
    let reading = "No difference of throughput is shown between the 2 conditions (11.0 to 11.3 /s: +3.0%, 95% interval \
                   -16% to +27%).";
    assert_eq!(same.reading, reading);
    assert!(same.answer.details[0].contains("3 trials per condition are few"), "{:?}", same.answer);
    let numbers = summary_of_csv(
        "p=1,0,0,tps,10\np=1,1,0,tps,10\np=1,2,0,tps,10.1\np=2,0,0,tps,20\np=2,1,0,tps,20.1\np=2,2,0,tps,20\n",
    )
    .reading;
    assert_eq!(numbers, "p moved throughput 2.0x: 20.0 /s at p=2, 10.0 /s at p=1.");
    let long: String = (0..3)
        .flat_map(|trial| {
            [("a", 10 + trial), ("b", 30 + trial)]
                .map(|(name, value)| format!("/usr/bin/{name} {},{trial},0,wall_s,{value}\n", "--option ".repeat(30)))
        })
        .collect();
    assert_eq!(summary_of_csv(&long).reading, "The conditions differ 2.8x in wall_s.", "names do not fit");
}

/// One side is 4.8 times the other in each of nine blocks, while the machine slows down; of the fast blocks it loses
/// some, so the means are closer.
#[test]
fn figures_of_the_first_sentence_divide_to_its_ratio_or_are_left_out() {
    let answer = |lost: usize| {
        let mut rows = "condition,trial,sample,metric,value,block\n".to_owned();
        for block in 0..9 {
            let of_block = 1000.0 * (1.0 - 0.06 * block as f64);
            for (name, ratio) in [("float", 1.0), ("same-pu", 4.8)] {
                let tps = of_block * ratio * (1.0 + 0.001 * ((5 * block + name.len()) % 7) as f64);
                if name == "float" || block >= lost {
                    rows += &format!("placement={name},{block},0,tps,{tps},{block}\n");
                }
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("made-up.csv");
        fs::write(&path, rows).unwrap();
        summarize(&open(&path).unwrap()).answer
    };
    let (all, some) = (answer(0), answer(3));
    assert_eq!(all.text, "placement moved throughput 4.8x: 3.66 k/s at same-pu, 0.76 k/s at float.");
    assert!(!all.details.iter().any(|line| line.contains("means")), "{all:?}");
    assert_eq!(some.text, "placement moved throughput 4.8x: same-pu is the best, float the worst.");
    let why = "The means in the table differ 4.2x; the ratio is that of geometric means within blocks, which drift and \
               missing trials do not move.";
    assert!(some.details.iter().any(|line| line == why), "{some:?}");
}

#[test]
fn a_known_scalability_law_is_recovered_from_its_points() {
    let mut noise = Draws::new(3);
    let mut rows = String::new();
    for n in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
        let x = 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
        for trial in 0..5 {
            rows.push_str(&format!("threads={n} build=a,{trial},0,tps,{}\n", x * (1.0 + 0.01 * noise.normal())));
        }
    }
    let summary = summary_of_csv(&rows);
    let law = &summary.scaling[0];
    assert_eq!((law.metric.as_str(), law.over.as_str()), ("tps", "threads"));
    assert!((law.sigma - 0.05).abs() < 0.01 && (law.kappa - 0.002).abs() < 0.0004, "{law:?}");
    assert!((law.peak.unwrap() - (0.95f64 / 0.002).sqrt()).abs() < 3.0, "{law:?}");
    assert!(law.retrograde && law.steps.len() == 6, "{law:?}");
}

#[test]
fn results_without_a_usable_trial_are_reported_as_such() {
    let mut study = fake::bimodal();
    study.missing = 30;
    let summary = summary_of(&study);
    assert_eq!(summary.headline_metric, None);
    assert!(summary.reading.contains("No trial has been recorded"), "{}", summary.reading);
    let completed = "30 of 30 planned trials have no usable result: `tare run --resume";
    assert!(summary.warnings.iter().any(|line| line.contains(completed)), "{:?}", summary.warnings);
}

/// `--resume` makes no more attempts than the study allows.
#[test]
fn trials_without_attempts_left_are_not_advised_to_be_resumed() {
    let mut study = fake::bimodal();
    study.missing = 1;
    let mut results = fake::results(&study);
    let of =
        |results: &tare_results::Results| summarize(results).warnings.into_iter().find(|line| line.contains("planned"));
    assert!(of(&results).unwrap().contains("1 of 30 planned trials has no usable result: `tare run --resume"));
    results.study_toml = Some("[sampling]\nattempts = 2\n".to_owned().into());
    let last = results.plan.as_ref().unwrap().trials.last().unwrap().clone();
    let mut failed = results.trials[0].clone();
    (failed.trial, failed.attempt, failed.outcome) = (last.trial, 1, tare_results::schema::Outcome::Failed);
    failed.condition.clone_from(&last.condition);
    results.trials.push(failed.clone());
    assert!(of(&results).unwrap().contains("`tare run --resume"), "one attempt is left");
    failed.attempt = 2;
    results.trials.push(failed);
    let printed = of(&results).unwrap();
    assert!(printed.contains("no attempt is left; for more, raise `attempts` in "), "{printed}");
    // Both attempts are one trial.
    let summary = summarize(&results);
    let condition = summary.conditions.iter().find(|one| one.name == last.condition).unwrap();
    assert_eq!((condition.trials, condition.failed_trials, condition.failed_attempts), (9, 1, 3));
}

#[test]
fn comparisons_and_races_are_resumed_by_their_own_command() {
    use tare_results::pairs::Rule;
    use tare_results::schema::{Plan, Race, Settle};
    use tare_stats::racing::Question;
    let mut study = fake::bimodal();
    study.missing = 1;
    let mut results = fake::results(&study);
    let of = |results: &tare_results::Results, command: &str| {
        let warnings = summarize(results).warnings;
        assert!(warnings.iter().any(|line| line.contains(&format!("`tare {command} --resume"))), "{warnings:?}");
    };
    of(&results, "run");
    let names = ["placement=float", "placement=same-pu"].map(str::to_owned);
    let question = Question { minimum_effect: 0.02, alpha: 0.05 };
    let plan = |results: &mut tare_results::Results, change: &dyn Fn(&mut Plan)| {
        results.plan.as_mut().map(change).unwrap();
    };
    plan(&mut results, &|plan| plan.settle = Some(Settle::between(names.clone(), Rule::Anytime, 1)));
    of(&results, "ab");
    plan(&mut results, &|plan| plan.settle.iter_mut().for_each(|rule| rule.certify = true));
    let certify = |line: &String| line.ends_with("no usable result: measure more with: tare ab --certify");
    assert!(summarize(&results).warnings.iter().any(certify), "{:?}", summarize(&results).warnings);
    plan(&mut results, &|plan| plan.settle.iter_mut().for_each(|rule| rule.certify = false));
    let bisection = tempfile::tempdir().unwrap();
    fs::write(bisection.path().join("bisect.json"), "{}").unwrap();
    let path = std::mem::replace(&mut results.path, bisection.path().join("pairs/a-b"));
    of(&results, "bisect");
    results.path = path;
    plan(&mut results, &|plan| (plan.settle, plan.race) = (None, Some(Race::of(names.to_vec(), question, 1))));
    of(&results, "find");
}

#[test]
fn the_first_line_answers_the_question_of_the_study() {
    let ask = |question: &str, command: &str| {
        let dir = fake::dir(&fake::eight());
        let study = format!("name = \"single-thread-stability\"\nquestion = \"{question}\"\n");
        fs::write(dir.path().join("study.toml"), study).unwrap();
        let path = dir.path().join("environment.json");
        let environment = fs::read_to_string(&path).unwrap().replace("--engine mariadb", command);
        fs::write(&path, environment).unwrap();
        summarize(&open(dir.path()).unwrap()).answer
    };
    let spread = ask("spread", "--engine mariadb");
    assert!(
        spread.tested
            && spread.text.ends_with("by chance at ahi=on aslr=on preload=on; aslr accounts for 98% of the variance."),
        "{spread:?}"
    );
    let effect = ask("effect", "--engine mariadb");
    assert!(effect.tested && effect.text.starts_with("ahi moved throughput 1.10x"), "{effect:?}");
    let best = ask("best aslr", "--engine mariadb");
    assert!(
        best.text.starts_with("No aslr of 2 is shown to be better than another (throughput: +0.27%, 95% interval "),
        "{best:?}"
    );
    let scaling = ask("scaling", "--engine mariadb");
    assert!(!scaling.tested && scaling.text.contains("cannot be assessed"), "{scaling:?}");
    let rehearsal = ask("effect", "--quick");
    assert!(rehearsal.text.starts_with("Rehearsal: ") && rehearsal.details[0].contains("--quick"), "{rehearsal:?}");
}
