//! Room `engine/encode`: decision diagrams as sets of a proof.
//!
//! Each vertex becomes a node. Procedures share levels, so the same vertex is another node in another procedure.

use crate::budget::Budget;
use crate::verdict::Why;
use postbop_ir::proof::{self, Maker, Place};
use postbop_kit::bdd::{Bdd, Ref};
use rustc_hash::FxHashMap as HashMap;

/// How many vertices are written between two looks at the budget.
const PATIENCE: usize = 1 << 10;

/// What the levels of a procedure stand for.
pub type Meanings = HashMap<u32, (Place, u8)>;

/// Writes the diagrams of one procedure.
pub struct Writer {
    levels: Meanings,
    /// The nodes of diagrams that are not complements.
    made: HashMap<Ref, proof::Ref>,
}

/// A diagram without its complement, and whether it had one.
fn plain(diagram: Ref) -> (Ref, bool) {
    match diagram.number() & 1 {
        0 => (diagram, false),
        _ => (!diagram, true),
    }
}

impl Writer {
    /// Nothing is written yet.
    pub fn new(levels: Meanings) -> Self {
        Writer { levels, made: HashMap::default() }
    }

    fn known(&self, diagram: Ref) -> Option<proof::Ref> {
        let (plain, flip) = plain(diagram);
        match plain {
            Ref::TRUE => Some(proof::Ref::TRUE.flip(flip)),
            _ => self.made.get(&plain).map(|known| known.flip(flip)),
        }
    }

    /// The set of a diagram, whose levels all have a meaning.
    pub fn set(
        &mut self,
        bdd: &Bdd,
        diagram: Ref,
        maker: &mut Maker,
        budget: &Budget,
    ) -> Result<proof::Ref, Why> {
        let mut stack = vec![plain(diagram).0];
        while let Some(&top) = stack.last() {
            if self.known(top).is_some() {
                stack.pop();
                continue;
            }
            let (high, low) = bdd.cofactors(top);
            match (self.known(high), self.known(low)) {
                (Some(high), Some(low)) => {
                    stack.pop();
                    let (place, bit) = self.levels[&bdd.level(top)];
                    let condition = maker.bit(place, bit);
                    self.made.insert(top, maker.ite(condition, high, low));
                    if self.made.len().is_multiple_of(PATIENCE) {
                        budget.check_writing()?;
                    }
                }
                (high_known, low_known) => {
                    let missing = [(high, high_known), (low, low_known)].into_iter();
                    stack.extend(missing.filter(|(_, known)| known.is_none()).map(|(to, _)| plain(to).0));
                }
            }
        }
        Ok(self.known(diagram).expect("it was made"))
    }
}
