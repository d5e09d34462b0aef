//! The table of a paired comparison.

use super::ab::{TURNS, by, change_of, most, of_them_disturbed};
use super::trials::failure;
use tare_findings::ab::{Ab, AbVerdict, Control, FailedAttempt, MOST_SESSIONS, Needed, ToGo};
use tare_results::pairs::Stop;
use tare_stats::Interval;
use tare_text::{count, duration, percent, small_percent};

fn interval(ci: Interval) -> String {
    format!(" ({:.4} to {:.4})", ci.low, ci.high)
}

/// What rounding hides is not printed up to this fraction.
const HARDLY: f64 = 1e-4;

pub fn rows(ab: &Ab) -> Vec<(&'static str, String)> {
    let interval = |ci: Option<Interval>| ci.map_or_else(String::new, interval);
    let none = || "not known yet".to_owned();
    let share = (1.0 - ab.rule.alpha) * 100.0;
    let [a, b] = sides(&ab.rule.a, &ab.rule.b);
    let mut rows = vec![
        ("A", a),
        ("B", b),
        ("metric", ab.metric.clone().unwrap_or_else(none)),
        (
            "B/A",
            ab.ratio.map_or_else(none, |ratio| match ab.ci {
                // Without an interval it is not known which side is slower.
                None => format!("{ratio:.4} (no interval yet)"),
                Some(ci) => {
                    let change = change_of(ab).map_or_else(String::new, |change| format!("; B is {}", change.text()));
                    format!("{ratio:.4}{}, {share:.0}% over all looks{change}", self::interval(ci))
                }
            }),
        ),
        ("effect", format!("changes below {} count as equivalent", small_percent(ab.rule.minimum_effect))),
        ("pairs", format!("{} in {}{}{}", ab.pairs, duration(ab.elapsed_s), of_them_disturbed(ab.disturbed), lost(ab))),
        ("slot", ab.slot.map_or_else(none, |slot| format!("{} {:.4}{}", places(ab), slot.value, interval(slot.ci)))),
        ("80% power", ab.smallest_detectable.map_or_else(none, |seen| format!("a change of {}", small_percent(seen)))),
        ("sessions", sessions(ab)),
    ];
    if ab.hidden > HARDLY {
        rows.push((
            "rounded",
            format!("the metric's values are too coarse: a change of {} may be hidden", percent(ab.hidden)),
        ));
    }
    let [of_a, of_b] = ab.disturbed_alone;
    if of_a + of_b > 0 {
        rows.push(("disturbed", format!("only A in {}, only B in {of_b}", count(of_a, "pair"))));
    }
    rows.extend(failures(ab));
    rows.extend(ab.controls.iter().map(|control| ("control", of_control(control))));
    if ab.rule.duet.is_some() {
        let words = "both sides at the same time, each on one half of the machine: a ratio under contention";
        rows.push(("duet", words.to_owned()));
    }
    if ab.by_turns {
        rows.push(("turns", TURNS.to_owned()));
    }
    if ab.verdict == AbVerdict::Undecided {
        if !ab.stop.is_some_and(Stop::withholds) {
            rows.push(("to go", to_go(ab)));
        }
        rows.extend(why_stopped(ab).map(|why| ("stopped", why)));
    }
    rows
}

/// Both sides, whose rows name them already; a side with a short name is printed with the part that the other does not
/// have in one piece: `new (command=./new --run)`.
fn sides(a: &str, b: &str) -> [String; 2] {
    fn set(levels: &str) -> Option<&str> {
        Some(levels.split_once('=')?.1)
    }
    let [a, b] = [a, b].map(|name| name.split_once(' ').map_or(name, |(_, levels)| levels));
    let (Some(of_a), Some(of_b)) = (set(a), set(b)) else { return [a.to_owned(), b.to_owned()] };
    let called = |label: &str, level: &str, name: &str| {
        if label == level || !level.contains(label) { name.to_owned() } else { format!("{label} ({name})") }
    };
    let labels = tare_text::apart(&[of_a, of_b]);
    [called(&labels[0], of_a, a), called(&labels[1], of_b, b)]
}

fn places(ab: &Ab) -> &'static str {
    if ab.rule.duet.is_some() { "second/first half of the machine" } else { "second/first of a pair" }
}

fn lost(ab: &Ab) -> String {
    let what = if ab.pairs > 0 { "more pair" } else { "pair" };
    if ab.lost > 0 { format!("; {} gave no result", count(ab.lost, what)) } else { String::new() }
}

