//! Where threads go whose clients may be on another host: each side's locations are those of its own host.

use crate::hosts::{HostError, Remote};
use crate::language::settings::Settings;
use std::cell::RefCell;
use std::collections::BTreeMap;
use tare_engine::Transport;
use tare_topology::{Fingerprint, Machine, MemoryPolicy, Pairing, Placement, ResolvedPlacement, Side};

/// A host of clients: its machine, and by what that is known again.
type Known = (Machine, Fingerprint);

#[derive(Debug, Default)]
pub struct ClientHosts {
    asked: RefCell<BTreeMap<String, Result<Known, String>>>,
}

impl ClientHosts {
    /// The clients' machine; none where they are on this host.
    fn of(&self, settings: &Settings) -> Result<Option<Machine>, String> {
        let there = &settings.client.on;
        let Some(host) = &there.host else { return Ok(None) };
        let ask = || -> Result<Known, HostError> {
            let remote = Remote::start(there)?;
            let known = (remote.hello.environment.machine.clone(), remote.hello.fingerprint.clone());
            remote.close();
            Ok(known)
        };
        let mut asked = self.asked.borrow_mut();
        let known = asked.entry(host.clone()).or_insert_with(|| ask().map_err(|e| e.to_string()));
        known.as_ref().map(|(machine, _)| Some(machine.clone())).map_err(String::clone)
    }

    pub fn machines(&self) -> BTreeMap<String, Fingerprint> {
        let asked = self.asked.borrow();
        let known = asked.iter().filter_map(|(host, known)| Some((host.clone(), known.as_ref().ok()?.1.clone())));
        known.collect()
    }
}

/// The CPUs of every thread of a condition: those of the clients on their own host, where `hosts` may ask it, else left
/// open.
pub fn placement(settings: &Settings, on: &Machine, hosts: Option<&ClientHosts>) -> Result<ResolvedPlacement, String> {
    let (asked, threads) = (&settings.placement, settings.workload.threads);
    let Some(host) = &settings.client.on.host else { return asked.resolve(on, threads).map_err(|e| e.to_string()) };
    check(settings)?;
    // What `nodes` means is spelt out for both sides at once; only one half of it is taken.
    let floats = |side: &Side| if asked.nodes.is_some() { side.clone() } else { Side::Float };
    let of_server = Placement { client: floats(&asked.client), ..asked.clone() };
    let of_client = Placement {
        server: floats(&asked.server),
        background: Side::Float,
        memory: MemoryPolicy::Default,
        ..asked.clone()
    };
    let server = of_server.resolve(on, threads).map_err(|e| e.to_string())?;
    let there = hosts.map_or(Ok(None), |hosts| hosts.of(settings))?;
    let client = there.map(|machine| of_client.resolve(&machine, threads)).transpose();
    let client = client.map_err(|e| format!("on {host}: {e}"))?;
    Ok(ResolvedPlacement { client: client.map_or_else(Vec::new, |placement| placement.client), ..server })
}

/// What cannot be had of clients on another host.
fn check(settings: &Settings) -> Result<(), String> {
    settings.workload.load.load().clients_elsewhere()?;
    if settings.engine.running.is_asked() {
        return Err("clients on another host drive a server that is started here: leave out socket and host, or \
                    client.host"
            .into());
    }
    if settings.engine.transport != Transport::Tcp {
        return Err("clients on another host come by TCP: set engine.transport = \"tcp\"".into());
    }
    match settings.placement.pairing {
        Pairing::None => Ok(()),
        pairing => Err(format!("pairing {pairing} is about threads of one host, and client.host is another")),
    }
}
