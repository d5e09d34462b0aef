//! Which threads communicate: the connections between two process trees, and the thread at each end, found from
//! outside while they work.

use super::error::Unpaired;
use super::waits::waits_in;
use super::watch::Connected;
use procfs::process::{FDTarget, Process};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::threads_of;

/// Passes over the threads per look, and the interval between them.
const PASSES: usize = 8;
const BETWEEN: Duration = Duration::from_millis(1);

/// Results of repeated looks at two process trees.
#[derive(Debug, Default)]
pub struct Connections {
    /// Client's end -> server's end.
    ends: BTreeMap<Inode, Inode>,
    clients: SocketUse,
    servers: SocketUse,
}

/// How often each thread was seen to work for a socket.
#[derive(Debug, Default)]
struct SocketUse(BTreeMap<Inode, BTreeMap<ThreadRef, u32>>);

impl Connections {
    /// Looks once: which connections exist now, and which threads wait in them.
    pub fn look(&mut self, client: &[i32], server: &[i32]) {
        let peers = peers();
        let held = |pids: &[i32]| -> Vec<(i32, BTreeMap<i32, Inode>)> {
            pids.iter().map(|pid| (*pid, sockets_of(*pid))).collect()
        };
        let (client, server) = (held(client), held(server));
        let of_server: BTreeSet<Inode> = server.iter().flat_map(|(_, sockets)| sockets.values().copied()).collect();
        let of_client = client.iter().flat_map(|(_, sockets)| sockets.values());
        self.ends = of_client
            .filter_map(|own| Some((*own, *peers.get(own).filter(|peer| of_server.contains(peer))?)))
            .collect();
        let client_ends: BTreeSet<Inode> = self.ends.keys().copied().collect();
        let server_ends: BTreeSet<Inode> = self.ends.values().copied().collect();
        // The set of connections changes rarely and is slow to read; the waiting threads change all the time.
        for pass in 0..PASSES {
            if pass > 0 {
                std::thread::sleep(BETWEEN);
            }
            self.clients.look(&client, &client_ends);
            self.servers.look(&server, &server_ends);
        }
    }

    pub(crate) fn found(&self) -> usize {
        self.ends.len()
    }

    pub fn is_complete(&self, expected: usize) -> bool {
        self.ends.len() == expected
            && self.clients.of(self.ends.keys()).all(|seen| !seen.is_empty())
            && self.servers.of(self.ends.values()).all(|seen| !seen.is_empty())
    }

    /// The pairs, ordered by the client's thread.
    pub fn pairs(&self, expected: usize) -> Result<Vec<Connected>, Unpaired> {
        if self.ends.len() != expected {
            return Err(Unpaired::Count { found: self.ends.len(), expected });
        }
        let clients = self.clients.one_each("client", self.ends.keys())?;
        let servers = self.servers.one_each("server", self.ends.values())?;
        let mut pairs: Vec<Connected> = clients
            .into_iter()
            .zip(servers)
            .map(|(client, serving)| Connected { client, serving: Some(serving) })
            .collect();
        pairs.sort_by_key(|pair| pair.client);
        let several = pairs.chunk_by(|a, b| a.client == b.client).find(|chunk| chunk.len() > 1);
        match several {
            Some(chunk) => Err(Unpaired::Several { thread: chunk[0].client, connections: chunk.len() }),
            None => Ok(pairs),
        }
    }

    /// Every thread that was seen at either end, unpaired: the client's, then the server's.
    pub(crate) fn threads(&self) -> (BTreeSet<ThreadRef>, BTreeSet<ThreadRef>) {
        let all = |seen: &SocketUse| seen.0.values().flat_map(workers).collect();
        (all(&self.clients), all(&self.servers))
    }
}

