//! The machine as lstopo draws it, with client and server threads where they were observed: the boxes with their
//! threads, and the positions of the boxes, nested, children side by side, wrapped into equally full rows.
//!
//! The boxes are drawn once as an SVG symbol, which every condition uses and adds its threads to, so that a machine
//! with hundreds of PUs (logical CPUs) takes its bytes only once.

use super::axis::px;
use super::machine_view::{BoxKind, MachineBox};
use maud::{Markup, html};
use std::collections::BTreeMap;
use tare_findings::places::{ThreadSummary, main_cpu};
use tare_results::schema::ThreadClass;
use tare_text::percent;

/// A drawing that is narrower than this is enlarged.
const COMFORTABLE: f64 = 420.0;
/// Observations below this share are left out of the drawing; the table has them.
const SHARE_SHOWN: f64 = 0.02;
/// Marks that fit into one PU; more are printed as a count.
const MARKS_A_PU: usize = 4;
/// Maximum number of lines drawn between clients and servers.
const MOST_LINES: usize = 2_000;

impl Layout {
    /// The symbol that [`Layout::draw`] uses: once per page.
    pub(crate) fn symbol(&self) -> Markup {
        html! {
            svg width="0" height="0" aria-hidden="true" style="position:absolute" {
                symbol id="machine-boxes" viewBox=(self.view_box()) {
                    @for (rect, kind, label) in &self.boxes {
                        rect class={ "b-" (kind) } x=(px(rect.x)) y=(px(rect.y)) width=(px(rect.width)) height=(px(rect.height)) rx="3" {}
                        @if *kind == BoxKind::Pu {
                            text.pu-number x=(px(rect.x + 3.0)) y=(px(rect.y + 10.0)) { (label) }
                        } @else if !label.is_empty() {
                            text.box-label x=(px(rect.x + PAD)) y=(px(rect.y + 12.0)) { (label) }
                        }
                    }
                }
            }
        }
    }

    fn view_box(&self) -> String {
        format!("0 0 {} {}", px(self.width), px(self.height))
    }

    pub(crate) fn draw(&self, title: &str, threads: &[ThreadSummary]) -> Markup {
        let paired: Vec<&ThreadSummary> =
            threads.iter().filter(|thread| thread.class != ThreadClass::Background && thread.pair.is_some()).collect();
        let mut on_pu: BTreeMap<usize, Vec<(&ThreadSummary, f64)>> = BTreeMap::new();
        for thread in &paired {
            for (cpu, share) in thread.seen.iter().filter(|(_, share)| **share >= SHARE_SHOWN) {
                on_pu.entry(*cpu).or_default().push((thread, *share));
            }
        }
        let spots = self.spots(&on_pu);
        // A small machine may be enlarged; a large one shrinks to the page by CSS.
        let zoom = (COMFORTABLE / self.width).clamp(1.0, 1.6);
        html! {
            svg.machine viewBox=(self.view_box()) width=(px(self.width * zoom)) height=(px(self.height * zoom)) role="img" {
                title { (title) }
                desc { (description(&paired)) }
                use href="#machine-boxes" width=(px(self.width)) height=(px(self.height)) {}
                @for line in pair_lines(&paired, &spots) { path.pair d=(line) {} }
                @for (cpu, here) in &on_pu {
                    @if here.len() <= MARKS_A_PU {
                        @for (thread, share) in here {
                            @if let Some((x, y)) = spots.get(&(thread.class, thread.pair, *cpu)) {
                                (mark(thread, *share, *x, *y, *cpu))
                            }
                        }
                    } @else if let Some(rect) = self.pus.get(cpu) {
                        (crowd(here, *rect, *cpu))
                    }
                }
            }
        }
    }

    /// The position of the mark of each thread on each PU: clients on the left, servers on the right.
    fn spots(
        &self,
        on_pu: &BTreeMap<usize, Vec<(&ThreadSummary, f64)>>,
    ) -> BTreeMap<(ThreadClass, Option<usize>, usize), (f64, f64)> {
        let mut spots = BTreeMap::new();
        for (cpu, here) in on_pu {
            let Some(rect) = self.pus.get(cpu) else { continue };
            for (index, (thread, _)) in here.iter().enumerate() {
                let (column, row) = (index % 2, index / 2);
                let (x, y) = if here.len() <= 2 {
                    (if here.len() == 1 { 0.5 } else { 0.27 + 0.46 * column as f64 }, 0.66)
                } else if here.len() <= MARKS_A_PU {
                    (0.27 + 0.46 * column as f64, 0.42 + 0.36 * row as f64)
                } else {
                    (0.5, 0.6)
                };
                spots.insert((thread.class, thread.pair, *cpu), (rect.x + x * rect.width, rect.y + y * rect.height));
            }
        }
        spots
    }
}

