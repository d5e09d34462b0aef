//! The symbol or the mapping that an address of a process lies in.

use object::{Object, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};
use procfs::process::{MMapPath, MemoryMap, Process};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tare_engine::symbol_file;

/// What memory that processes share is mapped from: semaphores and locks of servers with a process a connection.
const SHARED: [&str; 4] = ["/dev/zero", "/dev/shm/", "/SYSV", "/memfd:"];

#[derive(Debug, Default)]
pub(super) struct Addresses {
    processes: HashMap<i32, Vec<Region>>,
    programs: HashMap<PathBuf, Option<Rc<Program>>>,
}

#[derive(Debug)]
struct Region {
    from: u64,
    to: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A program or library, and where its address 0 is.
    Program(Rc<Program>, u64),
    Named(&'static str),
}

/// Data symbols of a program or library, by address.
#[derive(Debug, Default)]
struct Program {
    name: String,
    /// The end of what it takes, with what is zero at first and so in no file.
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
    /// `SYMBOL`, `SYMBOL+0x40`, the name of a library, `heap`, `shared memory`.
    pub fn name(&mut self, pid: i32, address: u64) -> String {
        if !self.processes.contains_key(&pid) {
            let regions = self.regions(pid);
            self.processes.insert(pid, regions);
        }
        let regions = self.processes.get(&pid).map_or(&[][..], Vec::as_slice);
        // Programs come first: what is zero at first in them is mapped as if it were heap.
        let found = regions.iter().find(|region| (region.from..region.to).contains(&address));
        match found.map(|region| &region.what) {
            Some(What::Program(program, base)) => program.name_of(address - base),
            Some(What::Named(name)) => (*name).to_owned(),
            None => "unknown".to_owned(),
        }
    }

    fn regions(&mut self, pid: i32) -> Vec<Region> {
        let Ok(maps) = Process::new(pid).and_then(|process| process.maps()) else { return Vec::new() };
        let mut programs = Vec::new();
        let mut others = Vec::new();
        for map in &maps {
            let (from, to) = map.address;
            match &map.pathname {
                MMapPath::Path(path) if map.offset == 0 && !is_shared(path) => {
                    if let Some(program) = self.program(path) {
                        let to = from + program.end;
                        programs.push(Region { from, to, what: What::Program(program, from) });
                    }
                }
                _ => others.push(Region { from, to, what: What::Named(kind(map)) }),
            }
        }
        programs.append(&mut others);
        programs
    }

    fn program(&mut self, path: &Path) -> Option<Rc<Program>> {
        self.programs.entry(path.to_owned()).or_insert_with(|| read(path).map(Rc::new)).clone()
    }
}

fn is_shared(path: &Path) -> bool {
    SHARED.iter().any(|start| path.to_string_lossy().starts_with(start))
}

fn kind(map: &MemoryMap) -> &'static str {
    match &map.pathname {
        MMapPath::Path(path) if is_shared(path) => "shared memory",
        MMapPath::Vsys(_) => "shared memory",
        MMapPath::Path(_) => "a mapped file",
        MMapPath::Stack | MMapPath::TStack(_) => "stack",
        _ => "heap",
    }
}

/// The data symbols of a program or library; those of its file of symbols where there is one.
fn read(path: &Path) -> Option<Program> {
    let own = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&own).ok()?;
    let end = file.segments().map(|segment| segment.address() + segment.size()).max()?;
    let mut symbols = Vec::new();
    let apart = symbol_file(path).filter(|apart| apart != path).and_then(|apart| File::open(apart).ok());
    if let Some(apart) = apart.map(ReadCache::new) {
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
        // Its name comes last: each is a read, and most symbols are functions.
        let wanted = symbol.kind() == SymbolKind::Data && size > 0;
        let name = wanted.then(|| symbol.name().ok()).flatten()?;
        Some(Symbol { address, size, name: name.to_owned() })
    })
}

impl Program {
    fn name_of(&self, address: u64) -> String {
        // The last that begins there or before it; a symbol inside another one begins later and says more.
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let inside = |symbol: &&Symbol| address - symbol.address < symbol.size;
        match self.symbols[..after].iter().rev().take(16).find(inside) {
            Some(symbol) if symbol.address == address => symbol.name.clone(),
            Some(symbol) => format!("{}+{:#x}", symbol.name, address - symbol.address),
            None => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    static NAMED_ZEROES: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

    #[test]
    fn an_address_has_the_name_of_its_symbol_or_of_what_it_lies_in() {
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
    }
}
