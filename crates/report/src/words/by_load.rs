//! Sentences on what differs under each of several loads.

use super::not_shown;
use super::terms::{measured, small_change};
use crate::figures::times;
use tare_findings::verdict::{Measured, OfLoad, Verdict};
use tare_text::{count, list};

/// Candidates for the first sentence, the longest first: the loads with a difference, each with its figure, and that
/// none is shown for the others. The shorter ones give only the number of such loads and the largest difference.
pub(super) fn headlines(loads: &[OfLoad]) -> Vec<String> {
    let (shown, others): (Vec<&OfLoad>, Vec<&OfLoad>) = loads.iter().partition(|own| own.shown);
    let moved: Vec<MovedLoad<'_>> = shown.iter().filter_map(|own| MovedLoad::of(own)).collect();
    let Some(MovedLoad { lead, what, .. }) = moved.first() else {
        let lead = format!("No difference is shown on any of the {} loads", loads.len());
        let figures = not_shown::largest_of(loads).map(|figures| format!("{lead} (largest {figures})."));
        return figures.into_iter().chain([format!("{lead}.")]).collect();
    };
    // Under each load another factor may make the largest difference, and which of several does is not always tested.
    let by_one = lead.as_ref().filter(|lead| moved.iter().all(|load| load.lead.as_ref() == Some(lead)));
    let lead = by_one.cloned().unwrap_or_else(|| format!("Conditions differ in {}", measured(what)));
    let figures = list(&moved.iter().map(MovedLoad::figure).collect::<Vec<_>>());
    let names = list(&others.iter().map(|own| own.load.clone()).collect::<Vec<_>>());
    let rest = |what: String| {
        if others.is_empty() { String::new() } else { format!("; no difference is shown on {what}") }
    };
    let of_all = format!("{lead} on {} of {} loads", shown.len(), loads.len());
    vec![
        format!("{lead} {figures}{}.", rest(names)),
        format!("{lead} {figures}{}.", rest(count(others.len(), "other load"))),
        format!("{of_all}: {}.", both_ways(&moved)),
        format!("{of_all}."),
        format!("{} of {} loads moved.", shown.len(), loads.len()),
    ]
}

struct MovedLoad<'v> {
    what: &'v Measured,
    /// "build moved throughput"; none if no single factor is shown to.
    lead: Option<String>,
    load: &'v str,
    ratio: f64,
    /// Whether the ratio is that of a second level to a first one, and not of the best to the worst of many.
    of_second: bool,
}

impl<'v> MovedLoad<'v> {
    fn of(own: &'v OfLoad) -> Option<Self> {
        let load = own.load.as_str();
        match &own.verdict {
            Verdict::Moved { what, first, .. } => {
                let lead = Some(format!("{} moved {}", first.term, measured(what)));
                Some(Self { what, lead, load, ratio: first.ratio, of_second: true })
            }
            Verdict::Ranked { what, ranking, by, .. } => {
                let lead = by.as_ref().map(|factor| format!("{factor} moved {}", measured(what)));
                let ratio = ranking.second.as_ref().map_or(ranking.ratio, |second| second.ratio);
                Some(Self { what, lead, load, ratio, of_second: ranking.second.is_some() })
            }
            _ => None,
        }
    }

    fn figure(&self) -> String {
        match small_change(self.ratio) {
            Some(by) => format!("by {by} on {}", self.load),
            None => format!("{} on {}", times(self.ratio), self.load),
        }
    }
}

/// "12 lower, most 0.90x on insert; 2 higher, most by 3.6% on scan."
fn both_ways(moved: &[MovedLoad<'_>]) -> String {
    let farthest = |all: &[&MovedLoad<'_>]| {
        let far = |load: &MovedLoad<'_>| load.ratio.ln().abs();
        all.iter().max_by(|a, b| far(a).total_cmp(&far(b))).map_or_else(String::new, |load| load.figure())
    };
    let all: Vec<&MovedLoad<'_>> = moved.iter().collect();
    if !moved.iter().all(|load| load.of_second) {
        return format!("most {}", farthest(&all));
    }
    let (lower, higher): (Vec<_>, Vec<_>) = all.into_iter().partition(|load| load.ratio < 1.0);
    let ways = [("lower", lower), ("higher", higher)].into_iter().filter(|(_, loads)| !loads.is_empty());
    let words: Vec<String> =
        ways.map(|(way, loads)| format!("{} {way}, most {}", loads.len(), farthest(&loads))).collect();
    words.join("; ")
}
