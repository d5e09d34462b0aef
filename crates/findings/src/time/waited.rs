//! Waits inside the server, from the server's counts or from observation in the capture sample. Measured samples are
//! assumed to have the same shares.
//!
//! Finds waits that servers do not count, and that have no names without symbols, from the call chains that connections
//! sleep in: waits for the flush of another commit, and for locks of InnoDB's pages.

use super::part::{Missing, Part};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::captures::{Captures, LocksFile, WaitKind};
use tare_results::waits::{CallerShare, FutexOperation, PLACES, ThreadsTime, TimePart, TimeUse};

/// Prefixes of functions that wait for the log, and for the other commits of a group.
const LOG: [&str; 7] = [
    "group_commit_lock::",
    "log_write_up_to",
    "log_wait_for_",
    "MYSQL_BIN_LOG::",
    "Commit_stage_manager::",
    "wait_for_commit::",
    "XLogFlush",
];
/// Prefixes of commit functions that have names even in programs without symbols. MariaDB continues after a commit and
/// waits for the flush where it sends the answer.
const COMMITS: [&str; 4] = ["ha_commit_", "trans_commit", "innobase_commit", "net_real_write"];
/// Prefixes of functions that sleep on a futex, mostly of the C library; unnamed C library functions below them are
/// skipped.
const FUTEX: [&str; 8] =
    ["syscall", "futex", "__futex_", "pthread_cond_", "___pthread_cond_", "sem_", "__new_sem_", "PGSemaphore"];
const C_LIBRARY: &str = "[libc";

/// Prefixes of functions that fetch a page of the buffer pool, and of functions inside them that wait for a lock. A
/// wait for a page that is still being read has only the former.
const PAGES: [&str; 4] = ["buf_page_get", "buf_page_optimistic_get", "Buf_fetch", "mtr_t::page_lock"];
const LOCKS: [&str; 5] = ["rw_lock_", "sync_array_wait_event", "ssux_lock", "sux_lock", "block_lock"];

/// Locks of MariaDB and MySQL that the captured instruments do not include, each with its name and prefixes of the
/// functions that wait for it. A lock of the user is a metadata lock too, and is therefore the first.
const OF_THE_SERVER: [(&str, &[&str]); 3] = [
    ("sql/user_lock", &["Item_func_get_lock::"]),
    (METADATA_LOCKS, &["MDL_context::acquire_lock", "MDL_wait::timed_wait"]),
    (TABLE_LOCKS, &["thr_lock", "thr_multi_lock"]),
];

/// Prefixes of functions that take a lock of the C or of the Rust library.
const MUTEXES: [&str; 8] = [
    "std::sys::sync::mutex::",
    "std::sys::sync::rwlock::",
    "parking_lot::raw_",
    "pthread_mutex_",
    "___pthread_mutex_",
    "pthread_rwlock_",
    "__pthread_rwlock_",
    "___pthread_rwlock_",
];

/// Shares of the threads' time for which they slept until they got one of the server's other locks, by its name.
fn for_the_servers_locks(callers: &[CallerShare]) -> BTreeMap<&'static str, f64> {
    let mut shares = BTreeMap::new();
    for one in callers {
        let is_below = |names: &[&str]| one.chain.split(';').any(|function| begins(function, names));
        if let Some((name, _)) = OF_THE_SERVER.into_iter().find(|&(_, names)| is_below(names)) {
            *shares.entry(name).or_default() += one.fraction;
        }
    }
    shares
}

/// Whether a lock is recognised by who called, and not by the server.
pub(super) fn is_by_caller(lock: &str) -> bool {
    lock == PAGE_LOCKS || OF_THE_SERVER.into_iter().any(|(name, _)| lock == name)
}

/// Whether the waits below a function have a part of their own.
fn has_a_part(function: &str) -> bool {
    let of_the_server = OF_THE_SERVER.into_iter().any(|(_, names)| begins(function, names));
    let of_others = [&LOG[..], &COMMITS, &PAGES, &ASKED].into_iter().any(|names| begins(function, names));
    of_the_server || of_others
}

