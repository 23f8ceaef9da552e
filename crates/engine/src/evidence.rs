//! Room `engine`: proofs of what holds, checked before they are believed.
//!
//! An engine that writes proofs hands one over before it says what holds. It is brought back to the program as written, and the checker
//! ([`postbop_validate`]), which knows nothing of engines, sees whether its sets are closed: once, however many properties the proof is for. A property then holds
//! if the sets at its targets are empty. A proof that is wrong means that the engine may be, and its verdict is not told. A proof that
//! cannot be checked, or takes too long to, leaves the verdict as it would be without one: *unchecked*.
//!
//! Threads are asked about by way of a translation, and so are runs that go on for ever, unless an engine looks for these itself, which it says without a proof. Then the proof is about the translated program, and so is what the checker says of it: that
//! the translation is right nobody has checked, and the property counts as unchecked. But a wrong proof is caught there too.
//!
//! # Cost
//!
//! Unless proofs are asked for, only small proofs of small programs are made ([`is_wanted`]), and a check that takes more than a moment's work is called off. Work
//! is counted, not time, so that it does not depend on the machine what is checked.

use crate::budget::Budget;
use crate::verdict::Why;
use postbop_ir::proof::Ref;
use postbop_ir::{Program, Proof, Proofs, Query};
use postbop_validate::{Checker, Flaw, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most work that a check does where it was not asked for.
const MOST: u64 = 100_000;

/// The most contexts, or vertices, of which a proof is made that was not asked for, and the most edges of the program. An edge takes
/// the checker about as long as an engine takes for two hundred units of work.
const LARGEST: usize = 1 << 11;
const LONGEST: usize = 500;

/// Whether a proof of so many contexts, or vertices, about a program is to be made.
pub fn is_wanted(proofs: Proofs, program: &Program, size: usize) -> bool {
    match proofs {
        Proofs::Unwanted => false,
        Proofs::Cheap => size <= LARGEST && program.edges().len() <= LONGEST,
        Proofs::Kept => true,
    }
}

/// What shows that a property holds.
#[derive(Clone, Default)]
pub struct Evidence {
    /// The proof, if it is kept.
    pub proof: Option<Arc<Proof>>,
    /// Whether it was checked.
    pub checked: bool,
    /// Whether instead a proof of the translation was checked.
    pub translation: bool,
}

impl Evidence {
    /// That nothing is to be reached is shown by any closed sets.
    pub fn of_nothing(program: &Program, proofs: Proofs, translated: bool) -> Self {
        let (asked, kept) = (proofs != Proofs::Unwanted, proofs == Proofs::Kept && !translated);
        let proof = kept.then(|| Arc::new(Proof::trivial(program)));
        Evidence { proof, checked: asked && !translated, translation: asked && translated }
    }
}

/// A proof about the program as written, or about its translation, and what the checker says of it.
pub struct Examined {
    proof: Arc<Proof>,
    kept: bool,
    translated: bool,
    closed: Result<(), Stop>,
}

impl Examined {
    /// Checks a proof.
    pub fn new(program: &Program, proof: Proof, proofs: Proofs, translated: bool, budget: &Budget) -> Self {
        let most = match proofs {
            Proofs::Kept => u64::MAX,
            _ => MOST,
        };
        let done = AtomicU64::new(0);
        let goes_on =
            |more: u64| done.fetch_add(more, Relaxed) + more <= most && budget.check_writing().is_ok();
        // Threads that share a check do more work in all: where work is limited, the answer would depend on how many there are.
        let jobs = if proofs == Proofs::Kept { budget.jobs() } else { 1 };
        let closed = postbop_validate::closed(program, &proof, &[], &goes_on, jobs);
        let kept = proofs == Proofs::Kept && !translated;
        Examined { proof: Arc::new(proof), kept, translated, closed }
    }

    /// What the proof shows of a property. `Err` if the proof is wrong.
    pub fn of(&self, program: &Program, query: &Query) -> Result<Evidence, Why> {
        let wrong = |flaw: &Flaw| Why::EngineBug(format!("a proof is not valid: {flaw}"));
        let excluded = match &self.closed {
            Err(stop) => Err(stop.clone()),
            Ok(()) => self.excludes(program, query),
        };
        match excluded {
            Err(Stop::Flaw(flaw)) => Err(wrong(&flaw)),
            other => {
                let proof = self.kept.then(|| Arc::clone(&self.proof));
                let [checked, translation] =
                    [!self.translated, self.translated].map(|it| it && other.is_ok());
                Ok(Evidence { proof, checked, translation })
            }
        }
    }

    /// Whether the sets at the targets of a property are empty.
    fn excludes(&self, program: &Program, query: &Query) -> Result<(), Stop> {
        if query.locs().iter().all(|&loc| self.proof.sets[loc] == Some(Ref::FALSE)) {
            return Ok(());
        }
        let mut checker = Checker::new(program, &self.proof, &[], &|_| true).map_err(Stop::Unknown)?;
        query.locs().iter().try_for_each(|&loc| checker.excludes(loc))
    }

    /// How many nodes the proof has.
    pub fn size(&self) -> usize {
        self.proof.nodes().len()
    }
}
