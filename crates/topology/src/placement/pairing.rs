//! Pairings: which of them a machine has, and whether two PUs satisfy one.

use serde::{Deserialize, Serialize};

use super::words::Pairing;
use crate::{Machine, NotRealizable, Pu};

/// Whether a pairing exists on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairingChoice {
    /// The pairing this is about.
    pub pairing: Pairing,
    /// Why no two threads can be placed so. None when they can.
    pub missing: Option<NotRealizable>,
    /// A nearer pairing that gives the same CPUs here: same-core where cores have second hardware threads is
    /// smt-sibling, and same-node where a node has one last-level cache is same-cache. None when it stands for itself.
    pub same_as: Option<Pairing>,
}

impl Machine {
    /// Every pairing but `none`, nearest first, and whether it exists here.
    pub fn pairings(&self) -> Vec<PairingChoice> {
        Pairing::PAIRED.into_iter().map(|pairing| self.choice(pairing)).collect()
    }

    fn choice(&self, pairing: Pairing) -> PairingChoice {
        let missing =
            (!self.any_pair(|a, b| pairing.rank(self, a, b).is_some())).then(|| NotRealizable::new(pairing.missing()));
        let preferred = self.any_pair(|a, b| pairing.rank(self, a, b) == Some(0));
        let same_as = match pairing {
            Pairing::SameCore if preferred => Some(Pairing::SmtSibling),
            Pairing::SameCore => Some(Pairing::SamePu),
            Pairing::SameNode if !preferred && missing.is_none() => Some(Pairing::SameCache),
            _ => None,
        };
        PairingChoice { pairing, missing, same_as }
    }

    fn any_pair(&self, holds: impl Fn(usize, usize) -> bool) -> bool {
        let pus = 0..self.pus.len();
        pus.clone().any(|a| pus.clone().any(|b| holds(a, b)))
    }
}

impl Pairing {
    /// Whether a client on PU `client` and a server on PU `server` (logical indexes) are so paired: None when not,
    /// 0 when they are in the pairing's first form, 1 when only in its fallback form.
    pub(crate) fn rank(self, machine: &Machine, client: usize, server: usize) -> Option<u8> {
        let (c, s): (&Pu, &Pu) = (machine.pus.get(client)?, machine.pus.get(server)?);
        let same_pu = client == server;
        // Without core objects every PU counts as a core of its own.
        let same_core = same_pu || (c.core.is_some() && c.core == s.core);
        let same_cache = c.last_level_cache.is_some() && c.last_level_cache == s.last_level_cache;
        let same_node = c.node.is_some() && c.node == s.node;
        let other_node = c.node.is_some() && s.node.is_some() && c.node != s.node;
        match self {
            Self::None => Some(0),
            Self::SamePu => same_pu.then_some(0),
            Self::SmtSibling => (same_core && !same_pu).then_some(0),
            Self::SameCore => same_core.then_some(u8::from(same_pu)),
            Self::SameCache => (same_cache && !same_core).then_some(0),
            Self::SameNode => (same_node && !same_core).then_some(u8::from(same_cache)),
            Self::OtherNode => other_node.then_some(0),
        }
    }

    /// Why a whole machine, or what is left of it in two locations, has no such pair.
    pub(super) fn missing(self) -> &'static str {
        match self {
            Self::None => "no PU here",
            Self::SamePu => "no PU here is in both locations",
            Self::SmtSibling => "no core here has a second hardware thread",
            Self::SameCore => "no core here is in both locations",
            Self::SameCache => "no two cores here share their last-level cache",
            Self::SameNode => "no NUMA node here has a second core",
            Self::OtherNode => "there is no second NUMA node with CPUs here",
        }
    }
}
