//! A server program, what distinguishes it from every other one, and its symbols: in itself, or in a separate file
//! named after its build id.

use crate::EngineError;
use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, io};

/// Where distributions put servers, usually outside a user's PATH.
const MORE_PLACES: [&str; 5] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mariadb/bin", "/usr/local/mysql/bin"];
/// The loader searches these folders for libraries first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The file of the running program. If its name now belongs to another file or to none, as after an upgrade, the
/// kernel's link /proc/self/exe. The kernel calls a deleted program `NAME (deleted)`, and any user may have put a
/// file there.
pub fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino()));
    let (named, own) = (env::current_exe()?, file(running)?);
    Ok(if file(&named).is_ok_and(|found| found == own) { named } else { running.to_owned() })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    pub path: PathBuf,
    /// The product that it reports itself: MariaDB, MySQL, Percona Server, PostgreSQL, SQLite.
    pub product: &'static str,
    pub version: String,
    /// The linker's build id of exactly this build, in hexadecimal digits; none if it has none.
    pub build_id: Option<String>,
    /// How it was compiled, if its build or installation tree records that: names and values as recorded.
    pub build: BTreeMap<String, String>,
    /// Version, path, size and modification time: changes whenever the program does.
    pub identity: String,
    /// Folders of its own libraries, joined by colons, if it needs more than the system's.
    pub libraries: Option<String>,
}

impl Binary {
    /// The program at this path, without symbolic links.
    pub(crate) fn identified(
        path: PathBuf,
        product: &'static str,
        version: String,
        libraries: Option<String>,
    ) -> Result<Self, EngineError> {
        let file = path.metadata().map_err(|source| EngineError::io("access", &path, source))?;
        let changed = format!("{} bytes; modified {}.{}", file.len(), file.mtime(), file.mtime_nsec());
        let identity = format!("{version}; {}; {changed}", path.display());
        let build_id = build_id(&path);
        Ok(Self { path, product, version, build_id, build: BTreeMap::new(), identity, libraries })
    }

    pub(crate) fn environment(&self, requested: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let own = self.libraries.as_ref().map(|libraries| (LIBRARY_PATH.to_owned(), libraries.clone()));
        own.into_iter().chain(requested.clone()).collect()
    }
}

/// Folders in which to look for programs: `first`, then those in PATH, then the usual folders of servers.
pub(crate) fn places(first: &[PathBuf]) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    first.iter().cloned().chain(env::split_paths(&path)).chain(MORE_PLACES.iter().map(PathBuf::from)).collect()
}

static PREFERRED: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();

/// Sets the default program of each engine, by the engine's name, from the user's own settings file. Only the first
/// call has an effect.
pub fn prefer_programs(programs: BTreeMap<String, PathBuf>) {
    let _ = PREFERRED.set(programs);
}

/// The given program, otherwise the preferred one of this engine.
pub(crate) fn named<'a>(explicit: Option<&'a Path>, engine: &str) -> Option<&'a Path> {
    explicit.or_else(|| PREFERRED.get()?.get(engine).map(PathBuf::as_path))
}

/// The path of a program that the user named.
pub(crate) fn existing(path: &Path) -> Result<PathBuf, EngineError> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let reason = "there is no program at this path; name one that exists".to_owned();
    Err(EngineError::BinaryUnusable { path: path.to_owned(), reason })
}

/// Whether a path is a file that may be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Reports a file without execute permission, which unpacking a jar or zip archive drops.
pub(crate) fn check_may_run(path: &Path) -> Result<(), EngineError> {
    if path.is_file() && !is_program(path) {
        let reason = format!("is not executable: chmod +x {}", path.display());
        return Err(EngineError::BinaryUnusable { path: path.to_owned(), reason });
    }
    Ok(())
}

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
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
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
    fn a_program_that_is_not_executable_differs_from_a_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mysqld");
        assert!(check_may_run(&path).is_ok());
        assert!(
            existing(&path)
                .unwrap_err()
                .to_string()
                .ends_with("mysqld: there is no program at this path; name one that exists")
        );
        std::fs::write(&path, "").unwrap();
        let error = check_may_run(&path).unwrap_err().to_string();
        assert!(error.contains("chmod +x") && error.contains("mysqld"), "{error}");
        assert!(check_may_run(Path::new("/bin/sh")).is_ok());
    }

    #[test]
    fn names_are_in_the_program_or_in_the_file_that_its_build_id_names() {
        let own = env::current_exe().unwrap();
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
