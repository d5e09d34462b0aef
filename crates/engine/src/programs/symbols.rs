//! Finds the symbols of a program: in itself, or in a separate file named after its build id.

use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

const DEBUG: &str = "/usr/lib/debug/.build-id";

/// Limit on the bytes that are read of one program: tables of a million names are smaller.
const MOST: u64 = 128 << 20;
/// Bytes that a name needs in addition to its characters.
const NAME: u64 = 64;
/// Lengths of a build id, bytes: usually twenty.
const IDS: Range<usize> = 2..65;

/// An untrusted program or library: its sizes and offsets are not trusted, overlapping sections are read once.
#[derive(Debug)]
pub struct ProgramFile {
    file: ReadCache<File>,
    left: Cell<u64>,
}

impl ProgramFile {
    /// None if it is not a regular file: a pipe would block.
    pub fn open(path: &Path) -> Option<Self> {
        let file = tare_files::open_named(path).ok()??;
        Some(Self { file: ReadCache::new(file), left: Cell::new(MOST) })
    }

    fn take(&self, bytes: u64) -> Result<(), ()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

impl<'a> ReadRef<'a> for &'a ProgramFile {
    fn len(self) -> Result<u64, ()> {
        ReadRef::len(&self.file)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.take(size)?;
        self.file.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.take(NAME)?;
        let found = self.file.read_bytes_at_until(range, delimiter)?;
        self.take(found.len() as u64)?;
        Ok(found)
    }
}

/// The file with all symbols of a program or library: itself if it was not stripped, otherwise the file from a
/// package of debug symbols or from debuginfod. None if only the exported symbols are known.
pub fn symbol_file(program: &Path) -> Option<PathBuf> {
    symbol_file_below(Path::new(DEBUG), debuginfod_cache().as_deref(), program)
}

/// Where debuginfod-find keeps its downloads (debuginfod-find(1)).
fn debuginfod_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = || Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("debuginfod_client"));
    set("DEBUGINFOD_CACHE_PATH").or_else(below)
}

fn symbol_file_below(debug: &Path, fetched: Option<&Path>, program: &Path) -> Option<PathBuf> {
    if is_named(program) {
        return Some(program.to_owned());
    }
    let id = build_id(program)?;
    let (folder, rest) = id.split_at_checked(2)?;
    let installed = debug.join(folder).join(format!("{rest}.debug"));
    let fetched = fetched.map(|cache| cache.join(&id).join("debuginfo"));
    std::iter::once(installed).chain(fetched).find(|apart| is_named(apart))
}

fn is_named(file: &Path) -> bool {
    let Some(file) = ProgramFile::open(file) else { return false };
    has_table::<FileHeader64<Endianness>>(&file).or_else(|| has_table::<FileHeader32<Endianness>>(&file)) == Some(true)
}

fn has_table<Header: FileHeader<Endian = Endianness>>(file: &ProgramFile) -> Option<bool> {
    let header = Header::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.section_headers(endian, file).ok()?;
    Some(sections.iter().any(|section| section.sh_type(endian) == SHT_SYMTAB))
}

/// The GNU build id of a program, in hexadecimal digits; none for scripts, and if the linker added none.
pub fn build_id(program: &Path) -> Option<String> {
    // Only the notes are read: a server with symbols and debug information can have hundreds of megabytes.
    let file = ProgramFile::open(program)?;
    let id = noted::<FileHeader64<Endianness>>(&file).or_else(|| noted::<FileHeader32<Endianness>>(&file))?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The build id in the notes of a program of one word size.
fn noted<Header: FileHeader<Endian = Endianness>>(file: &ProgramFile) -> Option<Vec<u8>> {
    let header = Header::parse(file).ok()?;
    let endian = header.endian().ok()?;
    for segment in header.program_headers(endian, file).ok()? {
        let Some(mut notes) = segment.notes(endian, file).ok()? else { continue };
        while let Some(note) = notes.next().ok()? {
            if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec()).filter(|id| IDS.contains(&id.len()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_program_or_in_the_file_that_its_build_id_names() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(symbol_file(&own), Some(own.clone()), "tests are not stripped");
        let debug = tempfile::tempdir().unwrap();
        let stripped = Path::new("/usr/sbin/mariadbd");
        assert_eq!(symbol_file_below(debug.path(), None, stripped), None);
        let id = build_id(stripped).unwrap();
        let folder = debug.path().join(&id[..2]);
        std::fs::create_dir(&folder).unwrap();
        let apart = folder.join(format!("{}.debug", &id[2..]));
        std::fs::copy(stripped, &apart).unwrap();
        assert_eq!(symbol_file_below(debug.path(), None, stripped), None, "a file without the table is of no use");
        std::fs::copy(&own, &apart).unwrap();
        assert_eq!(symbol_file_below(debug.path(), None, stripped), Some(apart));
        let cache = tempfile::tempdir().unwrap();
        std::fs::create_dir(cache.path().join(&id)).unwrap();
        std::fs::copy(&own, cache.path().join(&id).join("debuginfo")).unwrap();
        let fetched = symbol_file_below(Path::new("/nonexistent"), Some(cache.path()), stripped).unwrap();
        assert!(fetched.starts_with(cache.path()), "{}", fetched.display());
        assert_eq!(symbol_file(Path::new("/usr/bin/mariadb-install-db")), None);
    }

    /// An arbitrary note would otherwise become part of a file name.
    #[test]
    fn a_build_id_of_another_length_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("empty.s"), folder.path().join("empty"));
        std::fs::write(&source, ".globl _start\n_start: nop\n").unwrap();
        let of = |bytes: usize| {
            let id = format!("-Wl,--build-id=0x{}", "ab".repeat(bytes));
            let mut cc = std::process::Command::new("cc");
            let made = cc.args(["-nostdlib", "-static", "-o"]).arg(&program).arg(&source).arg(id).status().unwrap();
            assert!(made.success());
            build_id(&program).map(|id| id.len() / 2)
        };
        assert_eq!([1, 2, 20, 64, 65].map(of), [None, Some(2), Some(20), Some(64), None]);
    }

    #[test]
    fn a_program_has_a_build_id_and_a_script_has_none() {
        let id = build_id(Path::new("/usr/sbin/mariadbd")).unwrap();
        assert!(id.len() >= 16 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
        assert_eq!(build_id(Path::new("/usr/bin/mariadb-install-db")), None);
        assert_eq!(build_id(Path::new("/nonexistent")), None);
    }
}