/// Prefixes of functions that sleep because a statement asks for it.
const ASKED: [&str; 2] = ["Item_func_sleep::", "pg_sleep"];

fn is_asked_for(chain: &str) -> bool {
    chain.split(';').any(|function| begins(function, &ASKED))
}

/// Whether threads sleep below this function because they wait for a mutex or a read-write lock of a library.
fn takes_a_lock(callers: &[CallerShare], function: &str) -> bool {
    callers.iter().any(|one| {
        let mut functions = one.chain.split(';').skip_while(|name| *name != function);
        functions.any(|name| begins(name, &MUTEXES))
    })
}

/// Share of the threads' time that they slept in call chains like this.
fn share_of_chains(callers: &[CallerShare], is_meant: fn(&str) -> bool) -> f64 {
    callers.iter().filter(|one| is_meant(&one.chain)).map(|one| one.fraction).sum()
}

fn begins(function: &str, with: &[&str]) -> bool {
    with.iter().any(|beginning| function.starts_with(beginning))
}

/// Whether a commit sleeps until another commit has flushed the log.
fn waits_for_another(chain: &str) -> bool {
    let mut nearest = chain.rsplit(';').skip_while(|function| function.starts_with(C_LIBRARY));
    // A thread that writes and flushes the log itself does not sleep on a futex.
    if !nearest.next().is_some_and(|function| begins(function, &FUTEX)) {
        return false;
    }
    let mut callers = nearest.skip_while(|function| begins(function, &FUTEX));
    // Other locks within a commit have their own names, or the names of their callers.
    let named = callers.clone().find(|function| !function.starts_with('['));
    named.is_some_and(|name| begins(name, &COMMITS)) || callers.any(|function| begins(function, &LOG))
}

/// Whether a thread sleeps until it gets the lock of a page.
fn waits_for_a_page(chain: &str) -> bool {
    let mut functions = chain.split(';');
    functions.any(|function| begins(function, &PAGES)) && functions.any(|function| begins(function, &LOCKS))
}

/// InnoDB's count of the time of waits for row locks, milliseconds.
const ROW_LOCK_TIME: &str = "Innodb_row_lock_time";
const ROW_LOCK_WAITS: &str = "Innodb_row_lock_waits";
/// Servers with this name in their version, from this version on, truncate each wait to whole milliseconds; others add
/// up exact times.
const CUTS_TO_MS: (&str, [u32; 2]) = ("MariaDB", [10, 6]);
/// Name of the locks of InnoDB's pages if the server has none for them.
pub(crate) const PAGE_LOCKS: &str = "innodb/buffer_pool_page";
/// Names of the locks of tables: of MyISAM's data, and of any table's definition.
pub(crate) const TABLE_LOCKS: &str = "sql/table_lock";
pub(crate) const METADATA_LOCKS: &str = "sql/metadata_lock";
/// The end of the name of a lock that is known only by the function that takes it.
pub const BY_CALLER: &str = " (caller)";
/// Sleeps inside the server that may be waits for a lock.
const UNNAMED: [TimeUse; 6] =
    [TimeUse::SharedFutex, TimeUse::OwnFutex, TimeUse::WakeUp, TimeUse::Semaphore, TimeUse::FileLock, TimeUse::Other];
const FILES: [TimeUse; 4] = [TimeUse::Read, TimeUse::Write, TimeUse::SubmittedIo, TimeUse::PageFault];

