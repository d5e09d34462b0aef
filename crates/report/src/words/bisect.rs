//! Sentences of a bisection: the answer, a line after each step, and its table.

use super::ab::{TURNS, of_them_disturbed, one_sided, pairs, slower_by};
use super::ab_rows::why_stopped;
use tare_findings::ab::{Ab, AbVerdict};
use tare_findings::bisect::{Bisection, Cell, Outcome};
use tare_results::pairs::Stop;
use tare_text::{count, duration, percent, small_percent};

const NAMED: usize = 5;
/// Number of printed digits of a commit hash.
const HASH: usize = 12;

/// The name of a build: the first digits of its hash, or the last part of its path.
pub fn name(found: &Bisection, place: usize) -> String {
    let Some(commit) = found.line.get(place) else { return String::new() };
    match commit.subject {
        Some(_) => commit.id.chars().take(HASH).collect(),
        None => commit.id.clone(),
    }
}

/// A probability in words; never exactly 0 or 1.
fn probability(of: f64) -> String {
    match of {
        all if all > 0.999 => "over 99.9% probability".to_owned(),
        none if none < 0.001 => "under 0.1% probability".to_owned(),
        some => format!("{} probability", percent(some)),
    }
}

/// The answer, or the progress so far, in one sentence with figures.
pub fn sentence(found: &Bisection) -> String {
    let last = found.line.len().saturating_sub(1);
    let (good, bad) = (name(found, 0), name(found, last));
    let ends = found.ends.as_ref();
    let spent = format!("{} in {}", pairs(found.pairs, found.disturbed), duration(found.elapsed_s));
    let size =
        || ends.and_then(|ends| ends.slowdown).map_or_else(String::new, |found| format!(": {}", slower_by(found)));
    match (found.outcome(), &found.cell) {
        (Outcome::Found, Some(cell)) => first_slower(found, cell),
        (Outcome::NoDifference, _) => {
            let by = |ends: &Ab| format!(" by {}", small_percent(ends.rule.minimum_effect));
            let effect = ends.map_or_else(String::new, by);
            format!("No difference to bisect: {bad} is not slower than {good}{effect} or more{}.", size())
        }
        (Outcome::Faster, _) => format!("Nothing slower to bisect: {bad} is faster than {good}{}.", size()),
        _ if found.chances.is_empty() => {
            let one_sided = ends.and_then(|ends| one_sided(ends, [&good, &bad]));
            let why = one_sided.map_or_else(size, |why| format!(": {why}"));
            format!("Undecided whether {bad} is slower than {good}, after {spent}{why}.")
        }
        (_, cell) => {
            let step = if cell.is_some() { "; the step is not confirmed" } else { "" };
            format!("Undecided after {spent}: {}{step}.", most_likely(found))
        }
    }
}

/// Why a step does not count although its commit has the requested probability.
fn unconfirmed(step: &Ab) -> String {
    let several = "several commits may have made it slower together";
    match step.verdict {
        AbVerdict::Slower => String::new(),
        AbVerdict::Equivalent => {
            format!("the two differ by less than {}: {several}", small_percent(step.rule.minimum_effect))
        }
        AbVerdict::Faster => format!("the later one is faster: {several}"),
        AbVerdict::Undecided => {
            why_stopped(step).unwrap_or_else(|| "the pairs of only these two do not decide it yet".to_owned())
        }
    }
}

fn first_slower(found: &Bisection, cell: &Cell) -> String {
    let (from, to) = (*cell.commits.start(), *cell.commits.end());
    let which = match to - from {
        0 => format!("{} is the first slower one", name(found, to)),
        more => format!(
            "the first slower one is among {} after {} up to {}",
            count(more + 1, "commit"),
            name(found, from - 1),
            name(found, to)
        ),
    };
    // In 25 words there is room for the size of a single commit's step; the rows have it in any case, and the number of
    // disturbed pairs.
    let step = found.step.as_ref().and_then(|step| step.slowdown).filter(|_| from == to);
    let size = step.map_or_else(String::new, |step| format!(", {} than the one before", slower_by(step)));
    let (pairs, elapsed) = (count(found.pairs, "pair"), duration(found.elapsed_s));
    format!("With {} {which}{size}; {pairs} in {elapsed}.", probability(cell.chance))
}

fn most_likely(found: &Bisection) -> String {
    let likely = found.likely();
    let of = |(at, of): &(usize, f64)| format!("{} ({})", name(found, *at), probability(*of));
    let best = likely.first().map_or(String::new(), of);
    let together = match likely.len() {
        0 | 1 => String::new(),
        several => format!("; {several} commits together have {}", percent(found.confidence)),
    };
    format!("most likely {best}{together}")
}

/// The progress after a pair of two builds.
pub fn line(found: &Bisection, a: usize, b: usize) -> String {
    let (a, b, pairs) = (name(found, a), name(found, b), pairs(found.pairs, found.disturbed));
    format!("{b} against {a}: {pairs} so far; {}", most_likely(found))
}

