//! Lists of CPUs as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::error::NoiseError;

/// A set of OS CPU numbers that reads and prints as the kernel's list format (`0-3,8`; empty for none).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

/// No kernel is built for more CPUs (NR_CPUS is at most 8192 on x86-64); keeps a hostile "0-4000000000" small.
const MAX_CPU: u32 = 65_535;

impl CpuList {
    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether `cpu` is one of them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// These CPUs without those of `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Whether some CPU is in both.
    pub fn intersects(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Whether every CPU of these is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = NoiseError;

    fn from_str(text: &str) -> Result<Self, NoiseError> {
        let bad = || NoiseError::CpuList { text: text.chars().take(80).collect() };
        let number = |s: &str| s.trim().parse::<u32>().ok().filter(|n| *n <= MAX_CPU).ok_or_else(bad);
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return Err(bad());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        for (text, count) in [("0-3,8\n", 5), ("0", 1), ("", 0), ("\n", 0), ("1,3,5-6", 4)] {
            let list: CpuList = text.parse().unwrap();
            assert_eq!(list.len(), count, "{text:?}");
            assert_eq!(list.to_string(), text.trim());
        }
        for text in ["3-1", "a", "0-", "-1", "0,,1", "0-4000000000", "99999999999"] {
            assert!(text.parse::<CpuList>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn prints_and_reads_back(cpus in proptest::collection::btree_set(0u32..300, 0..40)) {
            let list: CpuList = cpus.iter().copied().collect();
            prop_assert_eq!(&list.to_string().parse::<CpuList>().unwrap(), &list);
        }

        #[test]
        fn never_panics(text in ".{0,40}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
