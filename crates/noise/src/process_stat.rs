//! Reads process data from /proc/pid/stat.

/// PF_KTHREAD of include/linux/sched.h, in field 9 of /proc/pid/stat.
pub(crate) const KERNEL_THREAD: u64 = 0x0020_0000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its name in the kernel, at most 15 bytes.
    pub name: String,
    /// The PID of its parent.
    pub parent: u32,
    /// Whether it is a kernel thread.
    pub kernel_thread: bool,
    /// User and system time of all its threads, including ended ones, clock ticks.
    pub ticks: u64,
}

/// Parses the required fields of /proc/pid/stat (proc_pid_stat(5)). The name may contain anything, even ") R 1".
pub(crate) fn parse(stat: &str) -> Option<ProcessStat> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    // The tail begins with field 3.
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        name: name.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        kernel_thread: number(9)? & KERNEL_THREAD != 0,
        ticks: number(14)?.checked_add(number(15)?)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_hostile_name_is_only_a_name() {
        let stat = "42 (a) b) R 1 42 42 0 -1 2097152 90 0 0 0 70 30 0 0 20 0 1 0 5 0 0\n";
        let expected = ProcessStat { name: "a) b".into(), parent: 1, kernel_thread: true, ticks: 100 };
        assert_eq!(parse(stat), Some(expected));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[0-9a-z() ]{0,80}") {
            parse(&text);
        }
    }
}
