//! A working copy is equal to the prepared data, whatever changed it before.

use super::*;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Environment variable with the prepared directory for the child process that is killed.
const KILLED: &str = "WORKING_COPY_OF_A_TEST";

/// Twenty files, two of them large, in folders, one of which is empty.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir_all(data.join("db/inner")).unwrap();
    fs::create_dir_all(data.join("empty")).unwrap();
    for number in 0..18_u8 {
        fs::write(data.join(format!("db/inner/{number}")), vec![number; 3000]).unwrap();
    }
    for name in ["db/large", "log"] {
        fs::write(data.join(name), (0..2 << 20).map(|at| (at / 4096) as u8).collect::<Vec<u8>>()).unwrap();
    }
    fs::create_dir(folder.path().join("cache")).unwrap();
    folder
}

fn content(data: &Path) -> Vec<(PathBuf, String)> {
    let tree = Tree::read(data).unwrap();
    assert_eq!(tree.others, Vec::<PathBuf>::new());
    let digest = |path: &PathBuf| {
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(data.join(path)).unwrap());
        format!("{:x}", hasher.finish())
    };
    let files = tree.files.keys().map(|path| (path.clone(), digest(path)));
    files.chain(tree.folders.iter().map(|path| (path.clone(), "folder".to_owned()))).collect()
}

fn take(folder: &TempDir) -> WorkingCopy {
    // A child of another test holds the lock from its fork to its exec.
    let again = |_| {
        std::thread::sleep(Duration::from_millis(20));
        WorkingCopy::take(&folder.path().join("data"), &folder.path().join("cache")).unwrap()
    };
    let taken = WorkingCopy::take(&folder.path().join("data"), &folder.path().join("cache")).unwrap();
    let taken = taken.or_else(|| (0..100).find_map(again)).unwrap();
    assert_eq!(content(taken.data()), content(&folder.path().join("data")));
    taken
}

fn change(path: &Path, at: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(b"changed", at).unwrap();
}

#[test]
fn only_what_a_server_changed_is_written_again() {
    let folder = prepared();
    let first = take(&folder);
    assert_eq!((first.restored.files, first.restored.files_put_back), (20, 20));
    let data = first.data().to_owned();
    drop(first);
    let again = take(&folder).restored;
    assert_eq!(again.bytes_copied, 0, "{again:?}");
    change(&data.join("log"), 5000);
    let third = take(&folder).restored;
    assert!(third.bytes_copied * 50 < third.bytes, "{third:?}");
    if detects_changes(&data, &Tree::read(&data).unwrap()) {
        assert_eq!((again.files_put_back, third.files_put_back), (0, 1), "no other file was compared");
    }
}

#[test]
fn changes_made_by_other_programs_to_a_working_copy_are_detected() {
    let folder = prepared();
    let data = take(&folder).data().to_owned();
    let keep_time = |path: &Path| {
        let was = fs::metadata(path).unwrap().modified().unwrap();
        change(path, 0);
        File::options().write(true).open(path).unwrap().set_modified(was).unwrap();
    };
    let large = data.join("db/large");
    let acts: [&dyn Fn(); 8] = [
        &|| keep_time(&large),
        &|| fs::write(data.join("db/new"), "x").unwrap(),
        &|| fs::remove_file(data.join("log")).unwrap(),
        &|| fs::remove_dir_all(data.join("db")).unwrap(),
        &|| fs::create_dir_all(data.join("more/folders")).unwrap(),
        &|| {
            fs::remove_file(&large).unwrap();
            std::os::unix::fs::symlink(folder.path().join("data/log"), &large).unwrap();
        },
        &|| {
            fs::remove_file(&large).unwrap();
            fs::create_dir(&large).unwrap();
        },
        &|| File::options().write(true).open(&large).unwrap().set_len(7).unwrap(),
    ];
    for act in acts {
        act();
        drop(take(&folder));
    }
    // The prepared data themselves change, with their modification times restored.
    keep_time(&folder.path().join("data/log"));
    drop(take(&folder));
}

