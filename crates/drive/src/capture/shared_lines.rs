//! Sampled accesses by cache line, and the lines most often found in another core's cache.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use tare_results::cache_lines::{LineAccess, LineCounts, SharedLine, SharedLines, Sharing};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Access {
    pub pid: u32,
    pub tid: u32,
    pub cpu: u32,
    pub address: u64,
    pub counts: LineCounts,
    pub function: String,
}

/// Limits: lines in a record, and accessing instructions listed per line.
const LINES: usize = 12;
const ACCESSES: usize = 8;
/// Limits: distinct function names kept, and characters per name. Names come from arbitrary libraries, so their number
/// and length are unbounded.
const FUNCTIONS: usize = 50_000;
const LETTERS: usize = 120;
const OTHERS: &str = "[others]";
/// The most that one instruction usually reads or writes of shared memory, bytes.
const WORD: u64 = 8;
/// Start of the kernel's half of the address space, which all processes share.
const KERNEL: u64 = 1 << 63;

/// Look-ups by address, made after the recording has ended.
pub(super) trait Memory {
    fn name(&mut self, pid: u32, address: u64) -> String;
    /// Whether other processes map the same memory at this address.
    fn is_shared(&mut self, pid: u32, address: u64) -> bool;
    fn node(&self, cpu: u32) -> u32;
}

/// All accesses, 56 bytes each.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    all: Vec<Kept>,
    functions: Vec<String>,
    numbers: HashMap<String, usize>,
}

#[derive(Debug)]
struct Kept {
    pid: u32,
    tid: u32,
    cpu: u32,
    address: u64,
    counts: LineCounts,
    function: u32,
}

/// A line of one process, or (None) of all processes that share it.
type Key = (Option<u32>, u64);

impl Accesses {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn add(&mut self, access: Access) {
        let Access { pid, tid, cpu, address, counts, function } = access;
        let function = self.number_of(function.chars().take(LETTERS).collect());
        self.all.push(Kept { pid, tid, cpu, address, counts, function });
    }

