//! Folded call chains as a table of symbols.

use super::frames::{Chains, KERNEL};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::captures::{ProfileFile, SymbolShare};
use tare_results::schema::SCHEMA;

/// Symbols with a smaller share, of their own and with what they call, are noise.
const SMALLEST: f64 = 1.0 / 5_000.0;
/// Symbols in a table at most.
const LISTED: usize = 600;

/// The largest shares first; how the samples were taken is the caller's to add.
pub(super) fn table(chains: &Chains) -> ProfileFile {
    let mut symbols: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut weight = 0;
    for (chain, count) in &chains.weights {
        weight += count;
        let frames: Vec<&str> = chain.split(';').collect();
        // A function that calls itself is in its sample once.
        for frame in frames.iter().copied().collect::<BTreeSet<_>>() {
            symbols.entry(frame).or_default().1 += count;
        }
        if let Some(last) = frames.last() {
            symbols.entry(last).or_default().0 += count;
        }
    }
    let share = |count: u64| if weight == 0 { 0.0 } else { count as f64 / weight as f64 };
    let kernel = symbols.keys().any(|symbol| symbol.ends_with(KERNEL));
    let mut table: Vec<SymbolShare> = symbols
        .into_iter()
        .map(|(symbol, (own, total))| SymbolShare {
            symbol: symbol.to_owned(),
            self_fraction: share(own),
            total_fraction: share(total),
        })
        .filter(|row| row.total_fraction >= SMALLEST)
        .collect();
    table.sort_by(|a, b| {
        b.self_fraction
            .total_cmp(&a.self_fraction)
            .then(b.total_fraction.total_cmp(&a.total_fraction))
            .then_with(|| a.symbol.cmp(&b.symbol))
    });
    table.truncate(LISTED);
    ProfileFile {
        schema: SCHEMA,
        event: chains.event.clone(),
        frequency_hz: 0,
        call_graph: String::new(),
        scope: String::new(),
        kernel,
        samples: chains.samples,
        symbols: table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_counts_alone_and_with_what_it_calls() {
        let weights = BTreeMap::from([
            ("main;serve;lock".to_owned(), 6),
            ("main;serve".to_owned(), 1),
            // Recursion: serve is in this sample once.
            ("main;serve;serve;lock;futex_[k]".to_owned(), 3),
        ]);
        let found = table(&Chains { event: "cycles".into(), samples: 4, weights });
        let of = |name: &str| found.symbols.iter().find(|s| s.symbol == name).unwrap();
        assert_eq!((found.samples, found.kernel), (4, true));
        assert_eq!((of("lock").self_fraction, of("lock").total_fraction), (0.6, 0.9));
        assert_eq!((of("serve").self_fraction, of("serve").total_fraction), (0.1, 1.0));
        assert_eq!(of("futex_[k]").self_fraction, 0.3);
        assert_eq!(found.symbols[0].symbol, "lock");
        let user = table(&Chains { samples: 1, weights: [("main".to_owned(), 1)].into(), ..Chains::default() });
        assert!(!user.kernel);
    }
}