pub fn rows(found: &Bisection) -> Vec<(&'static str, String)> {
    let last = found.line.len().saturating_sub(1);
    let mut rows = vec![("good", commit_line(found, 0)), ("bad", commit_line(found, last))];
    rows.extend(found.ends.as_ref().and_then(|ends| ends.slowdown).map(|ends| ("bad/good", slower_by(ends))));
    let places: Vec<usize> = match &found.cell {
        Some(cell) => cell.commits.clone().collect(),
        None => found.likely().into_iter().map(|(place, _)| place).collect(),
    };
    let chances = !found.chances.is_empty();
    for place in places.iter().take(NAMED).filter(|_| chances) {
        let of = found.chances.get(place - 1).copied().unwrap_or_default();
        let cannot = if found.usable.get(*place) == Some(&false) { ", cannot be measured" } else { "" };
        let label = if found.confirmed().is_some() { "first slower" } else { "likely" };
        rows.push((label, format!("{} ({}{cannot})", commit_line(found, *place), probability(of))));
    }
    if chances && places.len() > NAMED {
        rows.push(("", format!("and {} more", places.len() - NAMED)));
    }
    if let Some(step) = &found.step {
        let size = step.slowdown.map_or_else(|| "no interval yet".to_owned(), slower_by);
        rows.push(("step", format!("{size}, from {} of only these two", count(step.pairs, "pair"))));
        if found.confirmed().is_none() {
            rows.push(("unconfirmed", unconfirmed(step)));
        }
    }
    if found.is_part() {
        rows.push((
            "",
            "less than the whole: another commit made it slower too; bisect the remaining range".to_owned(),
        ));
    }
    let skipped = found.usable.iter().filter(|usable| !**usable).count();
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    rows.push(("commits", format!("{last}, {} made{skipped}", count(found.builds, "build"))));
    let disturbed = of_them_disturbed(found.disturbed);
    rows.push(("pairs", format!("{} in {}{disturbed}", found.pairs, duration(found.elapsed_s))));
    if found.ends.as_ref().is_some_and(|ends| ends.by_turns) {
        rows.push(("turns", TURNS.to_owned()));
    }
    let one_sided = found.ends.as_ref().filter(|ends| !chances && ends.stop.is_some_and(Stop::withholds));
    rows.extend(one_sided.and_then(why_stopped).map(|why| ("stopped", why)));
    rows
}

fn commit_line(found: &Bisection, place: usize) -> String {
    let Some(commit) = found.line.get(place) else { return String::new() };
    let date = commit.author_date.as_ref().map_or_else(String::new, |date| format!(" {date}"));
    let subject = commit.subject.as_ref().map_or_else(String::new, |subject| format!(" {subject}"));
    format!("{}{date}{subject}", name(found, place))
}

#[cfg(test)]
mod tests {
    use super::super::ab::tests::ab;
    use super::*;
    use tare_findings::ab::AbVerdict;
    use tare_findings::bisect::Commit;

    fn bisection(chances: &[f64], cell: Option<Cell>) -> Bisection {
        let commit = |n: usize| Commit {
            id: format!("{n}").repeat(40),
            subject: Some(format!("change {n}")),
            author_date: Some("2026-03-01T10:00:00+01:00".into()),
            merged: Vec::new(),
        };
        Bisection {
            line: (0..=chances.len()).map(commit).collect(),
            usable: vec![true; chances.len() + 1],
            chances: chances.to_vec(),
            confidence: 0.95,
            ends: None,
            cell,
            step: None,
            pairs: 62,
            disturbed: 0,
            builds: 10,
            elapsed_s: 3720.0,
        }
    }

    #[test]
    fn advice_follows_if_only_one_end_was_disturbed() {
        let mut ends = ab(AbVerdict::Undecided, (2.5, 1.7, 3.7));
        ends.stop = Some(Stop::OneSided);
        let stopped = |found: &Bisection| rows(found).into_iter().find(|(name, _)| *name == "stopped");
        let found = Bisection { ends: Some(ends.clone()), ..bisection(&[], None) };
        assert!(stopped(&found).is_some_and(|(_, why)| why.contains("see the reasons with tare show")));
        ends.stop = Some(Stop::Settled);
        assert_eq!(stopped(&Bisection { ends: Some(ends), ..found }), None);
    }

    #[test]
    fn an_undecided_bisection_names_the_most_likely_commit() {
        let found = bisection(&[0.05, 0.8, 0.1, 0.05], None);
        assert!(sentence(&found).ends_with("222222222222 (80% probability); 3 commits together have 95%."));
        let rows = rows(&found);
        assert!(
            rows.contains(&("likely", "222222222222 2026-03-01T10:00:00+01:00 change 2 (80% probability)".into())),
            "{rows:?}"
        );
        assert!(rows.contains(&("commits", "4, 10 builds made".into())), "{rows:?}");
        let found = Bisection { disturbed: 7, ..found };
        let pairs = self::rows(&found).into_iter().find(|(name, _)| *name == "pairs");
        assert_eq!(pairs.map(|(_, text)| text), Some("62 in 62 min, 7 of them disturbed".to_owned()));
    }

    #[test]
    fn the_first_slower_commit_has_the_size_of_its_step() {
        let step = Some(ab(AbVerdict::Slower, (1.1, 1.09, 1.11)));
        let found = Bisection { step, disturbed: 7, ..bisection(&[0.01, 0.4, 0.57, 0.02], None) };
        let one = Cell { commits: 2..=2, chance: 0.9996 };
        let message = first_slower(&found, &one);
        assert_eq!(
            message,
            "With over 99.9% probability 222222222222 is the first slower one, 10% slower (9.0% to 11%) than the one \
             before; 62 pairs in 62 min."
        );
        assert!(message.split_whitespace().count() <= 25);
    }
}
