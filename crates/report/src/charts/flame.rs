//! A flame graph for a page: every box a function, as wide as its share of the samples, what it calls above it.
//! Inferno's own drawing lies alongside the results for clicking through; it needs a script, which a report must not
//! have, and knows neither the page's colours nor light and dark.

use super::axis::px;
use maud::{Markup, html};
use std::collections::BTreeMap;
use tare_findings::figures::percent;

const WIDTH: f64 = 960.0;
const ROW: f64 = 17.0;
/// Pixels a character of a label takes.
const CHARACTER: f64 = 6.6;
/// Boxes in a drawing: the smallest are left out beyond this.
const BOXES: usize = 260;
/// Rows in a drawing.
const ROWS: usize = 48;

/// What the whole width of a drawing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// The samples of a profile.
    Samples,
    /// Wall-clock time of threads: what waits has another colour than what runs.
    Time,
}

/// Names of the first boxes of what does not run.
const NOT_RUNNING: [&str; 2] = ["asleep", "ready"];

/// Call chains as a tree.
#[derive(Default)]
struct Node {
    weight: u64,
    callees: BTreeMap<String, Node>,
}

/// One function in the drawing.
struct Frame<'n> {
    name: &'n str,
    row: usize,
    /// The first of its chain.
    root: &'n str,
    /// Where it begins and ends, as shares of the whole.
    from: f64,
    to: f64,
}

/// Draws folded call chains; `marked` functions get an outline. None for a text without a chain.
pub fn draw(title: &str, folded: &str, marked: &[&str], width: Width) -> Option<Markup> {
    let mut root = tree(folded);
    let left_out = trunk(&mut root);
    if root.weight == 0 {
        return None;
    }
    let mut frames = Vec::new();
    lay_out(&root, (0, None), 0.0, root.weight as f64, &mut frames);
    // The widest are what is seen.
    frames.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
    frames.truncate(BOXES);
    let rows = frames.iter().map(|frame| frame.row + 1).max().unwrap_or(1);
    let height = rows as f64 * ROW + 22.0;
    Some(html! {
        svg.chart.flame viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            title { (title) }
            desc { (description(&frames)) }
            @for frame in &frames { (drawn(frame, rows, marked, width)) }
            text.tick x="0" y=(px(height - 5.0)) {
                @if left_out > 0 { "above " (left_out) " callers that all samples have in common; " }
                "width: share of " (width.words()) "; `_[k]`: the kernel"
            }
        }
    })
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
    let mut root = Node::default();
    for line in folded.lines() {
        let Some((chain, weight)) = line.rsplit_once(' ') else { continue };
        let Ok(weight) = weight.parse::<u64>() else { continue };
        root.weight = root.weight.saturating_add(weight);
        let mut node = &mut root;
        for name in chain.split(';').take(256) {
            node = node.callees.entry(name.to_owned()).or_default();
            node.weight = node.weight.saturating_add(weight);
        }
    }
    root
}

/// Cuts off the callers that all samples share; how many.
fn trunk(root: &mut Node) -> usize {
    let mut cut = 0;
    while root.callees.len() == 1 {
        let Some((name, only)) = root.callees.pop_first() else { break };
        // The last one stays: a single box says more than none.
        if only.weight < root.weight || only.callees.is_empty() {
            root.callees.insert(name, only);
            break;
        }
        *root = only;
        cut += 1;
    }
    cut
}

/// Boxes of what a node calls, from a row on; in chains that begin with `root`.
fn lay_out<'n>(
    node: &'n Node,
    (row, root): (usize, Option<&'n str>),
    mut from: f64,
    whole: f64,
    frames: &mut Vec<Frame<'n>>,
) {
    if row >= ROWS {
        return;
    }
    for (name, callee) in &node.callees {
        let to = from + callee.weight as f64 / whole;
        // Less than half a pixel is not seen.
        if (to - from) * WIDTH >= 0.5 {
            let root = root.unwrap_or(name);
            frames.push(Frame { name, row, root, from, to });
            lay_out(callee, (row + 1, Some(root)), from, whole, frames);
        }
        from = to;
    }
}

fn drawn(frame: &Frame<'_>, rows: usize, marked: &[&str], of: Width) -> Markup {
    let (x, width) = (frame.from * WIDTH, (frame.to - frame.from) * WIDTH);
    let waits = of == Width::Time && NOT_RUNNING.contains(&frame.root);
    let y = (rows - 1 - frame.row) as f64 * ROW;
    let kernel = frame.name.ends_with("_[k]");
    let mut class = if waits {
        format!("waits shade{}", frame.row % 3)
    } else if kernel {
        "kernel".to_owned()
    } else {
        format!("user shade{}", frame.name.len() % 3)
    };
    if marked.contains(&frame.name) {
        class.push_str(" hot");
    }
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    html! {
        g {
            title { (frame.name) ": " (percent(frame.to - frame.from)) " of " (of.words()) }
            rect class=(class) x=(px(x)) y=(px(y)) width=(px((width - 0.6).max(0.4))) height=(px(ROW - 1.0)) {}
            @if room >= 3 { text x=(px(x + 3.0)) y=(px(y + 12.0)) { (shortened(frame.name, room)) } }
        }
    }
}

/// The end of a path says more than its beginning.
fn shortened(name: &str, room: usize) -> String {
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

fn description(frames: &[Frame<'_>]) -> String {
    let largest = frames.iter().take(8).map(|frame| format!("{} {}", frame.name, percent(frame.to - frame.from)));
    largest.collect::<Vec<_>>().join("; ")
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
    fn what_sleeps_has_another_colour_than_what_runs() {
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
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(folded in "[a-z;: 0-9\n]{0,300}") {
            let _ = draw("x", &folded, &["a"], Width::Time);
        }
    }
}
