//! The pair to measure next, and the end of the search.

use std::ops::RangeInclusive;

/// A split of builds that both exist is preferred if it is worse than the best split by at most this much.
const AS_GOOD: f64 = 0.05;

/// Commits that cannot be distinguished, because those between cannot be built; mostly one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Positions of its commits; the build before the first and the build of the last can be measured.
    pub commits: RangeInclusive<usize>,
    /// The probability that the first slower commit is in the cell.
    pub chance: f64,
}

/// The next action of the search.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Measure pairs of these two builds.
    Pairs {
        /// Position of build A.
        a: usize,
        /// Position of build B.
        b: usize,
    },
    /// One cell has the requested probability.
    Found(Cell),
}

/// Groups the commits into cells that builds can distinguish. `usable` says for each position from 0 whether it has a
/// build, or may have one; both ends are taken to have one.
pub fn cells(chances: &[f64], usable: &[bool]) -> Vec<Cell> {
    let mut all = Vec::new();
    let mut from = 1;
    for place in 1..=chances.len() {
        if place == chances.len() || usable.get(place).copied().unwrap_or(true) {
            let chance = chances[from - 1..place].iter().sum();
            all.push(Cell { commits: from..=place, chance });
            from = place + 1;
        }
    }
    all
}

/// The pair of builds that splits the probabilities most evenly: a build with the good one, or the two builds around a
/// cell. Among splits that are nearly as good as the best, one whose two builds exist (`built`) comes first.
pub fn next(chances: &[f64], usable: &[bool], built: &[bool], confidence: f64) -> Next {
    let cells = cells(chances, usable);
    let best = cells.iter().max_by(|a, b| a.chance.total_cmp(&b.chance));
    if let Some(best) = best.filter(|best| best.chance >= confidence || cells.len() == 1) {
        return Next::Found(best.clone());
    }
    let mut splits: Vec<(f64, usize, usize)> = Vec::new();
    let mut before = 0.0;
    for cell in &cells {
        before += cell.chance;
        let (a, b) = (cell.commits.start() - 1, *cell.commits.end());
        // Splits the range between its good end and this build; a split after the last build says nothing.
        if b < chances.len() {
            splits.push(((before - 0.5).abs(), 0, b));
        }
        if a > 0 {
            splits.push(((cell.chance - 0.5).abs(), a, b));
        }
    }
    let there = |place: usize| built.get(place).copied().unwrap_or(false);
    let least = splits.iter().map(|split| split.0).fold(f64::INFINITY, f64::min);
    let near = splits.iter().filter(|split| split.0 <= least + AS_GOOD && there(split.1) && there(split.2));
    let chosen = near.min_by(|a, b| a.0.total_cmp(&b.0)).or_else(|| splits.iter().find(|split| split.0 <= least));
    match chosen {
        Some((_, a, b)) => Next::Pairs { a: *a, b: *b },
        None => Next::Found(Cell { commits: 1..=chances.len(), chance: 1.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_comes_first_and_neighbours_once_one_commit_has_half() {
        let none = [false; 9];
        assert_eq!(next(&[0.125; 8], &[true; 9], &none, 0.95), Next::Pairs { a: 0, b: 4 });
        let mut sure = [0.05; 8];
        sure[5] = 0.65;
        assert_eq!(next(&sure, &[true; 9], &none, 0.95), Next::Pairs { a: 5, b: 6 });
        // A build that exists and splits nearly as well.
        let mut built = none;
        (built[0], built[4]) = (true, true);
        let uneven = [0.15, 0.1, 0.12, 0.1, 0.13, 0.2, 0.1, 0.1];
        assert_eq!(next(&uneven, &[true; 9], &none, 0.95), Next::Pairs { a: 0, b: 4 });
        assert_eq!(next(&uneven, &[true; 9], &built, 0.95), Next::Pairs { a: 0, b: 4 });
    }

    #[test]
    fn commits_that_cannot_be_built_are_reported_together() {
        let chances = [0.01, 0.40, 0.50, 0.07, 0.02];
        let usable = [true, true, false, true, true, true];
        let Next::Found(cell) = next(&chances, &usable, &[true; 6], 0.9) else { panic!() };
        assert_eq!(cell.commits, 2..=3);
        assert!((cell.chance - 0.9).abs() < 1e-12);
        assert_eq!(next(&chances, &usable, &[true; 6], 0.95), Next::Pairs { a: 1, b: 3 });
        // No commit between the ends can be built.
        let Next::Found(all) = next(&[0.5, 0.5], &[true, false, true], &[true; 3], 0.95) else { panic!() };
        assert_eq!((all.commits, all.chance), (1..=2, 1.0));
        assert_eq!(next(&[1.0], &[true; 2], &[true; 2], 0.95), Next::Found(Cell { commits: 1..=1, chance: 1.0 }));
    }
}
