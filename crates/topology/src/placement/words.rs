//! The values of a placement's fields: how threads share a location, pairings, and where a side runs.

use crate::text::serde_as_string;
use crate::{Location, LocationError, UnknownWord};
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString, VariantArray, VariantNames};

/// How the threads of a side share its location.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Bind {
    /// Every thread may run on the whole location, as under `numactl --physcpubind` (`set`).
    #[default]
    Set,
    /// Each thread is bound to one PU (`thread`).
    Thread,
}

/// Where a server thread runs relative to the client thread that it serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Display, EnumString, VariantArray, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Pairing {
    /// Client and server threads are placed independently (`none`).
    #[default]
    None,
    /// The same PU (`same-pu`).
    SamePu,
    /// The other hardware thread of the same core (`smt-sibling`).
    SmtSibling,
    /// Any PU of the same core, if possible not the client's (`same-core`).
    SameCore,
    /// Another core under the same last-level cache (`same-cache`).
    SameCache,
    /// A core of the same NUMA node under another last-level cache (`other-cache`): another CCX, cluster or slice.
    OtherCache,
    /// Another core of the same NUMA node, if possible under another last-level cache (`same-node`).
    SameNode,
    /// A PU of another NUMA node (`other-node`).
    OtherNode,
}

/// Which PUs of each node or cache the clients use, if both sides share nodes or caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum ClientPus {
    /// The PUs with the lowest logical indexes (`first`).
    First,
    /// The PUs with the highest logical indexes (`last`).
    #[default]
    Last,
}

impl ClientPus {
    /// Whether it is the default.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Where one side of a placement runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// Wherever the OS puts it (`float`).
    #[default]
    Float,
    /// Only on the CPUs of a location.
    At(Location),
}

impl Pairing {
    /// Every pairing except `none`, nearest first.
    pub const PAIRED: [Self; 7] = [
        Self::SamePu,
        Self::SmtSibling,
        Self::SameCore,
        Self::SameCache,
        Self::OtherCache,
        Self::SameNode,
        Self::OtherNode,
    ];
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float => f.write_str("float"),
            Self::At(location) => location.fmt(f),
        }
    }
}

impl FromStr for Side {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        if text.trim() == "float" { Ok(Self::Float) } else { text.parse().map(Self::At) }
    }
}

serde_as_string!(Bind);
serde_as_string!(ClientPus);
serde_as_string!(Pairing);
serde_as_string!(Side);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placement_words_read_back() {
        for (word, bind) in [("set", Bind::Set), ("thread", Bind::Thread)] {
            assert_eq!((word.parse(), bind.to_string().as_str()), (Ok(bind), word));
        }
        let words =
            ["none", "same-pu", "smt-sibling", "same-core", "same-cache", "other-cache", "same-node", "other-node"];
        for (word, pairing) in words.into_iter().zip(<Pairing as VariantArray>::VARIANTS) {
            assert_eq!((word.parse(), pairing.to_string().as_str()), (Ok(*pairing), word));
            assert_eq!(serde_json::to_string(&pairing).unwrap(), format!("{word:?}"));
        }
        for text in ["float", "node:0.core:1"] {
            assert_eq!(text.parse::<Side>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_misspelt_word_names_the_nearest() {
        let e = "same-cpu".parse::<Pairing>().unwrap_err();
        assert_eq!(e.nearest, Some("same-pu"));
        assert!(e.to_string().contains("smt-sibling"), "{e}");
        assert_eq!("flaot".parse::<Side>().unwrap_err().nearest, Some("float"));
    }
}