#[test]
fn two_processes_never_have_the_same_copy_and_an_idle_one_is_removed() {
    let folder = prepared();
    let (data, cache) = (folder.path().join("data"), folder.path().join("cache"));
    let taken = take(&folder);
    assert!(WorkingCopy::take(&data, &cache).unwrap().is_none());
    assert_eq!(remove_working_copies(&cache).unwrap(), Vec::<PathBuf>::new());
    drop(taken);
    let removed = |_| {
        std::thread::sleep(Duration::from_millis(20));
        remove_working_copies(&cache).unwrap().len() == 1
    };
    assert!((0..100).any(removed));
    assert_eq!(take(&folder).restored.files_put_back, 20);
}

/// Not a test by itself: the next test runs it as a child process and kills it.
#[test]
fn a_child_that_brings_back_again_and_again() {
    let Some(folder) = std::env::var_os(KILLED).map(PathBuf::from) else { return };
    fs::write(folder.join("at work"), "").unwrap();
    for round in 0.. {
        let taken = WorkingCopy::take(&folder.join("data"), &folder.join("cache")).unwrap().unwrap();
        change(&taken.data().join("log"), round * 4096 % (2 << 20));
        change(&taken.data().join("db/large"), 0);
        fs::remove_file(taken.data().join("db/inner/7")).unwrap();
    }
}

#[test]
fn a_working_copy_is_intact_after_a_kill_at_any_moment() {
    let folder = prepared();
    let mut in_work = 0;
    for kill in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "data::working::tests::a_child_that_brings_back_again_and_again"])
            .env(KILLED, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !folder.path().join("at work").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::remove_file(folder.path().join("at work")).unwrap();
        std::thread::sleep(Duration::from_millis(kill * 7 % 40));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "the process ended before it was killed");
        in_work += u32::from(take(&folder).restored.files_put_back > 0);
    }
    assert!(in_work >= 3, "only {in_work} of 20 kills came during work");
}

#[test]
fn whatever_a_file_held_it_is_equal_afterwards_and_only_what_differs_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let good: Vec<u8> = (0..5 * BLOCK + 7).map(|at| (at / 251) as u8).collect();
    fs::write(&from, &good).unwrap();
    let mut one_byte = good.clone();
    one_byte[3 * BLOCK + 1] ^= 1;
    let longer = [good.clone(), vec![9; 3 * BLOCK]].concat();
    let others = [vec![], good.clone(), one_byte, longer, good[..BLOCK + 3].to_vec(), vec![0; good.len()]];
    let mut written = Vec::new();
    for held in others {
        fs::write(&to, &held).unwrap();
        let put = put_back(&from, &to, &mut Room::new(folder.path(), 0)).unwrap();
        assert!(fs::read(&to).unwrap() == good, "it held {} bytes", held.len());
        written.push(if put.shared { 0 } else { put.copied });
    }
    if written[0] > 0 {
        assert_eq!(written[..4], [good.len() as u64, 0, BLOCK as u64, 0]);
    }
}

#[test]
fn holes_stay_holes_and_what_was_written_into_one_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let hole = File::create(&from).unwrap();
    hole.set_len(64 << 20).unwrap();
    hole.write_all_at(b"end", (64 << 20) - 3).unwrap();
    let put = put_back(&from, &to, &mut Room::new(folder.path(), 0)).unwrap();
    assert!(put.copied < 1 << 20, "{put:?}");
    OpenOptions::new().write(true).open(&to).unwrap().write_all_at(b"stray", 40 << 20).unwrap();
    let put = put_back(&from, &to, &mut Room::new(folder.path(), 0)).unwrap();
    assert!(put.shared || (put.compared < 1 << 20 && put.copied > 0), "{put:?}");
    assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
}