impl SocketUse {
    /// A single-threaded process works for all sockets that it alone holds; in others, threads waiting in a socket
    /// count.
    fn look(&mut self, processes: &[(i32, BTreeMap<i32, Inode>)], ends: &BTreeSet<Inode>) {
        for (pid, sockets) in processes {
            if !sockets.values().any(|inode| ends.contains(inode)) {
                continue;
            }
            let threads = threads_of(*pid).unwrap_or_default();
            for thread in &threads {
                let waits = waits_in(*thread).unwrap_or_default();
                for inode in waits.iter().filter_map(|descriptor| sockets.get(descriptor)).filter(|i| ends.contains(i))
                {
                    *self.0.entry(*inode).or_default().entry(*thread).or_default() += 1;
                }
            }
            if let [only] = threads.as_slice() {
                let alone = |inode: &&Inode| {
                    ends.contains(inode) && processes.iter().all(|(p, s)| p == pid || !s.values().any(|i| i == *inode))
                };
                for inode in sockets.values().filter(alone) {
                    *self.0.entry(*inode).or_default().entry(*only).or_default() += 1;
                }
            }
        }
    }

    fn of<'a>(&'a self, inodes: impl Iterator<Item = &'a Inode>) -> impl Iterator<Item = BTreeSet<ThreadRef>> {
        inodes.map(|inode| self.0.get(inode).map(workers).unwrap_or_default())
    }

    fn one_each<'a>(
        &'a self,
        side: &'static str,
        inodes: impl Iterator<Item = &'a Inode>,
    ) -> Result<Vec<ThreadRef>, Unpaired> {
        let seen: Vec<_> = self.of(inodes).collect();
        let unseen = seen.iter().filter(|threads| threads.is_empty()).count();
        if unseen > 0 {
            return Err(Unpaired::Unseen { side, connections: unseen, expected: seen.len() });
        }
        if let Some(pool) = seen.iter().find(|threads| threads.len() > 1) {
            return Err(Unpaired::Pool { side, threads: pool.iter().copied().collect() });
        }
        Ok(seen.into_iter().filter_map(|threads| threads.first().copied()).collect())
    }
}

/// A thread seen less often than this share of the most frequently seen thread is a false sighting: the descriptors of
/// a call are read from the thread's memory, and the thread may have run between the two reads.
const SELDOM: f64 = 0.25;

fn workers(seen: &BTreeMap<ThreadRef, u32>) -> BTreeSet<ThreadRef> {
    let most = seen.values().copied().max().unwrap_or(0);
    let often = |count: u32| f64::from(count) >= SELDOM * f64::from(most);
    seen.iter().filter(|(_, count)| often(**count)).map(|(thread, _)| *thread).collect()
}

/// Number of a socket in the kernel's tables, the same for all processes.
pub(crate) type Inode = u64;

/// sock_diag(7): one request for all sockets of an address family.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST and NLM_F_DUMP (netlink(7)).
const REQUEST_DUMP: u16 = 0x301;
const SHOW_PEER: u32 = 4;
/// UNIX_DIAG_PEER: the attribute that holds the peer's inode.
const PEER: u16 = 2;
/// Bytes of a message header, of a Unix socket in an answer, and of an attribute header.
const HEAD: usize = 16;
const ENTRY: usize = 16;
const ATTRIBUTE: usize = 4;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// The sockets of a process, by descriptor; empty if the process has ended or may not be inspected.
fn sockets_of(pid: i32) -> BTreeMap<i32, Inode> {
    let descriptors = Process::new(pid).and_then(|process| process.fd()).into_iter().flatten().flatten();
    let inode = |target| match target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    };
    descriptors.filter_map(|descriptor| Some((descriptor.fd, inode(descriptor.target)?))).collect()
}

/// The peer of every connected socket of this machine: Unix sockets by `sock_diag`, TCP by its two addresses.
fn peers() -> HashMap<Inode, Inode> {
    // A kernel that does not report one address family may report the other; a missing pair is reported by the caller.
    let mut peers = unix_peers().unwrap_or_default();
    peers.extend(tcp_peers());
    peers
}

