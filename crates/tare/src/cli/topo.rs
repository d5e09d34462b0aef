//! `tare topo`: prints the machine, its distances and its pairings.

use super::{Exit, Problem, output, read_topology};
use crate::config;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;
use tare_report::{html, terminal};
use tare_text::{count, object};
use tare_topology::measure::{self, Costs, MeasurePlan, Measured};
use tare_topology::{Machine, PairingChoice};

#[derive(Debug, Args)]
pub(crate) struct TopoArgs {
    /// Show another machine: a description such as "node:4 core:32 pu:1", or an hwloc XML file
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// Measure the cost of distances: cache line transfers between PUs (logical CPUs), latency and bandwidth between
    /// nodes
    #[arg(long, conflicts_with = "topology")]
    measure: bool,
    /// With --measure: start no new measurement after this number of seconds; large machines are sampled to fit
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "measure",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit_s: u64,
    /// With --measure: write heat maps as one self-contained HTML file
    #[arg(long, value_name = "FILE", requires = "measure")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct WithCosts {
    #[serde(flatten)]
    tables: Measured,
    costs: Costs,
}

/// Prints the machine, and with `--measure` the costs of its distances.
pub(crate) fn run(args: &TopoArgs) -> Result<Exit, Problem> {
    let machine = match &args.topology {
        Some(spec) => read_topology::describe(spec)?,
        None => Machine::this()?,
    };
    let measured = if args.measure { Some(measure(&machine, args.limit_s)?) } else { None };
    // The page is written after the tables are printed, so that a write error does not prevent them.
    let page =
        args.html.as_ref().zip(measured.as_ref()).map(|(path, m)| (path, html::render_measured(&m.tables, &m.costs)));
    if args.json {
        output::document("tare-topo", &summary(&machine, measured))?;
    } else {
        output::lines(&drawing(&machine))?;
        if let Some(WithCosts { tables, costs }) = &measured {
            output::as_is(&terminal::measured(tables, costs, terminal::Style::of_stdout(config::get().colour)))?;
        }
    }
    if let Some((path, page)) = page {
        tare_files::write_named(tare_files::Audience::Anyone, path, |file| file.write_all(page.as_bytes()))
            .map_err(|e| Problem::new(Exit::Machine, format!("cannot write the heat maps: {e}")))?;
        output::note(&format!("heat maps: {}", path.display()));
    }
    Ok(Exit::Done)
}

fn measure(machine: &Machine, limit_s: u64) -> Result<WithCosts, Problem> {
    let plan = MeasurePlan::new(machine, Duration::from_secs(limit_s));
    let bar = indicatif::ProgressBar::new(100).with_message("measuring");
    let tables = measure::measure(&plan, &mut |done| bar.set_position((done * 100.0) as u64))
        .map_err(|e| Problem::new(Exit::Machine, format!("the machine's distances could not be measured: {e}")))?;
    bar.finish_and_clear();
    let costs = Costs::of(machine, &tables);
    Ok(WithCosts { tables, costs })
}

fn summary(machine: &Machine, measured: Option<WithCosts>) -> impl Serialize {
    let nodes = machine.nodes.iter();
    let nodes = nodes.map(|n| object! { node: n.os_index, cpus: n.cpus.to_string(), memory_bytes: n.memory_bytes });
    object! {
        packages: machine.package_count(),
        cores: machine.core_count(),
        pus: machine.pu_count(),
        nodes: nodes.collect::<Vec<_>>(),
        distances: &machine.distances,
        #[serde(flatten)]
        measured: measured.map(|measured| object! { measured }),
    }
}

fn drawing(machine: &Machine) -> String {
    let mut text = format!(
        "{}, {}, {}, {}\n",
        count(machine.package_count(), "package"),
        count(machine.core_count(), "core"),
        count(machine.pu_count(), "PU"),
        count(machine.nodes.len(), "NUMA node"),
    );
    for (i, package) in machine.packages.iter().enumerate() {
        let model = package.model.as_deref().unwrap_or("");
        text.push_str(&format!("\npackage:{i}  CPUs {:12} {model}", package.cpus.to_string()));
    }
    for (i, node) in machine.nodes.iter().enumerate() {
        text.push_str(&format!(
            "\nnode:{i}     CPUs {:12} {}",
            none_if_empty(&node.cpus.to_string()),
            bytes(node.memory_bytes)
        ));
        if node.os_index as usize != i {
            text.push_str(&format!(" (the OS calls it node {})", node.os_index));
        }
    }
    text.push('\n');
    for level in (1..=4).rev() {
        let caches: Vec<String> =
            machine.caches.iter().filter(|c| c.level == level).map(|c| c.cpus.to_string()).collect();
        if let Some(cache) = machine.caches.iter().find(|c| c.level == level) {
            let size = cache.size_bytes.map(bytes).unwrap_or_default();
            text.push_str(&format!("\nL{level} {size:10} shared by CPUs {}", caches.join(" | ")));
        }
    }
    let cores: Vec<String> = machine.cores.iter().map(|c| c.cpus.to_string()).collect();
    text.push_str(&format!("\ncores          CPUs {}\n", cores.join(" | ")));
    if let Some(distances) = &machine.distances {
        text.push_str("\ndistances between nodes, as reported by the firmware (10 is local):\n");
        for row in distances {
            let row: Vec<String> = row.iter().map(|d| format!("{d:4}")).collect();
            text.push_str(&format!("  {}\n", row.join("")));
        }
    }
    for (what, cpus) in [
        ("offline", &machine.excluded.offline),
        ("outside this cgroup's cpuset", &machine.excluded.cgroup),
        ("outside this process's own affinity", &machine.excluded.affinity),
    ] {
        if !cpus.is_empty() {
            text.push_str(&format!("\nnot used: CPUs {cpus}, {what}\n"));
        }
    }
    text.push_str("\npairings of a client and its server thread:\n");
    for choice in machine.pairings() {
        let state = describe(&choice);
        text.push_str(&format!("  {:12} {state}\n", choice.pairing.to_string()));
    }
    text
}

fn describe(choice: &PairingChoice) -> String {
    match (&choice.missing, choice.same_as) {
        (Some(missing), _) => format!("not available: {missing}"),
        (None, Some(other)) => format!("same as {other} here"),
        (None, None) => "possible".to_owned(),
    }
}

fn none_if_empty(cpus: &str) -> &str {
    if cpus.is_empty() { "none" } else { cpus }
}

/// Formats bytes in binary units.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit < UNITS.len() - 1 {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.*} {}", usize::from(unit > 1 && value < 100.0), UNITS[unit])
}