/// A thread: a circle for a client, a square for a server, with the number of its pair inside; paler if it was observed
/// there less often.
fn mark(thread: &ThreadSummary, share: f64, x: f64, y: f64, cpu: usize) -> Markup {
    let opacity = px(0.25 + 0.75 * share);
    let words = format!("{} on CPU {cpu}: {} of observations", name_of(thread), percent(share));
    html! {
        g.seat {
            title { (words) }
            @if thread.class == ThreadClass::Client {
                circle.client cx=(px(x)) cy=(px(y)) r="7.5" fill-opacity=(opacity) {}
            } @else {
                rect.server x=(px(x - 7.0)) y=(px(y - 7.0)) width="14" height="14" rx="1.5" fill-opacity=(opacity) {}
            }
            text.seat-number x=(px(x)) y=(px(y + 3.5)) text-anchor="middle" { (thread.pair.unwrap_or_default()) }
        }
    }
}

/// The numbers of threads, if there are more than fit.
fn crowd(here: &[(&ThreadSummary, f64)], rect: Rect, cpu: usize) -> Markup {
    let clients = here.iter().filter(|(thread, _)| thread.class == ThreadClass::Client).count();
    let servers = here.len() - clients;
    html! {
        g {
            title { "CPU " (cpu) ": " (clients) " client and " (servers) " server threads were observed here" }
            @if clients > 0 { text.crowd-client x=(px(rect.x + rect.width / 2.0)) y=(px(rect.y + 24.0)) text-anchor="middle" { "● " (clients) } }
            @if servers > 0 { text.crowd-server x=(px(rect.x + rect.width / 2.0)) y=(px(rect.y + 36.0)) text-anchor="middle" { "■ " (servers) } }
        }
    }
}

/// Lines between client and server of each pair, from and to the PUs where each was observed most.
fn pair_lines(
    paired: &[&ThreadSummary],
    spots: &BTreeMap<(ThreadClass, Option<usize>, usize), (f64, f64)>,
) -> Vec<String> {
    let spot = |thread: &ThreadSummary| {
        let cpu = main_cpu(thread.seen.iter().map(|(cpu, share)| (*cpu, *share)))?;
        spots.get(&(thread.class, thread.pair, cpu)).copied()
    };
    let of = |class: ThreadClass| paired.iter().filter(move |thread| thread.class == class);
    let mut servers: BTreeMap<Option<usize>, Vec<(f64, f64)>> = BTreeMap::new();
    for server in of(ThreadClass::Connection) {
        servers.entry(server.pair).or_default().extend(spot(server));
    }
    let ends = of(ThreadClass::Client).filter_map(|client| Some((spot(client)?, servers.get(&client.pair)?)));
    let ends = ends.flat_map(|(client, servers)| servers.iter().map(move |server| (client, *server)));
    let line = |((x1, y1), (x2, y2)): ((f64, f64), (f64, f64))| {
        // The curve keeps lines within one row apart from the marks between their ends.
        let bow = ((x2 - x1).abs() * 0.12).min(40.0);
        let (cx, cy) = ((x1 + x2) / 2.0, y1.min(y2) - bow);
        format!("M{} {}Q{} {} {} {}", px(x1), px(y1), px(cx), px(cy), px(x2), px(y2))
    };
    ends.take(MOST_LINES).map(line).collect()
}

fn name_of(thread: &ThreadSummary) -> String {
    let side = thread.class.side();
    thread.pair.map_or_else(|| format!("{side} {}", thread.name), |pair| format!("{side} {pair}"))
}

fn description(paired: &[&ThreadSummary]) -> String {
    let words: Vec<String> = paired
        .iter()
        .take(16)
        .map(|thread| {
            let cpus: Vec<String> =
                thread.seen.iter().map(|(cpu, share)| format!("{cpu} ({})", percent(*share))).collect();
            format!("{} on CPU {}", name_of(thread), cpus.join(", "))
        })
        .collect();
    words.join("; ")
}

