//! Measuring what a plan names, within its limits of time.

use super::error::MeasureError;
use super::plan::MeasurePlan;
use super::working_set::WorkingSet;
use super::{cache_line, memory};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What the plan came to. Rows and columns of the tables are those of the plan; `None` is what was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// OS numbers of the PUs of `line_ns`.
    pub cpus: Vec<u32>,
    /// Nanoseconds for a cache line to go from the row's PU to the column's and back. None on the diagonal.
    pub line_ns: Vec<Vec<Option<f64>>>,
    /// OS numbers of the nodes that read: rows of the two tables below.
    pub from_nodes: Vec<u32>,
    /// OS numbers of the nodes whose memory is read: their columns.
    pub to_nodes: Vec<u32>,
    /// Nanoseconds of a load from memory that depends on the load before.
    pub latency_ns: Vec<Vec<Option<f64>>>,
    /// Bytes a second that the cores of a node read together.
    pub bandwidth_bytes_per_s: Vec<Vec<Option<f64>>>,
    /// Threads that read for the bandwidth, by row.
    pub readers: Vec<usize>,
    /// Bytes that are read.
    pub working_set_bytes: usize,
    /// What was left out or makes the figures less than exact, for people.
    pub notes: Vec<String>,
    /// How long it took, seconds.
    pub elapsed_s: f64,
}

/// Measures, on this machine. `progress` hears what fraction of the work is done.
///
/// # Errors
/// When a thread or its memory cannot be bound where the plan says.
pub fn measure(plan: &MeasurePlan, progress: &mut dyn FnMut(f64)) -> Result<Measured, MeasureError> {
    let clock = Clock { began: Instant::now(), limit: plan.limit };
    let mut notes = plan.left_out.clone();
    notes.extend(small_pages());
    let mut measured = Measured {
        cpus: plan.cpus.clone(),
        line_ns: vec![vec![None; plan.cpus.len()]; plan.cpus.len()],
        from_nodes: plan.from.iter().map(|reader| reader.node).collect(),
        to_nodes: plan.to.clone(),
        latency_ns: vec![vec![None; plan.to.len()]; plan.from.len()],
        bandwidth_bytes_per_s: vec![vec![None; plan.to.len()]; plan.from.len()],
        readers: plan.from.iter().map(|reader| reader.cpus.len()).collect(),
        working_set_bytes: plan.working_set_bytes,
        notes,
        elapsed_s: 0.0,
    };
    lines(plan, &clock, &mut measured, progress)?;
    memories(plan, &clock, &mut measured, progress)?;
    if clock.is_over() {
        measured.notes.push(format!("stopped at the time limit of {:.0?}", plan.limit));
    }
    measured.elapsed_s = clock.began.elapsed().as_secs_f64();
    Ok(measured)
}

struct Clock {
    began: Instant,
    limit: Duration,
}

impl Clock {
    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.limit
    }
}

fn lines(
    plan: &MeasurePlan,
    clock: &Clock,
    measured: &mut Measured,
    progress: &mut dyn FnMut(f64),
) -> Result<(), MeasureError> {
    let count = plan.cpus.len();
    for (i, first) in plan.cpus.iter().enumerate() {
        progress(0.4 * i as f64 / count as f64);
        for (j, second) in plan.cpus.iter().enumerate().skip(i + 1) {
            if clock.is_over() {
                return Ok(());
            }
            let ns = cache_line::round_trip_ns(*first, *second, plan.each_pair)?;
            let ns = ns.is_finite().then_some(ns);
            // There and back is the same from either end.
            measured.line_ns[i][j] = ns;
            measured.line_ns[j][i] = ns;
        }
    }
    Ok(())
}

fn memories(
    plan: &MeasurePlan,
    clock: &Clock,
    measured: &mut Measured,
    progress: &mut dyn FnMut(f64),
) -> Result<(), MeasureError> {
    for (j, to) in plan.to.iter().enumerate() {
        progress(0.4 + 0.6 * j as f64 / plan.to.len() as f64);
        if clock.is_over() {
            return Ok(());
        }
        let set = WorkingSet::on_node(*to, plan.working_set_bytes)?;
        for (i, reader) in plan.from.iter().enumerate() {
            let Some(cpu) = reader.cpus.first() else { continue };
            if clock.is_over() {
                return Ok(());
            }
            measured.latency_ns[i][j] = Some(memory::latency_ns(&set, *cpu, plan.each_memory)?);
            let bandwidth = memory::bandwidth_bytes_per_s(&set, &reader.cpus, plan.each_memory)?;
            measured.bandwidth_bytes_per_s[i][j] = Some(bandwidth);
        }
    }
    Ok(())
}

/// Memory comes in huge pages only where the kernel gives them unasked.
fn small_pages() -> Option<String> {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    (!enabled.contains("[always]")).then(|| {
        "memory was in small pages (transparent huge pages are not always on): latencies include address translation"
            .to_owned()
    })
}