/// Adds the waits to the parts of a transaction that takes `us`.
pub(super) fn add(
    parts: &mut BTreeMap<Part, f64>,
    missing: &mut BTreeSet<Missing>,
    captures: Option<&Captures>,
    version: Option<&str>,
    clients: f64,
    us: f64,
) {
    let locks = captures.and_then(|captures| captures.locks.as_ref());
    let mut by_part = locks.map(by_part).unwrap_or_default();
    let seen = captures.and_then(|captures| captures.waits.as_ref()).map(|waits| &waits.connections);
    let seen = seen.filter(|seen| !seen.parts.is_empty());
    if locks.is_none() {
        missing.insert(Missing::Locks);
    }
    let named = by_part.iter().filter(|(part, share)| matches!(part, Part::Lock(_)) && **share > 0.0);
    parts.extend(named.clone().map(|(part, share)| (part.clone(), us * share)));
    let in_locks: f64 = named.map(|(_, share)| share).sum();
    let callers = captures.and_then(Captures::callers).map(|(_, callers)| callers).unwrap_or_default();
    let mut unnamed = (seen.map_or(1.0, |seen| share(seen, &UNNAMED)) - in_locks).max(0.0);
    if !locks.is_some_and(reports_pages) {
        let of_pages = taken(&mut unnamed, share_of_chains(callers, waits_for_a_page));
        parts.extend((of_pages > 0.0).then(|| (Part::Lock(PAGE_LOCKS.to_owned()), us * of_pages)));
    }
    for (name, slept) in for_the_servers_locks(callers) {
        let slept = taken(&mut unnamed, slept);
        parts.extend((slept > 0.0).then(|| (Part::Lock(name.to_owned()), us * slept)));
    }
    // A server counts a wait until its thread has a CPU again, so its count may include waits for a CPU, but never more
    // than the threads slept and waited for a CPU: wait events are samples, and InnoDB counts a wait when it ends,
    // including the part before the sample. Sleeps that have another name are none of these.
    let [flushed, mut waited_for_cpu] =
        [TimeUse::Flush, TimeUse::WaitedForCpu].map(|time| seen.map_or(0.0, |seen| share(seen, &[time])));
    let asked_for = by_part.get(&Part::StatementSleep).copied().unwrap_or(0.0) - waited_for_cpu;
    let asked_for = taken(&mut unnamed, asked_for.max(share_of_chains(callers, is_asked_for)));
    by_part.insert(Part::StatementSleep, asked_for);
    // Includes the thread's own flushes.
    let log = by_part.get(&Part::Flush).copied().unwrap_or(0.0).min(flushed + unnamed + waited_for_cpu);
    let for_others = taken(&mut unnamed, (log - flushed).max(share_of_chains(callers, waits_for_another)));
    let log = log.max(flushed + for_others);
    waited_for_cpu = (waited_for_cpu - (log - flushed - for_others)).max(0.0);
    by_part.insert(Part::Flush, log);
    let counted = captures.and_then(|captures| innodb_rows(captures, version, clients));
    match counted.or_else(|| by_part.get(&Part::RowLock).copied()) {
        Some(rows) => {
            let rows = rows.min(unnamed + waited_for_cpu);
            parts.insert(Part::RowLock, us * rows);
            unnamed = (unnamed - rows).max(0.0);
        }
        // SQLite has no locks of rows: statements wait for the lock of the database.
        None if locks.is_some_and(|locks| locks.waits.iter().any(|wait| wait.kind == WaitKind::Retried)) => {}
        None => drop(missing.insert(Missing::RowLocks)),
    }
    match seen {
        Some(seen) => {
            // After every wait that the server or the callers name, of which each may be such a sleep.
            let futexes = named_futexes(seen, callers);
            let all: f64 = futexes.values().sum();
            let of_futexes = taken(&mut unnamed, all - in_locks);
            parts.extend(futexes.into_iter().map(|(name, one)| (Part::Futex(name), us * of_futexes * one / all)));
            add_files_and_pauses(&mut by_part, seen, &mut unnamed, waited_for_cpu);
            by_part.insert(Part::Asleep, unnamed);
        }
        None => drop(missing.insert(Missing::Sleeps)),
    }
    let others = by_part.into_iter().filter(|(part, share)| OTHERS.contains(part) && *share > 0.0);
    parts.extend(others.map(|(part, share)| (part, us * share)));
}

