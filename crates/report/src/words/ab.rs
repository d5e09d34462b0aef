//! Sentences of a paired comparison: the answer, and the line after each pair.

use super::terms::first_that_fits;
use tare_findings::ab::{Ab, AbVerdict, MOST_PAIRS, Needed, ToGo};
use tare_results::pairs::Stop;
use tare_stats::{Estimate, Interval};
use tare_text::{count, duration, small_percent};

/// How the samples of a pair are ordered.
pub(super) const TURNS: &str = "both servers run, and short samples of them take turns";

/// One sentence of at most 25 words.
pub fn sentence(ab: &Ab) -> String {
    if let Some(control) = ab.moved() {
        return format!(
            "No verdict after {}: {}, which the change cannot affect, moved {}.",
            pairs(ab.pairs, ab.disturbed),
            control.name,
            control.ratio.map_or_else(String::new, by)
        );
    }
    if ab.stop == Some(Stop::Replaced) {
        return format!("No verdict after {}: {}.", count(ab.pairs, "pair"), replaced(ab));
    }
    if let Some(why) = one_sided(ab, ["A", "B"]) {
        return format!("No verdict after {}: {why}.", count(ab.pairs, "pair"));
    }
    let Some(change) = change_of(ab).filter(|change| change.ratio.ci.is_some()) else {
        return without_interval(ab);
    };
    let lead = match ab.verdict {
        AbVerdict::Slower | AbVerdict::Faster => {
            format!("B is {} than A{}", change.size_and_way(), change.interval())
        }
        AbVerdict::Equivalent => {
            let ends = change.ratio.ci.map_or_else(String::new, |ci| format!(" (B/A {:.4} to {:.4})", ci.low, ci.high));
            format!("B and A are equivalent within {}{ends}", small_percent(ab.rule.minimum_effect))
        }
        AbVerdict::Undecided => return undecided(ab, change.ratio),
    };
    first_that_fits([true, false].map(|timed| format!("{lead}{}.", decided(ab, timed))))
}

/// Whether an interval is worth printing.
fn is_known(ci: &Interval) -> bool {
    ci.low > 0.01 && ci.high < 100.0
}

fn b_to_a(ratio: Estimate) -> String {
    match ratio.ci.filter(is_known) {
        Some(ci) => format!("B/A {:.4} ({:.4} to {:.4})", ratio.value, ci.low, ci.high),
        None => format!("B/A {:.4} so far", ratio.value),
    }
}

fn replaced(ab: &Ab) -> &'static str {
    match ab.replaced {
        [true, true] => "the programs of A and B were replaced between their trials",
        [true, false] => "the program of A was replaced between its trials",
        _ => "the program of B was replaced between its trials",
    }
}

/// The side that was disturbed, or failed, without the other so often that nothing is claimed; `a` and `b` are the
/// names of the sides.
pub(crate) fn one_sided(ab: &Ab, [a, b]: [&str; 2]) -> Option<String> {
    let sides = |[of_a, of_b]: [usize; 2]| if of_a > of_b { [(a, of_a), (b, of_b)] } else { [(b, of_b), (a, of_a)] };
    match ab.stop {
        Some(Stop::OneSided) => {
            let [(more, often), (less, rarely)] = sides(ab.disturbed_alone);
            Some(format!("only {more} was disturbed in {often} of them, only {less} in {rarely}"))
        }
        Some(Stop::FailsMore) => {
            let [(more, often), (less, rarely)] = sides(ab.failed_alone);
            Some(format!("attempts of {more} alone failed in {}, of {less} alone in {rarely}", count(often, "pair")))
        }
        _ => None,
    }
}

