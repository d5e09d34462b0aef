//! The limit of each list of a record, a plan, an environment and a capture.

use super::cache_lines::{SharedLine, SharedLines};
use super::captures::{LocksFile, ProfileFile, StatusFile};
use super::events::{EventCounts, SidesEvents};
use super::limits::{
    Checked, Limited, MOST_CONDITIONS, MOST_CPUS, MOST_METRICS, MOST_NAMES, MOST_OF_A_SAMPLE, MOST_PROGRAMS,
    MOST_READINGS, MOST_SAMPLES, MOST_STEPS, MOST_THREADS, MOST_TRIALS, all, each, length, times, widths,
};
use super::plan::{PlannedPlacement, Race, Within};
use super::question::Settle;
use super::schema::{
    CaptureSample, Environment, LifetimeRecord, Plan, PlannedCondition, SampleRecord, ScheduleRecord, ThreadRecord,
    TrialRecord,
};
use super::search::SearchRecord;
use super::server::{ServerRecord, SettledRecord};
use super::waits::{StackSamples, ThreadsTime, WaitsFile, WakesFile};
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_topology::Machine;
use tare_topology::measure::Measured;

/// Implements [`Limited`]. Every field is named, so that none can be added without a limit: lists with their maximum
/// lengths, parts with limits of their own, lists whose elements have such limits, and fields without any.
macro_rules! limited {
    ($($of:ident {
        lists: [$($list:ident: $most:expr),*]
        $(parts: [$($part:ident),*])?
        $(elements: [$($element:ident),*])?
        others: [$($other:ident),*]
        $(and: $check:expr)?
    })*) => {
        $(impl Limited for $of {
            fn check(&self) -> Checked {
                let Self { $($list,)* $($($part,)*)? $($other: _,)* } = self;
                each([$((stringify!($list), $list.len(), $most)),*])?;
                $($($part.check().map_err(|out_of_range| out_of_range.within(stringify!($part)))?;)*)?
                $($(all(stringify!($element), $element)?;)*)?
                $(let also: fn(&Self) -> Checked = $check; also(self)?;)?
                Ok(())
            }
        })*
    };
}

