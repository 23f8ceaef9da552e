//! Room `validate`: sets as functions of symbolic values.
//!
//! # Idea
//!
//! The nodes of a set become gates, operands first. What the bits in it stand for depends on where the set is looked at ([`Meaning`]), so the same node becomes another gate each time. But at the
//! end of a run most bits are what they were at its start: a node that depends on no others is made once for all runs of a procedure. For each node the place in the proof of the last bit on which it depends is
//! known. If that is before the first bit that the run has changed, the node is as at the start. Diagrams are written from their leaves to their roots, so there are many such nodes.

use crate::affine::Affine;
use crate::execute::{Executor, Meaning, OutOfScope, Ranks};
use crate::gates::Lit;
use crate::symbolic::Symbolic;
use postbop_ir::ProcId;
use postbop_ir::proof::{Node, Place, Proof, Ref};

/// The functions that were made of the nodes of a proof.
pub(crate) struct Nodes {
    /// For each node the function that it is under the meaning of a number: of nodes in general, and of nodes that are what they are where runs of a procedure start.
    made: [Vec<(u32, Lit)>; 2],
    /// The numbers of the meanings that count for the two at present, and how many there were.
    meant: [u32; 2],
    meanings: u32,
    /// The procedure of whose runs the second is the start.
    proc: Option<ProcId>,
    /// For each node where the last of the bits is on which it depends.
    last: Vec<u32>,
    /// From where on bits have another value than at the start.
    since: u32,
}

impl Nodes {
    /// Nothing was made of the nodes of a proof, whose bits are at these places.
    pub fn new(proof: &Proof, ranks: &Ranks) -> Self {
        let made = [(); 2].map(|()| vec![(0, Lit::TRUE); proof.nodes().len() + 1]);
        Nodes { made, meant: [0; 2], meanings: 0, proc: None, last: last(proof, ranks), since: 0 }
    }

    /// Forgets what nodes are where runs start.
    pub fn reset(&mut self) {
        self.proc = None;
    }

    /// Begins another meaning, in a procedure, with this place from where on bits have another value than at the start. The constant is known under all.
    fn begin(&mut self, proc: ProcId, since: u32) {
        self.meanings += 1;
        self.meant[0] = self.meanings;
        self.since = since;
        if since > 0 && self.proc != Some(proc) {
            (self.meant[1], self.proc) = (self.meanings, Some(proc));
        }
        for (made, &meant) in self.made.iter_mut().zip(&self.meant) {
            made[0] = (meant, Lit::TRUE);
        }
    }

    /// Which of the two lists of functions a node is in: the second, if it is what it is at the start.
    fn at_start(&self, node: usize) -> usize {
        usize::from(self.last[node] < self.since)
    }

    fn get(&self, node: usize) -> Option<Lit> {
        let start = self.at_start(node);
        let (meant, lit) = self.made[start][node];
        (meant == self.meant[start]).then_some(lit)
    }

    fn put(&mut self, node: usize, lit: Lit) {
        let start = self.at_start(node);
        self.made[start][node] = (self.meant[start], lit);
    }

    /// The function of a node that has been made, or its complement.
    fn of(&self, to: Ref) -> Lit {
        let made = self.get(to.number() as usize).expect("nodes below are made first");
        made.flip(to.is_complement())
    }
}

impl Executor<'_> {
    /// A set of a procedure under a meaning. `tick` is called for each node; work stops where it says so.
    pub fn set(
        &mut self,
        proof: &Proof,
        set: Ref,
        proc: ProcId,
        meaning: &Meaning,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Lit>, OutOfScope> {
        let since = self.since(meaning);
        self.nodes.begin(proc, since);
        let mut stack = vec![set.number() as usize];
        while let Some(&at) = stack.last() {
            if self.nodes.get(at).is_some() {
                stack.pop();
                continue;
            }
            if !tick() {
                return Ok(None);
            }
            let node = &proof.nodes()[at - 1];
            let below: &[Ref] = match node {
                Node::Bit(..) | Node::Sum(..) => &[],
                Node::Ite(three) => three,
                Node::And(all) => all,
            };
            let before = stack.len();
            let below = below.iter().map(|to| to.number() as usize);
            stack.extend(below.filter(|&to| self.nodes.get(to).is_none()));
            if stack.len() == before {
                stack.pop();
                let lit = self.node(node, proc, meaning)?;
                self.nodes.put(at, lit);
            }
        }
        Ok(Some(self.nodes.of(set)))
    }

    /// The function of a node, after those below it.
    fn node(&mut self, node: &Node, proc: ProcId, meaning: &Meaning) -> Result<Lit, OutOfScope> {
        Ok(match node {
            Node::Bit(place, bit) => match self.place(proc, meaning, *place)? {
                Symbolic::Bits(bits) => *bits.get(*bit as usize).ok_or(OutOfScope(*place))?,
                Symbolic::Number(_) => return Err(OutOfScope(*place)),
            },
            Node::Sum(terms, compare) => {
                let mut sum = Affine::default();
                for &(factor, place) in terms {
                    let Symbolic::Number(number) = self.place(proc, meaning, place)? else {
                        return Err(OutOfScope(place));
                    };
                    sum = self.numbers.affine(sum.plus(&number, factor.into()));
                }
                self.numbers.compare(&mut self.gates, &sum, *compare)
            }
            Node::Ite(three) => {
                let [c, a, b] = three.map(|to| self.nodes.of(to));
                self.gates.ite(c, a, b)
            }
            Node::And(all) => {
                let all = all.iter().map(|&to| self.nodes.of(to)).collect();
                self.gates.and(all)
            }
        })
    }

    /// From which place in the proof on bits have another value under a meaning than at the start of a run.
    fn since(&self, meaning: &Meaning) -> u32 {
        let Meaning::Here(run) = meaning else { return 0 };
        let bits = run.changed().flat_map(|var| {
            let width = self.program.vars()[var].ty.bits().unwrap_or(0);
            (0..width).filter_map(move |bit| self.ranks.get(&(Place::Now(var), bit)))
        });
        bits.copied().min().unwrap_or(NEVER)
    }
}

/// The place of what is not a bit, and is behind all bits.
const NEVER: u32 = u32::MAX;

/// For each node of a proof the place of the last bit on which it depends. Comparisons of integers are behind all bits.
fn last(proof: &Proof, ranks: &Ranks) -> Vec<u32> {
    let mut last = vec![0];
    for node in proof.nodes() {
        let of = |to: &Ref| last[to.number() as usize];
        last.push(match node {
            Node::Bit(place, bit) => ranks[&(*place, *bit)],
            Node::Sum(..) => NEVER,
            Node::Ite(three) => three.iter().map(of).max().unwrap_or(0),
            Node::And(all) => all.iter().map(of).max().unwrap_or(0),
        });
    }
    last
}
