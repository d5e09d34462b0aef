//! Finds the symbol or the mapping that contains an address of a process.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use procfs::process::{MMapPath, MemoryMap, MemoryMaps};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tare_cpuset::observe::parse;
use tare_engine::{ProgramFile, symbol_file};

/// Path prefixes of shared mappings, where servers with one process per connection keep their semaphores and locks.
const SHARED: [&str; 4] = ["/dev/zero", "/dev/shm/", "/SYSV", "/memfd:"];
const SHARED_MEMORY: &str = "shared memory";

/// Limit of programs that are read: servers have some dozens of libraries.
const MOST: usize = 1_000;
/// Limit of data symbols of all programs, whose names are kept: a large server has some ten thousand.
const MOST_SYMBOLS: usize = 2_000_000;

#[derive(Debug, Default)]
pub(in super::super) struct Addresses {
    processes: HashMap<i32, Vec<Region>>,
    programs: HashMap<PathBuf, Option<Arc<Program>>>,
    symbols: usize,
}

#[derive(Debug)]
struct Region {
    from: u64,
    to: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A program or library, and where its address 0 is mapped.
    Program(Arc<Program>, u64),
    Named(&'static str),
}

/// Data symbols of a program or library, by address.
#[derive(Debug, Default)]
struct Program {
    name: String,
    /// End of the addresses that it occupies, including .bss, which is not in the file.
    end: u64,
    symbols: Vec<Symbol>,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

impl Addresses {
    /// Reads the mappings of a process once, so that they are known after the process has ended.
    pub(crate) fn note(&mut self, pid: i32) {
        if !self.processes.contains_key(&pid) {
            let regions = self.regions(pid);
            self.processes.insert(pid, regions);
        }
    }

    /// `SYMBOL`, `SYMBOL+0x40`, `[LIBRARY]`, or one of [`tare_results::waits::PLACES`].
    pub(crate) fn name(&mut self, pid: i32, address: u64) -> String {
        match self.region(pid, address) {
            Some(Region { what: What::Program(program, base), .. }) => program.name_of(address - base),
            Some(Region { what: What::Named(name), .. }) => (*name).to_owned(),
            None => "unknown".to_owned(),
        }
    }

    /// Whether other processes map the same memory at the same address.
    pub(crate) fn is_shared(&mut self, pid: i32, address: u64) -> bool {
        matches!(self.region(pid, address), Some(Region { what: What::Named(SHARED_MEMORY), .. }))
    }

    fn region(&mut self, pid: i32, address: u64) -> Option<&Region> {
        self.note(pid);
        // Programs come first: their .bss is mapped as anonymous memory, like heap.
        self.processes.get(&pid)?.iter().find(|region| (region.from..region.to).contains(&address))
    }

    fn regions(&mut self, pid: i32) -> Vec<Region> {
        let Ok(maps) = parse::<MemoryMaps>(&format!("/proc/{pid}/maps")) else { return Vec::new() };
        let mut programs = Vec::new();
        let mut others = Vec::new();
        for map in &maps {
            let (from, to) = map.address;
            match &map.pathname {
                MMapPath::Path(path) if map.offset == 0 && !is_shared(path) => {
                    if let Some(program) = self.program(path) {
                        let to = from.saturating_add(program.end);
                        programs.push(Region { from, to, what: What::Program(program, from) });
                    }
                }
                _ => others.push(Region { from, to, what: What::Named(kind(map)) }),
            }
        }
        programs.append(&mut others);
        programs
    }

