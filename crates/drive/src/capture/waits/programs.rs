//! Programs and libraries mapped by processes, with their unwind tables, and whether a function's can be evaluated in
//! bounded time. The tables are instructions, with expressions that may jump backwards; neither framehop nor gimli
//! limits the evaluation for untrusted programs.

use framehop::{ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder, UnwinderNative};
use gimli::{
    BaseAddresses, CallFrameInstruction, CallFrameInstructionIter, EhFrame, EhFrameHdr, Encoding, EndianSlice,
    LittleEndian, Operation, UnwindSection,
};
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
    #[cfg_attr(target_arch = "aarch64", expect(dead_code, reason = "frame pointers are searched for on x86-64 only"))]
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

/// Limit of instructions per function, including those shared with other functions and the operations of expressions.
/// The largest functions of servers have some hundreds.
const MOST_STEPS: usize = 20_000;

type Frames<'t> = EhFrame<EndianSlice<'t, LittleEndian>>;

pub(super) fn bases(sections: &Sections) -> BaseAddresses {
    let start = |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| range.start);
    BaseAddresses::default()
        .set_eh_frame_hdr(start(&sections.eh_frame_hdr_svma))
        .set_eh_frame(start(&sections.eh_frame_svma))
        .set_text(start(&sections.text_svma))
        .set_got(start(&sections.got_svma))
}

/// Checks the function at an address, found in the way that framehop finds it. Returns true for a function that cannot
/// be found or read: framehop does not evaluate its tables either.
pub(super) fn is_bounded(sections: &Sections, address: u64) -> bool {
    let (Some(header), Some(frames)) = (&sections.eh_frame_hdr, &sections.eh_frame) else { return true };
    let (bases, frames) = (bases(sections), EhFrame::new(frames, LittleEndian));
    let found = || {
        let index = EhFrameHdr::new(header, LittleEndian).parse(&bases, 8).ok()?;
        let table = index.table()?;
        let offset = table.pointer_to_offset(table.lookup(address, &bases).ok()?).ok()?;
        frames.fde_from_offset(&bases, offset, EhFrame::cie_from_offset).ok()
    };
    let Some(function) = found() else { return true };
    let (mut left, encoding) = (MOST_STEPS, function.cie().encoding());
    let shared = function.cie().instructions(&frames, &bases);
    ends(shared, &frames, encoding, &mut left)
        && ends(function.instructions(&frames, &bases), &frames, encoding, &mut left)
}

fn ends<'t>(
    mut instructions: CallFrameInstructionIter<'_, EndianSlice<'t, LittleEndian>>,
    frames: &Frames<'t>,
    encoding: Encoding,
    left: &mut usize,
) -> bool {
    while let Ok(Some(instruction)) = instructions.next() {
        let expression = match instruction {
            CallFrameInstruction::DefCfaExpression { expression }
            | CallFrameInstruction::Expression { expression, .. }
            | CallFrameInstruction::ValExpression { expression, .. } => Some(expression),
            _ => None,
        };
        if !takes_one(left) {
            return false;
        }
        let Some(expression) = expression.and_then(|expression| expression.get(frames).ok()) else { continue };
        let mut operations = expression.operations(encoding);
        while let Ok(Some(operation)) = operations.next() {
            if matches!(operation, Operation::Bra { .. } | Operation::Skip { .. }) || !takes_one(left) {
                return false;
            }
        }
    }
    true
}

fn takes_one(left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
}

#[cfg(test)]
pub(super) mod made {
    use super::super::programs::Sections;

    /// A program with a single function: 256 bytes from 0x1000 on, with these unwind instructions.
    pub(crate) fn program(instructions: &[u8]) -> Sections {
        const FRAMES: u64 = 0x2000;
        const INDEX: u64 = 0x3000;
        let entry = |id: u32, body: &[u8]| {
            let body = [&id.to_le_bytes()[..], body].concat();
            // Padded with DW_CFA_nop to a multiple of eight.
            let length = (body.len() + 4).next_multiple_of(8) - 4;
            let rest = vec![0; length - body.len()];
            [&(length as u32).to_le_bytes()[..], &body, &rest].concat()
        };
        let relative = |to: u64, from: u64| (to.wrapping_sub(from) as u32).to_le_bytes();
        // Version 1, "zR": addresses relative to their position, 4 bytes; CFA = rsp + 8, the return address below it.
        let common = entry(0, &[1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1]);
        let own = FRAMES + common.len() as u64;
        let function = [&relative(0x1000, own + 8)[..], &256_u32.to_le_bytes(), &[0], instructions].concat();
        let frames = [&common[..], &entry(common.len() as u32 + 4, &function), &[0; 4]].concat();
        let index = [
            &[1, 0x1b, 0x03, 0x3b][..],
            &relative(FRAMES, INDEX + 4),
            &1_u32.to_le_bytes(),
            &relative(0x1000, INDEX),
            &relative(own, INDEX),
        ]
        .concat();
        Sections {
            base_svma: 0x1000,
            text_svma: Some(0x1000..0x1100),
            eh_frame_svma: Some(FRAMES..FRAMES + frames.len() as u64),
            eh_frame: Some(frames.into()),
            eh_frame_hdr_svma: Some(INDEX..INDEX + index.len() as u64),
            eh_frame_hdr: Some(index.into()),
            ..Sections::default()
        }
    }
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

    #[test]
    fn unwind_tables_that_jump_back_or_are_too_long_are_not_evaluated() {
        let of = |instructions: &[u8]| is_bounded(&made::program(instructions), 0x1010);
        // DW_CFA_def_cfa_offset 16; DW_CFA_def_cfa_expression: DW_OP_breg7 8, as in procedure linkage tables.
        assert!(of(&[0x0e, 16]) && of(&[0x0f, 2, 0x77, 8]));
        // The same with DW_OP_skip -3, also as DW_CFA_expression and DW_CFA_val_expression of register 6.
        let back = [0x2f, 0xfd, 0xff];
        assert!(!of(&[&[0x0f, 3][..], &back].concat()));
        assert!(!of(&[&[0x10, 6, 3][..], &back].concat()));
        assert!(!of(&[&[0x16, 6, 3][..], &back].concat()));
        // DW_CFA_nop.
        assert!(of(&[0; 1000]) && !of(&[0; 2 * MOST_STEPS]));
        assert!(is_bounded(&Sections::default(), 0x1010));
    }
}
