//! Parses locations; errors have the position of the mistake.

use super::model::{Index, Location, ObjectKind, Step, Term};
use std::str::FromStr;
use strum::VariantNames;
use tare_cpuset::{CpuSet, IndexSetError, parse_index};
use tare_text::{did_you_mean, nearest};

/// Limit on the objects that lie in one another: one of each kind. Resolving takes time with the square of it.
const MOST_STEPS: usize = ObjectKind::VARIANTS.len();
/// Limit on the terms that `+` joins.
const MOST_TERMS: usize = 1000;

/// Why a text is not a location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?} at byte {offset}{}", did_you_mean(*nearest))]
pub struct LocationError {
    /// Position of the error, in bytes from the start of the text.
    pub offset: usize,
    /// What was expected there, as text for the user.
    pub expected: String,
    /// What was found in its place.
    pub found: String,
    /// The most similar known word, if one is similar enough.
    pub nearest: Option<&'static str>,
}

/// A piece of the text and where it starts.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Piece<'a> {
    /// Without leading and trailing blanks.
    fn trimmed(self) -> Self {
        let text = self.text.trim_start();
        Self { offset: self.offset + self.text.len() - text.len(), text: text.trim_end() }
    }

    fn split(self, separator: char) -> impl Iterator<Item = Self> {
        let mut offset = self.offset;
        self.text.split(separator).map(move |text| {
            let piece = Self { text, offset };
            offset += text.len() + separator.len_utf8();
            piece
        })
    }

    fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (head, tail) = self.text.split_once(separator)?;
        let offset = self.offset + head.len() + separator.len_utf8();
        Some((Self { text: head, offset: self.offset }, Self { text: tail, offset }))
    }

    fn error(self, expected: &str) -> LocationError {
        LocationError { offset: self.offset, expected: expected.to_owned(), found: self.text.to_owned(), nearest: None }
    }
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let pieces = Piece { text, offset: 0 }.split('+').map(Piece::trimmed);
        Ok(Self { terms: each(pieces, MOST_TERMS, "terms", term)? })
    }
}

fn term(piece: Piece<'_>) -> Result<Term, LocationError> {
    if piece.text == "all" {
        return Ok(Term::All);
    }
    match piece.split_once(':') {
        Some((word, list)) if word.text == "cpus" => cpus(list).map(Term::Cpus),
        _ => each(piece.split('.'), MOST_STEPS, "objects in one another", step).map(Term::Objects),
    }
}

/// What each piece is, if there are no more than `most`.
fn each<'a, T>(
    pieces: impl Iterator<Item = Piece<'a>>,
    most: usize,
    what: &str,
    parse: fn(Piece<'a>) -> Result<T, LocationError>,
) -> Result<Vec<T>, LocationError> {
    let one = |(number, piece): (usize, Piece<'a>)| match number < most {
        true => parse(piece),
        false => Err(piece.error(&format!("at most {most} {what}"))),
    };
    pieces.enumerate().map(one).collect()
}

fn cpus(list: Piece<'_>) -> Result<CpuSet, LocationError> {
    if list.text.is_empty() {
        return Err(list.error("OS CPU numbers, such as 4-11,16"));
    }
    list.text.parse().map_err(|e: IndexSetError| LocationError {
        offset: list.offset + e.offset,
        expected: e.expected.to_owned(),
        found: list.text.get(e.offset..).unwrap_or_default().to_owned(),
        nearest: None,
    })
}

fn step(piece: Piece<'_>) -> Result<Step, LocationError> {
    let Some((word, which)) = piece.split_once(':') else {
        // The kind is checked first: "nod" is reported as a misspelt kind, not as a missing index.
        return Err(match kind(piece) {
            Ok(_) => LocationError {
                offset: piece.offset + piece.text.len(),
                expected: "\":\" and an index".to_owned(),
                found: String::new(),
                nearest: None,
            },
            Err(unknown) => unknown,
        });
    };
    let kind = kind(word)?;
    let index = match (kind, which.text) {
        (ObjectKind::Node, "near") => Index::Near,
        (ObjectKind::Node, "far") => Index::Far,
        (ObjectKind::Node, "usable") => Index::Usable,
        (ObjectKind::Node, "each") => Index::Each,
        (ObjectKind::Core, "performance") => Index::Performance,
        (ObjectKind::Core, "efficiency") => Index::Efficiency,
        _ => index(which)?,
    };
    Ok(Step { kind, index })
}

fn kind(word: Piece<'_>) -> Result<ObjectKind, LocationError> {
    let others = ["socket", "numa", "cpus", "all", "float"];
    word.text.parse().map_err(|_| LocationError {
        nearest: nearest(word.text, ObjectKind::VARIANTS.iter().copied().chain(others)),
        ..word.error("package, node, die, l1 to l5, core or pu, \"cpus:\" with OS numbers, or \"all\"")
    })
}

