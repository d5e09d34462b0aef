//! Memory on a chosen node, whose cache lines form one random ring.

use crate::bind::{BindError, Placed};
use crate::{MemoryPolicy, Nodes};

/// Words of 8 bytes in a cache line of 64.
const WORDS: usize = 8;

/// The words of one cache line.
pub(super) type Line = [u64; WORDS];

/// Memory in which the first word of each line is the number of the next line.
pub(super) struct WorkingSet {
    lines: Vec<Line>,
}

impl WorkingSet {
    /// Allocates and writes it on a node, independent of the calling thread's CPU.
    pub(super) fn on_node(node: u32, bytes: usize) -> Result<Self, BindError> {
        let placed = Placed::apply(None, &MemoryPolicy::Bind(Nodes::These(node.into())))?;
        let count = (bytes / size_of::<Line>()).max(2);
        let mut lines: Vec<Line> = (0..count as u64).map(|i| [i, 1, 1, 1, 1, 1, 1, 1]).collect();
        placed.restore()?;
        // Sattolo's algorithm: exchanging each entry with an earlier one, never with itself, yields a single ring.
        let mut random = SplitMix(0x7461_7265);
        for i in (1..count).rev() {
            let j = (random.next() % i as u64) as usize;
            let (low, high) = lines.split_at_mut(i);
            std::mem::swap(&mut low[j][0], &mut high[0][0]);
        }
        Ok(Self { lines })
    }

    /// Follows the ring: each load depends on the previous one.
    pub(super) fn chase(&self, from: usize, steps: usize) -> usize {
        let mut at = from;
        for _ in 0..steps {
            at = self.lines[at][0] as usize;
        }
        at
    }

    pub(super) fn parts(&self, readers: usize) -> impl Iterator<Item = &[Line]> {
        self.lines.chunks(self.lines.len().div_ceil(readers.max(1)))
    }
}

/// Reads every word, with independent sums so that loads can overlap.
pub(super) fn sum(lines: &[Line]) -> u64 {
    let mut sums = [0u64; WORDS];
    for line in lines {
        for (sum, word) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Vigna's SplitMix64: any order suffices that a prefetcher cannot predict.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_goes_through_every_line_once() {
        let Some(node) = crate::Machine::this().unwrap().memory_nodes().first() else { panic!("no memory") };
        let count = 1000;
        let set = WorkingSet::on_node(node, count * 64).unwrap();
        let mut seen = vec![false; count];
        let mut at = 0;
        for _ in 0..count {
            assert!(!std::mem::replace(&mut seen[at], true), "line {at} twice");
            at = set.chase(at, 1);
        }
        assert_eq!(at, 0);
        assert_eq!(set.parts(3).map(<[_]>::len).sum::<usize>(), count);
        let numbers: u64 = (0..count as u64).sum();
        assert_eq!(set.parts(3).map(sum).fold(0, u64::wrapping_add), numbers + 7 * count as u64);
    }
}
