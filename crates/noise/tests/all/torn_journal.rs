//! Tests of a journal that is truncated anywhere, as by a kill or a power failure during a write, and of a corrupt one.

use crate::common::{Machine, kill, level};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::LazyLock;
use tare_noise::Setting;

const CHANGES: [(Setting, &str); 8] = [
    (Setting::NumaBalancing, "off"),
    (Setting::Thp, "never"),
    (Setting::Swappiness, "1"),
    (Setting::Swappiness, "2"),
    (Setting::IrqAffinity, "cpus:2-3"),
    (Setting::Governor, "performance"),
    (Setting::CpuShield, "cpus:1"),
    (Setting::AslrSystem, "0"),
];

/// The journal of another machine after each of these changes.
static JOURNALS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let (machine, _, mut session) = Machine::begun();
    let after = CHANGES.map(|(setting, text)| {
        session.apply(&level(setting, text)).unwrap();
        fs::read(machine.journal()).unwrap()
    });
    after.into()
});

fn write_journal(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
}

/// A kill right after a journal's creation leaves it empty, one during the first write with a line break alone.
#[test]
fn a_journal_without_entries_is_removed() {
    let machine = Machine::new();
    for name in ["journal.jsonl", "affinities.jsonl"] {
        for content in ["", "\n", "\n{\"v\":1,"] {
            fs::create_dir_all(machine.state()).unwrap();
            let path = machine.state().join(name);
            write_journal(&path, content.as_bytes());
            assert!(machine.recover().unwrap().files.is_empty());
            assert!(!path.exists(), "{name}: {content:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..Default::default() })]

    /// The write of the lines of change number `done` is truncated: that change has not happened yet.
    #[test]
    fn cut_off_at_any_byte_the_journal_is_still_restored(done in 0..CHANGES.len(), cut in 0.0..1.0f64) {
        let (machine, before, mut session) = Machine::begun();
        for (setting, text) in &CHANGES[..done] {
            session.apply(&level(*setting, text)).unwrap();
        }
        let whole = fs::read(machine.journal()).unwrap_or_default();
        // What the next change would append.
        let next = &JOURNALS[done];
        prop_assert!(next.starts_with(&whole));
        let end = whole.len() + ((next.len() - whole.len()) as f64 * cut) as usize;
        kill(session, &machine);
        fs::create_dir_all(machine.state()).unwrap();
        write_journal(&machine.journal(), &next[..end]);

        let report = machine.recover().unwrap();
        prop_assert_eq!(report.failed().count(), 0);
        prop_assert_eq!(report.changed_by_other().count(), 0);
        prop_assert_eq!(machine.tree(), before);
        prop_assert!(!machine.journal().exists());
    }

    /// A corrupt journal never causes a panic, and every file keeps its text or gets the one recorded.
    #[test]
    fn rubbish(flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let (machine, before, mut session) = Machine::begun();
        session.apply(&level(Setting::Swappiness, "1")).unwrap();
        session.apply(&level(Setting::AslrSystem, "0")).unwrap();
        let mut bytes = fs::read(machine.journal()).unwrap();
        let applied = machine.tree();
        kill(session, &machine);
        for (index, byte) in flips {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let damaged = String::from_utf8_lossy(&bytes).into_owned();
        write_journal(&machine.journal(), &bytes);
        let _ = machine.recover();
        for (path, text) in machine.tree() {
            let known = before.get(&path) == Some(&text) || applied.get(&path) == Some(&text);
            prop_assert!(known || damaged.contains(text.trim()), "{path:?} holds {text:?}");
        }
    }
}