/// The sessions for which the answer holds, and the effort until it was decided.
fn decided(ab: &Ab, timed: bool) -> String {
    let within = if timed { format!(" in {}", duration(ab.elapsed_s)) } else { String::new() };
    let pairs = format!("{}{within}", count(ab.pairs, "pair"));
    let disturbed = of_them_disturbed(ab.disturbed);
    if ab.is_over_sessions() {
        return format!(", decided over {} of {pairs}{disturbed}", count(ab.sessions, "session"));
    }
    if ab.rule.duet.is_some() {
        return format!(" under contention, in this session, after {pairs}{disturbed}");
    }
    let scope = if ab.sessions > 1 { "in these sessions" } else { "in this session" };
    format!(" {scope}, decided after {pairs}{disturbed}")
}

pub(super) fn of_them_disturbed(disturbed: usize) -> String {
    if disturbed == 0 { String::new() } else { format!(", {disturbed} of them disturbed") }
}

pub(super) fn pairs(all: usize, disturbed: usize) -> String {
    let disturbed = if disturbed == 0 { String::new() } else { format!(" ({disturbed} disturbed)") };
    count(all, "pair") + &disturbed
}

pub(super) fn by(ratio: Estimate) -> String {
    let interval = ratio.ci.map(|ci| format!(" ({:+.1}% to {:+.1}%)", 100.0 * (ci.low - 1.0), 100.0 * (ci.high - 1.0)));
    format!("by {:+.1}%{}", 100.0 * (ratio.value - 1.0), interval.unwrap_or_default())
}

fn without_interval(ab: &Ab) -> String {
    if ab.rule.is_over_sessions() && ab.stop != Some(Stop::LeftOut) {
        let so_far = ab.ratio.map_or_else(String::new, |ratio| format!(" B/A is {ratio:.4} so far;"));
        return format!(
            "Undecided in session {} of {}:{so_far} the verdict needs all of them.",
            ab.rule.begun.len().max(1),
            ab.rule.sessions
        );
    }
    let (pairs, within) = (pairs(ab.pairs, ab.disturbed), duration(ab.elapsed_s));
    if ab.stop == Some(Stop::LeftOut) {
        return format!("Undecided: {pairs} counted in {within}, and {} gave no result.", ab.lost);
    }
    if let ToGo::TooFew { first_look } = ab.to_go {
        let then =
            if ab.pairs == 0 { String::new() } else { format!(" ({})", duration(first_look as f64 * ab.pair_s)) };
        return format!(
            "Undecided after {pairs} in {within}: too few for a verdict; the first look is after {first_look}{then}."
        );
    }
    format!("Undecided after {pairs} in {within}: no interval can be computed yet.")
}

fn undecided(ab: &Ab, ratio: Estimate) -> String {
    let (effect, ratio) = (small_percent(ab.rule.minimum_effect), b_to_a(ratio));
    if ab.is_over_sessions() {
        let sessions = count(ab.sessions, "session");
        let then = match ab.to_go {
            ToGo::Sessions { about: Some(about), .. } => {
                format!("a new comparison over {} decides it if that stays", count(about, "session"))
            }
            _ => "more sessions detect smaller changes".to_owned(),
        };
        return format!("Undecided over {sessions}: {ratio}; {then}.");
    }
    let time = |pairs: usize| duration(pairs as f64 * ab.pair_s);
    let more = match ab.to_go {
        ToGo::Pairs { about: Needed::More(pairs), .. } => {
            format!("{} ({}) decide it if that stays", count(pairs, "more pair"), time(pairs))
        }
        ToGo::Pairs { about: Needed::Anew(pairs), .. } => {
            format!("a new comparison of {} ({}) decides it if that stays", count(pairs, "pair"), time(pairs))
        }
        ToGo::TooMany => format!("deciding {effect} takes more than {}", most()),
        _ => format!("{effect} cannot be decided here"),
    };
    format!("Undecided after {}: {ratio}; {more}.", pairs(ab.pairs, ab.disturbed))
}