    fn program(&mut self, path: &Path) -> Option<Arc<Program>> {
        if let Some(known) = self.programs.get(path) {
            return known.clone();
        }
        // The number of programs that a process maps is unbounded.
        if self.programs.len() >= MOST || self.symbols >= MOST_SYMBOLS {
            return None;
        }
        let program = read(path).map(Arc::new);
        self.symbols += program.as_ref().map_or(0, |program| program.symbols.len());
        self.programs.insert(path.to_owned(), program.clone());
        program
    }
}

fn is_shared(path: &Path) -> bool {
    SHARED.iter().any(|start| path.to_string_lossy().starts_with(start))
}

fn kind(map: &MemoryMap) -> &'static str {
    match &map.pathname {
        MMapPath::Path(path) if is_shared(path) => SHARED_MEMORY,
        MMapPath::Vsys(_) => SHARED_MEMORY,
        MMapPath::Path(_) => "a mapped file",
        MMapPath::Stack | MMapPath::TStack(_) => "stack",
        _ => "heap",
    }
}

/// The data symbols of a program or library, and those of its separate symbol file if there is one.
fn read(path: &Path) -> Option<Program> {
    let own = ProgramFile::open(path)?;
    let file = object::File::parse(&own).ok()?;
    let end = file.segments().map(|segment| segment.address().saturating_add(segment.size())).max()?;
    let mut symbols = Vec::new();
    let apart = symbol_file(path).filter(|apart| apart != path);
    if let Some(apart) = apart.and_then(|apart| ProgramFile::open(&apart)) {
        symbols.extend(object::File::parse(&apart).ok().iter().flat_map(|file| data(file.symbols())));
    }
    symbols.extend(data(file.symbols()).chain(data(file.dynamic_symbols())));
    symbols.sort_by_key(|symbol| (symbol.address, std::cmp::Reverse(symbol.size)));
    let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    Some(Program { name, end, symbols })
}

fn data<'d>(symbols: impl Iterator<Item = impl ObjectSymbol<'d>>) -> impl Iterator<Item = Symbol> {
    symbols.filter_map(|symbol| {
        let (address, size) = (symbol.address(), symbol.size());
        // The name comes last: reading it is expensive, and most symbols are functions.
        let wanted = symbol.kind() == SymbolKind::Data && size > 0;
        let name = wanted.then(|| symbol.name().ok()).flatten()?;
        Some(Symbol { address, size, name: name.to_owned() })
    })
}

