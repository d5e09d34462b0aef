//! The possible CPUs of this machine, and the NUMA node of each.

use std::sync::OnceLock;

/// The number of possible CPUs: one past the highest CPU number that this machine can ever have. A set has a row for
/// each, because a CPU that is offline now may come online later.
pub fn possible() -> usize {
    static ROWS: OnceLock<usize> = OnceLock::new();
    *ROWS.get_or_init(read_possible)
}

/// The NUMA node of each possible CPU; `None` where the kernel does not say (an offline CPU, a machine without nodes).
pub fn nodes() -> &'static [Option<u32>] {
    static NODES: OnceLock<Vec<Option<u32>>> = OnceLock::new();
    NODES.get_or_init(|| read_nodes(possible()))
}

/// Two rows are enough for every interleaving that matters, and keep the models of loom and Miri small.
#[cfg(any(miri, loom))]
fn read_possible() -> usize {
    2
}

#[cfg(not(any(miri, loom)))]
fn read_possible() -> usize {
    std::fs::read_to_string("/sys/devices/system/cpu/possible")
        .ok()
        .and_then(|text| parse_list(&text))
        .and_then(|cpus| cpus.last().map(|&last| last as usize + 1))
        .unwrap_or_else(configured)
}

/// Without `/sys`: the number of CPUs that the C library counts, or that this process may use, whichever is greater.
#[cfg(not(any(miri, loom)))]
fn configured() -> usize {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(target_os = "linux")]
    // SAFETY: sysconf takes no pointers.
    let usable = usable.max(usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(1));
    usable
}

fn read_nodes(rows: usize) -> Vec<Option<u32>> {
    let mut of_cpu = vec![None; rows];
    if cfg!(any(miri, loom)) {
        return of_cpu;
    }
    let read = |path: &str| std::fs::read_to_string(path).ok().and_then(|text| parse_list(&text)).unwrap_or_default();
    for node in read("/sys/devices/system/node/online") {
        for cpu in read(&format!("/sys/devices/system/node/node{node}/cpulist")) {
            if let Some(slot) = of_cpu.get_mut(cpu as usize) {
                *slot = Some(node);
            }
        }
    }
    of_cpu
}

/// Parses the kernel's list format, `0-3,8`, whose numbers ascend. `None` when the text is not such a list. The limit
/// keeps a damaged file from exhausting the memory.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    const LIMIT: u32 = 1 << 20;
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= LIMIT || numbers.last().is_some_and(|&before| before >= first) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[cfg(not(any(miri, loom)))]
    #[test]
    fn without_sys_there_are_as_many_cpus_as_this_process_may_use_or_more() {
        let usable = std::thread::available_parallelism().unwrap().get();
        assert!((usable..=1 << 16).contains(&configured()), "{} for {usable}", configured());
    }

    #[test]
    fn list_of_ranges_and_single_numbers() {
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list("0\n"), Some(vec![0]));
        assert_eq!(parse_list("\n"), Some(vec![]));
    }

    #[test]
    fn a_malformed_cpu_list_is_refused() {
        for text in ["3-1", "a", "0,0", "4,1", "0-4294967295", "1--2"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_set_survives_writing_and_parsing(set in proptest::collection::btree_set(0u32..4096, 0..64)) {
            let text = set.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            prop_assert_eq!(parse_list(&text), Some(set.into_iter().collect()));
        }

        #[test]
        fn no_text_makes_it_fail(text in ".{0,40}") {
            let _ = parse_list(&text);
        }
    }
}
