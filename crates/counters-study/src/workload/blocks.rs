//! The memory of the workload: blocks of counters between blocks of data.

use super::crc::crc32;
use super::generator::Generator;
use crate::strategies::Counting;
use std::cell::UnsafeCell;
use std::hint::black_box;

pub(super) const DATA_BYTES: usize = 16 * 1024;
/// Increments of the blocks' own counters per data step.
pub(super) const LOCAL_INCREMENTS: u64 = 6;

/// Data with the alignment that the original program's allocator gives.
#[repr(C, align(16))]
struct Data(UnsafeCell<[u8; DATA_BYTES]>);

// SAFETY: threads race on it by design; it is accessed only by raw copies, fills and volatile reads.
unsafe impl Sync for Data {}

// Not inlined: code that does not depend on a strategy exists once, and not in the loop of each strategy.
impl Data {
    fn at(&self, offset: usize) -> *mut u8 {
        self.0.get().cast::<u8>().wrapping_add(offset)
    }

    #[inline(never)]
    fn fill(&self, byte: usize) {
        // SAFETY: within the block; races are intended.
        unsafe { libc::memset(self.at(0).cast(), byte as i32, DATA_BYTES) };
    }

    /// Copies some bytes of another block, or of this one; source offset, target offset and length are random.
    #[inline(never)]
    fn take_some<G: Generator>(&self, other: &Self, random: &mut G) {
        let (to, from) = (random.below(DATA_BYTES / 10), random.below(DATA_BYTES / 10));
        let length = random.below(DATA_BYTES / 2);
        // SAFETY: both parts lie within their blocks (a tenth and a half of one); they may overlap; races are intended.
        unsafe { libc::memmove(self.at(to).cast(), other.at(from).cast(), length) };
    }

    #[inline(never)]
    fn checksum(&self) -> u32 {
        // SAFETY: a whole block, aligned; races are intended.
        unsafe { crc32(self.at(0).cast(), DATA_BYTES / 4) }
    }
}

struct DataBlock<C> {
    cell: C,
    data: Data,
}

/// Each counter is an object of its own on the heap, as in the original program.
type CounterBlock<C> = Box<[Box<C>]>;

/// All blocks of a run. The parameter is the type of the cells, because several strategies share one.
pub(super) struct Payload<C> {
    counters: Vec<CounterBlock<C>>,
    data: Vec<Box<DataBlock<C>>>,
    per_block: usize,
}

impl<C> Payload<C> {
    pub(super) const fn new(counters_per_block: usize) -> Self {
        Self { counters: Vec::new(), data: Vec::new(), per_block: counters_per_block }
    }

    pub(super) fn push_counters(&mut self, cell: &dyn Fn() -> C) {
        let mut block = Vec::with_capacity(self.per_block);
        for _ in 0..self.per_block {
            block.push(Box::new(cell()));
        }
        self.counters.push(block.into_boxed_slice());
    }

    /// Adds a block of data. Filling it also touches it, so that its pages are allocated now.
    pub(super) fn push_data(&mut self, cell: C) {
        let block = Box::new(DataBlock { cell, data: Data(UnsafeCell::new([0; DATA_BYTES])) });
        // Not zero: the kernel may share pages of zeros.
        block.data.fill(1 + self.data.len() % 254);
        self.data.push(block);
    }

    fn globals(&self) -> usize {
        self.counters.len() * self.per_block
    }

    pub(super) fn global(&self, number: usize) -> &C {
        &self.counters[number / self.per_block][number % self.per_block]
    }

    pub(super) fn data_at(&self, block: usize) -> usize {
        self.data[block].data.at(0).addr()
    }

    /// Increments the own counter of a data block, which is numbered after all global ones. Not inlined, because a step
    /// has six of these calls, whose cost is negligible next to its 36 KiB of memory accesses.
    #[inline(never)]
    fn touch<S: Counting<Cell = C>>(&self, strategy: &S, local: &mut S::Local, block: usize) {
        strategy.increment(local, &self.data[block].cell, self.globals() + block);
    }

    /// One data step; see the module `workload`.
    pub(super) fn data_step<S: Counting<Cell = C>, G: Generator>(
        &self,
        strategy: &S,
        local: &mut S::Local,
        random: &mut G,
    ) {
        let [one, two, three, four] = drawn_below(self.data.len(), random);
        self.data[one].data.take_some(&self.data[two].data, random);
        self.touch(strategy, local, one);
        self.touch(strategy, local, two);

        self.data[three].data.fill(random.below(255));
        self.touch(strategy, local, three);
        // The original program compares blocks three and two here.
        self.touch(strategy, local, three);
        self.touch(strategy, local, two);

        black_box(self.data[four].data.checksum());
        self.touch(strategy, local, four);
    }

    /// Increments a random counter of a random block.
    #[inline]
    pub(super) fn count<S: Counting<Cell = C>, G: Generator>(
        &self,
        strategy: &S,
        local: &mut S::Local,
        random: &mut G,
    ) {
        let block = random.below(self.counters.len());
        let index = random.below(self.per_block);
        strategy.increment(local, &self.counters[block][index], block * self.per_block + index);
    }

    /// The sum of all global counters. The loop is compiled for each strategy, because it is timed.
    pub(super) fn global_sum<S: Counting<Cell = C>>(&self, strategy: &S) -> u64 {
        let (mut sum, mut number) = (0, 0);
        for block in &self.counters {
            for cell in block {
                sum += strategy.sum(cell, number);
                number += 1;
            }
        }
        sum
    }

    pub(super) fn local_sum<S: Counting<Cell = C>>(&self, strategy: &S) -> u64 {
        let (mut sum, first) = (0, self.globals());
        for block in 0..self.data.len() {
            sum += strategy.sum(&self.data[block].cell, first + block);
        }
        sum
    }
}

#[inline(never)]
fn drawn_below<G: Generator>(blocks: usize, random: &mut G) -> [usize; 4] {
    [(); 4].map(|()| random.below(blocks))
}