impl Program {
    fn name_of(&self, address: u64) -> String {
        // The last symbol that contains the address; a symbol nested in another begins later and is more specific.
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let inside = |symbol: &&Symbol| address - symbol.address < symbol.size;
        match self.symbols[..after].iter().rev().take(16).find(inside) {
            Some(symbol) if symbol.address == address => symbol.name.clone(),
            Some(symbol) => format!("{}+{:#x}", symbol.name, address - symbol.address),
            None => format!("[{}]", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::sync::atomic::AtomicU64;

    static NAMED_ZEROES: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

    /// A 64-bit program: a segment, a note with its build id, and a table of one symbol.
    fn program() -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        let mut add = |number: u64, bytes: usize| file.extend(&number.to_le_bytes()[..bytes]);
        let header = [(3, 2), (62, 2), (1, 4), (0, 8), (64, 8), (SECTIONS as u64, 8), (0, 4), (64, 2), (56, 2), (2, 2)];
        header.into_iter().chain([(64, 2), (3, 2), (2, 2)]).for_each(|(number, bytes)| add(number, bytes));
        for (kind, at, size) in [(1, 0, 0x1000), (4, NOTE as u64, 36)] {
            let words = [(kind, 4), (4, 4), (at, 8), (at, 8), (at, 8), (size, 8), (size, 8), (4, 8)];
            words.into_iter().for_each(|(number, bytes)| add(number, bytes));
        }
        let note = [(4, 4), (20, 4), (3, 4), (u64::from(u32::from_le_bytes(*b"GNU\0")), 4)];
        note.into_iter().chain([(1, 8), (2, 8), (3, 8)]).for_each(|(number, bytes)| add(number, bytes));
        let symbols = [(0, 8), (0, 8), (0, 8), (1, 4), (0x11, 2), (1, 2), (0x800, 8), (0x40, 8)];
        symbols.into_iter().for_each(|(number, bytes)| add(number, bytes));
        file.extend(b"\0planted\0");
        file.resize(SECTIONS, 0);
        let mut add = |number: u64, bytes: usize| file.extend(&number.to_le_bytes()[..bytes]);
        for (kind, at, size, link, each) in [(0, 0, 0, 0, 0), (2, SYMBOLS as u64, 48, 2, 24), (3, 264, 9, 0, 0)] {
            let words = [(kind, 4), (0, 8), (0, 8), (at, 8), (size, 8), (link, 4), (1, 4), (8, 8), (each, 8)];
            [(0, 4)].into_iter().chain(words).for_each(|(number, bytes)| add(number, bytes));
        }
        file
    }

    const NOTE: usize = 176;
    const SYMBOLS: usize = 216;
    const SECTIONS: usize = 280;

    /// Reads a program of this length in which these numbers were written at these offsets.
    fn of_changed(changes: &[(usize, u64)], length: u64) -> Option<Program> {
        let mut file = program();
        for (place, number) in changes {
            let end = (place + 8).min(file.len());
            file[*place..end].copy_from_slice(&number.to_le_bytes()[..end - place]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, &file).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(length.max(file.len() as u64)).unwrap();
        let _ = symbol_file(&path);
        let read = read(&path)?;
        for address in changes.iter().map(|(_, number)| *number).chain([0, 0x800, u64::MAX]) {
            let _ = read.name_of(address);
        }
        Some(read)
    }

    #[test]
    fn a_hostile_program_file_costs_neither_memory_nor_time() {
        let good = of_changed(&[], 0).unwrap();
        assert_eq!((good.end, good.name_of(0x810)), (0x1000, "planted+0x10".to_owned()));
        let (segment, size_of_table) = (64 + 16, SECTIONS + 64 + 32);
        assert_eq!(of_changed(&[(segment, u64::MAX - 10)], 0).unwrap().end, u64::MAX);
        assert!(of_changed(&[(size_of_table, 24 << 50)], 0).is_none(), "the table is not mapped");
        assert!(of_changed(&[(size_of_table, 24 << 23)], 1 << 30).is_none(), "a table of 192 MiB without content");
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert!(read(&pipe).is_none() && symbol_file(&pipe).is_none());
    }

    proptest! {
        #[test]
        fn no_program_makes_it_panic(
            places in prop::collection::vec(0_usize..470, 4),
            numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..600], 1..4),
        ) {
            let _ = of_changed(&places.into_iter().zip(numbers).collect::<Vec<_>>(), 0);
        }
    }

    #[test]
    fn the_number_of_program_files_read_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let mut addresses = Addresses::default();
        for number in 0..=MOST {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, program()).unwrap();
            assert_eq!(addresses.program(&path).is_some(), number < MOST);
        }
        assert!(addresses.program(&folder.path().join("0")).is_some());
    }

    #[test]
    fn an_address_is_named_by_its_symbol_or_its_mapping() {
        let own = std::process::id().cast_signed();
        let mut addresses = Addresses::default();
        let mut of = |address: usize| addresses.name(own, address as u64);
        let start = std::ptr::from_ref(&NAMED_ZEROES).addr();
        assert!(of(start).contains("NAMED_ZEROES"), "{}", of(start));
        assert_eq!(of(start + 64), format!("{}+0x40", of(start)));
        let heap = vec![1_u8; 1 << 20];
        assert_eq!(of(heap.as_ptr().addr()), "heap");
        let local = 1;
        assert!(["stack", "heap"].contains(&of(std::ptr::from_ref(&local).addr()).as_str()));
        assert_eq!(of(8), "unknown");
        assert_eq!(addresses.name(-1, 8), "unknown");
        // The mappings stay known after the process has ended.
        let mut ends = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = ends.id().cast_signed();
        addresses.note(pid);
        let known = addresses.processes[&pid].len();
        ends.kill().unwrap();
        ends.wait().unwrap();
        addresses.note(pid);
        assert!(known > 0 && addresses.processes[&pid].len() == known);
    }
}
