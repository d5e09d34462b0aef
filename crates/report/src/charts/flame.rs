//! Flame graphs for the page, of one side and of a difference: every box is a function, as wide as its share of the
//! samples, with its callees above it.
//!
//! The results directory also has inferno's drawing for clicking through; it needs a script, which a report must not
//! have, and does not support the page's colours or its dark mode.

use super::axis::px;
use crate::figures::figure;
use maud::{Markup, html};
use std::collections::BTreeMap;
use tare_findings::why::ChainTime;
use tare_results::unit::Unit;
use tare_text::percent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Samples,
    /// Wall-clock time of threads: waiting has another colour than running.
    Time,
}

/// Names of the first boxes of threads that do not run.
const NOT_RUNNING: [&str; 2] = ["asleep", "ready"];

/// Draws folded call chains; `marked` functions get an outline. `None` for a text without a chain.
pub(crate) fn draw(title: &str, folded: &str, marked: &[&str], width: Width) -> Option<Markup> {
    let share = |frame: &FlameBox<'_>| frame.to - frame.from;
    let look = Look {
        class: &|frame| class(frame, marked, width),
        description_of: &|frame| format!("{}: {} of {}", frame.name, percent(share(frame)), width.words()),
        matters: &share,
        of: "samples",
        width: &format!("share of {}", width.words()),
    };
    draw_boxes(title, tree(folded), &look)
}

impl Width {
    fn words(self) -> &'static str {
        match self {
            Self::Samples => "the samples",
            Self::Time => "the threads' time",
        }
    }
}

fn tree(folded: &str) -> Node {
    Node::of(folded.lines().filter_map(|line| {
        let (chain, weight) = line.rsplit_once(' ')?;
        Some((chain, weight.parse().ok()?, [0, 0]))
    }))
}

fn class(frame: &FlameBox<'_>, marked: &[&str], of: Width) -> String {
    let mut class = if of == Width::Time && NOT_RUNNING.contains(&frame.root) {
        format!("waits shade{}", frame.row % 3)
    } else if frame.name.ends_with("_[k]") {
        "kernel".to_owned()
    } else {
        format!("user shade{}", frame.name.len() % 3)
    };
    if marked.contains(&frame.name) {
        class.push_str(" hot");
    }
    class
}

/// Weights of boxes are in nanoseconds.
const NS_PER_US: f64 = 1e3;
/// A box that changed by less than this share of its time is drawn as unchanged.
const SAME: f64 = 0.05;

/// Draws the chains of A and B; `None` if neither has any. Every box is as wide as the larger of A's and B's time in
/// it, and coloured by which of the two is larger, so that functions that only one of them executes are visible too.
pub(crate) fn draw_difference(title: &str, chains: &[ChainTime]) -> Option<Markup> {
    let root = Node::of(chains.iter().map(|one| {
        let sides = [one.a_us, one.b_us].map(|us| (us * NS_PER_US) as u64);
        (one.chain.as_str(), sides[0].max(sides[1]), sides)
    }));
    let look = Look {
        class: &|frame| class_of_difference(frame.sides),
        description_of: &description_of_difference,
        matters: &|frame| frame.sides[0].abs_diff(frame.sides[1]) as f64,
        of: "chains",
        width: "the larger of A's and B's time",
    };
    draw_boxes(title, root, &look)
}

/// Darker if it changed by a larger share of its time.
fn class_of_difference([a, b]: [u64; 2]) -> String {
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

fn description_of_difference(frame: &FlameBox<'_>) -> String {
    let [a, b] = frame.sides.map(|ns| ns as f64 / NS_PER_US);
    let sign = if b < a { "-" } else { "+" };
    format!(
        "{}: A {}, B {}, {sign}{}",
        frame.name,
        figure(a, Unit::Us),
        figure(b, Unit::Us),
        figure((b - a).abs(), Unit::Us)
    )
}

const WIDTH: f64 = 960.0;
const BOX_HEIGHT: f64 = 17.0;
const DESCRIBED: usize = 8;
/// Width of a character of a label, in pixels.
const CHARACTER: f64 = 6.6;
/// Maximum number of boxes in a drawing; beyond this the smallest are left out.
const BOXES: usize = 260;
const ROWS: usize = 48;
const DEEPEST: usize = 256;
/// Maximum nodes of a tree: beyond this the lightest chains are cut, so that no file of chains exhausts the memory.
const NODES: usize = 100_000;

#[derive(Default)]
pub(crate) struct Node {
    weight: u64,
    /// The weights on the two sides, if there are two.
    sides: [u64; 2],
    callees: BTreeMap<String, Node>,
}

pub(crate) struct FlameBox<'n> {
    pub name: &'n str,
    pub row: usize,
    pub root: &'n str,
    /// Where it begins and ends, as shares of the whole.
    pub from: f64,
    pub to: f64,
    /// The weights on the two sides, if there are two.
    pub sides: [u64; 2],
}

