//! Sentences: the one place where findings become words. Nothing is decided from what is made here.

pub mod answer;
mod sentence;
pub(crate) mod verdict;
