//! Finds the functions that contain addresses of programs. Names are perf's, without symbol versions.

use super::super::frames::function;
use super::programs::{Place, Program};
use object::{Object, ObjectSymbol, SymbolKind};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;
use tare_engine::{ProgramFile, symbol_file};

/// Limit of a demangled name, in bytes: nested templates have unbounded names. KEPT characters are stored.
const LETTERS: usize = 4_000;
/// Longest mangled name that is demangled, and limit of its nesting: for names from untrusted programs demangling may
/// take time that grows with the square of the length, and each level of nesting takes stack space.
const LONGEST: usize = 1_000;
const DEEPEST: u32 = 64;
/// Limit of demangled names per program.
const DEMANGLED: usize = 20_000;
const KEPT: usize = 160;
/// Limit of comparisons of an address with a symbol that contains it: usually one or two per address.
const LOOKS: usize = 10_000_000;

#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Place, String>);

impl Names {
    /// Reads the symbols of the programs that contain these places.
    pub(crate) fn of(places: impl Iterator<Item = Place>, programs: &[Program]) -> Self {
        let places: BTreeSet<Place> = places.collect();
        let mut names = HashMap::new();
        for (program, Program { path, .. }) in programs.iter().enumerate() {
            let in_it = places.iter().filter(|place| place.program == program);
            let addresses: BTreeSet<u64> = in_it.map(|place| place.address).collect();
            if addresses.is_empty() {
                continue;
            }
            let found = symbols(path, &addresses);
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            // Many addresses lie in one function: its name is demangled once.
            let mut known: HashMap<&str, String> = HashMap::new();
            for address in addresses {
                let symbol = found.get(&address).map(|symbol| symbol.name.as_str());
                let name = symbol.map(|symbol| match known.len() < DEMANGLED || known.contains_key(symbol) {
                    true => known.entry(symbol).or_insert_with(|| demangled(symbol)).as_str(),
                    false => symbol,
                });
                let name = function(name, &file);
                names.insert(Place { program, address }, name.chars().take(KEPT).collect());
            }
        }
        Self(names)
    }

    pub(crate) fn get(&self, place: &Place) -> Option<&String> {
        self.0.get(place)
    }
}

struct Symbol {
    /// The symbol with the smallest rank is used: the innermost one, and of several names of one function the name
    /// that other programs use.
    rank: (Reverse<u64>, bool, bool, usize, Reverse<usize>),
    name: String,
}

fn symbols(path: &Path, addresses: &BTreeSet<u64>) -> HashMap<u64, Symbol> {
    let (mut found, mut left) = (HashMap::new(), LOOKS);
    let apart = symbol_file(path).filter(|apart| apart != path);
    for path in apart.as_deref().into_iter().chain([path]) {
        let Some(own) = ProgramFile::open(path) else { continue };
        let Ok(file) = object::File::parse(&own) else { continue };
        let all = file.symbols().chain(file.dynamic_symbols());
        all.for_each(|symbol| add(&mut found, addresses, &symbol, &mut left));
    }
    found
}

fn add<'d>(
    found: &mut HashMap<u64, Symbol>,
    addresses: &BTreeSet<u64>,
    symbol: &impl ObjectSymbol<'d>,
    left: &mut usize,
) {
    let (start, end) = (symbol.address(), symbol.address().saturating_add(symbol.size()));
    if symbol.kind() != SymbolKind::Text || start >= end {
        return;
    }
    // Reading a name is expensive, and few functions are needed.
    let mut inside = addresses.range(start..end).peekable();
    let Some(name) = inside.peek().and_then(|_| symbol.name().ok()) else { return };
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let underscores = name.len() - name.trim_start_matches('_').len();
    let rank = (Reverse(start), symbol.is_weak(), !symbol.is_global(), underscores, Reverse(name.len()));
    for address in inside {
        // In an untrusted program every symbol may cover the whole program.
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        if found.get(address).is_none_or(|before| rank < before.rank) {
            found.insert(*address, Symbol { rank, name: name.to_owned() });
        }
    }
}

/// Text with a length limit: writing more returns an error.
#[derive(Default)]
struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        if self.0.len() + more.len() > LETTERS {
            return Err(std::fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

/// Demangles a Rust or C++ name; a name that is too long is only truncated.
fn demangled(name: &str) -> String {
    if name.len() > LONGEST {
        return name.chars().take(KEPT).collect();
    }
    let mut text = Cut::default();
    let written = match rustc_demangle::try_demangle(name) {
        Ok(rust) => write!(text, "{rust:#}"),
        Err(_) => {
            let options = cpp_demangle::ParseOptions::default().recursion_limit(DEEPEST);
            let symbol = cpp_demangle::Symbol::new_with_options(name, &options).map_err(|_| std::fmt::Error);
            symbol.and_then(|cpp| write!(text, "{cpp}"))
        }
    };
    if written.is_ok() { text.0 } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn function_names_are_demangled_as_their_language_writes_them() {
        for (symbol, expected) in [
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z15row_search_mvccPh", "row_search_mvcc(unsigned char*)"),
            ("_ZNK11ha_innobase10index_readEPh", "ha_innobase::index_read(unsigned char*) const"),
            ("pthread_mutex_lock", "pthread_mutex_lock"),
            ("_Znot", "_Znot"),
        ] {
            assert_eq!(demangled(symbol), expected);
        }
        // Each pair doubles the length.
        let bomb = format!("_Z1f{}", "St4pairI".repeat(30) + "ii" + &"E".repeat(30));
        assert!(demangled(&bomb).len() <= LETTERS.max(bomb.len()));
        assert_eq!(demangled(&format!("_Z{}", "1a".repeat(LONGEST))).len(), KEPT);
        let deep = format!("_Z1f{}", "Anxst".repeat(190));
        assert_eq!(demangled(&deep), deep);
    }

    #[test]
    fn the_search_for_addresses_in_symbols_is_bounded() {
        let own = ProgramFile::open(Path::new("/proc/self/exe")).unwrap();
        let file = object::File::parse(&own).unwrap();
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let addresses: BTreeSet<u64> = functions.map(|symbol| symbol.address()).collect();
        let looked = |mut left: usize| {
            let mut found = HashMap::new();
            file.symbols().for_each(|symbol| add(&mut found, &addresses, &symbol, &mut left));
            found.len()
        };
        assert!(looked(usize::MAX) > 100);
        assert!(looked(2) <= 2);
    }

    proptest! {
        #[test]
        fn no_symbol_makes_it_panic(name in "(_Z|_R|_ZN)?[0-9A-Za-z_.@$]{0,60}") {
            let _ = demangled(&name);
        }
    }
}
