//! Machine-wide settings: record, apply, verify and restore, with a journal.
