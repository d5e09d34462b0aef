//! Reads series of runs from standard input, one per line, with values separated by spaces. Prints the first run after
//! each step, and `drift` if the series drifts: `benches/history` compares this with another program on the same
//! series.

use std::io::{BufRead, Write};
use tare_stats::change_points::{Options, find};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The options of `tare history`.
    let options = Options { error_rate: 0.05, minimum_effect: 0.01, confidence: 0.95, seed: 1 };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let values = line?.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let found = find(&values, &options)?;
        let steps = found.changes.iter().map(|change| change.first_after.to_string());
        let message: Vec<String> = steps.chain(found.drift.map(|_| "drift".to_owned())).collect();
        writeln!(out, "{}", message.join(" "))?;
    }
    Ok(())
}
