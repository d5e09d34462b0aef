//! Call chains: parsed from the output of `perf script -F event,period,ip,sym,dso`, sample by sample; and those of
//! sleeps, as shares of the time of the threads that serve connections.
//!
//! It is not parsed with inferno, whose reader panics on unexpected text, and drops all events but the first: half of
//! the logical CPUs of a machine with two kinds of cores.

use super::perf::{ALL, next_line};
use std::collections::BTreeMap;
use std::io::{BufRead, Result, Take};
use std::path::Path;
use tare_results::waits::CallerShare;

/// Suffix of kernel functions in folded chains.
pub(super) const KERNEL: &str = "_[k]";

/// Frames kept per sample, the innermost ones.
const DEEPEST: usize = 2_000;
/// Bytes of all chains that are kept separately. Further chains are merged into one, so that the document stays small
/// enough to be read back.
const KEPT: usize = 60 << 20;
const OTHERS: &str = "[others]";
/// Bytes of a weight in the document.
const WEIGHT: usize = 16;
/// Upper limit of a sample's weight: twenty seconds of cycles. Each sample takes more than eight bytes of text, so the
/// sum of all weights fits a u64.
const HEAVIEST: u64 = 1 << 36;
const _: () = assert!((ALL / 8).checked_mul(HEAVIEST).is_some());

/// Beginning of the path of the names of code that a process made while it ran: `/tmp/perf-PID.map`.
const MADE_AT_RUN_TIME: &str = "/tmp/perf-";
/// Objects in brackets that belong neither to the kernel nor to one of its modules.
const USER_OBJECTS: [&str; 6] = ["[vdso]", "[vsyscall]", "[unknown]", "[heap]", "[stack]", "[anon]"];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Chains {
    /// The event of the first sample, with perf's modifiers.
    pub event: String,
    pub samples: u64,
    /// `caller;callee` -> event count: the sum of the samples' periods.
    pub weights: BTreeMap<String, u64>,
}

impl Chains {
    /// `kept` is the size of all chains so far.
    fn add(&mut self, mut chain: String, weight: u64, kept: &mut usize) {
        if !self.weights.contains_key(&chain) {
            if *kept + chain.len() + WEIGHT > KEPT {
                chain = OTHERS.to_owned();
            } else {
                *kept += chain.len() + WEIGHT;
            }
        }
        *self.weights.entry(chain).or_default() += weight;
    }
}

/// Adds up all samples, weighted by their periods; chains beyond the size limit are merged.
pub(super) fn read(script: Take<impl BufRead>) -> Result<Chains> {
    let mut chains = Chains::default();
    let mut kept = 0;
    samples(script, head, |(period, event), frames| {
        if chains.event.is_empty() {
            chains.event = event;
        }
        chains.add(frames.join(";"), period, &mut kept);
        chains.samples += 1;
    })?;
    Ok(chains)
}

/// Calls `done` for each sample with its parsed first line and its frames, the outermost first. Other lines are
/// skipped.
pub(super) fn samples<H>(
    mut script: Take<impl BufRead>,
    head: impl Fn(&str) -> Option<H>,
    mut done: impl FnMut(H, Vec<String>),
) -> Result<()> {
    let mut line = Vec::new();
    let mut first = None;
    let mut frames: Vec<String> = Vec::new();
    loop {
        let next = next_line(&mut script, &mut line)?;
        let text = next.as_deref().unwrap_or_default().trim();
        if text.is_empty() {
            let mut all = std::mem::take(&mut frames);
            if let Some(head) = first.take().filter(|_| !all.is_empty()) {
                all.reverse();
                done(head, all);
            }
            if next.is_none() {
                return Ok(());
            }
        } else if let Some(head) = head(text) {
            first = Some(head);
        } else if frames.len() < DEEPEST {
            frames.extend(frame(text));
        }
    }
}