struct Look<'l> {
    pub class: &'l dyn Fn(&FlameBox<'_>) -> String,
    pub description_of: &'l dyn Fn(&FlameBox<'_>) -> String,
    /// The importance of a box: the most important are in the description.
    pub matters: &'l dyn Fn(&FlameBox<'_>) -> f64,
    /// What the chains consist of, for instance samples.
    pub of: &'l str,
    pub width: &'l str,
}

fn draw_boxes(title: &str, mut root: Node, look: &Look<'_>) -> Option<Markup> {
    let left_out = root.without_trunk();
    if root.weight == 0 {
        return None;
    }
    let (frames, rows) = root.frames();
    let height = rows as f64 * BOX_HEIGHT + 22.0;
    let mut first: Vec<&FlameBox<'_>> = frames.iter().collect();
    first.sort_by(|a, b| (look.matters)(b).total_cmp(&(look.matters)(a)));
    let description: Vec<String> = first.into_iter().take(DESCRIBED).map(look.description_of).collect();
    Some(html! {
        svg.chart.flame viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            title { (title) }
            desc { (description.join("; ")) }
            @for frame in &frames {
                @let (x, width) = (frame.from * WIDTH, (frame.to - frame.from) * WIDTH);
                @let y = (rows - 1 - frame.row) as f64 * BOX_HEIGHT;
                g {
                    title { ((look.description_of)(frame)) }
                    rect class=((look.class)(frame)) x=(px(x)) y=(px(y)) width=(px((width - 0.6).max(0.4))) height=(px(BOX_HEIGHT - 1.0)) {}
                    @if let Some(label) = box_label(frame.name, width) { text x=(px(x + 3.0)) y=(px(y + 12.0)) { (label) } }
                }
            }
            text.tick x="0" y=(px(height - 5.0)) {
                @if left_out > 0 { "above " (left_out) " callers that all " (look.of) " have in common; " }
                "width: " (look.width) "; `_[k]`: the kernel"
            }
        }
    })
}

impl Node {
    /// A tree of chains, `caller;callee`, with the weight of each in all and on two sides.
    pub(crate) fn of<'c>(chains: impl Iterator<Item = (&'c str, u64, [u64; 2])>) -> Self {
        let mut chains: Vec<_> = chains.collect();
        chains.sort_unstable_by_key(|(_, weight, _)| std::cmp::Reverse(*weight));
        let (mut root, mut room) = (Self::default(), NODES);
        for (chain, weight, sides) in chains {
            root.add(chain, weight, sides, &mut room);
        }
        root
    }

    fn add(&mut self, chain: &str, weight: u64, sides: [u64; 2], room: &mut usize) {
        self.more(weight, sides);
        let mut node = self;
        for name in chain.split(';').take(DEEPEST) {
            if !node.callees.contains_key(name) {
                let Some(left) = room.checked_sub(1) else { return };
                *room = left;
            }
            node = node.callees.entry(name.to_owned()).or_default();
            node.more(weight, sides);
        }
    }

    #[cfg(test)]
    pub(crate) fn nodes(&self) -> usize {
        self.callees.values().map(|callee| 1 + callee.nodes()).sum()
    }

    fn more(&mut self, weight: u64, sides: [u64; 2]) {
        self.weight = self.weight.saturating_add(weight);
        for (sum, side) in self.sides.iter_mut().zip(sides) {
            *sum = sum.saturating_add(side);
        }
    }

    /// Removes the callers that all chains share; returns their number.
    fn without_trunk(&mut self) -> usize {
        let mut cut = 0;
        while self.callees.len() == 1 {
            let Some((name, only)) = self.callees.pop_first() else { break };
            // The last one is kept, because a single box is better than none.
            if only.weight < self.weight || only.callees.is_empty() {
                self.callees.insert(name, only);
                break;
            }
            *self = only;
            cut += 1;
        }
        cut
    }

    /// The widest boxes, and the number of their rows.
    fn frames(&self) -> (Vec<FlameBox<'_>>, usize) {
        let mut frames = Vec::new();
        lay_out(self, (0, None), 0.0, self.weight as f64, &mut frames);
        // Only the widest are visible.
        frames.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
        frames.truncate(BOXES);
        let rows = frames.iter().map(|frame| frame.row + 1).max().unwrap_or(1);
        (frames, rows)
    }
}

