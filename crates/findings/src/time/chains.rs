//! Finds waits that servers do not count, and that have no names without symbols, from the call chains that connections
//! sleep in: waits for the flush of another commit, and for locks of InnoDB's pages.

use tare_results::waits::CallerShare;

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

/// Share of the threads' time for which a commit slept until another commit had flushed the log.
pub(super) fn for_other_commits(callers: &[CallerShare]) -> f64 {
    share(callers, waits_for_another)
}

/// Share of the threads' time for which they slept until they got the lock of a page.
pub(super) fn for_pages(callers: &[CallerShare]) -> f64 {
    share(callers, waits_for_a_page)
}

/// Whether the waits below a function have a part of their own.
pub(super) fn has_a_part(function: &str) -> bool {
    begins(function, &LOG) || begins(function, &COMMITS) || begins(function, &PAGES)
}

/// Whether threads sleep below this function because they wait for a mutex or a read-write lock of a library.
pub(super) fn takes_a_lock(callers: &[CallerShare], function: &str) -> bool {
    callers.iter().any(|one| {
        let mut functions = one.chain.split(';').skip_while(|name| *name != function);
        functions.any(|name| begins(name, &MUTEXES))
    })
}

fn share(callers: &[CallerShare], is_meant: fn(&str) -> bool) -> f64 {
    callers.iter().filter(|one| is_meant(&one.chain)).map(|one| one.fraction).sum()
}

fn begins(function: &str, with: &[&str]) -> bool {
    with.iter().any(|beginning| function.starts_with(beginning))
}

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

fn waits_for_a_page(chain: &str) -> bool {
    let mut functions = chain.split(';');
    functions.any(|function| begins(function, &PAGES)) && functions.any(|function| begins(function, &LOCKS))
}
