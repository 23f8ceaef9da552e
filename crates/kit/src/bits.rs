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

/// Adds to `packed`, for each member of `set` that is in `mask`, its position among the members of `mask`.
pub fn gather(packed: &mut [u64], set: &[u64], mask: &[u64]) {
    for run in runs(mask) {
        let bits = set[run.word] >> run.from & low(run.len);
        let (word, shift) = (run.position / 64, run.position % 64);
        packed[word] |= bits << shift;
        if shift + run.len > 64 {
            packed[word + 1] |= bits >> (64 - shift);
        }
    }
}

/// The inverse of [`gather`]: what `set` says about members of `mask` becomes what `packed` says about their positions.
pub fn scatter(set: &mut [u64], packed: &[u64], mask: &[u64]) {
    for run in runs(mask) {
        let (word, shift) = (run.position / 64, run.position % 64);
        let mut bits = packed[word] >> shift;
        if shift + run.len > 64 {
            bits |= packed[word + 1] << (64 - shift);
        }
        set[run.word] = set[run.word] & !(low(run.len) << run.from) | (bits & low(run.len)) << run.from;
    }
}

/// The `len` lowest bits.
fn low(len: usize) -> u64 {
    u64::MAX >> (64 - len)
}

/// Members of a set that follow each other in one word.
struct Run {
    word: usize,
    from: usize,
    len: usize,
    /// How many members the set has before these.
    position: usize,
}

fn runs(set: &[u64]) -> impl Iterator<Item = Run> + '_ {
    let (mut word, mut rest, mut position) = (0, set.first().copied().unwrap_or(0), 0);
    std::iter::from_fn(move || {
        while rest == 0 {
            word += 1;
            rest = *set.get(word)?;
        }
        let from = rest.trailing_zeros() as usize;
        let len = (rest >> from).trailing_ones() as usize;
        rest &= !(low(len) << from);
        position += len;
        Some(Run { word, from, len, position: position - len })
    })
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
    use crate::aig::tests::next;

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
    }

    #[test]
    fn members_of_a_mask_are_packed_and_put_back() {
        let seed = &mut 7;
        let mut random = || (0..8).fold(0, |word, _| word << 8 | (next(seed) & 255) as u64);
        for round in 0..2000 {
            let mut word = |dense: bool| match dense {
                true => random() | random() | random(),
                false => random() & random(),
            };
            let whole = |at| at == round % 7;
            let mask: Vec<u64> =
                (0..4).map(|at| if whole(at) { u64::MAX } else { word(round % 2 == 0) }).collect();
            let set: Vec<u64> = (0..4).map(|_| word(false)).collect();
            let mut packed = vec![0; 4];
            gather(&mut packed, &set, &mask);
            let positions = members(&mask).enumerate().filter(|&(_, at)| contains(&set, at));
            assert!(members(&packed).eq(positions.map(|(position, _)| position)));
            let before: Vec<u64> = (0..4).map(|_| word(true)).collect();
            let mut after = before.clone();
            scatter(&mut after, &packed, &mask);
            let expected =
                (0..256).filter(|&at| contains(if contains(&mask, at) { &set } else { &before }, at));
            assert!(members(&after).eq(expected));
        }
    }
}
