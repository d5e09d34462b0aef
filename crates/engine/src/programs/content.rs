//! Identifies the program that a process runs by its content, not by its name.

use crate::data::tree::{Stamp, keeps_times};
use crate::process::guard::interrupted;
use crate::process::leftovers::boot_id;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tare_files::{Access, PrivateFolder, crash};

/// Limit on the size of a remembered hash, bytes.
const LARGEST: u64 = 1 << 12;
/// A file that changed more recently may change again within the same tick of its file system's clock.
const SETTLED: Duration = Duration::from_secs(1);

/// SHA-1 of the program that a process runs, in hexadecimal digits; none if it may not be read. Two builds with the
/// same digits are one build, whatever their file names. The hash is remembered in `cache`, a private folder, until
/// the file changes or the machine restarts; it is never remembered on a file system that does not record every
/// change.
pub fn program_sha1(pid: u32, cache: &Path) -> Option<String> {
    remembered_sha1(File::open(format!("/proc/{pid}/exe")).ok()?, cache)
}

/// The same for an open program file, read from its beginning.
pub fn remembered_sha1(mut file: File, cache: &Path) -> Option<String> {
    let found = file.metadata().ok()?;
    let now = Stamp::of(&found);
    let memory = PrivateFolder::open_or_create(cache, Access::Closed).ok().filter(|_| keeps_times(&file));
    let name = format!("program-{:x}-{:x}", found.dev(), found.ino());
    let read = memory.as_ref().and_then(|folder| folder.read(&name, LARGEST).ok()?);
    let known = read.and_then(|text| serde_json::from_slice::<Known>(&text).ok());
    if let Some(known) = known.filter(|known| known.boot_id == boot_id() && known.stamp == now) {
        return Some(known.sha1);
    }
    let sha1 = file_sha1(&mut file).ok()?;
    let same = file.metadata().is_ok_and(|found| Stamp::of(&found) == now);
    if let Some(folder) = memory.filter(|_| same && is_settled(&now)) {
        let known = Known { boot_id: boot_id(), stamp: now, sha1: sha1.clone() };
        // If it cannot be stored, the next trial reads the program again. Which trial stores it depends on timing.
        let _ = serde_json::to_vec(&known).map(|text| crash::uncounted(|| folder.write(&name, &text)));
    }
    Some(sha1)
}

#[derive(Serialize, Deserialize)]
struct Known {
    boot_id: String,
    stamp: Stamp,
    sha1: String,
}

fn is_settled(stamp: &Stamp) -> bool {
    let (seconds, nanoseconds) = stamp.changed;
    let since = Duration::new(seconds.unsigned_abs(), nanoseconds.unsigned_abs() as u32);
    SystemTime::now().duration_since(UNIX_EPOCH + since).is_ok_and(|age| age > SETTLED)
}

/// SHA-1 of the rest of a file, in hexadecimal digits. An interruption ends the reading, also of an endless file.
pub fn file_sha1(file: &mut File) -> io::Result<String> {
    let mut hash = Sha1::new();
    let mut piece = vec![0; 1 << 18];
    loop {
        if interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut piece)? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn digest(program: &Path) -> String {
        Sha1::digest(fs::read(program).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The hash of a program while a process runs it.
    fn sha1_of(program: &Path, cache: &Path) -> String {
        let mut process = Command::new(program).arg("60").spawn().unwrap();
        let sha1 = program_sha1(process.id(), cache);
        process.kill().unwrap();
        process.wait().unwrap();
        sha1.unwrap()
    }

    #[test]
    fn a_process_is_identified_by_the_content_of_its_program() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(program_sha1(std::process::id(), cache.path()).unwrap(), digest(&std::env::current_exe().unwrap()));
        assert_eq!(program_sha1(u32::MAX, cache.path()), None);
    }

    #[test]
    fn a_program_that_was_changed_in_place_is_read_again_and_one_that_was_not_is_remembered() {
        // Next to the test programs if this user may write there: a scratch folder may be on a file system that does
        // not record every change.
        let in_build = tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap());
        let folder = in_build.or_else(|_| tempfile::tempdir()).unwrap();
        let (program, cache) = (folder.path().join("sleep"), folder.path().join("cache"));
        fs::copy("/bin/sleep", &program).unwrap();
        let first = digest(&program);
        assert_eq!(sha1_of(&program, &cache), first);
        assert!(
            !cache.exists() || fs::read_dir(&cache).unwrap().count() == 0,
            "a file that has just changed is not \
            stored"
        );
        std::thread::sleep(SETTLED + Duration::from_millis(100));
        assert_eq!(sha1_of(&program, &cache), first);
        let remembered = fs::read_dir(&cache).unwrap().next();
        let Some(remembered) = remembered.map(|entry| entry.unwrap().path()) else {
            assert!(!keeps_times(&File::open(&program).unwrap()), "the digest was not stored");
            return;
        };
        let text = fs::read_to_string(&remembered).unwrap();
        fs::write(&remembered, text.replace(&first, "remembered")).unwrap();
        assert_eq!(sha1_of(&program, &cache), "remembered");
        // The same length as before, and the old modification time.
        let modified = fs::metadata(&program).unwrap().modified().unwrap();
        let mut content = fs::read(&program).unwrap();
        *content.last_mut().unwrap() ^= 1;
        fs::write(&program, content).unwrap();
        File::options().append(true).open(&program).unwrap().set_modified(modified).unwrap();
        assert_eq!(sha1_of(&program, &cache), digest(&program));
    }
}