pub fn line(ab: &Ab) -> String {
    let disturbed = (ab.disturbed > 0).then(|| format!("{} of {} disturbed", ab.disturbed, ab.pairs));
    let lost = (ab.lost > 0).then(|| format!("{} without a result", ab.lost));
    let aside: Vec<String> = disturbed.into_iter().chain(lost).collect();
    let aside = if aside.is_empty() { String::new() } else { format!(" ({})", aside.join(", ")) };
    let session = match ab.rule.sessions {
        0 | 1 => String::new(),
        all => format!("session {} of {all}, ", ab.rule.begun.len().max(1)),
    };
    let head = format!("{session}pair {}{aside}", ab.pairs);
    let first_look = match ab.to_go {
        ToGo::TooFew { first_look } if ab.pairs > 0 && !ab.rule.certify => {
            format!("; the first look is after {first_look} ({} in all)", duration(first_look as f64 * ab.pair_s))
        }
        _ => String::new(),
    };
    let Some(ratio) = ab.ratio else {
        return format!("{head}: no ratio yet; it needs a pair in each order{first_look}");
    };
    let ci = ab.ci.filter(|ci| !ab.rule.certify && is_known(ci));
    let figures = format!("{head}: {}", b_to_a(Estimate { value: ratio, ci }));
    let Some(ci) = ci else { return figures + &first_look };
    let e = ab.rule.minimum_effect;
    let within = ci.low >= 1.0 / (1.0 + e) && ci.high <= 1.0 + e;
    let open = match (ab.verdict, ci.contains(1.0)) {
        _ if ab.stop == Some(Stop::Replaced) => "no verdict, as the program of a side was replaced",
        _ if ab.stop == Some(Stop::OneSided) => "no verdict, as one side was disturbed more often than the other",
        _ if ab.stop == Some(Stop::FailsMore) => "no verdict, as one side failed more often than the other",
        _ if ab.moved().is_some() => "no verdict, as a metric that the change cannot affect moved",
        (AbVerdict::Undecided, _) if within => "to be confirmed at the next look: equivalent",
        (AbVerdict::Undecided, false) => "to be confirmed at the next look: changed",
        (AbVerdict::Undecided, true) => "undecided: no change, or one above the minimum effect",
        (AbVerdict::Equivalent, _) => "equivalent",
        (AbVerdict::Faster, _) => "B is faster",
        (AbVerdict::Slower, _) => "B is slower",
    };
    let to_go = match (ab.verdict, ab.to_go) {
        _ if ab.stop.is_some_and(Stop::withholds) => String::new(),
        (AbVerdict::Undecided, ToGo::Pairs { about: Needed::More(pairs), .. }) => {
            format!("; about {} to go ({})", count(pairs, "pair"), duration(pairs as f64 * ab.pair_s))
        }
        (AbVerdict::Undecided, ToGo::Pairs { about: Needed::Anew(pairs), .. }) => {
            let time = duration(pairs as f64 * ab.pair_s);
            format!("; deciding it takes a new comparison of about {} ({time})", count(pairs, "pair"))
        }
        _ => String::new(),
    };
    format!("{figures}: {open}{to_go}")
}

/// The maximum that is worth waiting for.
pub(super) fn most() -> String {
    format!("{} or a day", count(MOST_PAIRS, "pair"))
}

/// The ratio B/A, and which direction is slower.
pub(super) struct Change {
    ratio: Estimate,
    slower_above: bool,
}

/// The change of the metric itself: for throughput, B is slower below 1.
pub(super) fn change_of(ab: &Ab) -> Option<Change> {
    let (value, slowdown) = (ab.ratio?, ab.slowdown?);
    Some(Change {
        ratio: Estimate { value, ci: slowdown.ci.and(ab.ci) },
        slower_above: (value >= 1.0) == (slowdown.value >= 1.0),
    })
}

impl Change {
    fn size_and_way(&self) -> String {
        let slower = (self.ratio.value >= 1.0) == self.slower_above;
        format!("{} {}", size(self.ratio.value), if slower { "slower" } else { "faster" })
    }

    /// The interval, starting with the end nearer to no change.
    fn interval(&self) -> String {
        self.ratio.ci.map_or_else(String::new, |ci| {
            let (near, far) = if self.ratio.value >= 1.0 { (ci.low, ci.high) } else { (ci.high, ci.low) };
            format!(" ({} to {})", size(near), size(far))
        })
    }

