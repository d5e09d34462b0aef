//! The number that a linker gives every build of a program.

use std::fs::File;
use std::path::Path;

use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

/// The GNU build id of a program, in hexadecimal digits; none for scripts, and where the linker gave none.
pub(crate) fn build_id(program: &Path) -> Option<String> {
    // Only the notes are read: a server with symbols and debug information has hundreds of megabytes.
    let file = ReadCache::new(File::open(program).ok()?);
    let id = noted::<FileHeader64<Endianness>>(&file).or_else(|| noted::<FileHeader32<Endianness>>(&file))?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The build id among the notes of a program of one word size.
fn noted<Header: FileHeader<Endian = Endianness>>(file: &ReadCache<File>) -> Option<Vec<u8>> {
    let header = Header::parse(file).ok()?;
    let endian = header.endian().ok()?;
    for segment in header.program_headers(endian, file).ok()? {
        let Some(mut notes) = segment.notes(endian, file).ok()? else { continue };
        while let Some(note) = notes.next().ok()? {
            if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_and_a_script_has_none() {
        let id = build_id(Path::new("/usr/sbin/mariadbd")).unwrap();
        assert!(id.len() >= 16 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
        assert_eq!(build_id(Path::new("/usr/bin/mariadb-install-db")), None);
        assert_eq!(build_id(Path::new("/nonexistent")), None);
    }
}
