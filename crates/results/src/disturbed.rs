//! Programs that disturbed trials, and how much: by name, because their process ids differ in every trial.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A program that took CPU time from the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disturber {
    pub program: String,
    /// CPU time of all of its processes in a sample / the sample's length; the maximum over several samples.
    pub cpus: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Disturbing<'r> {
    pub program: &'r str,
    pub attempts: usize,
    /// Maximum over samples of its CPU time / the sample's length.
    pub cpus: f64,
}

/// Adds the programs of one more disturbed sample, each with its CPU time / the sample's length.
pub fn note(known: &mut Vec<Disturber>, programs: impl Iterator<Item = (String, f64)>) {
    let mut sample: BTreeMap<String, f64> = BTreeMap::new();
    programs.for_each(|(program, cpus)| *sample.entry(program).or_default() += cpus);
    for (program, cpus) in sample {
        match known.iter_mut().find(|found| found.program == program) {
            Some(found) => found.cpus = found.cpus.max(cpus),
            None => known.push(Disturber { program, cpus }),
        }
    }
    known.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
}

/// The programs that disturbed these attempts, given the list of each attempt; the most frequent first.
pub fn by_program<'r>(attempts: impl Iterator<Item = &'r Vec<Disturber>>) -> Vec<Disturbing<'r>> {
    let mut found: BTreeMap<&str, Disturbing<'r>> = BTreeMap::new();
    for by in attempts.flatten() {
        let one = found.entry(&by.program).or_insert(Disturbing { program: &by.program, attempts: 0, cpus: 0.0 });
        (one.attempts, one.cpus) = (one.attempts + 1, one.cpus.max(by.cpus));
    }
    let mut found: Vec<Disturbing<'r>> = found.into_values().collect();
    found.sort_by(|a, b| (b.attempts, b.cpus).partial_cmp(&(a.attempts, a.cpus)).unwrap_or(std::cmp::Ordering::Equal));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_program_are_one_line_whatever_their_numbers() {
        let sample =
            |programs: &[(&str, f64)]| programs.iter().map(|(name, cpus)| ((*name).to_owned(), *cpus)).collect();
        let record = |samples: Vec<Vec<(String, f64)>>| {
            let mut known = Vec::new();
            samples.into_iter().for_each(|sample| note(&mut known, sample.into_iter()));
            known
        };
        let first = record(vec![sample(&[("rustc", 0.25), ("cc1", 0.125), ("rustc", 0.25)]), sample(&[("cc1", 0.75)])]);
        let names: Vec<(&str, f64)> = first.iter().map(|by| (by.program.as_str(), by.cpus)).collect();
        assert_eq!(names, [("cc1", 0.75), ("rustc", 0.5)]);
        let records = [first, record(vec![sample(&[("rustc", 0.0625)])]), record(Vec::new())];
        let found = by_program(records.iter());
        assert_eq!((found[0].program, found[0].attempts, found[0].cpus), ("rustc", 2, 0.5));
        assert_eq!((found[1].program, found[1].attempts, found[1].cpus), ("cc1", 1, 0.75));
    }
}
