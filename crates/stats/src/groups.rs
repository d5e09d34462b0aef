//! Compact letter display: groups of items that do not differ significantly, the letters in a table of many items.

/// Maximum number of groups: a table with more letters is unreadable.
const MOST: usize = 200;

/// Groups of `count` items, given the pairs that differ significantly: two items that do not differ share a group, two
/// that differ share none, and no group is contained in another (insert and absorb: Piepho, "An algorithm for a
/// letter-based representation of all-pairwise comparisons", Journal of Computational and Graphical Statistics 13,
/// 2004). Members are in ascending order, and groups are ordered by their members. `None` when there are too many
/// groups.
pub fn groups(count: usize, distinguished: &[(usize, usize)]) -> Option<Vec<Vec<usize>>> {
    let mut groups: Vec<Vec<usize>> = if count == 0 { Vec::new() } else { vec![(0..count).collect()] };
    for &(a, b) in distinguished.iter().filter(|(a, b)| a != b) {
        let (both, mut kept): (Vec<_>, Vec<_>) = groups.into_iter().partition(|g| g.contains(&a) && g.contains(&b));
        let without = |group: &[usize], one: usize| group.iter().copied().filter(|i| *i != one).collect::<Vec<_>>();
        for part in both.iter().flat_map(|group| [without(group, a), without(group, b)]) {
            if !kept.iter().any(|other| within(&part, other)) {
                kept.retain(|other| !within(other, &part));
                kept.push(part);
            }
        }
        if kept.len() > MOST {
            return None;
        }
        groups = kept;
    }
    groups.sort_unstable();
    Some(groups)
}

fn within(group: &[usize], other: &[usize]) -> bool {
    group.iter().all(|i| other.contains(i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_chain_has_overlapping_groups() {
        assert_eq!(groups(4, &[(0, 2), (0, 3), (1, 3)]), Some(vec![vec![0, 1], vec![1, 2], vec![2, 3]]));
        assert_eq!(groups(3, &[]), Some(vec![vec![0, 1, 2]]));
        assert_eq!(groups(2, &[(0, 1)]), Some(vec![vec![0], vec![1]]));
        assert_eq!(groups(0, &[]), Some(vec![]));
        assert_eq!(groups(2, &[(1, 1), (0, 9)]), Some(vec![vec![0, 1]]), "what is not there changes nothing");
    }

    #[test]
    fn too_many_groups_to_read_yield_none() {
        let apart: Vec<(usize, usize)> = (0..20).map(|i| (2 * i, 2 * i + 1)).collect();
        assert_eq!(groups(40, &apart), None);
    }

    proptest! {
        #[test]
        fn conditions_share_a_group_exactly_if_they_do_not_differ(
            count in 1usize..9, pairs in prop::collection::vec((0usize..9, 0usize..9), 0..30))
        {
            let apart: Vec<(usize, usize)> = pairs.into_iter().filter(|(a, b)| a < b && *b < count).collect();
            let found = groups(count, &apart).unwrap();
            for a in 0..count {
                for b in a..count {
                    let share = found.iter().any(|group| group.contains(&a) && group.contains(&b));
                    prop_assert_eq!(share, !apart.contains(&(a, b)), "{} {}", a, b);
                }
            }
            let nested = |(i, one): (usize, &Vec<usize>)| found.iter().enumerate().any(|(j, o)| i != j && within(one, o));
            prop_assert!(!found.iter().enumerate().any(nested));
        }
    }
}
