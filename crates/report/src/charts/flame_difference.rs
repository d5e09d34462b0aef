//! The flame graph of a difference: every box as wide as the larger of A's and B's time in it, coloured by which of the
//! two it is, so that what only one of them does is seen too.

use super::axis::px;
use super::flame_tree::{Frame, Node, ROW, WIDTH, label};
use maud::{Markup, html};
use tare_findings::figures::figure;
use tare_findings::why::ChainTime;

/// Weights of boxes are nanoseconds.
const NS_PER_US: f64 = 1e3;
/// A box that changed by less than this share of its time is drawn as one that did not.
const SAME: f64 = 0.05;

/// Draws the chains of A and B; none where neither has any.
pub fn draw(title: &str, chains: &[ChainTime]) -> Option<Markup> {
    let mut root = Node::default();
    for one in chains {
        let sides = [one.a_us, one.b_us].map(|us| (us * NS_PER_US) as u64);
        root.add(&one.chain, sides[0].max(sides[1]), sides);
    }
    let left_out = root.without_trunk();
    if root.weight == 0 {
        return None;
    }
    let (frames, rows) = root.frames();
    let height = rows as f64 * ROW + 22.0;
    Some(html! {
        svg.chart.flame viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            title { (title) }
            desc { (description(&frames)) }
            @for frame in &frames { (drawn(frame, rows)) }
            text.tick x="0" y=(px(height - 5.0)) {
                @if left_out > 0 { "above " (left_out) " callers that all chains have in common; " }
                "width: the larger of A's and B's time; `_[k]`: the kernel"
            }
        }
    })
}

fn drawn(frame: &Frame<'_>, rows: usize) -> Markup {
    let (x, width) = (frame.from * WIDTH, (frame.to - frame.from) * WIDTH);
    let y = (rows - 1 - frame.row) as f64 * ROW;
    html! {
        g {
            title { (said(frame)) }
            rect class=(class(frame.sides)) x=(px(x)) y=(px(y)) width=(px((width - 0.6).max(0.4))) height=(px(ROW - 1.0)) {}
            @if let Some(label) = label(frame.name, width) { text x=(px(x + 3.0)) y=(px(y + 12.0)) { (label) } }
        }
    }
}

/// Darker where it changed by more of its time.
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

fn said(frame: &Frame<'_>) -> String {
    let [a, b] = frame.sides.map(|ns| ns as f64 / NS_PER_US);
    let sign = if b < a { "-" } else { "+" };
    format!("{}: A {}, B {}, {sign}{}", frame.name, figure(a, "us"), figure(b, "us"), figure((b - a).abs(), "us"))
}

fn description(frames: &[Frame<'_>]) -> String {
    let mut largest: Vec<&Frame<'_>> = frames.iter().collect();
    largest.sort_by_key(|frame| std::cmp::Reverse(frame.sides[0].abs_diff(frame.sides[1])));
    largest.into_iter().take(8).map(said).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(chain: &str, a_us: f64, b_us: f64) -> ChainTime {
        ChainTime { chain: chain.to_owned(), a_us, b_us }
    }

    #[test]
    fn what_takes_longer_what_is_gone_and_what_stayed_differ() {
        let chains =
            [chain("ran;serve;work", 10.0, 30.0), chain("ran;serve;log", 20.0, 0.0), chain("asleep;row", 50.0, 50.5)];
        let text = draw("x", &chains).unwrap().into_string();
        assert!(text.contains("work: A 10.0 µs, B 30.0 µs, +20.0 µs"), "{text}");
        assert!(text.contains("log: A 20.0 µs, B 0.00 µs, -20.0 µs"), "{text}");
        assert_eq!(text.matches("class=\"longer step1\"").count(), 1, "{text}");
        assert_eq!(text.matches("class=\"shorter step2\"").count(), 1, "{text}");
        // `serve` and `ran` are alike in sum, `row` nearly.
        assert_eq!(text.matches("class=\"same\"").count(), 4, "{text}");
        // Widths are the larger of both, 30 + 20 + 50.5.
        assert!(text.contains(&format!("width=\"{}\"", px(960.0 * 30.0 / 100.5 - 0.6))), "{text}");
        assert!(draw("x", &[]).is_none());
    }
}
