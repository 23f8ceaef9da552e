//! Room `xtask`: a small seeded source of random numbers.
//!
//! Everything random here is reproducible from a seed, on every platform and for ever, so the generator is ours:
//! splitmix64 (Steele, Lea, Flood 2014), one addition and two multiply-xorshift rounds per number. Equal seeds
//! give equal programs; neighbouring seeds give unrelated ones.

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    word: u64,
}

impl Rng {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Rng { word: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.word = self.word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.word;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`, which is not 0. The high half of a product, not a remainder: no bias worth the name.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "there is no number below 0");
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        ((self.bits() >> 11) as f64) < p * (1u64 << 53) as f64
    }

    /// One of the items, which are not none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// An index, each as probable as its weight; some weight is not 0.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut left = self.below(total as usize) as u32;
        for (index, &weight) in weights.iter().enumerate() {
            if left < weight {
                return index;
            }
            left -= weight;
        }
        unreachable!("the number drawn is below the sum of the weights")
    }

    /// Puts the items in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }

    /// `count` distinct items in random order, or all of them if there are fewer.
    pub fn sample<T: Clone>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut all = items.to_vec();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut rng = Rng::new(1234567);
        assert_eq!(rng.bits(), 6457827717110365317);
        assert_eq!(rng.bits(), 3203168211198807973);
    }

    #[test]
    fn numbers_stay_in_range_and_reach_its_ends() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[rng.range(0, 4)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }

    #[test]
    fn probabilities_0_and_1_are_certain() {
        let mut rng = Rng::new(2);
        assert!((0..100).all(|_| rng.chance(1.0) && !rng.chance(0.0)));
        assert!((0..100).all(|_| rng.weighted(&[0, 3, 0]) == 1));
    }

    #[test]
    fn a_sample_has_no_repetitions() {
        let mut sample = Rng::new(3).sample(&[1, 2, 3, 4, 5, 6], 4);
        sample.sort_unstable();
        sample.dedup();
        assert_eq!(sample.len(), 4);
    }
}
