//! Which program a process runs: its content, not its name.

use sha1::{Digest, Sha1};
use std::fs::File;
use std::io::Read;

/// SHA-1 of the program that a process runs, in hexadecimal digits; none where it may not be read. Two builds with the
/// same digits are one build, whatever their files are called.
pub fn program_sha1(pid: u32) -> Option<String> {
    let mut file = File::open(format!("/proc/{pid}/exe")).ok()?;
    let mut hash = Sha1::new();
    let mut piece = vec![0; 1 << 18];
    loop {
        match file.read(&mut piece).ok()? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_what_its_program_holds() {
        let own = program_sha1(std::process::id()).unwrap();
        let content = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let expected: String = Sha1::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(own, expected);
        assert_eq!(program_sha1(u32::MAX), None);
    }
}
