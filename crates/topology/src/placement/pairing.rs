//! Pairings: which of them a machine has, and whether two PUs satisfy one.

use super::words::Pairing;
use crate::{Machine, NotRealizable, Pu};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a pairing exists on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairingChoice {
    /// The pairing this is about.
    pub pairing: Pairing,
    /// Why no two threads can be placed so. None when they can.
    pub missing: Option<NotRealizable>,
    /// A nearer pairing that gives the same CPUs here: same-core where cores have second hardware threads is
    /// smt-sibling, and same-node is other-cache where a node has several last-level caches and same-cache where it has
    /// one. None when it stands for itself.
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
        let other_cache = || self.any_pair(|a, b| Pairing::OtherCache.rank(self, a, b).is_some());
        let same_as = match pairing {
            Pairing::SameCore if preferred => Some(Pairing::SmtSibling),
            Pairing::SameCore => Some(Pairing::SamePu),
            Pairing::SameNode if !preferred && missing.is_none() => Some(Pairing::SameCache),
            Pairing::SameNode if preferred && other_cache() => Some(Pairing::OtherCache),
            _ => None,
        };
        PairingChoice { pairing, missing, same_as }
    }

    /// The outermost cache of a PU, when it is of the kind that several cores can share: one core's own level 2 cache
    /// is no place to be near to or far from.
    pub(super) fn cache_several_share(&self, pu: &Pu) -> Option<usize> {
        let index = pu.last_level_cache?;
        let cache = self.caches.get(index)?;
        let of_one_core = pu
            .core
            .and_then(|core| self.cores.get(core))
            .map_or(cache.cpus.len() < 2, |core| cache.cpus.is_subset(&core.cpus));
        (cache.level > 2 || !of_one_core).then_some(index)
    }

    fn any_pair(&self, holds: impl Fn(usize, usize) -> bool) -> bool {
        let pus = self.representatives();
        pus.iter().any(|a| pus.iter().any(|b| holds(*a, *b)))
    }

    /// Enough PUs to show every pairing that any two have: cores of as many PUs under the same cache of the same node
    /// are alike, and of those two PUs of two cores will do. Machines of thousands of PUs have few.
    fn representatives(&self) -> Vec<usize> {
        let mut cores_of: BTreeMap<_, usize> = BTreeMap::new();
        let mut pus_of: BTreeMap<_, usize> = BTreeMap::new();
        let mut chosen = Vec::new();
        for (index, pu) in self.pus.iter().enumerate() {
            // A PU whose core is not known is a core of its own.
            let core = pu.core.ok_or(index);
            if !pus_of.contains_key(&core) {
                let size = pu.core.and_then(|core| self.cores.get(core)).map_or(1, |core| core.cpus.len());
                let cores = cores_of.entry((pu.node, pu.last_level_cache, size)).or_default();
                if *cores == 2 {
                    continue;
                }
                *cores += 1;
            }
            let pus = pus_of.entry(core).or_default();
            if *pus < 2 {
                *pus += 1;
                chosen.push(index);
            }
        }
        chosen
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
            Self::OtherCache => {
                let caches = machine.cache_several_share(c).zip(machine.cache_several_share(s));
                (same_node && caches.is_some_and(|(client, server)| client != server)).then_some(0)
            }
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
            Self::OtherCache => "no NUMA node here has a second last-level cache",
            Self::SameNode => "no NUMA node here has a second core",
            Self::OtherNode => "there is no second NUMA node with CPUs here",
        }
    }
}
