//! A connection with a delay of 25 ms in each direction: the clients' measurements include it.

use crate::two_hosts::apart::Hosts;
use std::time::Duration;

/// Delay of a packet in each direction.
const EACH_WAY: Duration = Duration::from_millis(25);
/// Transactions per second of the open loop: a little more than half of what one connection can complete.
const RATE: f64 = 12.0;

/// The only sample of one trial, `sample_s` seconds long.
fn sample(hosts: &Hosts, out: &str, sample_s: u32, more: &str) -> serde_json::Value {
    let study = format!(
        "name = \"far\"\n[engine]\ntransport = \"tcp\"\n[workload]\nname = \"point_select\"\nrows = 200\n{more}\
         [placement]\nclient = \"pu:0\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
         [sampling]\ntrials = 1\nwarmup_s = 0.5\nsample_s = {sample_s}\nattempts = 1\n"
    );
    let ended = hosts.run(out, &study).output().unwrap();
    let record = hosts.record(out, &ended);
    for thread in record["samples"][0]["threads"].as_array().unwrap() {
        assert_eq!(thread["allowed_cpus"], "0", "{thread}");
    }
    record["samples"][0].clone()
}

#[test]
fn latency_and_throughput_include_the_network_delay() {
    let (Some(near), Some(far)) = (Hosts::new(Duration::ZERO), Hosts::new(EACH_WAY)) else { return };
    let of = |sample: &serde_json::Value, name: &str| sample["metrics"][name].as_f64().unwrap();
    // A transaction is one statement, so one round trip.
    let service_ms = 1000.0 / of(&sample(&near, "near", 1, ""), "tps");
    let round_trip_ms = 2000.0 * EACH_WAY.as_secs_f64();
    let quickest = 1000.0 / (service_ms + round_trip_ms);
    // Other tests run at the same time, so delays may be longer and threads may wait: one quiet sample is enough.
    let fits = (0..8).any(|attempt| {
        far.networks.round_trip_ms();
        let closed = sample(&far, &format!("closed-{attempt}"), 3, "");
        let tps = of(&closed, "tps");
        let way_ms = far.networks.round_trip_ms();
        let expected = 1000.0 / (service_ms + way_ms);
        println!(
            "service {service_ms:.2} ms, way {way_ms:.2} ms: {tps:.2} transactions a second, {expected:.2} expected"
        );
        println!(
            "latency {:.2} ms, half of them {:.2} ms",
            of(&closed, "latency_ms_mean"),
            of(&closed, "latency_ms_p50")
        );
        assert!(of(&closed, "latency_ms_p50") >= round_trip_ms, "{closed}");
        assert!(tps < 1.05 * quickest, "faster than the way: {closed}");
        (tps / expected - 1.0).abs() < 0.05
    });
    assert!(fits, "throughput does not follow service and way");
    // Transactions that are due while another one is active wait for it, and their latency includes the wait: an M/D/1
    // queue has a mean wait of rho / 2 (1 - rho) service times.
    let open = sample(&far, "open", 3, &format!("rate = {RATE}\n"));
    let whole_ms = service_ms + round_trip_ms;
    let rho = RATE * whole_ms / 1000.0;
    let expected = whole_ms * (1.0 + rho / (2.0 * (1.0 - rho)));
    let mean = of(&open, "latency_ms_mean");
    println!("open loop: mean {mean:.1} ms, expected {expected:.1} ms; {:.2} transactions a second", of(&open, "tps"));
    assert!(mean > 1.15 * whole_ms && mean < 2.0 * expected, "{mean} ms next to {expected} ms");
    near.assert_clean();
    far.assert_clean();
}
