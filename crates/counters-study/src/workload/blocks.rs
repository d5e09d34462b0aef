//! What is worked on: counter blocks between data blocks.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::hint::black_box;

use super::config::Config;
use super::crc::crc32;
use super::generator::Generator;
use super::pages::Pages;
use crate::strategies::Counting;

/// Bytes of data in a block.
pub(super) const DATA_BYTES: usize = 16 * 1024;
/// Data blocks whose pages are looked at.
const LOOKED_AT: usize = 4096;
/// Increments of blocks' own counters a data step.
pub(super) const LOCAL_INCREMENTS: u64 = 6;

/// Data aligned as the article's allocator would.
#[repr(C, align(16))]
struct Data(UnsafeCell<[u8; DATA_BYTES]>);

// SAFETY: raced over by design: never reached but through raw copies, fills and volatile reads.
unsafe impl Sync for Data {}

impl Data {
    fn at(&self, offset: usize) -> *mut u8 {
        self.0.get().cast::<u8>().wrapping_add(offset)
    }

    fn fill(&self, byte: usize) {
        // SAFETY: within the block; races are meant.
        unsafe { libc::memset(self.at(0).cast(), byte as i32, DATA_BYTES) };
    }
}

struct DataBlock<S: Counting> {
    cell: S::Cell,
    data: Data,
}

/// Each counter an object of its own on the heap, as in the article.
type CounterBlock<S> = Box<[Box<<S as Counting>::Cell>]>;

/// All blocks of a run.
pub(super) struct Payload<S: Counting> {
    counters: Vec<CounterBlock<S>>,
    data: Vec<Box<DataBlock<S>>>,
    per_block: usize,
}

impl<S: Counting> Payload<S> {
    /// Allocates in the article's order: a counter block, its share of the data blocks, and so on; what does not divide
    /// goes to the end. Filling the data also touches it, so that its pages are placed now.
    pub(super) fn allocate(config: &Config<'_>, strategy: &S) -> Self {
        let share = config.data_blocks / config.counter_blocks;
        let mut payload = Self {
            counters: Vec::with_capacity(config.counter_blocks),
            data: Vec::with_capacity(config.data_blocks),
            per_block: config.counters_per_block,
        };
        for _ in 0..config.counter_blocks {
            payload.counters.push((0..config.counters_per_block).map(|_| Box::new(strategy.cell())).collect());
            (0..share).for_each(|_| payload.push_data(strategy));
        }
        while payload.data.len() < config.data_blocks {
            payload.push_data(strategy);
        }
        payload
    }

    fn push_data(&mut self, strategy: &S) {
        let block = Box::new(DataBlock { cell: strategy.cell(), data: Data(UnsafeCell::new([0; DATA_BYTES])) });
        // Not zeros: a page of zeros could be one the kernel shares.
        block.data.fill(1 + self.data.len() % 254);
        self.data.push(block);
    }

    fn globals(&self) -> usize {
        self.counters.len() * self.per_block
    }

    /// A data block's own counter, by its number after all global ones.
    #[inline]
    fn touch(&self, strategy: &S, local: &mut S::Local, block: usize) {
        strategy.increment(local, &self.data[block].cell, self.globals() + block);
    }

    /// One data step; see the module `workload`.
    #[inline]
    pub(super) fn data_step<G: Generator>(&self, strategy: &S, local: &mut S::Local, random: &mut G) {
        let [one, two, three, four] = [(); 4].map(|()| random.below(self.data.len()));
        let (to, from) = (random.below(DATA_BYTES / 10), random.below(DATA_BYTES / 10));
        let length = random.below(DATA_BYTES / 2);
        // SAFETY: both parts lie within their blocks (a tenth and a half of one); they may overlap; races are meant.
        unsafe { libc::memmove(self.data[one].data.at(to).cast(), self.data[two].data.at(from).cast(), length) };
        self.touch(strategy, local, one);
        self.touch(strategy, local, two);

        self.data[three].data.fill(random.below(255));
        self.touch(strategy, local, three);
        // The article's comparison of blocks three and two stood here.
        self.touch(strategy, local, three);
        self.touch(strategy, local, two);

        // SAFETY: a whole block, aligned; races are meant.
        black_box(unsafe { crc32(self.data[four].data.at(0).cast(), DATA_BYTES / 4) });
        self.touch(strategy, local, four);
    }

    /// One increment of a random counter of a random block.
    #[inline]
    pub(super) fn count<G: Generator>(&self, strategy: &S, local: &mut S::Local, random: &mut G) {
        let block = random.below(self.counters.len());
        let index = random.below(self.per_block);
        strategy.increment(local, &self.counters[block][index], block * self.per_block + index);
    }

    /// The sum of all global counters.
    pub(super) fn global_sum(&self, strategy: &S) -> u64 {
        self.cells().map(|(number, cell)| strategy.sum(cell, number)).sum()
    }

    /// The sum of all data blocks' counters.
    pub(super) fn local_sum(&self, strategy: &S) -> u64 {
        let first = self.globals();
        self.data.iter().enumerate().map(|(block, data)| strategy.sum(&data.cell, first + block)).sum()
    }

    /// Pages that hold global counters, by node.
    pub(super) fn counter_pages(&self, strategy: &S) -> BTreeMap<u32, u64> {
        let mut pages = Pages::new();
        for (number, cell) in self.cells() {
            strategy.stored(cell, number, &mut |address, bytes| pages.add(address, bytes));
        }
        pages.by_node()
    }

    /// Pages of data blocks, by node: of all, or of some [`LOOKED_AT`] of them all over the memory. Whole blocks, as
    /// every fourth page alone would be on the same one of four nodes.
    pub(super) fn data_pages(&self) -> BTreeMap<u32, u64> {
        let mut pages = Pages::new();
        for block in self.data.iter().step_by(self.data.len().div_ceil(LOOKED_AT).max(1)) {
            pages.add(block.data.at(0).addr(), DATA_BYTES);
        }
        pages.by_node()
    }

    /// All global counters with their numbers.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, &S::Cell)> {
        self.counters.iter().flatten().map(Box::as_ref).enumerate()
    }
}
