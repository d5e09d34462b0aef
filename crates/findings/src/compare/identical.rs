//! Whether two sides are the same thing measured twice: program, settings and data.

use crate::collect::ConditionTrials;
use crate::differences::Difference;
use std::collections::BTreeSet;

/// What may differ between two measurements of the same thing: names, how often, and how busy the machine was.
fn says_nothing(what: &str) -> bool {
    const KEYS: [&str; 5] = ["study: name", "study: title", "study: description", "study: question", "/proc/loadavg"];
    // The path of a build is no property of it: its content is looked at.
    const BUILDS: [&str; 3] = ["factor binary", "study: engine.binary", "study: factors.binary"];
    KEYS.contains(&what) || BUILDS.contains(&what) || what.starts_with("study: sampling.")
}

/// The programs that the servers of some trials ran; none where a trial does not say.
fn programs<'a>(side: &ConditionTrials<'a>) -> Option<BTreeSet<&'a str>> {
    side.ok.iter().map(|trial| trial.server_program.as_deref()).collect()
}

/// One sentence, where every pair of conditions is the same on both sides.
pub(super) fn sentence(
    pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)],
    differences: &[Difference],
) -> Option<String> {
    if differences.iter().any(|difference| !says_nothing(&difference.what)) {
        return None;
    }
    let mut all = BTreeSet::new();
    for (a, b) in pairs {
        let (of_a, of_b) = (programs(a)?, programs(b)?);
        if of_a != of_b || of_a.is_empty() {
            return None;
        }
        all.extend(of_a);
    }
    let digits: Vec<&str> = all.iter().map(|sha1| sha1.get(..12).unwrap_or(sha1)).collect();
    Some(format!(
        "A and B are the same thing: the same server program (SHA-1 {}), settings and data. What differs below is the \
         machine's, or chance.",
        digits.join(", ")
    ))
}