/// Which side gave no result or had failed attempts without the other, and the last failure.
fn failures(ab: &Ab) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let [of_a, of_b] = ab.lost_alone;
    if of_a + of_b > 0 {
        rows.push(("no result", format!("only A in {}, only B in {of_b}", count(of_a, "pair"))));
    }
    let [of_a, of_b] = ab.failed_alone;
    if ab.failed_alone != ab.lost_alone {
        rows.push(("attempts", format!("of A alone failed in {}, of B alone in {of_b}", count(of_a, "pair"))));
    }
    let is_named = ab.lost > 0 || ab.stop == Some(Stop::FailsMore);
    rows.extend(ab.last_failed.as_ref().filter(|_| is_named).map(|last| ("failed", failed(last))));
    rows
}

/// The last failure. The first line is its reason; lines of a log may follow.
fn failed(last: &FailedAttempt) -> String {
    let FailedAttempt { trial, attempt, reason, log } = last;
    let reason = failure(reason);
    let reason = reason.lines().next().unwrap_or_default().trim_end_matches("; it wrote last:");
    format!("last, trial {trial} (attempt {attempt}): {reason}; its log: {log}")
}

fn sessions(ab: &Ab) -> String {
    let boots = match ab.rule.boots() {
        0 | 1 => String::new(),
        boots => format!(" on {boots} boots"),
    };
    let requested = if ab.rule.sessions > 1 { format!(" of {}", ab.rule.sessions) } else { String::new() };
    match ab.sessions {
        many if ab.is_over_sessions() => format!("{many}{requested}{boots}, one value each"),
        one if ab.verdict == AbVerdict::Undecided => format!("{one}{requested}{boots}"),
        0 | 1 => format!("{}{requested}: the verdict holds in this session", ab.sessions),
        few => format!(
            "{few}{requested}{boots}: the verdict holds in these sessions; each pair counts by itself, with --sessions \
             each session"
        ),
    }
}

fn of_control(control: &Control) -> String {
    const TOO_FEW: &str = "too few pairs to check";
    let moved = match control.ratio.filter(|_| control.moved) {
        Some(ratio) => format!(": it moved {}", by(ratio)),
        None => String::new(),
    };
    let Some(ratio) = control.ratio else { return format!("{}: {TOO_FEW}", control.name) };
    let interval = match ratio.ci {
        None => format!(" ({TOO_FEW})"),
        // Its limits are not worth printing.
        Some(ci) if ci.high >= 4.0 * ci.low => " (interval wider than fourfold)".to_owned(),
        Some(ci) => interval(ci),
    };
    format!("{} B/A {:.4}{interval}{moved}", control.name, ratio.value)
}

fn to_go(ab: &Ab) -> String {
    let time = |pairs: usize| duration(pairs as f64 * ab.pair_s);
    match ab.to_go {
        ToGo::Pairs { about, at_most } => {
            let about = match about {
                Needed::More(pairs) => format!("about {} ({})", count(pairs, "pair"), time(pairs)),
                Needed::Anew(pairs) => format!("a new comparison of about {} ({})", count(pairs, "pair"), time(pairs)),
            };
            match (ab.to_go.anew(), at_most) {
                (None, Some(Needed::Anew(most))) => {
                    format!("{about}, or a new comparison of at most {most} ({}) at 95%", time(most))
                }
                (_, Some(Needed::More(most) | Needed::Anew(most))) => {
                    format!("{about}, at most {most} ({}) at 95%", time(most))
                }
                (_, None) => format!("{about}, perhaps more than {}", most()),
            }
        }
        ToGo::Sessions { about: None, .. } => {
            format!("more than {MOST_SESSIONS} sessions: use longer sessions, or a larger minimum effect")
        }
        ToGo::Sessions { about: Some(about), at_most } => {
            let most = at_most
                .map_or_else(|| format!("perhaps more than {MOST_SESSIONS}"), |most| format!("at most {most} at 95%"));
            format!("a new comparison over about {}, {most}", count(about, "session"))
        }
        ToGo::TooFew { first_look } if ab.pairs > 0 => {
            format!(
                "not known before the first look, after {} ({} in all)",
                count(first_look, "pair"),
                time(first_look)
            )
        }
        ToGo::TooMany => {
            format!("more than {}: use longer samples, a quieter placement, or a larger minimum effect", most())
        }
        ToGo::Settled | ToGo::TooFew { .. } | ToGo::Unknown => "not known yet".to_owned(),
    }
}

/// Why the comparison stopped, and how to avoid that it stops for the same reason.
pub(super) fn why_stopped(ab: &Ab) -> Option<String> {
    let turns = match ab.stop == Some(Stop::OneSided) && !ab.by_turns {
        true => "; by turns (--interleave, for loads that run for a time) it affects both",
        false => "",
    };
    ab.stop.and_then(stopped).map(|why| why + turns)
}

