//! The limit of each list of a record, a plan, an environment and a capture. Fields are listed one by one, so that none
//! can be added without a limit.

use super::cache_lines::{SharedLine, SharedLines};
use super::captures::{LocksFile, ProfileFile, StatusFile};
use super::events::{EventCounts, SidesEvents};
use super::limits::{MOST_CONDITIONS, MOST_METRICS, MOST_TRIALS};
use super::lists::{
    Checked, Limited, MOST_CPUS, MOST_NAMES, MOST_OF_A_SAMPLE, MOST_PROGRAMS, MOST_READINGS, MOST_SAMPLES, MOST_STEPS,
    MOST_THREADS, all, each, length, part, times,
};
use super::schema::{CaptureSample, Environment, Plan, PlannedCondition, SampleRecord, ThreadRecord, TrialRecord};
use super::search::SearchRecord;
use super::server::ServerRecord;
use super::settle::Settle;
use super::waits::{WaitsFile, WakesFile};
use tare_topology::measure::Measured;

/// Implements [`Limited`] for types whose limited lists have plain elements.
macro_rules! limited {
    ($($of:ident { $($list:ident: $most:expr),* })*) => {
        $(impl Limited for $of {
            fn check(&self) -> Checked {
                each([$((stringify!($list), self.$list.len(), $most)),*])
            }
        })*
    };
}

limited! {
    SearchRecord { steps: MOST_STEPS }
    SharedLine { accesses: MOST_NAMES }
    EventCounts { counts: MOST_NAMES }
    // A session has at least one pair.
    Settle { begun: MOST_TRIALS, controls: MOST_METRICS }
    ProfileFile { symbols: MOST_NAMES }
    LocksFile { waits: MOST_NAMES }
    StatusFile { differences: MOST_NAMES }
    WakesFile { woken_by: MOST_NAMES, charged: MOST_NAMES, callers: MOST_NAMES }
}

impl Limited for TrialRecord {
    fn check(&self) -> Checked {
        let Self {
            schema: _,
            trial: _,
            attempt: _,
            block: _,
            condition: _,
            levels,
            outcome: _,
            reason: _,
            ran_on: _,
            client_host: _,
            started_at: _,
            elapsed_s,
            lifetime,
            settings,
            data: _,
            pool: _,
            settled,
            server_version: _,
            server,
            outlived,
            disturbed_by,
            uncontrolled,
            server_program: _,
            client_programs,
            samples,
            of_all_samples: _,
            plain: _,
            dropped,
            searches,
            warm_up,
            plans,
            captures,
            captures_missing,
            capture_sample,
        } = self;
        each([
            ("levels", levels.len(), MOST_NAMES),
            ("lifetime.order", lifetime.as_ref().map_or(0, |lifetime| lifetime.order.len()), MOST_CONDITIONS),
            // Settings of each factor, and further ones of the load, the engine and the machine.
            ("settings", settings.len(), 2 * MOST_NAMES),
            ("settled.left", settled.as_ref().map_or(0, |settled| settled.left.len()), MOST_NAMES),
            ("outlived", outlived.len(), MOST_NAMES),
            ("disturbed_by", disturbed_by.len(), MOST_NAMES),
            ("uncontrolled", uncontrolled.len(), MOST_NAMES),
            ("client_programs", client_programs.len(), MOST_PROGRAMS),
            ("samples", samples.len(), MOST_SAMPLES),
            ("dropped", dropped.len(), MOST_SAMPLES),
            // One after each sample.
            ("searches", searches.len(), 2 * MOST_SAMPLES),
            ("warm_up", warm_up.len(), MOST_NAMES),
            ("plans", plans.len(), MOST_NAMES),
            ("captures", captures.len(), MOST_NAMES),
            ("captures_missing", captures_missing.len(), MOST_NAMES),
        ])?;
        times([("elapsed_s", *elapsed_s)])?;
        for (metric, took) in warm_up {
            each([("s", took.len(), MOST_READINGS)]).map_err(|e| e.within(format_args!("warm_up[{metric:?}]")))?;
        }
        part("server", server.as_ref())?;
        all("samples", samples)?;
        all("dropped", dropped)?;
        all("searches", searches)?;
        part("capture_sample", capture_sample.as_ref())
    }
}

impl Limited for SampleRecord {
    fn check(&self) -> Checked {
        let Self { sample: _, started_at: _, elapsed_s, metrics, tps_each_second, covariates, histograms, threads } =
            self;
        each([
            ("metrics", metrics.len(), MOST_OF_A_SAMPLE),
            ("tps_each_second", tps_each_second.len(), MOST_READINGS),
            ("covariates", covariates.len(), MOST_OF_A_SAMPLE),
            ("histograms", histograms.len(), MOST_OF_A_SAMPLE),
            ("threads", threads.len(), MOST_THREADS),
        ])?;
        length("elapsed_s", *elapsed_s)?;
        all("threads", threads)
    }
}

impl Limited for ThreadRecord {
    fn check(&self) -> Checked {
        each([("seen_cpus", self.seen_cpus.len(), MOST_CPUS)])?;
        times([("user_s", self.user_s), ("system_s", self.system_s)])?;
        let Some(spent) = &self.schedule else { return Ok(()) };
        let spent = times([("ran_s", spent.ran_s), ("waited_s", spent.waited_s), ("slept_s", spent.slept_s)]);
        spent.map_err(|out_of_range| out_of_range.within("schedule"))
    }
}

