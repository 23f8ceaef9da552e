//! Room `kit`: cubes, conjunctions of literals over numbered atoms.
//!
//! A *letter* is a set of atoms, those that are true at one position of a word. A cube stands for the letters that agree
//! with its literals. The literals are sorted by atom, and no atom is there twice, so that every cube allows some letter.

/// A conjunction of literals: atoms with the value they must have, in increasing order of atoms. The empty one is true.
pub type Cube = Vec<(u32, bool)>;

/// The letters of both cubes, if there are any.
pub(super) fn meet(a: &[(u32, bool)], b: &[(u32, bool)]) -> Option<Cube> {
    let mut both = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].0 == b[j].0 {
            if a[i].1 != b[j].1 {
                return None;
            }
            both.push(a[i]);
            (i, j) = (i + 1, j + 1);
        } else if a[i].0 < b[j].0 {
            both.push(a[i]);
            i += 1;
        } else {
            both.push(b[j]);
            j += 1;
        }
    }
    both.extend_from_slice(&a[i..]);
    both.extend_from_slice(&b[j..]);
    Some(both)
}

/// Whether every letter of `a` is one of `b`.
pub(super) fn within(a: &[(u32, bool)], b: &[(u32, bool)]) -> bool {
    is_subset(b, a)
}

/// Whether all members of `a` are in `b`; both are sorted.
pub(super) fn is_subset<T: Ord>(a: &[T], b: &[T]) -> bool {
    let mut rest = b.iter();
    a.len() <= b.len() && a.iter().all(|member| rest.by_ref().find(|other| *other >= member) == Some(member))
}

/// The letters of `a` that are not in `b`, as disjoint cubes.
pub(super) fn sharp(a: &[(u32, bool)], b: &[(u32, bool)]) -> Vec<Cube> {
    if meet(a, b).is_none() {
        return vec![a.to_vec()];
    }
    let mut left = Vec::new();
    let mut rest = a.to_vec();
    for &(atom, value) in b {
        if let Err(at) = rest.binary_search_by_key(&atom, |literal| literal.0) {
            let mut cube = rest.clone();
            cube.insert(at, (atom, !value));
            left.push(cube);
            rest.insert(at, (atom, value));
        }
    }
    left
}

/// The letters of `cube` that are in none of the others, as disjoint cubes; nothing if these are more than `most`.
pub(super) fn outside<'a>(
    cube: &[(u32, bool)],
    others: impl Iterator<Item = &'a Cube>,
    most: usize,
) -> Option<Vec<Cube>> {
    let mut left = vec![cube.to_vec()];
    for other in others {
        left = left.iter().flat_map(|piece| sharp(piece, other)).collect();
        if left.is_empty() || left.len() > most {
            break;
        }
    }
    (left.len() <= most).then_some(left)
}

/// Above this number of cubes their union is written down as it is.
const FEW: usize = 64;

/// Cubes with the same union, as few as a simple search finds: none within another, and of two that differ in the sign of
/// one literal the other literals stay.
pub(super) fn join(mut cubes: Vec<Cube>) -> Vec<Cube> {
    cubes.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    cubes.dedup();
    if cubes.len() > FEW {
        return cubes;
    }
    loop {
        let mut kept: Vec<Cube> = Vec::new();
        for cube in cubes {
            if !kept.iter().any(|other| within(&cube, other)) {
                kept.push(cube);
            }
        }
        let pairs = (0..kept.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let merged = pairs.into_iter().find_map(|(i, j)| Some((i, j, merge(&kept[i], &kept[j])?)));
        let Some((i, j, cube)) = merged else {
            kept.sort_unstable();
            return kept;
        };
        kept.swap_remove(i);
        kept.swap_remove(j);
        kept.push(cube);
        kept.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        cubes = kept;
    }
}

/// The union of two cubes that differ in the sign of one literal.
fn merge(a: &[(u32, bool)], b: &[(u32, bool)]) -> Option<Cube> {
    if a.len() != b.len() || a.iter().zip(b).any(|(x, y)| x.0 != y.0) {
        return None;
    }
    let mut differs = (0..a.len()).filter(|&at| a[at].1 != b[at].1);
    let at = differs.next()?;
    if differs.next().is_some() {
        return None;
    }
    let mut cube = a.to_vec();
    cube.remove(at);
    Some(cube)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(cubes: &[Cube]) -> Vec<bool> {
        let allows =
            |cube: &Cube, row: usize| cube.iter().all(|&(atom, value)| (row >> atom & 1 != 0) == value);
        (0..16).map(|row| cubes.iter().any(|cube| allows(cube, row))).collect()
    }

    fn all() -> Vec<Cube> {
        let digit = |n: usize, atom: u32| (n / 3usize.pow(atom) % 3).checked_sub(1).map(|v| (atom, v == 1));
        (0..81).map(|n| (0..4).filter_map(|atom| digit(n, atom)).collect()).collect()
    }

    #[test]
    fn pairs_of_cubes_mean_what_their_letters_say() {
        for a in all() {
            for b in all() {
                let (of_a, of_b) = (letters(std::slice::from_ref(&a)), letters(std::slice::from_ref(&b)));
                let both: Vec<bool> = of_a.iter().zip(&of_b).map(|(x, y)| *x && *y).collect();
                let one: Vec<bool> = of_a.iter().zip(&of_b).map(|(x, y)| *x || *y).collect();
                let left: Vec<bool> = of_a.iter().zip(&of_b).map(|(x, y)| *x && !*y).collect();
                assert_eq!(letters(&meet(&a, &b).into_iter().collect::<Vec<_>>()), both);
                assert_eq!(letters(&sharp(&a, &b)), left);
                assert_eq!(within(&a, &b), both == of_a);
                assert_eq!(letters(&join(vec![a.clone(), b])), one);
            }
        }
    }

    #[test]
    fn joins_are_short() {
        let cubes = vec![vec![(0, true), (1, true)], vec![(0, false)], vec![(0, true), (1, false)]];
        assert_eq!(join(cubes), [vec![]]);
        assert_eq!(outside(&[], [vec![(0, true)], vec![(0, false)]].iter(), 4), Some(vec![]));
        assert_eq!(outside(&[], [vec![(0, true), (1, true), (2, true)]].iter(), 2), None);
    }
}
