//! Which threads talk to each other: the connections between two families of processes, and the thread at either end
//! of each, found from outside while they work.

use super::error::Unpaired;
use super::sockets::{Inode, peers, sockets_of};
use super::waits::waits_in;
use super::watch::Connected;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::threads_of;

/// Times that threads are looked at in one look, and the time between two of them.
const PASSES: usize = 8;
const BETWEEN: Duration = Duration::from_millis(1);

/// What many looks at two families of processes have found.
#[derive(Debug, Default)]
pub struct Connections {
    /// Client's end -> server's end.
    ends: BTreeMap<Inode, Inode>,
    clients: SocketUse,
    servers: SocketUse,
}

/// Who was seen to work for which socket, and how often.
#[derive(Debug, Default)]
struct SocketUse(BTreeMap<Inode, BTreeMap<ThreadRef, u32>>);

impl Connections {
    /// Looks once: which connections there are now, and which threads wait in them.
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
        // Which connections there are changes rarely and takes long to read; who waits in them changes all the time.
        for pass in 0..PASSES {
            if pass > 0 {
                std::thread::sleep(BETWEEN);
            }
            self.clients.look(&client, &client_ends);
            self.servers.look(&server, &server_ends);
        }
    }

    pub fn found(&self) -> usize {
        self.ends.len()
    }

    pub fn is_complete(&self, expected: usize) -> bool {
        self.ends.len() == expected
            && self.clients.of(self.ends.keys()).all(|seen| !seen.is_empty())
            && self.servers.of(self.ends.values()).all(|seen| !seen.is_empty())
    }

    /// The pairs, by the number of the client's thread.
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

    /// Every thread that was seen at either end, in no pairs: client's, then server's.
    pub fn threads(&self) -> (BTreeSet<ThreadRef>, BTreeSet<ThreadRef>) {
        let all = |seen: &SocketUse| seen.0.values().flat_map(workers).collect();
        (all(&self.clients), all(&self.servers))
    }
}

impl SocketUse {
    /// A process of one thread works for all that it alone holds; of others, those count that wait in a socket.
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

/// A thread that is seen less often than this share of the sightings of the most seen one was not there: what it waits
/// in is read from its memory, and it may have gone on between the two looks that this takes.
const SELDOM: f64 = 0.25;

fn workers(seen: &BTreeMap<ThreadRef, u32>) -> BTreeSet<ThreadRef> {
    let most = seen.values().copied().max().unwrap_or(0);
    let often = |count: u32| f64::from(count) >= SELDOM * f64::from(most);
    seen.iter().filter(|(_, count)| often(**count)).map(|(thread, _)| *thread).collect()
}
