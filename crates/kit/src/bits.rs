//! Room `kit`: sets of small numbers, as bits of machine words.
//!
//! The functions work on slices, so that many sets of one size can live in one vector.

/// How many words hold `len` bits.
pub fn words(len: usize) -> usize {
    len.div_ceil(64)
}

/// Whether the set contains `at`.
pub fn contains(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 != 0
}

/// Adds `at`. Returns whether it was missing.
pub fn insert(set: &mut [u64], at: usize) -> bool {
    let missing = !contains(set, at);
    set[at / 64] |= 1 << (at % 64);
    missing
}

/// Removes `at`.
pub fn remove(set: &mut [u64], at: usize) {
    set[at / 64] &= !(1 << (at % 64));
}

/// Adds all members of `other`. Returns whether any was missing.
pub fn union(set: &mut [u64], other: &[u64]) -> bool {
    let mut grew = false;
    for (word, more) in set.iter_mut().zip(other) {
        grew |= *more & !*word != 0;
        *word |= more;
    }
    grew
}

/// Makes two sets contain the same numbers less than `len`.
pub fn copy(set: &mut [u64], other: &[u64], len: usize) {
    set[..len / 64].copy_from_slice(&other[..len / 64]);
    if !len.is_multiple_of(64) {
        let below = (1 << (len % 64)) - 1;
        set[len / 64] = set[len / 64] & !below | other[len / 64] & below;
    }
}

/// The members in increasing order.
pub fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(at, &word)| {
        std::iter::successors((word != 0).then_some(word), |word| Some(word & (word - 1)).filter(|&w| w != 0))
            .map(move |word| at * 64 + word.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_bits_behaves_like_a_set() {
        let mut set = vec![0; words(130)];
        assert!(insert(&mut set, 0) && insert(&mut set, 64) && insert(&mut set, 129));
        assert!(!insert(&mut set, 64));
        assert_eq!(members(&set).collect::<Vec<_>>(), [0, 64, 129]);
        remove(&mut set, 64);
        assert!(!contains(&set, 64) && contains(&set, 129));
        let mut other = vec![0; 3];
        assert!(union(&mut other, &set));
        assert!(!union(&mut other, &set));
        assert_eq!(other, set);
        for len in [0, 1, 63, 64, 65, 128, 129, 130] {
            let (mut some, all) = (vec![0; 3], vec![u64::MAX; 3]);
            copy(&mut some, &all, len);
            assert!(members(&some).eq(0..len), "{len}");
            let mut rest = all.clone();
            copy(&mut rest, &[0; 3], len);
            assert!(members(&rest).eq(len..192), "{len}");
        }
    }
}
