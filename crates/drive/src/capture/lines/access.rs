//! The text of `perf script -F pid,tid,cpu,addr,data_src,ip,sym,dso`, one sampled access per line. `data_src` is a
//! number that the kernel defines for all processors (`perf_mem_data_src` of linux/perf_event.h).

use super::super::profile::frame;
use tare_results::cache_lines::LineCounts;

/// Minimum number of hexadecimal digits of an instruction's address: the kernel maps nothing below 0x10000. perf's own
/// words have fewer.
const ADDRESS_DIGITS: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Access {
    pub pid: u32,
    pub tid: u32,
    pub cpu: u32,
    pub address: u64,
    pub counts: LineCounts,
    pub function: String,
}

/// Parses a line such as `7/9 [003] 7f00c0ffee40 2a1e8042 |OP LOAD|LVL ... |BLK  N/A 55d0c1 name (program)`. Returns
/// None for a line that is not an access with a known address.
pub(super) fn access(line: &str) -> Option<Access> {
    let (ids, rest) = word(line)?;
    let (pid, tid) = ids.split_once('/')?;
    let (cpu, rest) = word(rest)?;
    let (address, rest) = word(rest)?;
    let (source, mut rest) = word(rest)?;
    let address = u64::from_str_radix(address, 16).ok().filter(|address| *address > 0)?;
    let counts = counts(u64::from_str_radix(source, 16).ok()?)?;
    // perf decodes the number into words and truncates them when they are too long; the instruction follows.
    let function = loop {
        let (first, after) = word(rest)?;
        if is_address(first) {
            break frame(rest.trim())?;
        }
        rest = after;
    };
    Some(Access {
        pid: pid.parse().ok()?,
        tid: tid.parse().ok()?,
        cpu: cpu.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?,
        address,
        counts,
        function,
    })
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_address(word: &str) -> bool {
    word.len() >= ADDRESS_DIGITS && word.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Decodes `data_src`; None if the access is neither a load nor a store.
fn counts(source: u64) -> Option<LineCounts> {
    let has = |shift: u32, bit: u64| source >> shift & bit != 0;
    let (load, store) = (has(0, 0x02), has(0, 0x04));
    // A load by an instruction that locks the line also writes it.
    let locked = has(24, 0x02);
    // Modified in another core's cache (Intel, AMD), or supplied by another core's cache (Arm).
    let found = load && (has(19, 0x10) || has(38, 0x02));
    let remote = is_remote(source);
    (load || store).then(|| LineCounts {
        loads: load.into(),
        stores: (store || load && locked).into(),
        found_local: (found && !remote).into(),
        found_remote: (found && remote).into(),
    })
}

/// Whether the data came from another node. Processors that count hops also report a hop for another core of the same
/// node (1); the others set the remote bit, or name a remote level and no local one.
fn is_remote(source: u64) -> bool {
    const L3: u64 = 0x40;
    const REMOTE_LEVELS: u64 = 0xf00;
    let (level, hops) = (source >> 5 & 0x3fff, source >> 43 & 0x07);
    match hops {
        0 => source >> 37 & 1 == 1 || level & REMOTE_LEVELS != 0 && level & L3 == 0,
        hops => hops > 1,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOAD: u64 = 0x02;
    const STORE: u64 = 0x04;
    const HIT: u64 = 0x02 << 5;
    const L3: u64 = 0x40 << 5;
    const REMOTE_CACHE: u64 = 0x400 << 5;
    const REMOTE_CACHE_2: u64 = 0x800 << 5;
    const REMOTE_RAM: u64 = 0x100 << 5;
    const MODIFIED: u64 = 0x10 << 19;
    const LOCKED: u64 = 0x02 << 24;
    const REMOTE: u64 = 1 << 37;
    const PEER: u64 = 0x02 << 38;

    fn hops(distance: u64) -> u64 {
        (distance + 1) << 43
    }

    /// As the kernel and perf encode them: found on the same node, on another node, not in another cache, and a write.
    pub(crate) const INTEL: [u64; 4] =
        [LOAD | L3 | HIT | MODIFIED, LOAD | REMOTE_CACHE | HIT | MODIFIED, LOAD | L3 | HIT, STORE | HIT | 0x08 << 5];
    /// As encoded for Zen 4.
    pub(crate) const AMD: [u64; 4] = [
        LOAD | REMOTE_CACHE | HIT | REMOTE | MODIFIED | 1 << 43,
        LOAD | REMOTE_CACHE_2 | HIT | REMOTE | MODIFIED | 2 << 43,
        LOAD | L3 | HIT,
        STORE | 0x01 << 19,
    ];
    /// As encoded for Neoverse cores, which do not report whether a line was modified.
    pub(crate) const ARM: [u64; 4] =
        [LOAD | L3 | HIT | PEER, LOAD | REMOTE_RAM | HIT | REMOTE | PEER, LOAD | L3 | HIT, STORE | 0x01 << 5];

    /// A line as perf 6.1 prints it.
    pub(crate) fn line(pid: u32, tid: u32, cpu: u32, address: u64, source: u64, function: &str) -> String {
        let words = "|OP LOAD|LVL Any cache hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A    ";
        format!("{pid:>5}/{tid:<5} [{cpu:03}] {address:>16x} {source:>16x} {words} 55fcdb203db2 {function}\n")
    }

    #[test]
    fn sampled_accesses_of_every_kind_of_processor_are_parsed() {
        let all = |loads, stores, found_local, found_remote| LineCounts { loads, stores, found_local, found_remote };
        for sources in [INTEL, AMD, ARM] {
            let found = sources.map(|source| counts(source).unwrap());
            assert_eq!(found, [all(1, 0, 1, 0), all(1, 0, 0, 1), all(1, 0, 0, 0), all(0, 1, 0, 0)]);
        }
        // Zen 3 names both levels, Skylake may set only the bit; an atomic instruction reads and writes.
        assert_eq!(counts(LOAD | L3 | REMOTE_CACHE | HIT | MODIFIED | hops(0)), Some(all(1, 0, 1, 0)));
        assert_eq!(counts(LOAD | L3 | REMOTE_CACHE | HIT | MODIFIED), Some(all(1, 0, 1, 0)));
        assert_eq!(counts(LOAD | HIT | REMOTE | MODIFIED), Some(all(1, 0, 0, 1)));
        assert_eq!(counts(LOAD | LOCKED | L3 | HIT | MODIFIED), Some(all(1, 1, 1, 0)));
        // Neither load nor store, as for a sample of the clock.
        assert_eq!(counts(0x1e_0508_0021), None);
    }

    #[test]
    fn access_lines_are_parsed_whatever_the_function_names() {
        let name = "row_sel(a|b, c d) (/usr/sbin/mariadbd)";
        let found = access(&line(7, 9, 130, 0x7f00_c0ff_ee48, INTEL[1], name)).unwrap();
        assert_eq!((found.pid, found.tid, found.cpu, found.address), (7, 9, 130, 0x7f00_c0ff_ee48));
        assert_eq!((found.function.as_str(), found.counts.found_remote), ("row_sel", 1));
        // Words that perf truncated, words of an older perf, and none at all.
        for words in ["|OP LOAD|LVL Remote Any ca", "Remote Cache (1 hop) hit|SNP HitM|TLB N/A|LCK N/A", ""] {
            let text = format!("1/1 [0] ffff888100 {:x} {words} ffffffff81001 lock ([kernel.kallsyms])", AMD[0]);
            let found = access(&text).unwrap();
            assert_eq!((found.function.as_str(), found.counts.found_local), ("lock_[k]", 1), "{words}");
        }
        for none in [
            "",
            "7/9 [001] 0 68100142 |OP LOAD 55fcdb203db2 f (x)",
            "7/9 [001] 7f00 68100142 |OP LOAD",
            "7 [001] 7f00 68100142 55fcdb203db2 f (x)",
            "7/9 001 7f00 68100142 55fcdb203db2 f (x)",
            "7/9 [001] 7f00 1e05080021 |OP N/A 55fcdb203db2 f (x)",
            "7/9 [001] 7f001122334455667788 68100142 55fcdb203db2 f (x)",
        ] {
            assert_eq!(access(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[0-9a-f/ \\[\\]|().é]{0,160}", source in any::<u64>()) {
            let _ = (access(&line), counts(source), is_remote(source));
            let _ = access(&format!("1/2 [3] ff8 {source:x} {line}"));
        }
    }
}
