//! Assigns pairs of client and server threads to PUs, with as few threads per PU as possible.

use std::collections::{BTreeMap, BTreeSet};

/// Client and server PU of a pair, as logical indexes.
pub(super) type Pair = (usize, usize);

/// Up to this number of threads, all assignments are searched if the greedy method and exchanges find none.
const SEARCH_THREADS: usize = 16;

/// After this many steps the search gives up, and more threads per PU are allowed.
const SEARCH_STEPS: usize = 20_000;

/// Which PUs may be paired, computed on demand: with thousands of PUs, a list of all pairs would not fit into memory.
struct Graph<'a> {
    /// Client PUs that can be paired with some server PU.
    clients: Vec<usize>,
    /// Server PUs that can be paired with some client PU.
    servers: Vec<usize>,
    /// The rank of a pair (0 is preferred); `None` for two PUs that cannot be paired.
    rank: &'a dyn Fn(usize, usize) -> Option<u8>,
}

/// A partial assignment: the pairs, and the limit and number of threads per PU.
struct Board<'a> {
    graph: &'a Graph<'a>,
    limit: usize,
    /// Pairs with a higher rank are not used.
    worst_rank: u8,
    load: BTreeMap<usize, usize>,
    pairs: Vec<Pair>,
}

/// `threads` pairs, or `None` if no client PU can be paired with any server PU. The most loaded PU has as few threads
/// as possible: exactly so for up to [`SEARCH_THREADS`] threads on small machines, where tests compare with brute
/// force; beyond, in rare cases, it has one or a few more. With this number, all pairs have rank 0 if that is possible.
pub(super) fn assign(
    clients: &[usize],
    servers: &[usize],
    threads: usize,
    rank: impl Fn(usize, usize) -> Option<u8>,
) -> Option<Vec<Pair>> {
    let clients = with_partner(clients, servers, |c, s| rank(c, s).is_some());
    let servers = with_partner(servers, &clients, |s, c| rank(c, s).is_some());
    if clients.is_empty() {
        return None;
    }
    let graph = Graph { clients, servers, rank: &rank };
    let (mut low, mut high) = (graph.least_limit(threads), 2 * threads);
    if graph.fill(low, 1, threads).is_none() {
        // Infeasible at `low`, feasible at `high`: one or two PUs can then take all threads.
        while high - low > 1 {
            let middle = low.midpoint(high);
            if graph.fill(middle, 1, threads).is_some() { high = middle } else { low = middle }
        }
        low = high;
    }
    graph.fill(low, 0, threads).or_else(|| graph.fill(low, 1, threads))
}

/// Those of `pus` that have a partner among `others`. Partners of neighbours are neighbours, so that the search goes on
/// from the last one: machines have thousands of PUs.
fn with_partner(pus: &[usize], others: &[usize], is_pair: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut last = 0;
    let mut has_one = |pu: usize| {
        let (before, after) = others.split_at(last);
        let found = after.iter().chain(before).position(|other| is_pair(pu, *other));
        found.inspect(|steps| last = (last + steps) % others.len()).is_some()
    };
    pus.iter().copied().filter(|pu| has_one(*pu)).collect()
}

impl Graph<'_> {
    /// A lower bound for the threads on the most loaded PU, by counting.
    fn least_limit(&self, threads: usize) -> usize {
        let (clients, servers) = (self.clients.len(), self.servers.len());
        let is_client: BTreeSet<usize> = self.clients.iter().copied().collect();
        let both = clients + self.servers.iter().filter(|s| !is_client.contains(s)).count();
        [threads.div_ceil(clients), threads.div_ceil(servers), (2 * threads).div_ceil(both)]
            .into_iter()
            .max()
            .unwrap_or(1)
    }

    fn fill(&self, limit: usize, worst_rank: u8, threads: usize) -> Option<Vec<Pair>> {
        let mut board = Board { graph: self, limit, worst_rank, load: BTreeMap::new(), pairs: Vec::new() };
        while board.pairs.len() < threads {
            if !board.add_greedily() && !board.exchange() {
                if board.pairs.is_empty() {
                    return None;
                }
                let mut steps = if threads <= SEARCH_THREADS { SEARCH_STEPS } else { 0 };
                let mut board = Board { load: BTreeMap::new(), pairs: Vec::new(), ..board };
                return board.search(threads, &mut steps).then_some(board.pairs);
            }
        }
        Some(board.pairs)
    }
}

