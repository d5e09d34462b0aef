//! Throughput per second: one line per sample, with slow seconds marked and standstills shaded.

use super::axis::{Axis, px, through};
use super::frame::Frame;
use super::marks;
use maud::{Markup, html};

const WIDE: Frame = Frame::WIDE;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 178.0;
const HEIGHT: f64 = BOTTOM + 40.0;
/// A second with less than this share of its sample's median throughput is marked.
const SLOW: f64 = 0.5;
/// A narrower standstill would be invisible.
const LEAST_WIDTH: f64 = 2.0;
/// Maximum readings of a sample that are drawn, about one per pixel.
const DRAWN: usize = 1_000;

pub(crate) struct SampleSeries {
    pub name: String,
    /// Transactions per second, one reading per second.
    pub tps: Vec<f64>,
    /// The longest standstill: start and length in seconds, and whether client or server caused it.
    pub stall: Option<(f64, f64, String)>,
}

impl SampleSeries {
    fn usual(&self) -> f64 {
        let mut sorted = self.tps.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    /// The readings that are drawn, each with its index: all of them, or the lowest and the highest of each group if
    /// more would be indistinguishable.
    fn drawn(&self) -> Vec<(usize, f64)> {
        let all: Vec<(usize, f64)> = self.tps.iter().copied().enumerate().collect();
        if all.len() <= DRAWN {
            return all;
        }
        let ends = |few: &[(usize, f64)]| {
            let by_tps = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
            let mut ends: Vec<_> =
                [few.iter().min_by(by_tps), few.iter().max_by(by_tps)].into_iter().flatten().collect();
            ends.sort_by_key(|(place, _)| *place);
            ends.into_iter().copied().collect::<Vec<_>>()
        };
        all.chunks(all.len().div_ceil(DRAWN / 2)).flat_map(ends).collect()
    }
}

/// Draws all samples of a condition with the mark of this number, over the seconds of their sample.
pub(crate) fn draw(condition: &str, lines: &[SampleSeries], mark: usize) -> Markup {
    let longest = lines.iter().map(|line| line.tps.len()).max().unwrap_or(0).max(1) as f64;
    let x = |second: f64| WIDE.left + (second / longest).clamp(0.0, 1.0) * (WIDE.right - WIDE.left);
    // From 0, because a gap is only visible relative to 0.
    let readings = lines.iter().flat_map(|line| line.tps.iter().copied());
    let y = Axis::new(readings.chain([0.0]), "1/s", BOTTOM, TOP);
    let step = (longest / 10.0).ceil().max(1.0);
    let ticks = (0..=10u32).map(|tick| f64::from(tick) * step).take_while(|tick| *tick <= longest);
    html! {
        svg.chart viewBox=(format!("0 0 {} {HEIGHT}", WIDE.width)) role="img" {
            title { "Throughput second by second, " (condition) }
            desc { (lines.len()) " samples over each other; crosses are seconds below half of their sample's usual throughput, "
                "shaded areas are times in which no transaction completed." }
            (y.vertical(WIDE.left, WIDE.right))
            text.axis x=(px(WIDE.left)) y="11" text-anchor="start" { (y.label("tps")) }
            @for tick in ticks {
                text.tick x=(px(x(tick))) y=(px(BOTTOM + 16.0)) text-anchor="middle" { (tick) }
            }
            text.axis x=(px((WIDE.left + WIDE.right) / 2.0)) y=(px(BOTTOM + 33.0)) text-anchor="middle" { "seconds of the sample" }
            @for line in lines { (shade(line, &x)) (series(line, mark, &x, &y)) }
        }
    }
}

fn shade(line: &SampleSeries, x: &impl Fn(f64) -> f64) -> Markup {
    let Some((from_s, length_s, whose)) = &line.stall else { return html! {} };
    let (from, to) = (x(*from_s), x(from_s + length_s));
    html! {
        rect.stall x=(px(from)) y=(px(TOP)) width=(px((to - from).max(LEAST_WIDTH))) height=(px(BOTTOM - TOP)) {
            title { (line.name) ": " (whose) }
        }
    }
}

fn series(line: &SampleSeries, mark: usize, x: &impl Fn(f64) -> f64, y: &Axis) -> Markup {
    // A reading is of the second before it.
    let at = |place: usize| x(place as f64 + 0.5);
    let (drawn, least) = (line.drawn(), SLOW * line.usual());
    let readings = drawn.iter().map(|(place, tps)| (at(*place), y.at(*tps)));
    let slow = drawn.iter().filter(|(_, tps)| *tps < least);
    html! {
        path class=(format!("curve second {}", marks::class(mark))) d=(through(readings)) { title { (line.name) } }
        @for (place, tps) in slow {
            path.bad d=(format!("M{} {}l7 7m0 -7l-7 7", px(at(*place) - 3.5), px(y.at(*tps) - 3.5))) {
                title { (line.name) ", second " (place + 1) ": " (y.scale.figure(*tps)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_marked_and_a_standstill_shaded_where_it_was() {
        let tps = vec![100.0, 101.0, 0.0, 99.0, 100.0, 100.0, 49.0, 100.0, 100.0, 100.0];
        let stall = Some((2.0, 1.0, "the client itself stalled".to_owned()));
        let lines = [
            SampleSeries { name: "trial 3".into(), tps, stall },
            SampleSeries { name: "trial 4".into(), tps: vec![51.0, 100.0, 100.0, 100.0, 100.0], stall: None },
        ];
        let drawn = draw("base", &lines, 0).into_string();
        assert_eq!(drawn.matches("class=\"bad\"").count(), 2, "{drawn}");
        assert!(drawn.contains("trial 3, second 3: 0") && drawn.contains("trial 3, second 7: 49"), "{drawn}");
        // A tenth of the width, starting at two tenths.
        assert_eq!(drawn.matches("class=\"stall\" x=\"245\"").count(), 1, "{drawn}");
        assert!(drawn.contains("width=\"87.5\"") && drawn.contains("trial 3: the client itself stalled"), "{drawn}");
        assert!(!draw("base", &[], 0).into_string().contains("NaN"));
    }

    /// A day: drawing each second is 24 lines of 86,400 points, and computing a median of all for each of them took
    /// hours.
    #[test]
    fn a_sample_of_a_day_is_drawn_at_once_with_its_gaps() {
        let mut tps = vec![100.0; 86_400];
        tps[50_000] = 0.0;
        let began = std::time::Instant::now();
        let drawn = draw("base", &[SampleSeries { name: "trial 3".into(), tps, stall: None }], 0).into_string();
        assert!(drawn.len() < 40_000 && began.elapsed().as_secs() < 5, "{} {:?}", drawn.len(), began.elapsed());
        assert!(drawn.contains("trial 3, second 50001: 0") && drawn.matches("class=\"bad\"").count() == 1, "{drawn}");
    }
}
