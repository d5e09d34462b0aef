//! Sets of OS numbers, in the kernel's notation: `0-3,8`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The highest number a set may hold. Linux supports at most 8192 CPUs and 1024 nodes.
pub const MAX_INDEX: u32 = 65_535;

/// A set of numbers in ascending order. As text and in serde it is written `0-3,8`; the empty set is the empty string.
///
/// Stored as ranges (first and last number), ascending and not adjacent, so that a short text never needs much memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct IndexSet(Vec<(u32, u32)>);

/// OS numbers of CPUs, as in `taskset` and `/proc/<pid>/status`.
pub type CpuSet = IndexSet;

/// OS numbers of NUMA nodes, as in `numactl` and `/sys/devices/system/node`.
pub type NodeSet = IndexSet;

/// Why a text is not a set of numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: expected {expected}")]
pub struct IndexSetError {
    /// Position of the error, in bytes from the start of the text.
    pub offset: usize,
    /// What was expected there, as text for the user.
    pub expected: &'static str,
}

impl IndexSet {
    /// The empty set of numbers.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Builds a set from ranges in any order.
    fn of(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1.saturating_add(1);
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        Self(ranges)
    }

    /// Numbers in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Whether a number is in the set.
    pub fn contains(&self, index: u32) -> bool {
        let above = self.0.partition_point(|(first, _)| *first <= index);
        above > 0 && index <= self.0[above - 1].1
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(first, last)| (last - first) as usize + 1).sum()
    }

    /// Whether the set has no number.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest number; `None` for the empty set.
    pub fn first(&self) -> Option<u32> {
        Some(self.0.first()?.0)
    }

    /// The highest number; `None` for the empty set.
    pub fn last(&self) -> Option<u32> {
        Some(self.0.last()?.1)
    }

    /// Numbers in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self::of([&self.0[..], &other.0].concat())
    }

    /// Numbers in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut both, mut rest) = (Vec::new(), &other.0[..]);
        for (first, last) in &self.0 {
            rest = &rest[rest.partition_point(|(_, end)| end < first)..];
            let meeting = rest.iter().take_while(|(begin, _)| begin <= last);
            both.extend(meeting.map(|(begin, end)| (*first.max(begin), *last.min(end))));
        }
        Self(both)
    }

    /// Numbers of this set that are not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        let (mut without, mut from) = (Vec::new(), Some(0));
        for (first, last) in &other.0 {
            without.extend(from.zip(first.checked_sub(1)).filter(|(from, to)| from <= to));
            from = last.checked_add(1);
        }
        without.extend(from.map(|from| (from, u32::MAX)));
        self.intersection(&Self(without))
    }

    /// Whether every number of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }
}

/// Lexicographic order of the numbers.
impl Ord for IndexSet {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl PartialOrd for IndexSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromIterator<u32> for IndexSet {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Self {
        Self::of(indexes.into_iter().map(|index| (index, index)).collect())
    }
}

impl<const N: usize> From<[u32; N]> for IndexSet {
    fn from(indexes: [u32; N]) -> Self {
        indexes.into_iter().collect()
    }
}

impl From<u32> for IndexSet {
    fn from(index: u32) -> Self {
        Self(vec![(index, index)])
    }
}

impl fmt::Display for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (first, last) in &self.0 {
            match first == last {
                true => write!(f, "{separator}{first}")?,
                false => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl FromStr for IndexSet {
    type Err = IndexSetError;

    fn from_str(text: &str) -> Result<Self, IndexSetError> {
        let mut ranges = Vec::new();
        if text.is_empty() {
            return Ok(Self::new());
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
            ranges.push((first, last));
            offset += part.len() + 1;
        }
        Ok(Self::of(ranges))
    }
}

/// Parses one number of a set: digits only, at most [`MAX_INDEX`]. `offset` is the position of `text` in the whole text
/// that is parsed, for the error.
///
/// # Errors
/// When the text is not such a number.
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
    fn an_index_set_is_printed_in_the_kernels_notation() {
        for text in ["", "0", "0-3,8", "1,3,5-6,65535"] {
            assert_eq!(text.parse::<IndexSet>().unwrap().to_string(), text);
        }
        assert_eq!("8,0,1,2-3,2".parse::<IndexSet>().unwrap().to_string(), "0-3,8");
        // Stored as one range, not as 65,536 numbers.
        assert_eq!(["0-65535"; 1000].join(",").parse::<IndexSet>().unwrap().0, [(0, 65_535)]);
    }

    #[test]
    fn a_parse_error_has_the_offset_of_the_mistake() {
        for (text, offset) in [("0,", 2), ("0,x", 2), ("3-1", 0), ("0-3,5-", 6), ("-1", 0), ("0, 1", 2), ("65536", 0)] {
            assert_eq!(text.parse::<IndexSet>().unwrap_err().offset, offset, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(indexes in prop::collection::btree_set(0..=MAX_INDEX, 0..40)) {
            let set: IndexSet = indexes.into_iter().collect();
            prop_assert_eq!(set.to_string().parse::<IndexSet>().unwrap(), set.clone());
            let json = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(serde_json::from_str::<IndexSet>(&json).unwrap(), set);
        }

        #[test]
        fn an_index_set_behaves_like_a_plain_set_of_numbers(
            a in prop::collection::btree_set(0_u32..24, 0..16),
            b in prop::collection::btree_set(0_u32..24, 0..16),
            ends in any::<[bool; 2]>(),
        ) {
            let with = |mut set: std::collections::BTreeSet<u32>, end: bool| {
                set.extend(end.then_some(u32::MAX));
                set
            };
            let (a, b) = (with(a, ends[0]), with(b, ends[1]));
            let of = |set: &std::collections::BTreeSet<u32>| set.iter().copied().collect::<IndexSet>();
            let (sa, sb) = (of(&a), of(&b));
            prop_assert!(sa.iter().eq(a.iter().copied()) && sa.iter().rev().eq(a.iter().rev().copied()));
            prop_assert_eq!((sa.len(), sa.first(), sa.last()), (a.len(), a.first().copied(), a.last().copied()));
            prop_assert!((0..25).all(|index| sa.contains(index) == a.contains(&index)));
            prop_assert_eq!(sa.union(&sb), of(&(&a | &b)));
            prop_assert_eq!(sa.intersection(&sb), of(&(&a & &b)));
            prop_assert_eq!(sa.difference(&sb), of(&(&a - &b)));
            prop_assert_eq!(sa.is_subset(&sb), a.is_subset(&b));
            prop_assert_eq!((sa.cmp(&sb), sa == sb), (a.cmp(&b), a == b));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9,\\- x]{0,20}") {
            let _ = text.parse::<IndexSet>();
        }
    }
}
