//! What a paired comparison says: its first sentence, the line after each pair, and its table.

use tare_findings::ab::{Ab, AbVerdict, FEWEST_SESSIONS};
use tare_results::pairs::Stop;
use tare_stats::{Estimate, Interval};
use tare_text::{count, percent};

/// One sentence of at most 25 words.
pub fn sentence(ab: &Ab) -> String {
    let pairs = count(ab.pairs, "pair");
    let within = duration(ab.elapsed_s);
    let Some(Estimate { value, ci: Some(ci) }) = ab.slowdown else {
        return format!("Undecided after {pairs} in {within}: these carry no interval yet.");
    };
    match ab.verdict {
        AbVerdict::Slower => {
            let (low, high) = (percent(ci.low - 1.0), percent(ci.high - 1.0));
            format!("B is {} slower than A ({low} to {high}), decided after {pairs} in {within}.", percent(value - 1.0))
        }
        AbVerdict::Faster => {
            let gain = |slowdown: f64| percent(1.0 / slowdown - 1.0);
            let (low, high) = (gain(ci.high), gain(ci.low));
            format!("B is {} faster than A ({low} to {high}), decided after {pairs} in {within}.", gain(value))
        }
        AbVerdict::Equivalent => {
            let effect = percent(ab.rule.minimum_effect);
            format!("B and A are equivalent within {effect}, decided after {pairs} in {within}.")
        }
        AbVerdict::Undecided => undecided(ab, &pairs),
    }
}

fn undecided(ab: &Ab, pairs: &str) -> String {
    let effect = percent(ab.rule.minimum_effect);
    let seen = ab.smallest_detectable.map(|seen| format!(" a change of {} would have been seen;", percent(seen)));
    let more = match ab.pairs_to_go {
        Some(more) => {
            let time = duration(more as f64 * ab.pair_s);
            format!(" about {} ({time}) would settle {effect}.", count(more, "more pair"))
        }
        None => format!(" {effect} cannot be settled here."),
    };
    format!("Undecided after {pairs}:{}{more}", seen.unwrap_or_default())
}

/// What is known after a pair, in one line.
pub fn line(ab: &Ab) -> String {
    let left_out = match ab.lost + ab.disturbed {
        0 => String::new(),
        left_out => format!(", {left_out} left out"),
    };
    let head = format!("pair {}{left_out}", ab.pairs);
    // Wider than a hundredfold says nothing yet.
    let told = ab.ci.filter(|ci| ci.low > 0.01 && ci.high < 100.0);
    let (Some(ratio), Some(ci)) = (ab.ratio, told) else {
        return format!("{head}: no interval yet");
    };
    let figures = format!("{head}: B/A {ratio:.4} ({:.4} to {:.4})", ci.low, ci.high);
    let e = ab.rule.minimum_effect;
    let within = ci.low >= 1.0 / (1.0 + e) && ci.high <= 1.0 + e;
    let open = match (ab.verdict, ci.contains(1.0)) {
        (AbVerdict::Undecided, _) if within => "to be confirmed at the next look: equivalent",
        (AbVerdict::Undecided, false) => "to be confirmed at the next look: changed",
        (AbVerdict::Undecided, true) => "undecided: no change, or one above the minimum effect",
        (AbVerdict::Equivalent, _) => "equivalent",
        (AbVerdict::Faster, _) => "B is faster",
        (AbVerdict::Slower, _) => "B is slower",
    };
    let to_go = match (ab.verdict, ab.pairs_to_go) {
        (AbVerdict::Undecided, Some(more)) => {
            format!("; about {} to go ({})", count(more, "pair"), duration(more as f64 * ab.pair_s))
        }
        _ => String::new(),
    };
    format!("{figures}: {open}{to_go}")
}

/// Rows of what is known: a name and its value.
pub fn rows(ab: &Ab) -> Vec<(&'static str, String)> {
    let interval =
        |ci: Option<Interval>| ci.map_or_else(String::new, |ci| format!(" ({:.4} to {:.4})", ci.low, ci.high));
    let none = || "not known yet".to_owned();
    let share = (1.0 - ab.rule.alpha) * 100.0;
    let mut rows = vec![
        ("A", ab.rule.a.clone()),
        ("B", ab.rule.b.clone()),
        ("metric", ab.metric.clone().unwrap_or_else(none)),
        (
            "B/A",
            ab.ratio.map_or_else(none, |ratio| format!("{ratio:.4}{}, {share:.0}% over all looks", interval(ab.ci))),
        ),
        ("pairs", format!("{} in {}{}", ab.pairs, duration(ab.elapsed_s), left_out(ab))),
        (
            "slot",
            ab.slot.map_or_else(none, |slot| format!("second/first of a pair {:.4}{}", slot.value, interval(slot.ci))),
        ),
        ("80% power", ab.smallest_detectable.map_or_else(none, |seen| format!("a change of {}", percent(seen)))),
        ("sessions", sessions(ab)),
    ];
    if ab.verdict == AbVerdict::Undecided {
        rows.push(("to go", to_go(ab)));
        rows.extend(ab.stop.and_then(stopped).map(|why| ("stopped", why.to_owned())));
    }
    rows
}