    /// `2.9% slower (1.8% to 4.1%)`; if both directions are possible, `between 0.90% faster and 1.1% slower`.
    pub(super) fn text(&self) -> String {
        match self.ratio.ci {
            Some(ci) if ci.low < 1.0 && ci.high > 1.0 => {
                let (faster, slower) = if self.slower_above { (ci.low, ci.high) } else { (ci.high, ci.low) };
                format!("between {} faster and {} slower", size(faster), size(slower))
            }
            _ => self.size_and_way() + &self.interval(),
        }
    }
}

fn size(ratio: f64) -> String {
    small_percent((ratio - 1.0).abs())
}

/// How much slower or faster B is than A, from the ratio of their times.
pub(crate) fn slower_by(slowdown: Estimate) -> String {
    Change { ratio: slowdown, slower_above: true }.text()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tare_findings::ab::Control;
    use tare_results::schema::Settle;
    use tare_stats::sequential::Rule;

    pub(crate) fn ab(verdict: AbVerdict, slowdown: (f64, f64, f64)) -> Ab {
        let (value, low, high) = slowdown;
        Ab {
            metric: Some("tps".into()),
            verdict,
            ratio: Some(1.0 / value),
            ci: Some(Interval { low: 1.0 / high, high: 1.0 / low }),
            slowdown: Some(Estimate { value, ci: Some(Interval { low, high }) }),
            pairs: 18,
            disturbed: 0,
            disturbed_alone: [0; 2],
            lost: 0,
            lost_alone: [0; 2],
            failed_alone: [0; 2],
            replaced: [false; 2],
            last_failed: None,
            elapsed_s: 540.0,
            pair_s: 30.0,
            hidden: 0.0,
            smallest_detectable: Some(0.034),
            to_go: ToGo::Pairs { about: Needed::More(25), at_most: Some(Needed::More(60)) },
            slot: None,
            sessions: 1,
            controls: Vec::new(),
            stop: None,
            by_turns: false,
            rule: Settle {
                minimum_effect: 0.02,
                budget_s: Some(600.0),
                ..Settle::between(["side=a", "side=b"].map(str::to_owned), Rule::Looks, 1)
            },
        }
    }

    #[test]
    fn the_line_after_a_pair_says_what_is_disturbed_lost_withheld_or_too_few() {
        let undecided = || ab(AbVerdict::Undecided, (1.031, 1.022, 1.040));
        let found = Ab { disturbed: 15, lost: 1, ..ab(AbVerdict::Undecided, (1.001, 0.97, 1.03)) };
        assert!(line(&found).starts_with("pair 18 (15 of 18 disturbed, 1 without a result): B/A 0.9990 "));
        let few = Ab { pairs: 3, ci: None, to_go: ToGo::TooFew { first_look: 4 }, ..undecided() };
        assert_eq!(line(&few), "pair 3: B/A 0.9699 so far; the first look is after 4 (2 min in all)");
        let moved = Control { name: "probe_chain_ns".into(), ratio: None, moved: true };
        for (stop, why) in [
            (Stop::OneSided, "no verdict, as one side was disturbed"),
            (Stop::FailsMore, "no verdict, as one side failed"),
            (Stop::Control, "no verdict, as a metric"),
        ] {
            let found = Ab { stop: Some(stop), controls: vec![moved.clone()], ..undecided() };
            assert!(line(&found).contains(why) && !line(&found).contains("to go"), "{}", line(&found));
        }
    }

    #[test]
    fn a_change_that_may_go_either_way_has_no_direction() {
        let estimate = |value, low, high| Estimate { value, ci: Some(Interval { low, high }) };
        assert_eq!(slower_by(estimate(1.001, 0.991, 1.011)), "between 0.90% faster and 1.1% slower");
        assert_eq!(slower_by(estimate(1.03, 1.02, 1.04)), "3.0% slower (2.0% to 4.0%)");
    }
}
