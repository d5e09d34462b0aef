//! In place of the planted lock, in every program that is not built for tests: nothing.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use super::pragmas::Refused;

/// Stands where tests have a lock, and does nothing.
#[derive(Debug, Default)]
pub(super) struct Planted;

/// There is no option that plants one.
pub(super) fn is_option(_name: &str) -> bool {
    false
}

impl Planted {
    pub(super) fn take(_: &mut BTreeMap<String, String>) -> Result<Self, Refused> {
        Ok(Self)
    }

    #[inline]
    pub(super) fn statement(&self) {}

    pub(super) fn session(&self) -> Session<'_> {
        Session(PhantomData)
    }

    pub(super) fn asked(&self, _: &str) -> Option<u64> {
        None
    }

    pub(super) fn waits(&self) -> Option<(&'static str, u64, u64)> {
        None
    }
}

/// Nothing that a connection would have to give back.
#[derive(Debug)]
pub(super) struct Session<'w>(PhantomData<&'w Planted>);