limited! {
    TrialRecord {
        lists: [
            levels: MOST_NAMES,
            // Settings of each factor, and further ones of the load, the engine and the machine.
            settings: 2 * MOST_NAMES,
            outlived: MOST_NAMES,
            disturbed_by: MOST_NAMES,
            uncontrolled: MOST_NAMES,
            client_programs: MOST_PROGRAMS,
            samples: MOST_SAMPLES,
            dropped: MOST_SAMPLES,
            // One after each sample.
            searches: 2 * MOST_SAMPLES,
            warm_up: MOST_NAMES,
            plans: MOST_NAMES,
            captures: MOST_NAMES,
            captures_missing: MOST_NAMES
        ]
        parts: [lifetime, settled, server, capture_sample]
        elements: [samples, dropped, searches]
        others: [
            schema, trial, attempt, block, condition, outcome, reason, ran_on, client_host, started_at, elapsed_s, data,
            pool, server_version, server_program, of_all_samples, plain
        ]
        and: |record| {
            times([("elapsed_s", record.elapsed_s)])?;
            widths("warm_up", record.warm_up.values(), MOST_READINGS)
        }
    }
    LifetimeRecord { lists: [order: MOST_CONDITIONS] others: [number, place] }
    SettledRecord { lists: [left: MOST_NAMES] others: [statements_s, waited_s, settled] }
    SampleRecord {
        lists: [
            metrics: MOST_OF_A_SAMPLE,
            tps_each_second: MOST_READINGS,
            covariates: MOST_OF_A_SAMPLE,
            histograms: MOST_OF_A_SAMPLE,
            threads: MOST_THREADS
        ]
        elements: [threads]
        others: [sample, started_at, elapsed_s]
        and: |sample| length("elapsed_s", sample.elapsed_s)
    }
    ThreadRecord {
        lists: [seen_cpus: MOST_CPUS]
        parts: [schedule]
        others: [
            class, pair, pid, tid, name, allowed_cpus, migrations, voluntary_switches, involuntary_switches, user_s,
            system_s
        ]
        and: |thread| times([("user_s", thread.user_s), ("system_s", thread.system_s)])
    }
    ScheduleRecord {
        lists: []
        others: [ran_s, waited_s, slept_s]
        and: |spent| times([("ran_s", spent.ran_s), ("waited_s", spent.waited_s), ("slept_s", spent.slept_s)])
    }
    ServerRecord {
        lists: [build: MOST_NAMES, arguments: MOST_NAMES, option_files: MOST_NAMES, changed: MOST_NAMES]
        others: [product, version, path, build_id, buffer_pool_bytes, thread_pool]
    }
    CaptureSample {
        lists: [statement_us: MOST_NAMES]
        parts: [events, lines]
        others: [elapsed_s, tps, tps_ratio]
        and: |sample| length("elapsed_s", sample.elapsed_s)
    }
    SharedLines { lists: [lines: MOST_NAMES] elements: [lines] others: [line_bytes, counts, cut] }
    SharedLine { lists: [accesses: MOST_NAMES] others: [name, address, sharing, counts] }
    SidesEvents { lists: [] parts: [client, server] others: [] }
    EventCounts { lists: [counts: MOST_NAMES] others: [elapsed_s, cpu_s, user_only] }
    SearchRecord {
        lists: [steps: MOST_STEPS]
        others: [search, slo, closed_loop_tps, found_tps, bracket_tps, limit]
    }

    Plan {
        lists: [
            client_machines: MOST_NAMES,
            factors: MOST_NAMES,
            conditions: MOST_CONDITIONS,
            trials: MOST_TRIALS,
            left_out: MOST_NAMES,
            // Typically one per condition, and some for the whole study.
            notes: 2 * MOST_CONDITIONS
        ]
        parts: [settle, race, within]
        elements: [conditions]
        others: [schema, study, machine, seed, samples, rehearsal, estimated_s, data_s, needs, decision, turns]
    }
    PlannedCondition {
        lists: [levels: MOST_NAMES, settings: MOST_NAMES]
        parts: [placement]
        others: [name, realizable, reason, unknown_option, sizes]
        and: |condition| each([("sizes", condition.sizes.as_ref().map_or(0, BTreeMap::len), MOST_NAMES)])
    }
    PlannedPlacement {
        lists: [client: MOST_THREADS, server: MOST_THREADS]
        others: [background, memory, pool_memory]
        and: |placement| {
            let widest = |sets: &[CpuSet]| sets.iter().map(CpuSet::len).max().unwrap_or(0);
            let PlannedPlacement { client, server, background, .. } = placement;
            let sides = [("client", client.as_slice()), ("server", server), ("background", background.as_slice())];
            each(sides.map(|(side, sets)| (side, widest(sets), MOST_CPUS)))
        }
    }
    Settle {
        // A session has at least one pair.
        lists: [begun: MOST_TRIALS, controls: MOST_METRICS]
        others: [a, b, metric, minimum_effect, alpha, rule, by_time, budget_s, seed, sessions, certify, duet]
    }
    Race {
        lists: [candidates: MOST_CONDITIONS, early_looks: MOST_TRIALS]
        others: [metric, minimum_effect, alpha, budget_s, seed, sessions]
    }
    Within {
        lists: [levels: MOST_NAMES]
        others: [requested_s, whole_s, whole_trials, rungs, blocks, stopped]
        and: |within| widths("levels", within.levels.values(), MOST_CONDITIONS)
    }

    Environment {
        lists: [settings: MOST_NAMES]
        parts: [machine]
        others: [schema, tare_version, command, kernel, cpu_model, hypervisor, os]
    }
    Machine {
        lists: [
            packages: MOST_CPUS,
            dies: MOST_CPUS,
            // Three to four levels, with separate data and instruction caches.
            caches: 5 * MOST_CPUS,
            cores: MOST_CPUS,
            pus: MOST_CPUS,
            nodes: MOST_CPUS,
            cpu_kinds: MOST_CPUS
        ]
        others: [origin, distances, excluded]
        and: |machine| {
            each([("distances", machine.distances.as_ref().map_or(0, Vec::len), MOST_CPUS)])?;
            widths("distances", machine.distances.iter().flatten(), MOST_CPUS)
        }
    }
    Measured {
        lists: [
            cpus: MOST_NAMES,
            line_ns: MOST_NAMES,
            from_nodes: MOST_NAMES,
            to_nodes: MOST_NAMES,
            latency_ns: MOST_NAMES,
            bandwidth_bytes_per_s: MOST_NAMES,
            readers: MOST_NAMES,
            notes: MOST_NAMES
        ]
        others: [working_set_bytes, elapsed_s]
        and: |measured| {
            widths("line_ns", &measured.line_ns, MOST_NAMES)?;
            widths("latency_ns", &measured.latency_ns, MOST_NAMES)?;
            widths("bandwidth_bytes_per_s", &measured.bandwidth_bytes_per_s, MOST_NAMES)
        }
    }

    ProfileFile { lists: [symbols: MOST_NAMES] others: [schema, event, frequency_hz, scope, call_graph, kernel, samples] }
    LocksFile { lists: [waits: MOST_NAMES] others: [schema, source, elapsed_s, threads] }
    StatusFile { lists: [differences: MOST_NAMES] others: [schema, elapsed_s] }
    WaitsFile {
        lists: []
        parts: [connections, background, stacks]
        others: [schema, elapsed_s, looks, looking_cpu_s]
    }
    ThreadsTime { lists: [parts: MOST_NAMES] others: [threads, samples, running_samples, exact] }
    StackSamples { lists: [callers: MOST_NAMES] others: [read, whole] }
    WakesFile {
        lists: [woken_by: MOST_NAMES, charged: MOST_NAMES, callers: MOST_NAMES]
        others: [schema, elapsed_s, threads, events, cut, slept_fraction]
    }
}

#[cfg(test)]
#[path = "list_limits_tests.rs"]
mod tests;
