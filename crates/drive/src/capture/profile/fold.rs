//! Converts a recording into folded call chains.

use super::super::perf::{Perf, unreadable};
use super::super::place::{FOLDED_FILE, Place};
use super::frames::{self, Chains, KERNEL};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tare_engine::Unavailable;
use tare_results::captures::{ProfileFile, SymbolShare};
use tare_results::schema::SCHEMA;

const FIELDS: &str = "-F";
const OF_SAMPLES: &str = "event,period,ip,sym,dso";

/// Reads the samples of these processes (a list as for perf) with `perf script`, which resolves symbols, and writes
/// the folded chains.
pub(super) fn fold(place: &Place, recording: &Path, pids: &str) -> Result<Chains, Unavailable> {
    let script = Perf::script(recording, &[FIELDS, OF_SAMPLES, "--pid", pids])?;
    let chains = frames::read(script).map_err(unreadable)?;
    if chains.samples == 0 {
        return Err(Unavailable("perf took no sample of the server".to_owned()));
    }
    let written = place.folder.write(FOLDED_FILE, text(&chains).as_bytes());
    written.map_err(|e| Unavailable(format!("cannot be written: {}", std::io::Error::from(e))))?;
    Ok(chains)
}

/// The folded chains of these threads (a list as for perf).
pub(super) fn of_threads(recording: &Path, tids: &str) -> Option<String> {
    let script = Perf::script(recording, &[FIELDS, OF_SAMPLES, "--tid", tids]).ok()?;
    let chains = frames::read(script).ok().filter(|chains| chains.samples > 0)?;
    Some(text(&chains))
}

fn text(chains: &Chains) -> String {
    chains.weights.iter().map(|(chain, weight)| format!("{chain} {weight}\n")).collect()
}

pub(super) fn flame_graph(chains: &Chains) -> Result<Vec<u8>, Unavailable> {
    let mut options = inferno::flamegraph::Options::default();
    options.title = format!("{}, {} samples", chains.event, chains.samples);
    // The weight of a sample is the number of events since the sample before.
    options.count_name = chains.event.split(':').next().unwrap_or("samples").to_owned();
    // Percent. Narrower boxes are invisible, and they are four fifths of the boxes of a large program.
    options.min_width = 0.1;
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut options, text(chains).lines(), &mut svg)
        .map_err(|e| Unavailable(format!("no flame graph: {e}")))?;
    Ok(svg)
}

/// Symbols whose total share, including the functions that they call, is smaller are left out as noise.
const SMALLEST: f64 = 1.0 / 5_000.0;
const LISTED: usize = 600;

/// The table of symbols, largest shares first; the caller adds how the samples were taken.
pub(super) fn table(chains: &Chains) -> ProfileFile {
    let mut symbols: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut weight = 0;
    for (chain, count) in &chains.weights {
        weight += count;
        let frames: Vec<&str> = chain.split(';').collect();
        // A recursive function is counted once per sample.
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
    fn a_flame_graph_shows_every_function_of_the_chains() {
        let weights = [("serve;planted".to_owned(), 2), ("serve;planted;futex_[k]".to_owned(), 1)].into();
        let chains = Chains { event: "cpu-clock:H".into(), samples: 3, weights };
        assert_eq!(text(&chains), "serve;planted 2\nserve;planted;futex_[k] 1\n");
        let svg = String::from_utf8(flame_graph(&chains).unwrap()).unwrap();
        for name in ["serve", "planted", "futex", "3 samples"] {
            assert!(svg.contains(name), "{name}");
        }
    }

    #[test]
    fn a_symbol_has_its_own_share_and_the_share_with_its_callees() {
        let weights = BTreeMap::from([
            ("main;serve;lock".to_owned(), 6),
            ("main;serve".to_owned(), 1),
            // Recursion: serve is counted once in this sample.
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
