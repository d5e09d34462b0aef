//! What fixed plans need on measured trials: pairs of the values of A and B from standard input, a line each, in the
//! order in which they were measured. A plan of n trials a side is tried at every place of that series.

use crate::{medians, paired, welch};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::io::BufRead;
use tare_stats::descriptive::mean;

/// Windows below which a share says nothing.
const LEAST_WINDOWS: usize = 20;

struct Plan {
    name: &'static str,
    /// Whether all of A are measured before all of B, and not in turn.
    one_by_one: bool,
    is_changed: fn(&[f64], &[f64]) -> bool,
}

const PLANS: [Plan; 4] = [
    Plan { name: "all A, then all B, Welch", one_by_one: true, is_changed: welch },
    Plan { name: "in turn, Welch", one_by_one: false, is_changed: welch },
    Plan { name: "in turn, paired t", one_by_one: false, is_changed: |a, b| paired(a, b, 0.95) },
    Plan {
        name: "in turn, medians",
        one_by_one: false,
        is_changed: |a, b| medians(a.to_vec(), b.to_vec(), &mut StdRng::seed_from_u64(a.len() as u64)),
    },
];

fn sides(window: &[(f64, f64)]) -> (Vec<f64>, Vec<f64>) {
    window.iter().copied().unzip()
}

fn is_lower(a: &[f64], b: &[f64]) -> bool {
    mean(a).zip(mean(b)).is_some_and(|(a, b)| b < a)
}

impl Plan {
    /// The share of windows in which a change in the direction of the whole series is reported, with their number.
    fn found(&self, pairs: &[(f64, f64)], a_side: usize) -> (f64, usize) {
        let (all_a, all_b) = sides(pairs);
        let is_right = |window: &[(f64, f64)]| {
            let (a, b) = match self.one_by_one {
                true => (sides(&window[..a_side]).0, sides(&window[a_side..]).1),
                false => sides(window),
            };
            is_lower(&a, &b) == is_lower(&all_a, &all_b) && (self.is_changed)(&a, &b)
        };
        let windows = pairs.windows(if self.one_by_one { 2 * a_side } else { a_side });
        let of = windows.len();
        (windows.filter(|window| is_right(window)).count() as f64 / of.max(1) as f64, of)
    }

    /// The fewest trials a side with which the plan finds this share, and does with more, too; or else the most that
    /// were tried.
    fn needed(&self, pairs: &[(f64, f64)], share: f64) -> Result<usize, usize> {
        let mut found = Err(0);
        for a_side in 3.. {
            let (power, windows) = self.found(pairs, a_side);
            if windows < LEAST_WINDOWS {
                break;
            }
            found = if power < share { Err(a_side) } else { found.or(Ok(a_side)) };
        }
        found
    }
}

/// Prints the share that each plan finds with nine trials a side, and the trials with which it finds `share`.
pub fn table(share: f64) {
    let pair = |line: String| {
        let mut values = line.split_whitespace().map(str::parse::<f64>);
        let (a, b) = (values.next()?.ok()?, values.next()?.ok()?);
        (a > 0.0 && b > 0.0).then(|| (a.ln(), b.ln()))
    };
    let pairs: Vec<(f64, f64)> = std::io::stdin().lock().lines().map_while(Result::ok).filter_map(pair).collect();
    println!("{:<26}{:>12}   {:>16}", "plan", "nine a side", "trials in all");
    for plan in &PLANS {
        let nine = 100.0 * plan.found(&pairs, crate::NINE).0;
        let trials = match plan.needed(&pairs, share) {
            Ok(a_side) => format!("{}", 2 * a_side),
            Err(most) => format!("more than {}", 2 * most),
        };
        println!("{:<26}{nine:>11.0}%   {trials:>16}", plan.name);
    }
}
