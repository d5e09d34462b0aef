//! Keys of a study that several loads have, each declared once; a load provides access to its value.

use super::Load;
use super::sessions::{OBJECTIVE_HELP, Paced, Slo};
use tare_load::{Curve, NoCurve};
use tare_text::{Key, Value};

pub(crate) const fn tables<S>(get: fn(&S) -> Option<u64>, set: fn(&mut S, u64)) -> Key<S> {
    Key::whole("tables", "number of tables sbtest1, sbtest2 ...", (1, 10_000), get, set)
}

pub(crate) const fn rows<S>(get: fn(&S) -> Option<u64>, set: fn(&mut S, u64)) -> Key<S> {
    Key::whole("rows", "rows per table", (1, i32::MAX as u64), get, set)
}

pub(crate) const fn distribution<S>(
    get: fn(&S) -> Option<Value>,
    set: fn(&mut S, &Value) -> Result<(), String>,
) -> Key<S> {
    Key::words(
        "distribution",
        "how ids are drawn: uniform, zipfian or zipfian:EXPONENT, special, pareto or gaussian as in sysbench; \
         normal:PARAMETER or exponential:PARAMETER as in pgbench",
        get,
        set,
    )
}

const RATE: &str = "rate";
const RATE_HELP: &str = "transactions per second over all threads (open loop); absent: as fast as possible (closed \
    loop)";
const TRANSACTIONS: &str = "transactions per second";

/// The rate of an open loop, for loads with a constant rate only.
pub(crate) const fn rate<S>(get: fn(&S) -> Option<f64>, set: fn(&mut S, f64)) -> Key<S> {
    Key::positive(RATE, RATE_HELP, TRANSACTIONS, get, set)
}

/// The rate of an open loop, for loads whose rate may also change or be searched for.
pub(crate) const fn rate_of_pace<S: Load + Paced>() -> Key<S> {
    Key::words(
        RATE,
        "transactions per second over all threads (open loop): one rate, or over each sample 100 to 2000, 100 to 2000 \
         in 20 steps, 100 to 2000 in 1 wave (docs/workloads.md); absent: as fast as possible (closed loop)",
        |s| {
            s.pace()?.rate().map(|rate| match rate {
                Curve::Constant(rate) => rate.into(),
                changing => changing.to_string().into(),
            })
        },
        |s, v| s.pace_mut().set_rate(v.to_string().parse().map_err(|e: NoCurve| e.to_string())?),
    )
}

pub(crate) const fn objective<S: Load + Paced>() -> Key<S> {
    Key::words(
        "objective",
        OBJECTIVE_HELP,
        |s| s.pace()?.objective().map(|objective| objective.to_string().into()),
        |s, v| s.pace_mut().set_objective(Slo::of_words(&v.to_string())?),
    )
}

/// Whether the data are read before the first sample.
pub(crate) const fn preload<S>(get: fn(&S) -> Option<bool>, set: fn(&mut S, bool)) -> Key<S> {
    Key::switch(
        "preload",
        "on: every table and every index is read from end to end before the first sample, and the trial fails where the \
         server then holds less than 99% of them",
        get,
        set,
    )
}

pub(crate) const fn warmup_runs<S>(get: fn(&S) -> Option<u64>, set: fn(&mut S, u64)) -> Key<S> {
    Key::whole(
        "warmup_runs",
        "executions of each query (dbt3) or runs of the program (command) before the measured ones (sampling.samples), left \
         out of all figures",
        (0, 100_000),
        get,
        set,
    )
}

/// The script that an external program runs.
pub(crate) const fn script<S>(get: fn(&S) -> Option<Value>, set: fn(&mut S, &Value) -> Result<(), String>) -> Key<S> {
    Key::words(
        "script",
        "sysbench: one of its scripts (oltp_read_only, oltp_point_select, bulk_insert ...) or the path of your \
         script; pgbench: tpcb-like, simple-update, select-only or paths of your scripts, each with an optional \
         @WEIGHT",
        get,
        set,
    )
}

pub(crate) const fn options<S>(get: fn(&S) -> Option<Value>, set: fn(&mut S, &Value) -> Result<(), String>) -> Key<S> {
    Key::words("options", "sysbench, pgbench: further options of the program, written as on a command line", get, set)
}

pub(crate) const fn program<S>(get: fn(&S) -> Option<&String>, set: fn(&mut S, String)) -> Key<S> {
    Key::text("program", "sysbench, pgbench: path of the program; absent: found as usual", get, set)
}
