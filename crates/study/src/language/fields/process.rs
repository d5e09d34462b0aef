//! Properties of the server process.

use super::super::key::{Access, Field};
use super::super::level::AS_FOUND;

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: "process",
        key: "aslr",
        help: "address space of the server: on (randomised), off (one fixed layout), layout:N (one of many fixed \
               layouts, N from 1 to 32767) or as-found",
        access: Access::Common {
            get: |s| Some(s.process.aslr.map_or(AS_FOUND.into(), |aslr| aslr.to_string().into())),
            set: |s, v| s.process.set_aslr(v),
        },
    },
    Field {
        section: "process",
        key: "allocator",
        help: "memory allocator of the server: system (its own), jemalloc, tcmalloc, the path of a library to preload, \
               or as-found",
        access: Access::Common {
            get: |s| Some(s.process.allocator.as_ref().map_or(AS_FOUND.into(), |a| a.to_string().into())),
            set: |s, v| s.process.set_allocator(v),
        },
    },
    Field {
        section: "process",
        key: "environment_bytes",
        help: "bytes that a padding variable adds to the server's environment, which moves its stack; 0: none",
        access: Access::Common {
            get: |s| Some(s.process.environment_bytes.into()),
            set: |s, v| s.process.set_environment_bytes(v),
        },
    },
];