/// Parses `5025125 cpu-clock:pppH:`.
fn head(text: &str) -> Option<(u64, String)> {
    let (period, event) = text.split_once(char::is_whitespace)?;
    let event = event.trim().strip_suffix(':')?;
    let plain = !event.is_empty() && !event.contains(char::is_whitespace);
    Some((period.parse().ok().filter(|_| plain).map(|period: u64| period.min(HEAVIEST))?, event.to_owned()))
}

/// Parses `71cb buf_page_get_low(page_id_t, unsigned long) (/usr/sbin/mariadbd)`.
pub(super) fn frame(text: &str) -> Option<String> {
    let (address, rest) = text.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (symbol, object) = match rest.rsplit_once(" (") {
        Some((symbol, object)) => (symbol.trim(), object.trim_end_matches(')')),
        None => (rest.trim(), ""),
    };
    // Addresses in the upper half belong to the kernel, even where this user may not read its symbols.
    let without_symbols = object == "[unknown]" && address >> 63 == 1;
    let kernel =
        without_symbols || object.ends_with(".ko") || (object.starts_with('[') && !USER_OBJECTS.contains(&object));
    let symbol = Some(symbol).filter(|symbol| !symbol.is_empty() && *symbol != "[unknown]" && is_believed(object));
    let name = function(symbol, object.rsplit('/').next().unwrap_or("").trim_matches(['[', ']']));
    Some(if kernel { format!("{name}{KERNEL}") } else { name })
}

/// Whether names from this file are used. The names of code that a process made while it ran are in a file that any
/// user may have created; perf reads it whoever owns it.
fn is_believed(object: &str) -> bool {
    let own = |owner: u32| owner == 0 || owner == rustix::process::geteuid().as_raw();
    !object.starts_with(MADE_AT_RUN_TIME) || tare_files::owner_of(Path::new(object)).is_ok_and(own)
}

/// The name of a function in a chain; without a symbol, the name of its file.
pub(super) fn function(symbol: Option<&str>, file: &str) -> String {
    let name = match symbol {
        Some(symbol) => without_parameters(symbol).replace(';', ":"),
        None => format!("[{}]", if file.is_empty() { "unknown" } else { file }),
    };
    tare_text::shown_name(&name).into_owned()
}

/// A demangled C++ name without its parameter list, which is long and adds little.
fn without_parameters(symbol: &str) -> &str {
    let bare = symbol.trim_end_matches(" const");
    if !bare.ends_with(')') {
        return symbol;
    }
    let mut depth = 0;
    for (at, character) in bare.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            // `operator()` and `(anonymous namespace)` are names.
            let name = &bare[..at];
            return if name.is_empty() || name.ends_with("operator") || name.ends_with("::") { symbol } else { name };
        }
    }
    symbol
}

/// Limits: chains listed in full and shortened, smallest share of the time listed, innermost functions per chain and
/// per shortened one, characters per function name.
const LISTED: usize = 60;
const SMALLEST: f64 = 1e-3;
const SMALLEST_SHORTENED: f64 = 1e-4;
const INNERMOST: usize = 8;
const FRAMES: usize = 48;
const LETTERS: usize = 160;

/// Call chain -> weight of the sleeps below it.
#[derive(Debug, Default)]
pub(super) struct Weights(BTreeMap<String, f64>);

impl Weights {
    /// Adds a chain whose first frame is the outermost function.
    pub(crate) fn add<S: AsRef<str>>(&mut self, frames: &[S], weight: f64) {
        let inner = &frames[frames.len().saturating_sub(FRAMES)..];
        let inner: Vec<String> = inner.iter().map(|frame| frame.as_ref().chars().take(LETTERS).collect()).collect();
        *self.0.entry(inner.join(";")).or_default() += weight;
    }

    pub(crate) fn sum(&self) -> f64 {
        self.0.values().sum()
    }

