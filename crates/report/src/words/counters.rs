//! Sentences on runs of global counters.

use super::terms::at;
use tare_findings::counters::CounterTable;
use tare_text::{count, percent};

/// A count with separators: `20,480,000`.
fn counted(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Lost counts, one line for each strategy and number of threads that lost any: "fuzzy on 128 threads: 20,480,000
/// increments expected, 20,479,994 counted, 6 lost"; one line if none was lost.
pub(crate) fn losses(table: &CounterTable) -> Vec<String> {
    let mut lines = Vec::new();
    let mut expected = 0;
    for (threads, row) in table.threads.iter().zip(&table.cells) {
        for (strategy, cell) in table.strategies.iter().zip(row) {
            let Some(cell) = cell else { continue };
            expected += cell.expected;
            if cell.expected != cell.counted {
                let of_threads = count(*threads as usize, "thread");
                let off = match cell.lost() {
                    0 => format!("{} too many", counted(cell.counted - cell.expected)),
                    lost => format!("{} lost", counted(lost)),
                };
                lines.push(format!(
                    "{strategy} on {of_threads}: {} increments expected, {} counted, {off}",
                    counted(cell.expected),
                    counted(cell.counted)
                ));
            }
        }
    }
    if lines.is_empty() && expected > 0 {
        lines.push(format!("{} increments expected and counted, none lost by any strategy", counted(expected)));
    }
    lines
}

/// The share of the random number generator; `None` when each thread has its own.
pub(crate) fn generator(table: &CounterTable) -> Option<String> {
    let mut found: Vec<(f64, u64)> = Vec::new();
    for (threads, row) in table.threads.iter().zip(&table.cells) {
        found.extend(row.iter().flatten().filter_map(|cell| Some((cell.generator_fraction?, *threads))));
    }
    let (low, least) = found.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (high, most) = found.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "the generator of random numbers, one for all threads under a lock, takes {} (on {}) to {} (on {}) of the \
         threads' time, waiting included: strategies differ only in the rest",
        percent(low),
        count(least as usize, "thread"),
        percent(high),
        count(most as usize, "thread"),
    ))
}

pub(crate) fn counters_head(table: &CounterTable) -> String {
    let at = at(&table.levels);
    format!("seconds for all rounds of all threads{at}: threads by row, strategy by column (less is better)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::counters::CounterCell;

    /// The figures of ["NUMA Smart Global Counter"](https://mysqlonarm.github.io/NUMA-Smart-Global-Counter/) for fuzzy
    /// counters.
    #[test]
    fn losses_are_counts_as_in_the_article() {
        let cell = |seconds, expected, counted| {
            Some(CounterCell { seconds, expected, counted, generator_fraction: Some(0.25) })
        };
        let table = CounterTable {
            levels: Default::default(),
            strategies: vec!["atomic".into(), "fuzzy".into()],
            threads: vec![128, 256],
            cells: vec![
                vec![cell(2.0, 20_480_000, 20_480_000), cell(2.5, 20_480_000, 20_479_994)],
                vec![cell(4.0, 40_960_000, 40_960_000), cell(4.5, 40_960_000, 40_959_987)],
            ],
        };
        assert_eq!(
            losses(&table),
            [
                "fuzzy on 128 threads: 20,480,000 increments expected, 20,479,994 counted, 6 lost",
                "fuzzy on 256 threads: 40,960,000 increments expected, 40,959,987 counted, 13 lost",
            ]
        );
        assert!(generator(&table).unwrap().contains("takes 25% (on 128 threads)"), "{:?}", generator(&table));
        assert_eq!(counted(999), "999");
    }
}
