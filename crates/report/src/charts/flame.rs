//! A flame graph for the page: every box is a function, as wide as its share of the samples, with its callees above it.
//! The results directory also has inferno's drawing for clicking through; it needs a script, which a report must not
//! have, and does not support the page's colours or its dark mode.

use super::flame_tree::{self, Frame, Look, Node};
use maud::Markup;
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
    let share = |frame: &Frame<'_>| frame.to - frame.from;
    let look = Look {
        class: &|frame| class(frame, marked, width),
        description_of: &|frame| format!("{}: {} of {}", frame.name, percent(share(frame)), width.words()),
        matters: &share,
        of: "samples",
        width: &format!("share of {}", width.words()),
    };
    flame_tree::draw(title, tree(folded), &look)
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

fn class(frame: &Frame<'_>, marked: &[&str], of: Width) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::flame_tree::{BOXES, NODES};
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
}