    fn number_of(&mut self, function: String) -> u32 {
        let function = if self.functions.len() < FUNCTIONS { function } else { OTHERS.to_owned() };
        let functions = &mut self.functions;
        let number = *self.numbers.entry(function).or_insert_with_key(|name| {
            functions.push(name.clone());
            functions.len() - 1
        });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    fn function(&self, number: u32) -> &str {
        self.functions.get(number as usize).map_or(OTHERS, String::as_str)
    }

    /// The lines that were most often found in another core's cache.
    pub(crate) fn shared(&self, line_bytes: u64, cut: bool, memory: &mut impl Memory) -> SharedLines {
        let line_bytes = line_bytes.max(WORD);
        let mut counts = LineCounts::default();
        let mut found: HashMap<Key, u64> = HashMap::new();
        let mut spaces: HashMap<(u32, u64), Key> = HashMap::new();
        let mut key_of = |kept: &Kept| {
            let line = kept.address / line_bytes;
            *spaces.entry((kept.pid, line)).or_insert_with(|| {
                let of_all = kept.address >= KERNEL || memory.is_shared(kept.pid, kept.address);
                ((!of_all).then_some(kept.pid), line)
            })
        };
        for kept in &self.all {
            counts += kept.counts;
            if kept.counts.found() > 0 {
                *found.entry(key_of(kept)).or_default() += kept.counts.found();
            }
        }
        let mut most: Vec<(Key, u64)> = found.into_iter().collect();
        most.sort_by_key(|(key, found)| (std::cmp::Reverse(*found), *key));
        most.truncate(LINES);
        let lines: BTreeSet<u64> = most.iter().map(|((_, line), _)| *line).collect();
        let mut of_lines: HashMap<Key, Vec<&Kept>> = HashMap::new();
        for kept in self.all.iter().filter(|kept| lines.contains(&(kept.address / line_bytes))) {
            of_lines.entry(key_of(kept)).or_default().push(kept);
        }
        let lines = most.iter().filter_map(|(key, _)| Some(self.line(key.1 * line_bytes, of_lines.get(key)?, memory)));
        SharedLines { line_bytes, counts, cut, lines: lines.collect() }
    }

    fn line(&self, address: u64, all: &[&Kept], memory: &mut impl Memory) -> SharedLine {
        let mut counts = LineCounts::default();
        let mut places: BTreeMap<(u64, u32, &str), (LineCounts, BTreeSet<u32>)> = BTreeMap::new();
        for kept in all {
            counts += kept.counts;
            let place = (kept.address - address, memory.node(kept.cpu), self.function(kept.function));
            let (sum, threads) = places.entry(place).or_default();
            *sum += kept.counts;
            threads.insert(kept.tid);
        }
        let mut accesses: Vec<LineAccess> = places
            .into_iter()
            .map(|((offset, node, function), (counts, threads))| LineAccess {
                offset,
                node,
                function: function.to_owned(),
                threads: threads.len(),
                counts,
            })
            .collect();
        accesses.sort_by_key(|access| std::cmp::Reverse(access.counts.found() + access.counts.stores));
        accesses.truncate(ACCESSES);
        let name = match all.iter().max_by_key(|kept| kept.counts.found()) {
            _ if address >= KERNEL => "kernel".to_owned(),
            Some(first) => {
                let hottest = accesses.iter().max_by_key(|access| access.counts.found());
                let at = hottest.map_or(0, |access| access.offset);
                memory.name(first.pid, address + at).chars().take(LETTERS).collect()
            }
            None => String::new(),
        };
        SharedLine { name, address: format!("{address:#x}"), sharing: sharing(all, address), counts, accesses }
    }
}

/// Whether loads that found the line in another core's cache read a word that another thread writes (true sharing).
fn sharing(all: &[&Kept], address: u64) -> Sharing {
    let word = |kept: &Kept| (kept.address - address) / WORD;
    let mut writers: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for kept in all.iter().filter(|kept| kept.counts.stores > 0) {
        writers.entry(word(kept)).or_default().insert(kept.tid);
    }
    let by_another = |writers: &BTreeSet<u32>, tid: u32| writers.iter().any(|writer| *writer != tid);
    let (mut same, mut other) = (0, 0);
    for kept in all.iter().filter(|kept| kept.counts.found() > 0) {
        if writers.get(&word(kept)).is_some_and(|writers| by_another(writers, kept.tid)) {
            same += 1;
        } else if writers.values().any(|writers| by_another(writers, kept.tid)) {
            other += 1;
        }
    }
    match (same, other) {
        (0, 0) => Sharing::Unknown,
        (same, other) if other > same => Sharing::OtherWords,
        _ => Sharing::SameWord,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::lines::access;
    use crate::capture::lines::tests::{AMD, ARM, INTEL, line};

    /// Two nodes of four CPUs; addresses from 0x7000 on are shared by all processes.
    struct Made;

    impl Memory for Made {
        fn name(&mut self, _: u32, address: u64) -> String {
            format!("table+{:#x}", address - 0x5000)
        }

        fn is_shared(&mut self, _: u32, address: u64) -> bool {
            address >= 0x7000
        }

        fn node(&self, cpu: u32) -> u32 {
            cpu / 4
        }
    }

    fn of(text: &str) -> SharedLines {
        let mut all = Accesses::default();
        text.lines().filter_map(access).for_each(|access| all.add(access));
        all.shared(64, false, &mut Made)
    }

    fn times(n: usize, text: &str) -> String {
        text.repeat(n)
    }

    #[test]
    fn a_line_that_threads_of_two_nodes_contend_for_is_attributed_to_both() {
        for sources in [INTEL, AMD, ARM] {
            let [local, remote, cached, store] = sources;
            // Thread 1 on node 0 writes the word that thread 2 on node 1 reads; thread 3 reads it on node 0.
            let text = times(6, &line(9, 1, 0, 0x5048, store, "write (m)"))
                + &times(5, &line(9, 2, 4, 0x5048, remote, "read (m)"))
                + &times(2, &line(9, 2, 4, 0x5048, cached, "read (m)"))
                + &times(3, &line(9, 3, 1, 0x5048, local, "look (m)"))
                + &line(9, 1, 0, 0x6000, cached, "other (m)");
            let found = of(&text);
            let counts = LineCounts { loads: 11, stores: 6, found_local: 3, found_remote: 5 };
            assert_eq!((found.counts, found.lines.len(), found.line_bytes), (counts, 1, 64));
            let line = &found.lines[0];
            assert_eq!((line.name.as_str(), line.address.as_str()), ("table+0x48", "0x5040"));
            assert_eq!((line.counts.loads, line.counts.found(), line.sharing), (10, 8, Sharing::SameWord));
            let accesses: Vec<(u64, u32, &str, usize, u64, u64)> = line
                .accesses
                .iter()
                .map(|a| (a.offset, a.node, a.function.as_str(), a.threads, a.counts.stores, a.counts.found()))
                .collect();
            assert_eq!(accesses, [(8, 0, "write", 1, 6, 0), (8, 1, "read", 1, 0, 5), (8, 0, "look", 1, 0, 3)]);
        }
    }

    #[test]
    fn false_sharing_differs_from_sharing() {
        let [_, remote, _, store] = INTEL;
        let one = |reads: u64, writes: u64| {
            let text = times(4, &line(9, 1, 0, 0x5000 + writes, store, "write (m)"))
                + &times(4, &line(9, 2, 4, 0x5000 + reads, remote, "read (m)"));
            of(&text).lines[0].sharing
        };
        assert_eq!((one(0, 0), one(4, 0)), (Sharing::SameWord, Sharing::SameWord), "both in eight bytes");
        assert_eq!((one(0, 8), one(56, 0)), (Sharing::OtherWords, Sharing::OtherWords));
        // A thread's own writes, and writes to another line, show no sharing.
        let own = line(9, 2, 4, 0x5000, store, "write (m)") + &line(9, 2, 4, 0x5000, remote, "read (m)");
        assert_eq!(of(&own).lines[0].sharing, Sharing::Unknown);
        let apart = line(9, 1, 0, 0x5040, store, "write (m)") + &line(9, 2, 4, 0x5000, remote, "read (m)");
        assert_eq!(of(&apart).lines[0].sharing, Sharing::Unknown);
    }

    #[test]
    fn processes_that_share_memory_share_its_cache_lines() {
        let [local, ..] = INTEL;
        let both = |address| line(9, 9, 0, address, local, "a (m)") + &line(8, 8, 1, address, local, "a (m)");
        let found = |address| of(&both(address)).lines.iter().map(|line| line.counts.loads).collect::<Vec<_>>();
        assert_eq!((found(0x5000), found(0x7000)), (vec![1, 1], vec![2]));
        assert_eq!(of(&both(0xffff_8881_0000_0000)).lines[0].name, "kernel");
        assert_eq!(found(u64::MAX), [2]);
    }

    #[test]
    fn a_record_keeps_the_most_contended_lines_and_stays_small() {
        let [local, ..] = INTEL;
        let mut text = String::new();
        for number in 0..200_u64 {
            for place in 0..64 {
                let name = format!("{}{number}_{place} (m)", "f".repeat(1000));
                text += &times(
                    if number == 77 { 2 } else { 1 },
                    &line(9, 1, 0, 0x5000 + number * 64 + place, local, &name),
                );
            }
        }
        let found = of(&text);
        assert_eq!((found.lines.len(), found.lines[0].counts.loads), (LINES, 128));
        assert!(found.lines.iter().all(|line| line.accesses.len() == ACCESSES));
        assert!(serde_json::to_string(&found).unwrap().len() < 30_000);
    }
}
