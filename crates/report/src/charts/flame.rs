//! A flame graph for a page: every box a function, as wide as its share of the samples, what it calls above it.
//! Inferno's own drawing lies alongside the results for clicking through; it needs a script, which a report must not
//! have, and knows neither the page's colours nor light and dark.

use super::axis::px;
use super::flame_tree::{Frame, Node, ROW, WIDTH, label};
use maud::{Markup, html};
use tare_findings::figures::percent;

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

/// Draws folded call chains; `marked` functions get an outline. None for a text without a chain.
pub fn draw(title: &str, folded: &str, marked: &[&str], width: Width) -> Option<Markup> {
    let mut root = tree(folded);
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
        root.add(chain, weight, [0, 0]);
    }
    root
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
    html! {
        g {
            title { (frame.name) ": " (percent(frame.to - frame.from)) " of " (of.words()) }
            rect class=(class) x=(px(x)) y=(px(y)) width=(px((width - 0.6).max(0.4))) height=(px(ROW - 1.0)) {}
            @if let Some(label) = label(frame.name, width) { text x=(px(x + 3.0)) y=(px(y + 12.0)) { (label) } }
        }
    }
}

fn description(frames: &[Frame<'_>]) -> String {
    let largest = frames.iter().take(8).map(|frame| format!("{} {}", frame.name, percent(frame.to - frame.from)));
    largest.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::flame_tree::BOXES;
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
