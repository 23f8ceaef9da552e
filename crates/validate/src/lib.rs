//! Room `validate`: whether a proof proves what it says.
//!
//! # Idea
//!
//! [`validate`] is given a program, a proof ([`postbop_ir::proof`]) and locations, and says whether the proof shows that no run reaches these. It computes
//! what there is to show from the program itself, and shares no code with the engines that write proofs: no diagrams, no reductions, no encodings. From each location with
//! a set it executes all runs of edges to the next locations with sets on symbolic values (`execute`). For each last edge it asks whether
//! there are values that start in the set of the first location and end outside the set of the last one: by decision diagrams (`diagrams`), and where these grow too large or do
//! not exclude it, by a solver (`solver`), and if comparisons of unbounded integers are involved, by a decision procedure for linear constraints (`numbers`, `omega`). If nowhere there are, the sets are closed.
//!
//! # Why closed sets are a proof
//!
//! Take any run, and look at the activations on its stack after any number of steps. Each was entered with a valuation e, and has a valuation c at a location l: that of
//! the running one is where it is now, that of a waiting one is where it called. Claim: if l has a set, (e, c) is in it; if it has none, (e, c) comes from a
//! member of a set along edges through locations without sets. In the beginning there is one activation, at the entry of `main`, with e = c, and the first condition says that
//! all such pairs are in its set. A step along an edge changes the pair of the running activation alone, and the conditions on runs of edges keep the claim. A call adds
//! an activation, whose pair (a, a) is in the set at the entry of the callee by the condition on calls. A return takes one away: its last pair (a, x) is in
//! the set at its exit, and the pair (e, c) of the caller is as it was at the call. So the condition on returns puts the pair after the call into its set, provided that (a, x) is
//! what the condition speaks of: a was made from c when the call was made, and the callee's other locals, which were arbitrary, are arbitrary in the condition.
//! So the claim is true after every step. The sets at the locations that are asked about are empty: no run is ever there.
//!
//! A set may also speak of how the activation is going to end. Then fix the whole run first, and with it, for each activation that returns, the valuation x with which it does. The claim is about (e, c, x)
//! for this x, and for every x if the activation does not return. Where an activation begins the conditions are about every x; steps keep it; and at the exit x is c.
//!
//! Two facts are used that no set states. A variable that neither a procedure nor anything it calls writes is what it was at entry, and
//! a call leaves alone what its callee does not write. Both are true of every run, by induction over its steps, whatever the proof says (`modified`). An entry or an exit without a set
//! counts as one whose set has everything.
//!
//! # Limits
//!
//! Sequential programs. A loop without a set on it is answered by [`Answer::CannotTell`]; so is work that was called off, and so are products of two unbounded
//! integers.
//!
//! # Cost
//!
//! For each edge on a run between sets, the edge; for each that leads to a set, the size of both sets, and a question. Of sets that are decision diagrams it takes about as long as an
//! engine takes for such an edge; of others it is for the solver to say.

mod affine;
mod check;
mod conjunction;
mod diagrams;
mod execute;
mod gates;
mod modified;
mod numbers;
mod omega;
mod pairs;
mod sets;
mod solver;
mod symbolic;
mod together;

pub use check::{Checker, Stop};
pub use together::closed;

use postbop_ir::{EdgeId, LocId, Program, Proof, Value, VarId};
use solver::GoesOn;
use std::fmt;

/// What is said of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It proves that no run reaches the locations.
    Valid,
    /// It does not.
    Invalid(Flaw),
    /// It is not known, and this is why.
    CannotTell(String),
}

/// Where sets are not closed: a member of one from which a run leads out of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// Where the run starts.
    pub from: LocId,
    /// Its edges; none, if the set itself is too small, at the entry of `main`, or has a member where it must not have one.
    pub edges: Vec<EdgeId>,
    /// Where it ends: for a call that is not allowed in, at the entry of the callee.
    pub to: LocId,
    /// The values at the entry of the activation, as far as they matter.
    pub entry: Vec<(VarId, Value)>,
    /// The values where the run starts, as far as they matter.
    pub now: Vec<(VarId, Value)>,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, values: &[(VarId, Value)]| match values {
            [] => write!(f, " any values"),
            values => values.iter().try_for_each(|(var, value)| write!(f, " {var}={value}")),
        };
        match (&self.edges[..], self.from == self.to) {
            ([], true) => write!(f, "at {}", self.from)?,
            (edges, _) => {
                write!(f, "from {} along", self.from)?;
                edges.iter().try_for_each(|edge| write!(f, " {edge}"))?;
                write!(f, " to {}", self.to)?;
            }
        }
        write!(f, ": entered with")?;
        list(f, &self.entry)?;
        write!(f, ", now")?;
        list(f, &self.now)
    }
}

/// Whether a proof shows that no run of a program reaches any of these locations. `goes_on` is asked again and again whether the work may go on, after so much
/// more of it. At most `jobs` threads check at the same time, and not more than there are cores.
pub fn validate(program: &Program, proof: &Proof, targets: &[LocId], goes_on: GoesOn, jobs: usize) -> Answer {
    let answer = closed(program, proof, targets, goes_on, jobs).and_then(|()| {
        let mut checker = Checker::new(program, proof, targets, goes_on).map_err(Stop::Unknown)?;
        targets.iter().try_for_each(|&target| checker.excludes(target))
    });
    match answer {
        Ok(()) => Answer::Valid,
        Err(Stop::Flaw(flaw)) => Answer::Invalid(*flaw),
        Err(Stop::Unknown(why)) => Answer::CannotTell(why),
    }
}

#[cfg(test)]
mod tests;
