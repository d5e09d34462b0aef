//! Pairings: which of them exist on a machine, and whether two PUs satisfy one.

use super::words::Pairing;
use crate::{Machine, NotRealizable, Pu};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a pairing exists on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairingChoice {
    /// The pairing that is described.
    pub pairing: Pairing,
    /// Why no two threads can be placed like this. `None` if they can.
    pub missing: Option<NotRealizable>,
    /// A more specific pairing that selects the same CPUs on this machine: same-core is smt-sibling if cores have a
    /// second hardware thread, else same-pu; same-node is other-cache if a node has several last-level caches, and
    /// same-cache if it has one. `None` if there is none.
    pub same_as: Option<Pairing>,
}

impl Machine {
    /// Every pairing except `none`, nearest first, and whether it exists on this machine.
    pub fn pairings(&self) -> Vec<PairingChoice> {
        Pairing::PAIRED.into_iter().map(|pairing| self.choice(pairing)).collect()
    }

    pub(super) fn choice(&self, pairing: Pairing) -> PairingChoice {
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

    /// The outermost cache of a PU, if several cores can share caches of this kind. A level 2 cache of a single core
    /// does not count, because no other core can be near to it.
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

    /// A subset of PUs with every pairing that any two PUs have: cores with the same number of PUs, the same cache and
    /// the same node are equivalent, and two PUs of each of two such cores suffice. The subset is small even on
    /// machines with thousands of PUs.
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
    /// Whether a client on PU `client` and a server on PU `server` (logical indexes) satisfy this pairing: `None` if
    /// not, 0 in its preferred form, 1 in its fallback form only.
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

    /// Why a machine, or the PUs of two locations, have no such pair.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pus_stand_for_those_of_a_large_machine() {
        let machine = Machine::synthetic("node:4 core:16 pu:4").unwrap();
        assert_eq!(machine.representatives().len(), 4 * 2 * 2);
    }

    #[test]
    fn pus_of_unknown_core_or_node_are_paired_as_far_as_is_known() {
        let mut machine = Machine::synthetic("node:1 l2:2 core:2 pu:1").unwrap();
        machine.cores.clear();
        machine.pus.iter_mut().for_each(|pu| pu.core = None);
        let has = |machine: &Machine, pairing: Pairing| {
            machine.pairings().iter().any(|choice| choice.pairing == pairing && choice.missing.is_none())
        };
        assert!(has(&machine, Pairing::OtherCache), "each cache has two PUs, which are two cores");
        let mut machine = Machine::synthetic("node:2 core:1 pu:1").unwrap();
        assert!(has(&machine, Pairing::OtherNode));
        machine.pus[0].node = None;
        assert!(!has(&machine, Pairing::OtherNode), "one of the two nodes is not known");
    }
}
