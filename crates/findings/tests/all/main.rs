//! Tests of findings from synthetic records.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod compared;
mod disturbed;
mod draws;
mod events;
mod experiments;
mod extremes;
mod functions;
mod largest_spread;
mod lines;
mod losses;
mod made_up;
mod memory_suspects;
mod modes;
mod parts;
mod pooled;
mod quota;
#[path = "../../../stats/tests/all/rates.rs"]
mod rates;
mod rounded;
mod searches;
mod sessions;
mod several_machines;
mod singled_out;
mod sleeps;
mod steps;
mod suspects;
mod tested;
mod time;
mod truth;
mod turns;
mod warm_ups;