    /// Shares of the threads' time, of which they slept the share `slept`, the weight `whole`. Chains beyond the limits
    /// are added up by their innermost functions, so that a wait with many callers is not lost.
    pub(crate) fn shares(self, slept: f64, whole: f64) -> Vec<CallerShare> {
        let share = |(chain, weight)| CallerShare { chain, fraction: slept * weight / whole };
        let mut all: Vec<CallerShare> = self.0.into_iter().map(share).collect();
        all.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        let listed = all.iter().take(LISTED).take_while(|one| one.fraction >= SMALLEST).count();
        let mut shortened: BTreeMap<String, f64> = BTreeMap::new();
        for one in all.split_off(listed) {
            *shortened.entry(innermost(&one.chain)).or_default() += one.fraction;
        }
        let mut shortened: Vec<CallerShare> =
            shortened.into_iter().map(|(chain, fraction)| CallerShare { chain, fraction }).collect();
        shortened.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        all.extend(shortened.into_iter().take(LISTED).filter(|one| one.fraction >= SMALLEST_SHORTENED));
        all.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        all
    }
}

/// The innermost functions of a chain, of which consecutive equal ones, mostly without a name, count as one.
fn innermost(chain: &str) -> String {
    let mut functions: Vec<&str> = chain.split(';').collect();
    functions.dedup();
    functions.split_off(functions.len().saturating_sub(INNERMOST)).join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Cursor, Read};

    #[test]
    fn samples_become_weighed_chains() {
        let script = "   5000 cpu-clock:pppH: \n\
            \tffffffff810 futex_wait ([kernel.kallsyms])\n\
            \t       71cb tare_planted_lock (/usr/bin/tare)\n\
            \t       620e serve (/usr/bin/tare)\n\
            \n\
               1000 cpu-clock:pppH: \n\
            \t       71cb tare_planted_lock (/usr/bin/tare)\n\
            \t       620e serve (/usr/bin/tare)\n\n\
               1000 cpu-clock:pppH: \n\
            \t       71cb tare_planted_lock (/usr/bin/tare)\n\
            \t       620e serve (/usr/bin/tare)\n";
        let chains = read(Cursor::new(script).take(ALL)).unwrap();
        assert_eq!((chains.event.as_str(), chains.samples), ("cpu-clock:pppH", 3));
        let expected = [("serve;tare_planted_lock", 2000), ("serve;tare_planted_lock;futex_wait_[k]", 5000)];
        assert_eq!(chains.weights, expected.map(|(chain, weight)| (chain.to_owned(), weight)).into());
    }

    #[test]
    fn frames_of_every_kind_have_a_name() {
        for (text, expected) in [
            ("71cb buf_page_get_low(page_id_t, unsigned long) (/usr/sbin/mariadbd)", "buf_page_get_low"),
            ("71cb ha_innobase::index_read(unsigned char*, key) const (/m)", "ha_innobase::index_read"),
            ("71cb std::function<void (int)>::operator()(int) const (/m)", "std::function<void (int)>::operator()"),
            ("71cb <std::time::Instant>::elapsed (/usr/bin/tare)", "<std::time::Instant>::elapsed"),
            ("71cb [unknown] (/usr/lib/libaio.so.1)", "[libaio.so.1]"),
            ("71cb \u{1b}[31mred;\u{202e} (/m)", "\\u{1b}[31mred:\\u{202e}"),
            ("71cb [unknown] ([unknown])", "[unknown]"),
            ("ffffffff8118c5a4 [unknown] ([unknown])", "[unknown]_[k]"),
            ("ffffffff81 queued_spin_lock_slowpath ([kernel.kallsyms])", "queued_spin_lock_slowpath_[k]"),
            ("ffffffff81 nvme_queue_rq ([nvme])", "nvme_queue_rq_[k]"),
            ("7ffe __vdso_clock_gettime ([vdso])", "__vdso_clock_gettime"),
        ] {
            assert_eq!(frame(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(frame("no address (x)"), None);
    }

    #[test]
    fn names_of_code_made_at_run_time_are_not_taken_from_another_users_file() {
        // No process has this number.
        let names = format!("{MADE_AT_RUN_TIME}{}0000000.map", std::process::id());
        let of = || frame(&format!("71cb planted ({names})")).unwrap();
        let other = format!("[{}]", names.trim_start_matches("/tmp/"));
        assert_eq!(of(), other, "it is gone by now");
        std::fs::write(&names, "").unwrap();
        let own = of();
        let foreign = std::os::unix::fs::chown(&names, Some(12_345), None).map(|()| of());
        std::fs::remove_file(&names).unwrap();
        assert_eq!(own, "planted");
        // Only root can give a file to another user.
        assert!(foreign.is_err() || foreign.is_ok_and(|foreign| foreign == other));
    }

    #[test]
    fn two_events_are_both_counted() {
        let script = "10 cpu_core/cycles/: \n\t1 a (x)\n\n 20 cpu_atom/cycles/: \n\t1 a (x)\n\n";
        let chains = read(Cursor::new(script).take(ALL)).unwrap();
        assert_eq!((chains.samples, chains.weights["a"]), (2, 30));
    }

    #[test]
    fn hostile_symbol_names_and_weights_are_limited() {
        let name = "n".repeat(1 << 20);
        let script = format!("18446744073709551615 c: \n\t1 {name} (x)\n\t2 main (x)\n\n").repeat(3);
        let chains = read(Cursor::new(script).take(ALL)).unwrap();
        let (chain, weight) = chains.weights.first_key_value().unwrap();
        assert_eq!((chains.samples, *weight, chains.weights.len()), (3, 3 * HEAVIEST, 1));
        assert!(chain.starts_with("main;nnn") && chain.len() < 20_000, "{}", chain.len());
    }

    #[test]
    fn output_of_perf_is_read_up_to_the_limit() {
        let sample = "10 c: \n\t1 a (x)\n\n";
        let chains = read(Cursor::new(sample.repeat(3)).take(2 * sample.len() as u64)).unwrap();
        assert_eq!((chains.samples, chains.weights["a"]), (2, 20));
    }

    #[test]
    fn endless_stacks_and_endless_new_chains_are_limited() {
        let script = format!("1 c: \n{}\n", "\t1 a (x)\n".repeat(DEEPEST + 5));
        let chains = read(Cursor::new(script).take(ALL)).unwrap();
        assert_eq!(chains.weights.into_keys().next().unwrap().split(';').count(), DEEPEST);
        let (mut chains, mut kept) = (Chains::default(), KEPT - 2 * WEIGHT - 1);
        for chain in ["a", "b", "a", "cd", "c", "e"] {
            chains.add(chain.to_owned(), 1, &mut kept);
        }
        let expected = [("a", 2), ("[others]", 4)].map(|(chain, weight)| (chain.to_owned(), weight));
        assert_eq!(chains.weights, expected.into());
    }

    proptest! {
        #[test]
        fn no_output_of_perf_makes_it_panic(text in "[a-f0-9 \t\n:;()+\\[\\]#_k-]{0,400}") {
            let _ = read(Cursor::new(text).take(ALL));
        }
    }

    /// Statements of 200 kinds wait for pages, each for 0.08% of the time; one chain is long enough to be listed.
    #[test]
    fn a_wait_with_many_callers_is_added_up_by_its_innermost_functions() {
        let mut weights = Weights::default();
        let inner = ["f1", "f2", "f3", "f4", "buf_page_get_gen", "[mariadbd]", "[mariadbd]", "rw_lock_wait", "futex"];
        for kind in 0..200 {
            weights.add(&[&[format!("statement_{kind}").as_str()][..], &inner].concat(), 0.08);
        }
        weights.add(&["main", "commit"], 4.0);
        let found = weights.shares(0.2, 20.0);
        let found: Vec<(&str, f64)> =
            found.iter().map(|one| (one.chain.as_str(), (1e6 * one.fraction).round() / 1e6)).collect();
        let pages = "f1;f2;f3;f4;buf_page_get_gen;[mariadbd];rw_lock_wait;futex";
        assert_eq!(found, [(pages, 0.16), ("main;commit", 0.04)]);
    }
}