fn left_out(ab: &Ab) -> String {
    let lost = if ab.lost > 0 { format!(", {} lost to failed trials", ab.lost) } else { String::new() };
    let disturbed = if ab.disturbed > 0 { format!(", {} left out as disturbed", ab.disturbed) } else { String::new() };
    format!("{lost}{disturbed}")
}

fn sessions(ab: &Ab) -> String {
    match ab.sessions() {
        few if few < FEWEST_SESSIONS => format!("{few}: the verdict holds in this session"),
        many => many.to_string(),
    }
}

fn to_go(ab: &Ab) -> String {
    let time = |pairs: usize| duration(pairs as f64 * ab.pair_s);
    match (ab.pairs_to_go, ab.pairs_to_go_at_most) {
        (Some(more), Some(most)) => {
            format!("about {} ({}), at most {most} ({}) at 95%", count(more, "pair"), time(more), time(most))
        }
        (Some(more), None) => format!("about {} ({}), without an upper bound", count(more, "pair"), time(more)),
        (None, _) => "not known yet".to_owned(),
    }
}

fn stopped(stop: Stop) -> Option<&'static str> {
    match stop {
        Stop::Settled => None,
        Stop::LastLook => Some("the last of its looks is over"),
        Stop::Budget => Some("no further pair fits into the budget"),
        Stop::LeftOut => Some("more pairs were left out than counted; quieten the machine, or see the logs of trials"),
    }
}

/// Seconds as people say them.
pub(super) fn duration(seconds: f64) -> String {
    match seconds.round().max(0.0) as u64 {
        s @ 0..=119 => format!("{s} s"),
        s @ 120..=7199 => format!("{} min", (s + 30) / 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::Settle;
    use tare_stats::sequential::Rule;

    fn ab(verdict: AbVerdict, slowdown: (f64, f64, f64)) -> Ab {
        let (value, low, high) = slowdown;
        Ab {
            metric: Some("tps".into()),
            verdict,
            ratio: Some(1.0 / value),
            ci: Some(Interval { low: 1.0 / high, high: 1.0 / low }),
            slowdown: Some(Estimate { value, ci: Some(Interval { low, high }) }),
            pairs: 18,
            lost: 0,
            disturbed: 1,
            elapsed_s: 540.0,
            pair_s: 30.0,
            smallest_detectable: Some(0.034),
            pairs_to_go: Some(25),
            pairs_to_go_at_most: Some(60),
            slot: None,
            stop: None,
            rule: Settle {
                a: "side=a".into(),
                b: "side=b".into(),
                metric: None,
                minimum_effect: 0.02,
                alpha: 0.05,
                rule: Rule::Looks,
                budget_s: Some(600.0),
                seed: 1,
                sessions: 1,
            },
        }
    }

    #[test]
    fn every_verdict_is_a_sentence_of_at_most_25_words() {
        let said = [
            (AbVerdict::Slower, "B is 3.1% slower than A (2.2% to 4.0%), decided after 18 pairs in 9 min."),
            (AbVerdict::Equivalent, "B and A are equivalent within 2.0%, decided after 18 pairs in 9 min."),
            (
                AbVerdict::Undecided,
                "Undecided after 18 pairs: a change of 3.4% would have been seen; about 25 more pairs (13 min) would \
                 settle 2.0%.",
            ),
        ];
        for (verdict, words) in said {
            let sentence = sentence(&ab(verdict, (1.031, 1.022, 1.040)));
            assert_eq!(sentence, words);
            assert!(sentence.split_whitespace().count() <= 25);
        }
        let faster = sentence(&ab(AbVerdict::Faster, (0.9, 0.8, 0.95)));
        assert_eq!(faster, "B is 11% faster than A (5.3% to 25%), decided after 18 pairs in 9 min.");
    }

    #[test]
    fn what_is_left_out_and_to_go_is_said() {
        let rows = rows(&ab(AbVerdict::Undecided, (1.001, 0.97, 1.03)));
        let row = |name: &str| rows.iter().find(|(own, _)| *own == name).unwrap().1.clone();
        assert_eq!(row("pairs"), "18 in 9 min, 1 left out as disturbed");
        assert_eq!(row("to go"), "about 25 pairs (13 min), at most 60 (30 min) at 95%");
        assert_eq!(row("sessions"), "1: the verdict holds in this session");
    }
}