const PU_WIDTH: f64 = 46.0;
const PU_HEIGHT: f64 = 46.0;
const PAD: f64 = 5.0;
const HEAD: f64 = 14.0;
/// Width at which children wrap into the next row.
const WRAP: f64 = 620.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The layout of a machine: the position of every PU (logical CPU), and the boxes around them.
pub(crate) struct Layout {
    pub(super) boxes: Vec<(Rect, BoxKind, String)>,
    pub(super) pus: BTreeMap<usize, Rect>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A box with its size and its parts, each with its position in the box.
struct SizedBox<'a> {
    item: &'a MachineBox,
    width: f64,
    height: f64,
    parts: Vec<(f64, f64, SizedBox<'a>)>,
}

impl Layout {
    pub(crate) fn new(machine: &MachineBox) -> Self {
        let sized = SizedBox::of(machine);
        let (width, height) = (sized.width + 2.0, sized.height + 2.0);
        let mut layout = Self { boxes: Vec::new(), pus: BTreeMap::new(), width, height };
        layout.place(&sized, 1.0, 1.0);
        layout
    }

    /// Places a box with its corner at (x, y).
    fn place(&mut self, sized: &SizedBox<'_>, x: f64, y: f64) {
        let rect = Rect { x, y, width: sized.width, height: sized.height };
        self.boxes.push((rect, sized.item.kind, sized.item.label.clone()));
        if let Some(cpu) = sized.item.cpu {
            self.pus.insert(cpu, rect);
        }
        for (at_x, at_y, part) in &sized.parts {
            self.place(part, x + at_x, y + at_y);
        }
    }
}

impl<'a> SizedBox<'a> {
    fn of(item: &'a MachineBox) -> Self {
        if item.cpu.is_some() {
            return Self { item, width: PU_WIDTH, height: PU_HEIGHT, parts: Vec::new() };
        }
        let sized: Vec<Self> = item.children.iter().map(Self::of).collect();
        let per_row = per_row(&sized);
        let head = if item.label.is_empty() { 0.0 } else { HEAD };
        let (mut right, mut bottom): (f64, f64) = (PAD, head + PAD);
        let (mut at_x, mut at_y) = (PAD, head + PAD);
        let mut parts = Vec::with_capacity(sized.len());
        for (index, part) in sized.into_iter().enumerate() {
            if index > 0 && index % per_row == 0 {
                at_x = PAD;
                at_y = bottom + PAD;
            }
            right = right.max(at_x + part.width);
            bottom = bottom.max(at_y + part.height);
            let x = at_x;
            at_x += part.width + PAD;
            parts.push((x, at_y, part));
        }
        let label_width = item.label.chars().count() as f64 * 6.2 + 2.0 * PAD;
        Self { item, width: (right + PAD).max(label_width), height: bottom + PAD, parts }
    }
}

/// Parts per row: as many rows as the width requires, equally full.
fn per_row(parts: &[SizedBox<'_>]) -> usize {
    let widest = parts.iter().map(|part| part.width + PAD).fold(1.0, f64::max);
    let fit = ((WRAP / widest) as usize).max(1);
    let rows = parts.len().div_ceil(fit).max(1);
    parts.len().div_ceil(rows).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// As many as the client of a large server has: searching for the partner of each among all took quadratic time.
    #[test]
    fn lines_between_very_many_threads_are_drawn_at_once() {
        let thread = |class, pair| ThreadSummary {
            class,
            pair: Some(pair),
            name: String::new(),
            allowed: Default::default(),
            seen: [(0, 1.0)].into(),
            samples: 1,
            migrations: 0.0,
            voluntary_switches: 0.0,
            involuntary_switches: 0.0,
            cpu_s: 0.0,
            schedule: None,
        };
        let sides = [ThreadClass::Client, ThreadClass::Connection];
        let threads: Vec<_> = (0..20_000).flat_map(|pair| sides.map(|class| thread(class, pair))).collect();
        let lines = |threads: &[ThreadSummary]| {
            let spots = threads.iter().map(|one| ((one.class, one.pair, 0), (10.0, 20.0))).collect();
            pair_lines(&threads.iter().collect::<Vec<_>>(), &spots)
        };
        assert_eq!(lines(&threads[..6]).len(), 3);
        let began = Instant::now();
        assert_eq!(lines(&threads).len(), MOST_LINES);
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }

    /// Measuring each box again for each box around it took time with 2 to the power of their number.
    #[test]
    fn nested_boxes_are_placed_at_once() {
        let mut nested = MachineBox { kind: BoxKind::Pu, label: "0".to_owned(), cpu: Some(0), children: Vec::new() };
        for _ in 0..24 {
            nested = MachineBox { kind: BoxKind::Cache, label: String::new(), cpu: None, children: vec![nested] };
        }
        let began = Instant::now();
        let layout = Layout::new(&nested);
        assert_eq!((layout.boxes.len(), layout.width), (25, 46.0 + 24.0 * 2.0 * PAD + 2.0));
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }
}