/// Adds boxes for the callees of a node, from a row on; `root` is the first function of the chains.
fn lay_out<'n>(
    node: &'n Node,
    (row, root): (usize, Option<&'n str>),
    mut from: f64,
    whole: f64,
    frames: &mut Vec<FlameBox<'n>>,
) {
    if row >= ROWS {
        return;
    }
    for (name, callee) in &node.callees {
        let to = from + callee.weight as f64 / whole;
        // Less than half a pixel is invisible.
        if (to - from) * WIDTH >= 0.5 {
            let root = root.unwrap_or(name);
            frames.push(FlameBox { name, row, root, from, to, sides: callee.sides });
            lay_out(callee, (row + 1, Some(root)), from, whole, frames);
        }
        from = to;
    }
}

/// A name shortened to fit a box of this width; `None` if nothing fits. The end of a path is more useful than its
/// beginning.
fn box_label(name: &str, width: f64) -> Option<String> {
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    (room >= 3).then(|| shortened_function(name, room))
}

fn shortened_function(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let last = name.rsplit("::").next().unwrap_or(name);
    let name = if last.len() > 2 { last } else { name };
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn boxes_are_as_wide_as_their_share_and_the_trunk_is_cut() {
        let folded = "start;main;serve;lock 60\nstart;main;serve;read_[k] 30\nstart;main;log 10\n";
        let text = draw("x", folded, &["lock"], Width::Samples).unwrap().into_string();
        assert!(text.contains("lock: 60% of the samples") && text.contains("serve: 90% of the samples"), "{text}");
        assert!(!text.contains(">main:") && text.contains("above 2 callers"), "{text}");
        assert!(text.contains("hot") && text.contains("class=\"kernel\""), "{text}");
        assert!(draw("x", "", &[], Width::Time).is_none() && draw("x", "no weight\n", &[], Width::Samples).is_none());
    }

    #[test]
    fn sleeping_and_running_functions_have_different_colours() {
        let folded = "ran;main;asleep 50\nasleep;shared_futex;dict_sys 40\nready;waited_for_cpu 10\n";
        let text = draw("x", folded, &[], Width::Time).unwrap().into_string();
        assert_eq!(text.matches("class=\"waits ").count(), 5, "{text}");
        assert_eq!(text.matches("class=\"user ").count(), 3, "a function of the name runs: {text}");
        assert!(text.contains("dict_sys: 40% of the threads' time"), "{text}");
        assert!(!draw("x", folded, &[], Width::Samples).unwrap().into_string().contains("class=\"waits "));
    }

    #[test]
    fn a_large_profile_stays_small() {
        let folded: String = (0..20_000).map(|i| format!("main;f{};g{i};h{i} {}\n", i % 50, 1 + i % 7)).collect();
        let text = draw("x", &folded, &[], Width::Samples).unwrap().into_string();
        assert!(text.len() < 60_000, "{}", text.len());
        assert!(text.matches("<rect").count() <= BOXES);
        // With chains that share nothing, the heaviest is kept and the size of the tree is limited.
        let deep =
            |i: usize| format!("{i};{}{i}x;last {}\n", format!("{i};").repeat(200), 1 + 1000 * usize::from(i == 899));
        let folded: String = (0..900).map(deep).collect();
        assert_eq!(tree(&folded).nodes(), NODES);
        assert!(
            draw("x", &folded, &[], Width::Samples).unwrap().into_string().contains("<title>899: 53% of the samples")
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(folded in "[a-z;: 0-9\n]{0,300}") {
            let _ = draw("x", &folded, &["a"], Width::Time);
        }
    }

    fn chain(chain: &str, a_us: f64, b_us: f64) -> ChainTime {
        ChainTime { chain: chain.to_owned(), a_us, b_us }
    }

    #[test]
    fn slower_vanished_and_unchanged_functions_look_different() {
        let chains =
            [chain("ran;serve;work", 10.0, 30.0), chain("ran;serve;log", 20.0, 0.0), chain("asleep;row", 50.0, 50.5)];
        let text = draw_difference("x", &chains).unwrap().into_string();
        assert!(text.contains("work: A 10.0 µs, B 30.0 µs, +20.0 µs"), "{text}");
        assert!(text.contains("log: A 20.0 µs, B 0.00 µs, -20.0 µs"), "{text}");
        assert_eq!(text.matches("class=\"longer step1\"").count(), 1, "{text}");
        assert_eq!(text.matches("class=\"shorter step2\"").count(), 1, "{text}");
        // `serve` and `ran` have equal sums, `row` nearly.
        assert_eq!(text.matches("class=\"same\"").count(), 4, "{text}");
        // Widths are the larger of both, 30 + 20 + 50.5.
        assert!(text.contains(&format!("width=\"{}\"", px(960.0 * 30.0 / 100.5 - 0.6))), "{text}");
        assert!(draw_difference("x", &[]).is_none());
    }
}