fn index(which: Piece<'_>) -> Result<Index, LocationError> {
    match which.text {
        "all" => return Ok(Index::All),
        "odd" => return Ok(Index::Odd),
        "even" => return Ok(Index::Even),
        _ => {}
    }
    let logical = |piece: Piece<'_>| {
        parse_index(piece.text, piece.offset).map_err(|_| LocationError {
            nearest: nearest(piece.text, ["all", "odd", "even"]),
            ..piece.error("a logical index up to 65535, a range such as 0-1 or 2-, \"all\", \"odd\" or \"even\"")
        })
    };
    match which.split_once('-') {
        None => logical(which).map(|i| Index::Range(i, i)),
        Some((first, Piece { text: "", .. })) => logical(first).map(Index::From),
        Some((first, last)) => {
            let (low, high) = (logical(first)?, logical(last)?);
            if high < low {
                return Err(which.error("a range that ascends, such as 0-1"));
            }
            Ok(Index::Range(low, high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strum::VariantArray;

    fn any_location() -> impl Strategy<Value = Location> {
        let kinds = <ObjectKind as VariantArray>::VARIANTS;
        let number = 0..=tare_cpuset::MAX_INDEX;
        let index = prop_oneof![
            (number.clone(), number.clone()).prop_map(|(a, b)| Index::Range(a.min(b), a.max(b))),
            number.clone().prop_map(Index::From),
            Just(Index::All),
            Just(Index::Odd),
            Just(Index::Even),
        ];
        let step = (prop::sample::select(kinds), index).prop_map(|(kind, index)| Step { kind, index });
        let cpus = prop::collection::vec(number, 1..9).prop_map(CpuSet::from_iter);
        let term = prop_oneof![
            Just(Term::All),
            cpus.prop_map(Term::Cpus),
            prop::collection::vec(step, 1..5).prop_map(Term::Objects)
        ];
        prop::collection::vec(term, 1..4).prop_map(|terms| Location { terms })
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(location in any_location()) {
            prop_assert_eq!(location.to_string().parse::<Location>().unwrap(), location.clone());
            let json = serde_json::to_string(&location).unwrap();
            prop_assert_eq!(serde_json::from_str::<Location>(&json).unwrap(), location);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = text.parse::<Location>();
        }

        #[test]
        fn an_error_points_into_the_text(text in "(node|core|pu|cpus|all|l3|é| |:|\\.|\\+|-|,|[0-9]){0,12}") {
            if let Err(e) = text.parse::<Location>() {
                prop_assert!(text.get(e.offset..).is_some_and(|rest| rest.starts_with(&e.found)), "{e:?}");
            }
        }
    }

    #[test]
    fn aliases_case_and_blanks_are_accepted() {
        for (text, canonical) in [
            ("Socket:0 + NUMANode:1.L3Cache:0.Core:0-0", "package:0+node:1.l3:0.core:0"),
            ("numa:0-.pu:odd", "node:0-.pu:odd"),
            ("cpus:16,4-11", "cpus:4-11,16"),
            ("all", "all"),
            (
                "numa:near.core:0+node:far.core:2-+node:usable.pu:0",
                "node:near.core:0+node:far.core:2-+node:usable.pu:0",
            ),
        ] {
            assert_eq!(text.parse::<Location>().unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn an_error_has_its_place_and_the_nearest_word() {
        for (text, offset, nearest) in [
            ("", 0, None),
            ("nod:1", 0, Some("node")),
            ("node:1.coer:0", 7, Some("core")),
            ("node:0 + packge:1", 9, Some("package")),
            ("node", 4, None),
            ("node:", 5, None),
            ("node:alll", 5, Some("all")),
            ("node:1-0", 5, None),
            ("node:0-x", 7, None),
            ("cpus:", 5, None),
            ("cpus:4-11,x", 10, None),
            ("cpu:4", 0, Some("cpus")),
            ("node:0.all", 7, Some("all")),
            ("node:0..pu:0", 7, None),
            ("core:near", 5, None),
            ("node:performance", 5, None),
        ] {
            let e = text.parse::<Location>().unwrap_err();
            assert_eq!((e.offset, e.nearest), (offset, nearest), "{text:?}: {e}");
        }
    }

    #[test]
    fn a_location_of_too_many_pieces_is_refused_at_the_first_of_them() {
        for (piece, separator, most) in [("core:0", ".", 10), ("all", "+", 1000)] {
            let of = |number: usize| vec![piece; number].join(separator).parse::<Location>();
            assert!(of(most).is_ok(), "{piece}");
            let e = of(100_000).unwrap_err();
            assert_eq!((e.offset, e.found.as_str()), (most * (piece.len() + 1), piece));
            assert!(e.expected.starts_with(&format!("at most {most} ")), "{e}");
        }
    }
}
