//! Executes a measurement plan within its time limits.

use super::error::MeasureError;
use super::plan::MeasurePlan;
use super::working_set::WorkingSet;
use super::{cache_line, memory};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The results of a plan. Rows and columns of the tables are those of the plan; `None` was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// OS numbers of the PUs of `line_ns`.
    pub cpus: Vec<u32>,
    /// Nanoseconds for a cache line to move from the row's PU to the column's and back. `None` on the diagonal.
    pub line_ns: Vec<Vec<Option<f64>>>,
    /// OS numbers of the nodes that read: rows of the two tables below.
    pub from_nodes: Vec<u32>,
    /// OS numbers of the nodes whose memory is read: columns of these tables.
    pub to_nodes: Vec<u32>,
    /// Nanoseconds of a load from memory that depends on the previous load.
    pub latency_ns: Vec<Vec<Option<f64>>>,
    /// Bytes per second that the cores of a node read together.
    pub bandwidth_bytes_per_s: Vec<Vec<Option<f64>>>,
    /// Number of threads that read for the bandwidth, by row.
    pub readers: Vec<usize>,
    /// Bytes of memory that were read.
    pub working_set_bytes: usize,
    /// What was left out or makes the figures inexact, as text for the user.
    pub notes: Vec<String>,
    /// How long it took, seconds.
    pub elapsed_s: f64,
}

/// Executes a plan on this machine. `progress` is called with the fraction of the work that is done.
///
/// # Errors
/// When a thread or its memory cannot be bound as planned, or a thread cannot be started.
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
            // A round trip is the same in both directions.
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

/// A note if memory is not in huge pages: the kernel uses them here only if they are always enabled.
fn small_pages() -> Option<String> {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    (!enabled.contains("[always]")).then(|| {
        "memory was in small pages (transparent huge pages are not always on): latencies include address translation"
            .to_owned()
    })
}
