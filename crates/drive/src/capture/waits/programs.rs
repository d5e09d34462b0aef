//! Programs and libraries mapped by processes, with their unwind tables.

use framehop::{ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder, UnwinderNative};
use object::{Object, ObjectSection, ObjectSegment};
use procfs::process::{MMPermissions, MMapPath, MemoryMaps};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tare_cpuset::observe::parse;
use tare_engine::ProgramFile;

/// Limit of programs that are read: servers have some dozens of libraries.
const MOST: usize = 1_000;
/// Limit of the size of all unwind tables, bytes.
const MOST_BYTES: usize = 512 << 20;

/// Addresses of user space are below this.
const USER: u64 = 1 << 56;

pub(super) type Sections = ExplicitModuleSectionInfo<Arc<[u8]>>;

/// An address inside a program or library, as numbered in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    /// Index of the program in [`Programs::all`].
    pub program: usize,
    pub address: u64,
}

/// Each program is read once, however many processes map it.
#[derive(Debug, Default)]
pub(super) struct Programs {
    pub all: Vec<Program>,
    known: HashMap<PathBuf, Option<usize>>,
    /// Size of all unwind tables.
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Program {
    pub path: PathBuf,
    pub sections: Sections,
    /// Its range of addresses, as numbered in the file.
    addresses: Range<u64>,
}

/// A process whose memory is readable, and where its programs are mapped.
pub(super) struct Process {
    pub pid: i32,
    pub memory: File,
    pub unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    mapped: Vec<Mapped>,
}

struct Mapped {
    addresses: Range<u64>,
    program: usize,
    /// The first address, as numbered in the file.
    first: u64,
}

impl Process {
    /// None for a process that has ended, or that this user may not inspect.
    pub(crate) fn of(pid: i32, programs: &mut Programs) -> Option<Self> {
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let maps = parse::<MemoryMaps>(&format!("/proc/{pid}/maps")).ok()?;
        let path = |map: &MMapPath| if let MMapPath::Path(path) = map { Some(path.clone()) } else { None };
        let code = maps.iter().filter(|map| map.perms.contains(MMPermissions::EXECUTE));
        let mut code: BTreeSet<PathBuf> = code.filter_map(|map| path(&map.pathname)).collect();
        let mut process = Self { pid, memory, unwinder: UnwinderNative::new(), mapped: Vec::new() };
        for map in maps.iter().filter(|map| map.offset == 0) {
            // The start of a file is mapped once.
            let Some(path) = path(&map.pathname).filter(|path| code.remove(path)) else { continue };
            let Some(number) = programs.number(&path) else { continue };
            let program = &programs.all[number];
            let (start, first) = (map.address.0, program.addresses.start);
            let addresses = start..start.saturating_add(program.addresses.end - first);
            let name = path.to_string_lossy().into_owned();
            process.unwinder.add_module(Module::new(name, addresses.clone(), start, program.sections.clone()));
            process.mapped.push(Mapped { addresses, program: number, first });
        }
        Some(process)
    }

    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let mapped = self.mapped.iter().find(|mapped| mapped.addresses.contains(&address))?;
        Some(Place { program: mapped.program, address: address - mapped.addresses.start + mapped.first })
    }

    /// This process, with one program mapped at the addresses of its file.
    #[cfg(test)]
    pub(crate) fn made(addresses: Range<u64>, sections: &Sections) -> (Self, Programs) {
        let memory = File::open("/proc/self/mem").unwrap();
        let mut unwinder = UnwinderNative::new();
        unwinder.add_module(Module::new("made".to_owned(), addresses.clone(), addresses.start, sections.clone()));
        let mapped = vec![Mapped { addresses: addresses.clone(), program: 0, first: addresses.start }];
        let program = Program { path: PathBuf::from("made"), sections: sections.clone(), addresses };
        let programs = Programs { all: vec![program], ..Programs::default() };
        (Self { pid: std::process::id().cast_signed(), memory, unwinder, mapped }, programs)
    }

    #[cfg(test)]
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (u64, u64)> {
        self.mapped.iter().map(|mapped| (mapped.addresses.start, mapped.addresses.end))
    }
}

impl Programs {
    fn number(&mut self, path: &Path) -> Option<usize> {
        if let Some(known) = self.known.get(path) {
            return *known;
        }
        // The number of programs that a process maps is unbounded.
        if self.known.len() >= MOST || self.bytes >= MOST_BYTES {
            return None;
        }
        let program = read(path);
        let number = program.map(|program| {
            let tables = [&program.sections.eh_frame, &program.sections.eh_frame_hdr].into_iter().flatten();
            self.bytes += tables.map(|table| table.len()).sum::<usize>();
            self.all.push(program);
            self.all.len() - 1
        });
        self.known.insert(path.to_owned(), number);
        number
    }
}

fn read(path: &Path) -> Option<Program> {
    let own = ProgramFile::open(path)?;
    let file = object::File::parse(&own).ok().filter(|file| file.is_64() && file.is_little_endian())?;
    let start = file.segments().map(|segment| segment.address()).min()?;
    let end = file.segments().map(|segment| segment.address().saturating_add(segment.size())).max()?;
    // The first mapping starts at the beginning of the file, so the address is rounded down to a page.
    let start = start & !0xfff;
    if end >= USER || start >= end {
        return None;
    }
    let section = |name| file.section_by_name(name);
    let range = |name| section(name).map(|found| found.address()..found.address().saturating_add(found.size()));
    let data = |name| section(name).and_then(|found| found.data().ok()).map(Arc::<[u8]>::from);
    // Without its index the whole table would be scanned for each process.
    let eh_frame_hdr = data(".eh_frame_hdr");
    let sections = Sections {
        base_svma: start,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: eh_frame_hdr.as_ref().and_then(|_| data(".eh_frame")),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr,
        ..Sections::default()
    };
    Some(Program { path: path.to_owned(), sections, addresses: start..end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_programs_and_the_size_of_unwind_tables_are_limited() {
        let own = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut programs = Programs::default();
        for number in 0..MOST {
            assert_eq!(programs.number(&folder.path().join(number.to_string())), None);
        }
        assert_eq!(programs.number(&own), None);
        let mut programs = Programs::default();
        assert_eq!(programs.number(&own), Some(0));
        assert!(programs.bytes > 1_000 && programs.bytes < 100 << 20, "{}", programs.bytes);
        programs.bytes = MOST_BYTES;
        assert_eq!(programs.number(&own), Some(0));
        assert_eq!(programs.number(Path::new("/proc/self/exe")), None);
    }
}
