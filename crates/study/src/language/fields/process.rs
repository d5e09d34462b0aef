//! Properties of the server process.

use super::super::level::AS_FOUND;
use super::super::process::NO_LIMIT;
use super::super::settings::Settings;
use tare_text::Key;

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::words(
        "aslr",
        "address space of the server: on (randomised), off (one fixed layout), layout:N (one of many fixed layouts, N \
         from 1 to 32767) or as-found",
        |s| Some(s.process.aslr.map_or(AS_FOUND.into(), |aslr| aslr.to_string().into())),
        |s, v| s.process.set_aslr(v),
    ),
    Key::words(
        "allocator",
        "memory allocator of the server: system (its own), jemalloc, tcmalloc, the path of a library to preload, or \
         as-found",
        |s| Some(s.process.allocator.as_ref().map_or(AS_FOUND.into(), |a| a.to_string().into())),
        |s, v| s.process.set_allocator(v),
    ),
    Key::words(
        "environment_bytes",
        "bytes that a padding variable adds to the server's environment, which moves its stack; 0: none",
        |s| Some(s.process.environment_bytes.into()),
        |s, v| s.process.set_environment_bytes(v),
    ),
    Key::words(
        "memory_limit_bytes",
        "memory that the server and all that it starts may take, page cache included, as 512M or in bytes: the limit of \
         its control group (root, as a rule), without swap; its data leave the page cache before it starts, so that \
         more data than that are read from storage on any machine; none: no limit",
        |s| Some(s.process.memory_limit_bytes.map_or(NO_LIMIT.into(), Into::into)),
        |s, v| s.process.set_memory_limit(v),
    ),
];
