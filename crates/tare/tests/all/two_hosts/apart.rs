//! Two hosts with networks, process lists and names of their own, and a real sshd between them.

use crate::support::{World, text, trials};
use crate::two_hosts::delay::{ADDRESSES, Networks};
use crate::two_hosts::far::{Sshd, program, section};
use std::process::Command;
use std::time::Duration;

/// Both hosts, and the connection between them.
pub struct Hosts {
    pub world: World,
    pub networks: Networks,
    pub sshd: Sshd,
    each_way: Duration,
}

impl Hosts {
    /// Separate networks need root: `None` for other users.
    pub fn new(each_way: Duration) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("not tried: networks of their own need root");
            return None;
        }
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
        Some(Self { world, networks, sshd, each_way })
    }

    /// Runs a study on the server's host, with a `[client]` section added.
    pub fn run(&self, out: &str, study: &str) -> Command {
        let client = section(&format!("root@{}", ADDRESSES[1]), &self.sshd.ssh, &program(&self.world, &[]), None);
        let study = self.world.study(&format!("{study}{client}"));
        let first = ["nice", "-n", "-20", "ip", "netns", "exec", &self.networks.names[0]];
        self.world.behind(&first, &["run", &study, "--out", out])
    }

    /// The record of a completed run with one trial.
    pub fn record(&self, out: &str, ended: &std::process::Output) -> serde_json::Value {
        let records = trials(&self.world.path(out));
        assert!(ended.status.success(), "{}\n{records:?}", text(&ended.stderr));
        let [record] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!(record["client_host"]["host"], format!("far-{}", std::process::id()), "{record}");
        let half_way = record["client_host"]["clock_uncertainty_s"].as_f64().unwrap();
        assert!(half_way < self.each_way.as_secs_f64() * 1.5 + 0.02, "half a round trip: {record}");
        record.clone()
    }

    /// Checks that nothing of either host is left.
    pub fn assert_clean(self) {
        drop(self.sshd);
        self.world.assert_clean();
    }
}