/// The parts that are neither a lock nor of rows.
const OTHERS: [Part; 6] =
    [Part::Flush, Part::Io, Part::TemporaryFiles, Part::Pause, Part::StatementSleep, Part::Asleep];

/// Prefixes of the names of temporary files: of PostgreSQL, of MariaDB and MySQL, and InnoDB's tablespace for them.
const TEMPORARY: [&str; 3] = ["pgsql_tmp", "#sql", "ibtmp"];

/// Adds what threads were seen in to what the server counts of it, which may include a wait for a CPU.
fn add_files_and_pauses(by_part: &mut BTreeMap<Part, f64>, seen: &ThreadsTime, unnamed: &mut f64, waited_for_cpu: f64) {
    let counted = |by_part: &BTreeMap<Part, f64>, part: &Part| by_part.get(part).copied().unwrap_or(0.0);
    let (files, temporary) = of_files(seen, counted(by_part, &Part::TemporaryFiles));
    let pauses = share(seen, &[TimeUse::Pause]);
    for (part, own) in [(Part::Io, files), (Part::TemporaryFiles, temporary), (Part::Pause, pauses)] {
        // PostgreSQL waits for its pauses, and for reads by workers, as it waits for another process.
        let more = counted(by_part, &part) - own - waited_for_cpu;
        by_part.insert(part, own + taken(unnamed, more));
    }
}

/// Shares of the time in files of the server, and in temporary ones: those with such a name, or if there is none, as
/// much as the server counts.
fn of_files(seen: &ThreadsTime, counted: f64) -> (f64, f64) {
    let files = share(seen, &FILES);
    let has_name = |part: &&TimePart| FILES.contains(&part.time) && part.on.as_deref().is_some_and(is_temporary);
    let named: f64 = seen.parts.iter().filter(has_name).map(|part| part.fraction).sum();
    let temporary = if named > 0.0 { named } else { counted.min(files) };
    (files - temporary, temporary)
}

