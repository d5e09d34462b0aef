//! Keys of the workload `tpcc`.

use super::TpccSettings;
use super::sizes::{LEAST_SCALE, MOST_WAREHOUSES};
use crate::workload::sessions::{OBJECTIVE_HELP, Objective};
use crate::workload::{Key, Keyed};
use tare_text::Value;

impl Keyed for TpccSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "warehouses",
            help: "tpcc: warehouses, each about 500,000 rows; thread n has warehouse n as its home, and begins anew with \
                   the first",
            get: |s| Some(s.warehouses.into()),
            set: |s, v| v.whole(1, MOST_WAREHOUSES).map(|v| s.warehouses = v),
        },
        Key {
            name: "tpcc_scale",
            help: "tpcc: share of the standard's items and of its customers and orders in a district, 0.01 to 1; below 1 \
                   only for tests: it is then another benchmark",
            get: |s| Some(s.scale.into()),
            set: |s, v| scale(v).map(|v| s.scale = v),
        },
        Key {
            name: "keying",
            help: "tpcc: on: clients wait before and after each transaction as the standard's terminals do (18 s and 12 s \
                   for a new order); ten threads a warehouse are its population",
            get: |s| Some(s.keying.into()),
            set: |s, v| v.switch().map(|on| s.keying = on),
        },
        Key {
            name: "rate",
            help: "tpcc: transactions a second over all threads (open loop); absent: as fast as they go (closed loop)",
            get: |s| s.rate.map(Into::into),
            set: |s, v| v.positive("transactions a second").map(|v| s.rate = Some(v)),
        },
        Key {
            name: "objective",
            help: OBJECTIVE_HELP,
            get: |s| s.objective.map(|objective| objective.to_string().into()),
            set: |s, v| Objective::of_words(&v.to_string()).map(|v| s.objective = v),
        },
        Key {
            name: "conditions",
            help: "tpcc: which of the standard's consistency conditions are checked after the last sample, while the \
                   server still runs: all, four (the first four) or off",
            get: |s| Some(s.checked.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.checked = v),
        },
    ];
}

fn scale(value: &Value) -> Result<f64, String> {
    let number: Option<f64> = value.to_string().parse().ok();
    number
        .filter(|scale| (LEAST_SCALE..=1.0).contains(scale))
        .ok_or_else(|| format!("a share from {LEAST_SCALE} to 1 of the standard's items and customers"))
}