impl Limited for ServerRecord {
    fn check(&self) -> Checked {
        let Self {
            product: _,
            version: _,
            path: _,
            build_id: _,
            build,
            arguments,
            option_files,
            buffer_pool_bytes: _,
            changed,
        } = self;
        each([
            ("build", build.len(), MOST_NAMES),
            ("arguments", arguments.len(), MOST_NAMES),
            ("option_files", option_files.len(), MOST_NAMES),
            ("changed", changed.len(), MOST_NAMES),
        ])
    }
}

impl Limited for CaptureSample {
    fn check(&self) -> Checked {
        let Self { elapsed_s, tps: _, tps_ratio: _, statement_us, events, lines } = self;
        length("elapsed_s", *elapsed_s)?;
        each([("statement_us", statement_us.len(), MOST_NAMES)])?;
        part("events", events.as_ref())?;
        part("lines", lines.as_ref())
    }
}

impl Limited for SharedLines {
    fn check(&self) -> Checked {
        each([("lines", self.lines.len(), MOST_NAMES)])?;
        all("lines", &self.lines)
    }
}

impl Limited for SidesEvents {
    fn check(&self) -> Checked {
        part("client", self.client.as_ref())?;
        part("server", self.server.as_ref())
    }
}

impl Limited for Plan {
    fn check(&self) -> Checked {
        let Self {
            schema: _,
            study: _,
            machine: _,
            client_machines,
            seed: _,
            conditions,
            trials,
            samples: _,
            rehearsal: _,
            estimated_s: _,
            data_s: _,
            needs: _,
            decision: _,
            settle,
            race,
            within,
            left_out,
            notes,
            turns: _,
        } = self;
        each([
            ("client_machines", client_machines.len(), MOST_NAMES),
            ("conditions", conditions.len(), MOST_CONDITIONS),
            ("trials", trials.len(), MOST_TRIALS),
            ("race.candidates", race.as_ref().map_or(0, |race| race.candidates.len()), MOST_CONDITIONS),
            ("race.early_looks", race.as_ref().map_or(0, |race| race.early_looks.len()), MOST_TRIALS),
            ("within.levels", within.as_ref().map_or(0, |within| within.levels.len()), MOST_NAMES),
            ("left_out", left_out.len(), MOST_NAMES),
            // Typically one per condition, and some for the whole study.
            ("notes", notes.len(), 2 * MOST_CONDITIONS),
        ])?;
        for (factor, levels) in within.iter().flat_map(|within| &within.levels) {
            each([("levels", levels.len(), MOST_CONDITIONS)])
                .map_err(|e| e.within(format_args!("within.levels[{factor:?}]")))?;
        }
        all("conditions", conditions)?;
        part("settle", settle.as_ref())
    }
}

impl Limited for PlannedCondition {
    fn check(&self) -> Checked {
        let Self { name: _, levels, realizable: _, reason: _, unknown_option: _, placement, settings } = self;
        each([("levels", levels.len(), MOST_NAMES), ("settings", settings.len(), MOST_NAMES)])?;
        let Some(placement) = placement else { return Ok(()) };
        let threads = [("placement.client", &placement.client), ("placement.server", &placement.server)];
        for (field, threads) in threads {
            each([(field, threads.len(), MOST_THREADS)])?;
            let widest = threads.iter().map(Vec::len).max().unwrap_or(0);
            each([(field, widest, MOST_CPUS)])?;
        }
        each([("placement.background", placement.background.as_ref().map_or(0, Vec::len), MOST_CPUS)])
    }
}

impl Limited for Environment {
    /// The machine's lists are limited by the maximum numbers of CPUs and nodes.
    fn check(&self) -> Checked {
        each([
            ("settings", self.settings.len(), MOST_NAMES),
            ("machine.pus", self.machine.pus.len(), MOST_CPUS),
            ("machine.cores", self.machine.cores.len(), MOST_CPUS),
            ("machine.nodes", self.machine.nodes.len(), MOST_CPUS),
            ("machine.packages", self.machine.packages.len(), MOST_CPUS),
            ("machine.dies", self.machine.dies.len(), MOST_CPUS),
            // Three to four levels, with separate data and instruction caches.
            ("machine.caches", self.machine.caches.len(), 5 * MOST_CPUS),
            ("machine.cpu_kinds", self.machine.cpu_kinds.len(), MOST_CPUS),
        ])
    }
}

impl Limited for WaitsFile {
    fn check(&self) -> Checked {
        each([
            ("connections.parts", self.connections.parts.len(), MOST_NAMES),
            ("background.parts", self.background.parts.len(), MOST_NAMES),
            ("stacks.callers", self.stacks.as_ref().map_or(0, |stacks| stacks.callers.len()), MOST_NAMES),
        ])
    }
}

impl Limited for Measured {
    fn check(&self) -> Checked {
        each([
            ("cpus", self.cpus.len(), MOST_NAMES),
            ("from_nodes", self.from_nodes.len(), MOST_NAMES),
            ("to_nodes", self.to_nodes.len(), MOST_NAMES),
            ("readers", self.readers.len(), MOST_NAMES),
            ("notes", self.notes.len(), MOST_NAMES),
        ])?;
        let tables =
            [("line_ns", &self.line_ns), ("latency_ns", &self.latency_ns), ("bandwidth", &self.bandwidth_bytes_per_s)];
        tables.into_iter().try_for_each(|(field, rows)| {
            let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
            each([(field, rows.len().max(widest), MOST_NAMES)])
        })
    }
}

#[cfg(test)]
#[path = "list_limits_tests.rs"]
mod tests;
