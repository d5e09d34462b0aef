//! Limits on the size of a study, checked before anything is created for it.

use crate::language::settings::Settings;
use crate::language::spec::{DesignKind, Factor, Study};
use tare_results::{LONGEST_LINE, MOST_CONDITIONS, MOST_TRIALS};
use tare_text::count;

/// Size of a sample in a record without its threads, bytes: metrics, covariates, throughput for each second of the
/// first minute.
const SAMPLE_BYTES: u64 = 1500;
/// Size of the throughput of each further second, bytes.
const SECOND_BYTES: u64 = 20;
/// Size of a thread in a sample's record, bytes.
const THREAD_BYTES: u64 = 500;

/// Refuses more conditions or trials than can be planned, without creating them.
pub(super) fn check(study: &Study, trials_each: usize) -> Result<(), String> {
    let conditions = conditions(study);
    if conditions > MOST_CONDITIONS {
        return Err(format!(
            "the factors of this study make {}: at most {MOST_CONDITIONS} can be planned; leave out levels, or use \
             design.kind = \"one-at-a-time\"",
            many(conditions)
        ));
    }
    let trials = conditions.saturating_mul(trials_each);
    match trials > MOST_TRIALS {
        true => Err(format!(
            "{} of {} are {trials} trials: at most {MOST_TRIALS} can be planned; lower sampling.trials",
            count(conditions, "condition"),
            count(trials_each, "trial")
        )),
        false => Ok(()),
    }
}

/// Whether planning should continue: a plan of 5,000 conditions takes seconds, and the plan of an interrupted program
/// is discarded, so it may stay incomplete.
pub(super) fn is_wanted() -> bool {
    !tare_engine::interrupted()
}

pub(super) fn check_wanted() -> Result<(), String> {
    if is_wanted() { Ok(()) } else { Err("interrupted".to_owned()) }
}

/// Refuses a trial whose record would be too large to read back.
pub(super) fn check_record(settings: &Settings, samples: usize, sample_s: f64) -> Result<(), String> {
    let bytes = record_bytes(settings, samples, sample_s);
    match bytes > LONGEST_LINE {
        true => Err(format!(
            "a trial of {} of {sample_s} s with {} has a record of about {} MiB, but at most {} MiB can be read; use \
             fewer samples per trial, and more trials",
            count(samples, "sample"),
            count(settings.workload.threads, "client thread"),
            bytes >> 20,
            LONGEST_LINE >> 20
        )),
        false => Ok(()),
    }
}

pub fn record_bytes(settings: &Settings, samples: usize, sample_s: f64) -> u64 {
    let sides = 1 + u64::from(settings.workload.load.load().needs_server());
    let threads = (settings.workload.threads as u64).saturating_mul(sides);
    let further = SECOND_BYTES.saturating_mul((sample_s - 60.0).max(0.0) as u64);
    (samples as u64).saturating_mul((SAMPLE_BYTES + further).saturating_add(threads.saturating_mul(THREAD_BYTES)))
}

fn many(conditions: usize) -> String {
    if conditions == usize::MAX {
        "more conditions than can be counted".to_owned()
    } else {
        format!("{conditions} conditions")
    }
}

fn conditions(study: &Study) -> usize {
    let full = |factors: &[Factor]| factors.iter().fold(1usize, |all, f| all.saturating_mul(f.levels.len()));
    if !study.conditions.is_empty() {
        return study.entries().iter().fold(0usize, |all, factors| all.saturating_add(full(factors)));
    }
    match study.design.kind {
        DesignKind::FullFactorial => full(&study.factors),
        DesignKind::OneAtATime => 1 + study.factors.iter().map(|f| f.levels.len().saturating_sub(1)).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::design;

    fn study(text: &str) -> Study {
        let text = format!("name = \"large\"\n{text}");
        parse(Source { origin: "test", text: &text }, &Overrides::default()).unwrap()
    }

    fn levels(count: usize) -> String {
        (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn conditions_are_counted_as_they_are_made() {
        let factors = "[factors]\nthreads = [1, 2, 3]\naslr = [\"on\", \"off\"]\n";
        for text in [
            String::new(),
            factors.to_owned(),
            format!("[design]\nkind = \"one-at-a-time\"\n{factors}"),
            "[[conditions]]\nthreads = [1, 2]\naslr = [\"on\", \"off\"]\n[[conditions]]\nthreads = 7\n".to_owned(),
            "[factors]\nthreads = [2, 7]\naslr = [\"on\", \"off\"]\n[[conditions]]\nthreads = [1, 2]\n[[conditions]]\n\
             threads = 7\n[[conditions]]\nthreads = 5\n"
                .to_owned(),
        ] {
            let study = study(&text);
            assert_eq!(conditions(&study), design::conditions(&study).unwrap().len(), "{text}");
        }
    }

    #[test]
    fn a_hundred_thousand_million_conditions_are_refused_and_not_made() {
        let many = (0..11).map(|n| format!("option.o{n} = [{}]\n", levels(10))).collect::<String>();
        let refused = check(&study(&format!("[factors]\n{many}")), 1).unwrap_err();
        assert!(refused.contains("100000000000 conditions") && refused.contains("at most 5000"), "{refused}");
        let more = (0..40).map(|n| format!("option.o{n} = [{}]\n", levels(10))).collect::<String>();
        assert!(check(&study(&format!("[factors]\n{more}")), 1).unwrap_err().contains("more conditions than can be"));
        let fits = study(&format!("[factors]\noption.o = [{}]\n", levels(5000)));
        assert!(check(&fits, 50).is_ok());
        assert!(check(&fits, 51).unwrap_err().contains("255000 trials"));
    }

    #[test]
    fn a_record_that_could_not_be_read_back_is_refused() {
        let base = study("[workload]\nthreads = 4\n").base;
        assert!(check_record(&base, 1000, 60.0).is_ok());
        assert!(check_record(&base, 100_000, 60.0).unwrap_err().contains("100000 samples"));
        assert!(check_record(&base, 30, 86_400.0).is_ok());
        assert!(check_record(&base, 40, 86_400.0).unwrap_err().contains("40 samples of 86400 s"));
    }
}
