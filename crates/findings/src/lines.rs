//! Contended cache lines by condition, over all its trials.

use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::cache_lines::{LineAccess, LineCounts, SharedLine, SharedLines, Sharing};
use tare_results::schema::TrialRecord;

/// Maximum number of listed lines, and of functions that write or read each.
const LISTED: usize = 8;
const USES: usize = 3;

/// Accesses that were sampled in the capture samples of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinesSummary {
    pub trials: usize,
    #[serde(flatten)]
    pub counts: LineCounts,
    /// Whether only the beginning of a trial's sample was read.
    pub cut: bool,
    /// The lines most often found in another core's cache.
    pub lines: Vec<LineSummary>,
}

/// A cache line. Its address differs between trials, but its name and the functions that use it most are the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineSummary {
    pub name: String,
    pub sharing: Sharing,
    /// Trials in which it is among the lines most often found in another core's cache.
    pub trials: usize,
    #[serde(flatten)]
    pub counts: LineCounts,
    /// In descending order of frequency.
    pub written_by: Vec<LineUse>,
    pub read_by: Vec<LineUse>,
}

/// A function that writes a line, or finds it in another core's cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineUse {
    pub function: String,
    pub node: u32,
    pub offset: u64,
    /// Sampled writes, or loads that found the line in another core's cache.
    pub samples: u64,
}

/// Identifies a line across trials: its name, its main writer and its main reader.
type Key<'l> = (&'l str, Option<&'l str>, Option<&'l str>);

/// Over the trials with sampled accesses; none if no trial has any.
pub(crate) fn summary<'r>(trials: impl Iterator<Item = &'r TrialRecord>) -> Option<LinesSummary> {
    let of = |trial: &'r TrialRecord| trial.capture_sample.as_ref()?.lines.as_ref();
    let sampled: Vec<&SharedLines> = trials.filter_map(of).collect();
    let mut counts = LineCounts::default();
    let mut groups: BTreeMap<Key<'_>, Vec<&SharedLine>> = BTreeMap::new();
    for trial in &sampled {
        counts += trial.counts;
        for line in &trial.lines {
            let key = (line.name.as_str(), most(line, written), most(line, read));
            groups.entry(key).or_default().push(line);
        }
    }
    let mut lines: Vec<LineSummary> = groups.into_iter().map(|((name, ..), group)| of_group(name, &group)).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.counts.found()));
    lines.truncate(LISTED);
    (!sampled.is_empty()).then(|| LinesSummary {
        trials: sampled.len(),
        counts,
        cut: sampled.iter().any(|trial| trial.cut),
        lines,
    })
}

fn written(counts: &LineCounts) -> u64 {
    counts.stores
}

fn read(counts: &LineCounts) -> u64 {
    counts.found()
}

fn most(line: &SharedLine, of: fn(&LineCounts) -> u64) -> Option<&str> {
    let first = line.accesses.iter().max_by_key(|access| of(&access.counts))?;
    (of(&first.counts) > 0).then_some(first.function.as_str())
}

fn of_group(name: &str, group: &[&SharedLine]) -> LineSummary {
    let mut counts = LineCounts::default();
    group.iter().for_each(|line| counts += line.counts);
    // The kind of sharing of most loads that found the line in another cache.
    let mut sharing: BTreeMap<u8, (Sharing, u64)> = BTreeMap::new();
    for line in group {
        let (_, found) = sharing.entry(line.sharing as u8).or_insert((line.sharing, 0));
        *found = found.saturating_add(line.counts.found());
    }
    let sharing =
        sharing.into_values().max_by_key(|(_, found)| *found).map_or(Sharing::Unknown, |(sharing, _)| sharing);
    let accesses = || group.iter().flat_map(|line| &line.accesses);
    LineSummary {
        name: name.to_owned(),
        sharing,
        trials: group.len(),
        counts,
        written_by: uses(accesses(), written),
        read_by: uses(accesses(), read),
    }
}

fn uses<'l>(accesses: impl Iterator<Item = &'l LineAccess>, of: fn(&LineCounts) -> u64) -> Vec<LineUse> {
    let mut sums: BTreeMap<(&str, u32, u64), u64> = BTreeMap::new();
    for access in accesses {
        let sum = sums.entry((&access.function, access.node, access.offset)).or_default();
        *sum = sum.saturating_add(of(&access.counts));
    }
    let mut uses: Vec<LineUse> = sums
        .into_iter()
        .filter(|(_, samples)| *samples > 0)
        .map(|((function, node, offset), samples)| LineUse { function: function.to_owned(), node, offset, samples })
        .collect();
    uses.sort_by_key(|one| std::cmp::Reverse(one.samples));
    uses.truncate(USES);
    uses
}
