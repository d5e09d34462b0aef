//! Sets of OS numbers, written as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The highest number a set may hold. Linux supports at most 8192 CPUs and 1024 nodes.
pub const MAX_INDEX: u32 = 65_535;

/// A set of numbers, in ascending order. Text and serde: `0-3,8`; the empty set is the empty string.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexSet(BTreeSet<u32>);

/// OS numbers of CPUs, as in `taskset` and `/proc/<pid>/status`.
pub type CpuSet = IndexSet;

/// OS numbers of NUMA nodes, as in `numactl` and `/sys/devices/system/node`.
pub type NodeSet = IndexSet;

/// A text that is not a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: expected {expected}")]
pub struct IndexSetError {
    /// Where, in bytes from the start of the text.
    pub offset: usize,
    /// What was expected there, for people.
    pub expected: &'static str,
}

impl IndexSet {
    /// A set without any number.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Numbers in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone + '_ {
        self.0.iter().copied()
    }

    /// Whether a number is in the set.
    pub fn contains(&self, index: u32) -> bool {
        self.0.contains(&index)
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set has no number.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest number; none of the empty set.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The highest number; none of the empty set.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// Adds a number, if it is new.
    pub fn insert(&mut self, index: u32) {
        self.0.insert(index);
    }

    /// Numbers in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// Numbers in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// Numbers of this set that are not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// Whether every number of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<u32> for IndexSet {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Self {
        Self(indexes.into_iter().collect())
    }
}

impl<const N: usize> From<[u32; N]> for IndexSet {
    fn from(indexes: [u32; N]) -> Self {
        Self(indexes.into())
    }
}

impl From<u32> for IndexSet {
    fn from(index: u32) -> Self {
        Self([index].into())
    }
}

impl fmt::Display for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl FromStr for IndexSet {
    type Err = IndexSetError;

    fn from_str(text: &str) -> Result<Self, IndexSetError> {
        let mut set = BTreeSet::new();
        if text.is_empty() {
            return Ok(Self(set));
        }
        let mut offset = 0;
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                None => (parse_index(part, offset)?, parse_index(part, offset)?),
                Some((first, last)) => (parse_index(first, offset)?, parse_index(last, offset + first.len() + 1)?),
            };
            if last < first {
                return Err(IndexSetError { offset, expected: "a range that ascends, such as 4-11" });
            }
            set.extend(first..=last);
            offset += part.len() + 1;
        }
        Ok(Self(set))
    }
}

/// A number as sets write it: digits only, at most [`MAX_INDEX`]. `offset` is where the text stands in what is parsed.
///
/// # Errors
/// When it is anything else.
pub fn parse_index(text: &str, offset: usize) -> Result<u32, IndexSetError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits {
        return Err(IndexSetError { offset, expected: "a number" });
    }
    match text.parse() {
        Ok(n) if n <= MAX_INDEX => Ok(n),
        _ => Err(IndexSetError { offset, expected: "a number up to 65535" }),
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for IndexSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for IndexSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn is_written_as_the_kernel_writes_it() {
        for text in ["", "0", "0-3,8", "1,3,5-6,65535"] {
            assert_eq!(text.parse::<IndexSet>().unwrap().to_string(), text);
        }
        assert_eq!("8,0,1,2-3,2".parse::<IndexSet>().unwrap().to_string(), "0-3,8");
    }

    #[test]
    fn an_error_points_at_its_place() {
        for (text, offset) in [("0,", 2), ("0,x", 2), ("3-1", 0), ("0-3,5-", 6), ("-1", 0), ("0, 1", 2), ("65536", 0)] {
            assert_eq!(text.parse::<IndexSet>().unwrap_err().offset, offset, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(indexes in prop::collection::btree_set(0..=MAX_INDEX, 0..40)) {
            let set = IndexSet(indexes);
            prop_assert_eq!(set.to_string().parse::<IndexSet>().unwrap(), set.clone());
            let json = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(serde_json::from_str::<IndexSet>(&json).unwrap(), set);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9,\\- x]{0,20}") {
            let _ = text.parse::<IndexSet>();
        }
    }
}