fn is_temporary(file: &str) -> bool {
    // The kernel shows a file that was made without a name by a number.
    let number = file.strip_prefix('#').filter(|rest| !rest.is_empty());
    begins(file, &TEMPORARY) || number.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Shares of the sleeps on futexes that several threads share and that have a name, by this name: the symbol that
/// contains the futex, or the function that called the wait, of a lock in allocated memory.
fn named_futexes(seen: &ThreadsTime, callers: &[CallerShare]) -> BTreeMap<String, f64> {
    let mut futexes = BTreeMap::new();
    for part in seen.parts.iter().filter(|part| part.time == TimeUse::SharedFutex && part.fraction > 0.0) {
        let caller = part.caller.as_deref().filter(|caller| !caller.starts_with('['));
        if caller.is_some_and(has_a_part) {
            continue;
        }
        let symbol = part.on.as_deref().filter(|on| !on.starts_with('[') && !PLACES.contains(on));
        // A condition variable in allocated memory may be anything; a mutex is a lock.
        let is_mutex = |caller: &&str| part.operation == Some(FutexOperation::Wait) || takes_a_lock(callers, caller);
        let caller = caller.filter(is_mutex);
        let name = symbol.map(str::to_owned).or_else(|| caller.map(|caller| format!("{caller}{BY_CALLER}")));
        if let Some(name) = name {
            *futexes.entry(name).or_default() += part.fraction;
        }
    }
    futexes
}

/// Gives a name to `slept` of the unnamed sleeps, at most to as many as there are.
fn taken(unnamed: &mut f64, slept: f64) -> f64 {
    // In results of others both may be infinite; their difference is no number, and no limit for the next part.
    let taken = slept.min(*unnamed).max(0.0);
    *unnamed = (*unnamed - taken).max(0.0);
    taken
}

/// Share of their time for which connection threads slept until their client sent a request; none without the capture.
pub(super) fn asleep_for_clients(captures: Option<&Captures>) -> Option<f64> {
    let seen = &captures?.waits.as_ref()?.connections.parts;
    let for_clients = seen.iter().filter(|part| part.time == TimeUse::Client);
    (!seen.is_empty()).then(|| for_clients.map(|part| part.fraction).sum())
}

/// Share of the connections' time in waits for locks that clients retry.
pub(super) fn retried(captures: Option<&Captures>) -> f64 {
    let locks = captures.and_then(|captures| captures.locks.as_ref());
    let waits = locks.into_iter().flat_map(|locks| &locks.waits);
    waits.filter(|wait| wait.kind == WaitKind::Retried).map(|wait| wait.wait_fraction).sum()
}

/// InnoDB's own count, as a share of the connections' time; none for a server without InnoDB.
fn innodb_rows(captures: &Captures, version: Option<&str>, clients: f64) -> Option<f64> {
    let status = captures.status.as_ref()?;
    // The differences leave out counters that did not change.
    let counts_rows = status.differences.keys().any(|name| name.starts_with("Innodb_"));
    let of = |name: &str| status.differences.get(name).copied().unwrap_or(0.0);
    let waited_ms = if version.is_some_and(cuts_to_ms) {
        uncut_ms(of(ROW_LOCK_TIME), of(ROW_LOCK_WAITS))
    } else {
        of(ROW_LOCK_TIME)
    };
    (counts_rows && status.elapsed_s > 0.0).then(|| waited_ms / 1000.0 / (clients * status.elapsed_s))
}

fn cuts_to_ms(version: &str) -> bool {
    let (product, since) = CUTS_TO_MS;
    let numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u32>().ok());
    version.contains(product) && numbers.take(since.len()).ge(since)
}

/// Total time of `waits` waits, each of which was truncated to whole milliseconds: if waits are exponentially
/// distributed, their mean is 1 / ln(1 + 1 / the counted mean).
fn uncut_ms(counted_ms: f64, waits: f64) -> f64 {
    if counted_ms > 0.0 && waits > 0.0 { waits / (waits / counted_ms).ln_1p() } else { counted_ms }
}

/// The server's counts, as shares of its connections' time.
fn by_part(locks: &LocksFile) -> BTreeMap<Part, f64> {
    let mut shares = BTreeMap::new();
    for wait in &locks.waits {
        let part = match wait.kind {
            WaitKind::Lock | WaitKind::Retried | WaitKind::Page | WaitKind::Index => Part::Lock(wait.name.clone()),
            WaitKind::Row => Part::RowLock,
            WaitKind::Log => Part::Flush,
            WaitKind::File => Part::Io,
            WaitKind::TemporaryFile => Part::TemporaryFiles,
            WaitKind::Pause => Part::Pause,
            WaitKind::Sleep => Part::StatementSleep,
            WaitKind::Process => Part::Asleep,
        };
        *shares.entry(part).or_default() += wait.wait_fraction;
    }
    shares
}

/// Whether a server counts waits for its pages itself.
fn reports_pages(locks: &LocksFile) -> bool {
    locks.waits.iter().any(|wait| wait.kind == WaitKind::Page && wait.wait_fraction > 0.0)
}

/// Share of the threads' time for which they were observed in one of these.
fn share(seen: &ThreadsTime, uses: &[TimeUse]) -> f64 {
    seen.parts.iter().filter(|part| uses.contains(&part.time)).map(|part| part.fraction).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinite_sleeps_leave_a_limit_for_the_next_part() {
        let mut unnamed = f64::INFINITY;
        assert_eq!(taken(&mut unnamed, f64::INFINITY), f64::INFINITY);
        assert_eq!((taken(&mut unnamed, 1.0), unnamed), (0.0, 0.0));
    }
}
