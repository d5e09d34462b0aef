//! Two separate networks with a delay between them. Kernels without netem cannot delay packets, so they go through this
//! process: a TUN device at each end, and a queue in each direction.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Addresses of the server's and of the clients' end.
pub const ADDRESSES: [&str; 2] = ["10.213.7.1", "10.213.7.2"];

/// Two networks; removed on drop.
pub struct Networks {
    /// Names of the server's and the clients' network.
    pub names: [String; 2],
    /// Packets carried to the clients and to the server.
    carried: [Arc<Carried>; 2],
}

/// The real delay of packets in one direction, which on a busy machine is longer than requested.
#[derive(Default)]
struct Carried {
    packets: AtomicU64,
    took_ns: AtomicU64,
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split_whitespace()).output().expect("ip: apt-get install iproute2");
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Networks {
    /// Makes the networks; every packet takes `each_way` from one to the other.
    pub fn new(each_way: Duration) -> Self {
        let number = Instant::now().elapsed().subsec_nanos() ^ each_way.subsec_nanos();
        let names = ["s", "c"].map(|side| format!("tare-{}-{number}-{side}", std::process::id()));
        let networks = Self { names, carried: Default::default() };
        let mut ends = Vec::new();
        for (name, address) in networks.names.iter().zip(ADDRESSES) {
            ip(&format!("netns add {name}"));
            ip(&format!("-n {name} link set lo up"));
            ip(&format!("-n {name} tuntap add dev way mode tun"));
            ends.push(open(name));
            ip(&format!("-n {name} addr add {address}/24 dev way"));
            ip(&format!("-n {name} link set way up"));
        }
        let [a, b] = ends.try_into().unwrap();
        carry(&a, &b, each_way, &networks.carried[0]);
        carry(&b, &a, each_way, &networks.carried[1]);
        networks
    }

    /// Mean round trip of a packet since the last call, milliseconds.
    pub fn round_trip_ms(&self) -> f64 {
        let each = self.carried.iter().map(|way| {
            let (packets, took_ns) = (way.packets.swap(0, Relaxed), way.took_ns.swap(0, Relaxed));
            took_ns as f64 / 1e6 / packets.max(1) as f64
        });
        each.sum()
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// The device `way` of a network, one packet per read or write.
fn open(network: &str) -> File {
    let path = format!("/run/netns/{network}");
    // Only the thread that opens the device enters the network.
    std::thread::spawn(move || {
        let network = File::open(path).unwrap();
        let kind = Some(rustix::thread::LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&network), kind).unwrap();
        let device = OpenOptions::new().read(true).write(true).open("/dev/net/tun").unwrap();
        // SAFETY: all zeroes is a valid ifreq, which is plain numbers.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(b"way") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the descriptor is open, and the request lives through the call (tun(4)).
        let done = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        assert_eq!(done, 0, "TUNSETIFF: {}", std::io::Error::last_os_error());
        device
    })
    .join()
    .unwrap()
}

/// Gives this thread real-time priority, so that the delay does not depend on other load of this machine.
fn first_of_all() {
    // SAFETY: all zeroes is a valid sched_param, which is plain numbers.
    let mut priority: libc::sched_param = unsafe { std::mem::zeroed() };
    priority.sched_priority = 1;
    // SAFETY: 0 is the calling thread, and the parameter lives through the call (sched_setscheduler(2)).
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) };
}

/// Carries packets in one direction. Both threads end with the devices, when the networks are removed.
fn carry(from: &File, to: &File, takes: Duration, carried: &Arc<Carried>) {
    let carried = Arc::clone(carried);
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let (sender, queue) = channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        first_of_all();
        let mut packet = vec![0; 65_536];
        while let Ok(length) = from.read(&mut packet) {
            if sender.send((Instant::now(), packet[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        first_of_all();
        for (came, packet) in queue {
            std::thread::sleep((came + takes).saturating_duration_since(Instant::now()));
            // A device that is not up yet accepts no packets; the sender repeats them.
            let _ = to.write(&packet);
            carried.took_ns.fetch_add(came.elapsed().as_nanos() as u64, Relaxed);
            carried.packets.fetch_add(1, Relaxed);
        }
    });
}