fn stopped(stop: Stop) -> Option<String> {
    let why = match stop {
        Stop::Settled => return None,
        Stop::LastLook => "the last planned look is over",
        Stop::Budget => "no further pair fits into the budget",
        Stop::Session => "this session has all its pairs; the other sessions have not run yet",
        Stop::Control => {
            "a metric that the change cannot affect moved: the machine changed, or the change affects more"
        }
        Stop::OneSided => {
            "what disturbed only one side may explain the difference: see the reasons with tare show, then run it again"
        }
        Stop::FailsMore => {
            "the other trials of a side that fails more often may be a selection: see the reasons with tare show"
        }
        Stop::LeftOut => "at least five more pairs gave no result than gave one",
        Stop::Replaced => {
            "begin another comparison, with builds that stay: pairs of two programs of a side do not add up"
        }
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::ab::tests::ab;
    use super::*;
    use tare_findings::state::Failure;
    use tare_stats::Estimate;

    fn row(found: &Ab, name: &str) -> String {
        rows(found).into_iter().find(|(own, _)| *own == name).unwrap().1
    }

    #[test]
    fn sides_are_named_by_what_distinguishes_them() {
        let called = sides("side=a command=/x/p", "side=b command=/x/q");
        assert_eq!(called, ["p (command=/x/p)", "q (command=/x/q)"]);
        let (a, b) = ("side=a command=/x/p 1", "side=b command=echo 1");
        assert_eq!(sides(a, b), ["command=/x/p 1", "echo (command=echo 1)"]);
        assert_eq!(sides("side=a aslr=off", "side=b aslr=on"), ["aslr=off", "aslr=on"]);
        assert_eq!(sides("side=a", "side=b"), ["side=a", "side=b"]);
    }

    #[test]
    fn the_table_reports_lost_pairs_and_pairs_to_go() {
        let mut found = ab(AbVerdict::Undecided, (1.001, 0.97, 1.03));
        (found.disturbed, found.lost) = (15, 1);
        assert_eq!(row(&found, "pairs"), "18 in 9 min, 15 of them disturbed; 1 more pair gave no result");
        assert_eq!(row(&found, "to go"), "about 25 pairs (13 min), at most 60 (30 min) at 95%");
        assert_eq!(row(&found, "sessions"), "1");
        found.last_failed = Some(FailedAttempt {
            trial: 7,
            attempt: 2,
            reason: Failure::Recorded("x ended with exit status: 3; it wrote last:\nline of its log".to_owned()),
            log: "logs/trial-00007-2.log".to_owned(),
        });
        let failed = "last, trial 7 (attempt 2): x ended with exit status: 3; its log: logs/trial-00007-2.log";
        assert_eq!(row(&found, "failed"), failed);
        (found.pairs, found.to_go) = (3, ToGo::TooFew { first_look: 4 });
        assert_eq!(row(&found, "to go"), "not known before the first look, after 4 pairs (2 min in all)");
        found.to_go = ToGo::Pairs { about: Needed::More(2), at_most: Some(Needed::Anew(46)) };
        assert_eq!(row(&found, "to go"), "about 2 pairs (60 s), or a new comparison of at most 46 (23 min) at 95%");
        found.to_go = ToGo::Pairs { about: Needed::Anew(29), at_most: Some(Needed::Anew(60)) };
        assert_eq!(row(&found, "to go"), "a new comparison of about 29 pairs (15 min), at most 60 (30 min) at 95%");
        found.to_go = ToGo::Sessions { about: Some(9), at_most: None };
        assert_eq!(row(&found, "to go"), "a new comparison over about 9 sessions, perhaps more than 100");
        found.to_go = ToGo::TooMany;
        assert!(row(&found, "to go").contains("a larger minimum effect"));
        found.stop = Some(Stop::OneSided);
        assert!(row(&found, "stopped").contains("--interleave"));
        found.by_turns = true;
        assert!(!row(&found, "stopped").contains("--interleave"));
    }

    #[test]
    fn the_limits_of_an_interval_without_information_are_left_out() {
        let mut found = ab(AbVerdict::Undecided, (1.001, 0.97, 1.03));
        for (ci, text) in [
            (Some((0.99, 1.02)), "(0.9900 to 1.0200)"),
            (Some((0.2, 5.0)), "(interval wider than fourfold)"),
            (None, "(too few pairs to check)"),
        ] {
            let ci = ci.map(|(low, high)| Interval { low, high });
            let ratio = Some(Estimate { value: 1.0, ci });
            found.controls = vec![Control { name: "probe_spin_ns".into(), ratio, moved: false }];
            assert_eq!(row(&found, "control"), format!("probe_spin_ns B/A 1.0000 {text}"));
        }
        found.controls[0].ratio = None;
        assert_eq!(row(&found, "control"), "probe_spin_ns: too few pairs to check");
        found.ci = None;
        assert_eq!(row(&found, "B/A"), "0.9990 (no interval yet)");
    }
}
