//! Replaces planted delays with nothing, in every program that is not built for tests.

use super::pragmas::Refused;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::marker::PhantomData;

pub(super) const CLIENT_REQUESTS: [&str; 0] = [];

#[derive(Debug, Clone, Copy)]
pub(super) struct Begun;

pub(super) fn slow_client(_us: [u64; 2]) {}

/// Has the interface of the planted delays and does nothing.
#[derive(Debug, Default)]
pub(super) struct Planted;

pub(super) fn is_option(_name: &str) -> bool {
    false
}

impl Planted {
    pub(super) fn take(_: &mut BTreeMap<String, String>) -> Result<Self, Refused> {
        Ok(Self)
    }

    #[inline]
    pub(super) fn statement(&self, _: &Connection) -> Begun {
        Begun
    }

    #[inline]
    pub(super) fn done(&self, _: &Connection, _: Begun) {}

    pub(super) fn session(&self) -> Session<'_> {
        Session(PhantomData)
    }

    pub(super) fn requested(&self, _: &str) -> Option<u64> {
        None
    }

    pub(super) fn waits(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        std::iter::empty()
    }
}

#[derive(Debug)]
pub(super) struct Session<'w>(PhantomData<&'w Planted>);
