//! Real servers over two hosts: placed and verified on both, and not accessible to others.

use crate::engines::support::binary_of;
use crate::support::wait_until;
use crate::two_hosts::apart::Hosts;
use crate::two_hosts::delay::ADDRESSES;
use std::process::{Command, Stdio};
use std::time::Duration;
use tare_engine::{Address, Charset, ConnectTarget, Engine, Mariadb, Mysql, Postgresql, Tls};

/// A short study of an engine whose clients are on the other host.
fn study(engine: &dyn Engine) -> String {
    let binary = binary_of(engine).map_or(String::new(), |path| format!("binary = \"{}\"\n", path.display()));
    format!(
        "name = \"engines\"\n[engine]\nname = \"{}\"\ntransport = \"tcp\"\n{binary}\
         [workload]\nname = \"read_only\"\nrows = 100\nthreads = 2\n\
         [placement]\nclient = \"pu:1\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
         [sampling]\ntrials = 1\nwarmup_s = 0.2\nsample_s = 0.5\nattempts = 1\n",
        engine.name()
    )
}

/// Addresses and ports of listening sockets in the server's network, in the format of /proc/net/tcp.
fn listening(network: &str) -> Vec<(String, u16)> {
    let shown = Command::new("ip").args(["netns", "exec", network, "cat", "/proc/net/tcp", "/proc/net/tcp6"]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    let listens = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    listens
        .filter(|words| words.get(3) == Some(&"0A"))
        .map(|words| {
            let (address, port) = words[1].split_once(':').unwrap();
            (address.to_owned(), u16::from_str_radix(port, 16).unwrap())
        })
        .collect()
}

/// The error for a login from the other host without the password; `None` if the login succeeds.
fn refusal(engine: &'static dyn Engine, network: &str, port: u16, user: &str) -> Option<String> {
    let path = format!("/run/netns/{network}");
    let user = user.to_owned();
    // Only the thread that opens the network enters it.
    std::thread::spawn(move || {
        let network = std::fs::File::open(path).unwrap();
        let kind = Some(rustix::thread::LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&network), kind).unwrap();
        let address = Address::Tcp(ADDRESSES[0].to_owned(), port);
        let (password, tls, charset) = (String::new(), Tls::default(), Charset::default());
        let target = ConnectTarget { address, user, password, database: None, tls, charset };
        engine.connect(&target).err().map(|error| error.to_string())
    })
    .join()
    .unwrap()
}

/// Whether the server answered all users, and let none in.
fn refuses_all(engine: &'static dyn Engine, network: &str, port: u16) -> bool {
    let name = engine.name();
    ["root", "postgres", "tare", "nobody"].into_iter().all(|user| {
        let refusal = refusal(engine, network, port, user).unwrap_or_else(|| panic!("{name}: {user:?} gets in"));
        println!("{name}, {user:?}: {refusal}");
        if refusal.contains("no server listens") {
            return false;
        }
        // A starting server accepts no login. For an unknown account MySQL requests some authentication method, so
        // as not to disclose that the account does not exist.
        let early = ["not allowed to connect", "starting up"];
        let known = ["denied", "authentication failed", "no pg_hba.conf entry", "needs authentication by"];
        let known = [&early[..], &known].concat();
        assert!(known.iter().any(|word| refusal.contains(word)), "{name}, {user:?}: {refusal}");
        true
    })
}

fn runs_over_two_hosts(hosts: &Hosts, engine: &'static dyn Engine) {
    let name = engine.name();
    let mut run = hosts.run(name, &study(engine)).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let [server, clients] = &hosts.networks.names;
    let mut found = Vec::new();
    let mut refused = false;
    // The server may be between its preparation and its start for the trial.
    wait_until("a server that listens", 90, || {
        found = listening(server);
        refused = found.first().is_some_and(|(_, port)| refuses_all(engine, clients, *port));
        refused || run.try_wait().unwrap().is_some()
    });
    // 10.213.7.1 in the format of a little-endian kernel; there is no other port.
    assert!(found.iter().all(|(address, _)| address == "0107D50A"), "{name}: {found:?}");
    let record = hosts.record(name, &run.wait_with_output().unwrap());
    assert!(refused, "{name} was never seen listening");
    let sample = &record["samples"][0];
    let threads = sample["threads"].as_array().unwrap();
    for (role, cpu) in [("client", "1"), ("server", "0")] {
        let of_role: Vec<_> = threads.iter().filter(|thread| thread["role"] == role).collect();
        assert_eq!(of_role.len(), 2, "{name}: {sample}");
        for thread in of_role {
            assert_eq!(thread["allowed_cpus"], cpu, "{name}: {thread}");
            assert!(thread["seen_cpus"].as_object().unwrap().keys().all(|seen| seen == cpu), "{name}: {thread}");
        }
    }
    let background = threads.iter().filter(|thread| thread["role"] == "background");
    assert!(background.into_iter().all(|thread| thread["allowed_cpus"] == "0"), "{name}: {sample}");
    assert!(sample["metrics"]["tps"].as_f64().unwrap() > 1.0, "{name}: {sample}");
    assert!(sample["metrics"]["server_cpu_us_per_transaction"].as_f64().unwrap() > 0.0, "{name}: {sample}");
}

#[test]
fn real_servers_over_two_hosts_are_placed_verified_and_closed_to_others() {
    let Some(hosts) = Hosts::new(Duration::ZERO) else { return };
    for engine in [&Mariadb as &'static dyn Engine, &Mysql, &Postgresql] {
        runs_over_two_hosts(&hosts, engine);
    }
    hosts.assert_clean();
}
