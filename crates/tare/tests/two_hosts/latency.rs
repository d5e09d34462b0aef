//! A way that takes 25 ms in each direction: what clients on the other side of it measure contains it.

use crate::delay::{ADDRESSES, Networks};
use crate::far::{Sshd, program, section};
use crate::support::{World, text, trials};
use std::process::Command;
use std::time::Duration;

/// How long a packet takes each way.
const EACH_WAY: Duration = Duration::from_millis(25);
/// Transactions a second of the open loop: some more than half of what one connection can do over that way.
const RATE: f64 = 12.0;

/// Two hosts with networks, lists of processes and names of their own.
struct Hosts {
    world: World,
    networks: Networks,
    sshd: Sshd,
}

impl Hosts {
    fn new(each_way: Duration) -> Self {
        let (world, networks) = (World::new(), Networks::new(each_way));
        let start = format!("hostname far-{}; exec \"$@\"", std::process::id());
        let [_, clients] = &networks.names;
        let around = [
            "nice",
            "-n",
            "-20",
            "ip",
            "netns",
            "exec",
            clients,
            "unshare",
            "--pid",
            "--uts",
            "--fork",
            "--mount-proc",
        ];
        let around = [&around[..], &["--kill-child", "sh", "-c", &start, "sh"]].concat();
        let sshd = Sshd::start(&world, ADDRESSES[1], &around);
        Self { world, networks, sshd }
    }

    /// One trial; its only sample.
    fn sample(&self, out: &str, more: &str) -> serde_json::Value {
        let client = section(&format!("root@{}", ADDRESSES[1]), &self.sshd.ssh, &program(&self.world, &[]), None);
        let study = self.world.study(&format!(
            "name = \"far\"\n[engine]\ntransport = \"tcp\"\n[workload]\nname = \"point_select\"\nrows = 200\n{more}\
             {client}[placement]\nclient = \"pu:0\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
             [sampling]\ntrials = 1\nwarmup_s = 0.5\nsample_s = 4\nattempts = 1\n"
        ));
        let tare = self.world.tare(&["run", &study, "--out", out]);
        let mut command = Command::new("nice");
        command
            .args(["-n", "-20", "ip", "netns", "exec", &self.networks.names[0]])
            .arg(tare.get_program())
            .args(tare.get_args());
        command.current_dir(self.world.directory.path());
        command.envs(tare.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = command.output().unwrap();
        let records = trials(&self.world.path(out));
        assert!(ended.status.success(), "{}\n{records:?}", text(&ended.stderr));
        let [record] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!(record["client_host"]["host"], format!("far-{}", std::process::id()), "{record}");
        let half_way = record["client_host"]["clock_uncertainty_s"].as_f64().unwrap();
        assert!(half_way < EACH_WAY.as_secs_f64() * 1.5, "half a round trip: {record}");
        for thread in record["samples"][0]["threads"].as_array().unwrap() {
            assert_eq!(thread["allowed_cpus"], "0", "{thread}");
        }
        record["samples"][0].clone()
    }
}

#[test]
fn latency_and_throughput_contain_the_way() {
    if !rustix::process::geteuid().is_root() {
        println!("not tried: networks of their own need root");
        return;
    }
    let near = Hosts::new(Duration::ZERO);
    let far = Hosts::new(EACH_WAY);
    let of = |sample: &serde_json::Value, name: &str| sample["metrics"][name].as_f64().unwrap();
    // A transaction is one statement, and so one round trip.
    let service_ms = 1000.0 / of(&near.sample("near", ""), "tps");
    let round_trip_ms = 2000.0 * EACH_WAY.as_secs_f64();
    let quickest = 1000.0 / (service_ms + round_trip_ms);
    // Other tests work on this machine at the same time, and then the way takes longer than it should, and threads wait
    // for their turn.
    let fits = (0..3).any(|attempt| {
        far.networks.round_trip_ms();
        let closed = far.sample(&format!("closed-{attempt}"), "");
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
    // Transactions that are due while one is on its way wait for it, and that belongs to their latency: an M/D/1 queue
    // has a mean wait of rho / 2 (1 - rho) services.
    let open = far.sample("open", &format!("rate = {RATE}\n"));
    let whole_ms = service_ms + round_trip_ms;
    let rho = RATE * whole_ms / 1000.0;
    let expected = whole_ms * (1.0 + rho / (2.0 * (1.0 - rho)));
    let mean = of(&open, "latency_ms_mean");
    println!("open loop: mean {mean:.1} ms, expected {expected:.1} ms; {:.2} transactions a second", of(&open, "tps"));
    assert!(mean > 1.15 * whole_ms && mean < 2.0 * expected, "{mean} ms beside {expected} ms");
    drop(near.sshd);
    near.world.assert_clean();
    drop(far.sshd);
    far.world.assert_clean();
}