impl Board<'_> {
    fn load(&self, pu: usize) -> usize {
        self.load.get(&pu).copied().unwrap_or(0)
    }

    fn fits(&self, (client, server): Pair) -> bool {
        if client == server {
            self.load(client) + 2 <= self.limit
        } else {
            self.load(client) < self.limit && self.load(server) < self.limit
        }
    }

    fn put(&mut self, pair: Pair) {
        *self.load.entry(pair.0).or_default() += 1;
        *self.load.entry(pair.1).or_default() += 1;
        self.pairs.push(pair);
    }

    fn take(&mut self, position: usize) -> Pair {
        let pair = self.pairs.remove(position);
        for pu in [pair.0, pair.1] {
            self.load.entry(pu).and_modify(|load| *load -= 1);
        }
        pair
    }

    /// Servers that this client can still be paired with, the least loaded first.
    fn servers(&self, client: usize) -> Vec<usize> {
        let ranked = self.graph.servers.iter().filter_map(|s| Some((*s, (self.graph.rank)(client, *s)?)));
        let mut open: Vec<(usize, u8, usize)> = ranked
            .filter(|(s, rank)| *rank <= self.worst_rank && self.fits((client, *s)))
            // If the server is on the client's PU, the client's thread counts too.
            .map(|(s, rank)| (self.load(s) + usize::from(s == client), rank, s))
            .collect();
        open.sort_unstable();
        open.into_iter().map(|(_, _, s)| s).collect()
    }

    /// Clients with room, the least loaded first.
    fn clients(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.graph.clients.iter().copied().filter(|c| self.load(*c) < self.limit).collect();
        open.sort_by_key(|c| (self.load(*c), *c));
        open
    }

    fn add_greedily(&mut self) -> bool {
        let pair = self.clients().into_iter().find_map(|c| Some((c, *self.servers(c).first()?)));
        pair.map(|pair| self.put(pair)).is_some()
    }

    /// Gains a pair: removes one, pairs one of its PUs with a different partner, and adds a further pair.
    fn exchange(&mut self) -> bool {
        let mut tried = BTreeSet::new();
        for position in 0..self.pairs.len() {
            // Pairs on the same PUs are equivalent.
            if !tried.insert(self.pairs[position]) {
                continue;
            }
            let old = self.take(position);
            for first in self.touching(old) {
                self.put(first);
                if self.add_greedily() {
                    return true;
                }
                self.take(self.pairs.len() - 1);
            }
            self.put(old);
            // Moves it back to its position, so that the others keep theirs.
            self.pairs[position..].rotate_right(1);
        }
        false
    }

    /// Pairs that fit now and share a PU with the pair that was just removed.
    fn touching(&self, old: Pair) -> Vec<Pair> {
        let all = self.clients().into_iter().flat_map(|c| self.servers(c).into_iter().map(move |s| (c, s)));
        all.filter(|(c, s)| *c == old.0 || *s == old.0 || *c == old.1 || *s == old.1).filter(|p| *p != old).collect()
    }

    /// Searches all assignments until one is complete.
    fn search(&mut self, threads: usize, steps: &mut usize) -> bool {
        if self.pairs.len() == threads {
            return true;
        }
        for client in self.clients() {
            for server in self.servers(client) {
                if *steps == 0 {
                    return false;
                }
                *steps -= 1;
                self.put((client, server));
                if self.search(threads, steps) {
                    return true;
                }
                self.take(self.pairs.len() - 1);
            }
        }
        false
    }
}
