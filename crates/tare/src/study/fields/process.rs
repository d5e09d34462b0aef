//! Properties of the server process.

use super::super::field::Field;
use super::super::settings::AS_FOUND;

/// The keys of `[process]`.
pub const FIELDS: &[Field] = &[
    Field {
        section: "process",
        key: "aslr",
        only: None,
        help: "address space of the server: on (randomised), off (one fixed layout), layout:N (one of many fixed \
               layouts, N from 1 to 32767) or as-found",
        get: |s| Some(s.process.aslr.map_or(AS_FOUND.into(), |aslr| aslr.to_string())),
        set: |s, v| s.process.set_aslr(v),
    },
    Field {
        section: "process",
        key: "allocator",
        only: None,
        help: "memory allocator of the server: system (its own), jemalloc, tcmalloc, the path of a library to preload, \
               or as-found",
        get: |s| Some(s.process.allocator.as_ref().map_or(AS_FOUND.into(), ToString::to_string)),
        set: |s, v| s.process.set_allocator(v),
    },
    Field {
        section: "process",
        key: "environment_bytes",
        only: None,
        help: "bytes that a padding variable adds to the server's environment, which moves its stack; 0: none",
        get: |s| Some(s.process.environment_bytes.to_string()),
        set: |s, v| s.process.set_environment_bytes(v),
    },
];
