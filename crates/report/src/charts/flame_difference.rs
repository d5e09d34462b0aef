//! The flame graph of a difference: every box is as wide as the larger of A's and B's time in it, and coloured by which
//! of the two is larger, so that functions that only one of them executes are visible too.

use super::flame_tree::{self, Frame, Look, Node};
use crate::figures::figure;
use maud::Markup;
use tare_findings::why::ChainTime;

/// Weights of boxes are in nanoseconds.
const NS_PER_US: f64 = 1e3;
/// A box that changed by less than this share of its time is drawn as unchanged.
const SAME: f64 = 0.05;

/// Draws the chains of A and B; `None` if neither has any.
pub(crate) fn draw(title: &str, chains: &[ChainTime]) -> Option<Markup> {
    let root = Node::of(chains.iter().map(|one| {
        let sides = [one.a_us, one.b_us].map(|us| (us * NS_PER_US) as u64);
        (one.chain.as_str(), sides[0].max(sides[1]), sides)
    }));
    let look = Look {
        class: &|frame| class(frame.sides),
        description_of: &description_of,
        matters: &|frame| frame.sides[0].abs_diff(frame.sides[1]) as f64,
        of: "chains",
        width: "the larger of A's and B's time",
    };
    flame_tree::draw(title, root, &look)
}

/// Darker if it changed by a larger share of its time.
fn class([a, b]: [u64; 2]) -> String {
    let changed = a.abs_diff(b) as f64 / a.max(b).max(1) as f64;
    if changed < SAME {
        return "same".to_owned();
    }
    let way = if b > a { "longer" } else { "shorter" };
    let step = if changed < 0.3 {
        0
    } else if changed < 0.7 {
        1
    } else {
        2
    };
    format!("{way} step{step}")
}

fn description_of(frame: &Frame<'_>) -> String {
    let [a, b] = frame.sides.map(|ns| ns as f64 / NS_PER_US);
    let sign = if b < a { "-" } else { "+" };
    format!("{}: A {}, B {}, {sign}{}", frame.name, figure(a, "us"), figure(b, "us"), figure((b - a).abs(), "us"))
}

#[cfg(test)]
mod tests {
    use super::super::axis::px;
    use super::*;

    fn chain(chain: &str, a_us: f64, b_us: f64) -> ChainTime {
        ChainTime { chain: chain.to_owned(), a_us, b_us }
    }

    #[test]
    fn slower_vanished_and_unchanged_functions_look_different() {
        let chains =
            [chain("ran;serve;work", 10.0, 30.0), chain("ran;serve;log", 20.0, 0.0), chain("asleep;row", 50.0, 50.5)];
        let text = draw("x", &chains).unwrap().into_string();
        assert!(text.contains("work: A 10.0 µs, B 30.0 µs, +20.0 µs"), "{text}");
        assert!(text.contains("log: A 20.0 µs, B 0.00 µs, -20.0 µs"), "{text}");
        assert_eq!(text.matches("class=\"longer step1\"").count(), 1, "{text}");
        assert_eq!(text.matches("class=\"shorter step2\"").count(), 1, "{text}");
        // `serve` and `ran` have equal sums, `row` nearly.
        assert_eq!(text.matches("class=\"same\"").count(), 4, "{text}");
        // Widths are the larger of both, 30 + 20 + 50.5.
        assert!(text.contains(&format!("width=\"{}\"", px(960.0 * 30.0 / 100.5 - 0.6))), "{text}");
        assert!(draw("x", &[]).is_none());
    }
}