fn unix_peers() -> io::Result<HashMap<Inode, Inode>> {
    let diag = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    let mut request = Vec::with_capacity(HEAD + 24);
    let length = (HEAD + 24) as u32;
    request.extend(length.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    // Sequence number and port are needed only for several requests.
    request.extend([0; 8]);
    // Family, protocol, padding; all states; any inode; what to show; no cookie.
    request.extend([AddressFamily::UNIX.as_raw() as u8, 0, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(SHOW_PEER.to_ne_bytes());
    request.extend([0; 8]);
    send(&diag, &request, SendFlags::empty())?;
    let mut peers = HashMap::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let (received, _) = recv(&diag, &mut buffer[..], RecvFlags::empty())?;
        if received == 0 || read_answers(&buffer[..received], &mut peers)? {
            return Ok(peers);
        }
    }
}

/// Parses one datagram; returns whether it was the last.
fn read_answers(mut datagram: &[u8], peers: &mut HashMap<Inode, Inode>) -> io::Result<bool> {
    while datagram.len() >= HEAD {
        let length = u32_at(datagram, 0) as usize;
        let Some(message) = datagram.get(..length).filter(|_| length >= HEAD) else { break };
        match u16_at(message, 4) {
            DONE => return Ok(true),
            ERROR => return Err(io::Error::from_raw_os_error(-u32_at(message, HEAD).cast_signed())),
            _ => {
                if let Some((own, peer)) = entry(&message[HEAD..]) {
                    peers.insert(own, peer);
                }
            }
        }
        datagram = datagram.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// Parses a Unix socket of an answer; None if it is not connected.
fn entry(payload: &[u8]) -> Option<(Inode, Inode)> {
    let own = u32_at(payload.get(..ENTRY)?, 4);
    let mut attributes = payload.get(ENTRY..)?;
    while attributes.len() >= ATTRIBUTE {
        let length = usize::from(u16_at(attributes, 0));
        let value = attributes.get(ATTRIBUTE..length)?;
        if u16_at(attributes, 2) == PEER && value.len() >= 4 {
            return Some((own.into(), u32_at(value, 0).into()));
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
    None
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_ne_bytes)
}

fn tcp_peers() -> HashMap<Inode, Inode> {
    let v4 = procfs::net::tcp().unwrap_or_default();
    let v6 = procfs::net::tcp6().unwrap_or_default();
    let ends: HashMap<(SocketAddr, SocketAddr), Inode> = v4
        .into_iter()
        .chain(v6)
        .filter(|entry| entry.inode != 0)
        .map(|entry| ((plain(entry.local_address), plain(entry.remote_address)), entry.inode))
        .collect();
    let other_end = |(local, remote): &(SocketAddr, SocketAddr)| ends.get(&(*remote, *local)).copied();
    ends.iter().filter_map(|(addresses, inode)| Some((*inode, other_end(addresses)?))).collect()
}

/// A server that listens on IPv6 sees its IPv4 clients as mapped addresses.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn paired(one: i32, other: i32) {
        let own = sockets_of(std::process::id().cast_signed());
        let peers = peers();
        assert_eq!(peers.get(&own[&one]), Some(&own[&other]));
        assert_eq!(peers.get(&own[&other]), Some(&own[&one]));
    }

    #[test]
    fn both_ends_of_a_unix_connection_are_paired() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let client = UnixStream::connect(folder.path().join("s")).unwrap();
        let (server, _) = listener.accept().unwrap();
        paired(client.as_raw_fd(), server.as_raw_fd());
    }

    #[test]
    fn both_ends_of_a_tcp_connection_are_paired_even_with_mapped_addresses() {
        for place in ["127.0.0.1:0", "[::]:0"] {
            // Binding fails on a machine without IPv6.
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let port = listener.local_addr().unwrap().port();
            let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (server, _) = listener.accept().unwrap();
            paired(client.as_raw_fd(), server.as_raw_fd());
        }
    }

    #[test]
    fn malformed_kernel_answers_yield_no_entry() {
        for bytes in [vec![0; 40], vec![255; 64], vec![1; 3]] {
            let _ = read_answers(&bytes, &mut HashMap::new());
            assert_eq!(entry(&bytes[..bytes.len().min(20)]), None, "{bytes:?}");
        }
    }
}
